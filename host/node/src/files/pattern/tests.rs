use proptest::prelude::*;

use super::*;

fn matches(pattern: &str, path: &str) -> bool {
    Pattern::parse(pattern)
        .unwrap()
        .matches(&segments_of(path).unwrap())
}

#[test]
fn patterns_match_as_documented() {
    for (pattern, yes, no) in [
        (
            "/proc/stat",
            &["/proc/stat", "//proc/./stat"][..],
            &["/proc", "/proc/stat/x", "/proc/statx"][..],
        ),
        (
            "/proc/[0-9]*/status",
            &["/proc/1/status", "/proc/4711/status"],
            &["/proc/self/status", "/proc/1/2/status"],
        ),
        (
            "/sys/class/**",
            &["/sys/class", "/sys/class/net", "/sys/class/net/eth0/mtu"],
            &["/sys/classy", "/sys"],
        ),
        (
            "/a/**/z",
            &["/a/z", "/a/b/z", "/a/z/z/z"],
            &["/a", "/a/b", "/z"],
        ),
        ("/**", &["/", "/a/b"], &[]),
        (
            "/d/n?[!0-9a]",
            &["/d/nvz", "/d/n.Z"],
            &["/d/nv0", "/d/nva", "/d/nv", "/d/nvzz"],
        ),
        ("/d/*a*b", &["/d/ab", "/d/xaxaxb"], &["/d/abx", "/d/ba"]),
        ("/d/[]-]x", &["/d/]x", "/d/-x"], &["/d/ax"]),
        ("/d/[a-]", &["/d/a", "/d/-"], &["/d/b"]),
        ("/d/*", &["/d/.hidden", "/d/ä"], &["/d", "/d/a/b"]),
    ] {
        for path in yes {
            assert!(matches(pattern, path), "{pattern} {path}");
        }
        for path in no {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
    }
}

#[test]
fn what_a_pattern_covers() {
    for (wide, narrow, covers) in [
        ("/a/b", "/a/b", true),
        ("/a/b", "/a/c", false),
        ("/a/*", "/a/b", true),
        ("/a/*", "/a/b?", true),
        ("/a/*", "/a", false),
        ("/a/*", "/a/**", false),
        ("/a/b*", "/a/bc", true),
        ("/a/b*", "/a/b*", true),
        ("/a/b*", "/a/bc*", false),
        ("/a/**", "/a", true),
        ("/a/**", "/a/*/c/**", true),
        ("/**", "/**", true),
        ("/a/**/z", "/a/b/**/z", true),
        ("/a/**/z", "/a/b/**", false),
        ("/a/b", "/a/**", false),
        ("/a", "/a/b", false),
    ] {
        let parse = |text| Pattern::parse(text).unwrap();
        assert_eq!(
            parse(wide).covers(&parse(narrow)),
            covers,
            "{wide} {narrow}"
        );
    }
}

#[test]
fn a_path_leads_to_the_files_below_it() {
    let pattern = Pattern::parse("/proc/[0-9]*/fd/**").unwrap();
    for (path, leads) in [
        ("/", true),
        ("/proc", true),
        ("/proc/7", true),
        ("/proc/7/fd/3", true),
        ("/proc/self", false),
        ("/etc", false),
    ] {
        assert_eq!(
            pattern.leads_to(&segments_of(path).unwrap()),
            leads,
            "{path}"
        );
    }
}

#[test]
fn bad_paths_and_patterns_are_refused() {
    let long = format!("/{}", "a".repeat(MAX_PATH_BYTES));
    let deep = "/a".repeat(MAX_SEGMENTS + 1);
    for bad in [
        "", "a/b", "/a/../b", "/a\0b", &long, &deep, "/a[", "/[z-a]", "/a**", "/[]",
    ] {
        assert!(
            matches!(Pattern::parse(bad), Err(SourceError::Invalid(_))),
            "{bad:?}"
        );
    }
    assert_eq!(normalized("//a/./b//").unwrap(), "/a/b");
    assert!(normalized("/..").is_err());
}

proptest! {
    /// A pattern made by replacing parts of a name with wildcards still matches the name.
    #[test]
    fn widening_keeps_matching(name in "[a-z0-9._-]{1,12}", cut in 0usize..12, len in 0usize..5) {
        let (cut, end) = (cut.min(name.len()), (cut + len).min(name.len()));
        let star = format!("/{}*{}", &name[..cut], &name[end.max(cut)..]);
        let (path, marks) = (format!("/{name}"), format!("/{}", "?".repeat(name.len())));
        let longer = format!("{marks}?");
        if name != "." && name != ".." {
            prop_assert!(matches(&star, &path));
            prop_assert!(matches(&marks, &path));
            prop_assert!(!matches(&longer, &path));
        }
    }

    #[test]
    fn no_input_panics_and_a_parsed_pattern_leads_to_all_it_matches(pattern in "/[a*?\\[\\]!/-]{0,20}", path in "/[a/-]{0,20}") {
        if let (Ok(pattern), Ok(path)) = (Pattern::parse(&pattern), segments_of(&path))
            && pattern.matches(&path)
        {
            prop_assert!((0..=path.len()).all(|n| pattern.leads_to(&path[..n])));
        }
    }
}
