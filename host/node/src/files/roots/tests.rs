use super::*;

#[test]
fn grants_are_the_union_of_their_lines() {
    let lines = ["/proc/stat", "/sys/class/**"].map(str::to_owned);
    let roots = Roots::parse(&lines).unwrap();
    for (path, allowed, leads) in [
        ("/proc/stat", true, true),
        ("/sys/class/net/eth0", true, true),
        ("/proc", false, true),
        ("/proc/meminfo", false, false),
        ("/sys/class/../kernel", false, false),
        ("sys/class", false, false),
    ] {
        assert_eq!(roots.allows(path), allowed, "{path}");
        assert_eq!(roots.leads_to(path), leads, "{path}");
        // Segment by segment it is the same.
        if let Ok(names) = segments_of(path) {
            let progress = names
                .iter()
                .fold(roots.progress(), |progress, name| progress.step(name));
            assert_eq!(
                (progress.is_granted(), progress.leads_on()),
                (allowed, leads),
                "{path}"
            );
        }
    }
    assert!(!Roots::parse(&[]).unwrap().leads_to("/"));
}

#[test]
fn a_bad_line_is_named() {
    let error = Roots::parse(&["/a".to_owned(), "b/*".to_owned()]).unwrap_err();
    assert!(error.to_string().contains("\"b/*\""), "{error}");
}
