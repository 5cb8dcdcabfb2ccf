use proptest::prelude::*;

use super::*;

fn wanted(data_dir: &str) -> WantedFlags {
    WantedFlags {
        data_dir: data_dir.to_owned(),
        db_in_memory: false,
        listen_address: None,
    }
}

#[test]
fn a_new_file() {
    let text = edit(None, &wanted("/var/lib/gpud")).unwrap();
    assert_eq!(text, TEMPLATE);
    let text = edit(
        None,
        &WantedFlags {
            data_dir: "/srv/my data".into(),
            db_in_memory: true,
            listen_address: Some(":15132".into()),
        },
    )
    .unwrap();
    assert_eq!(
        text.lines().last(),
        Some(
            "FLAGS=\"--log-level=info --log-file=/var/log/gpud.log '--data-dir=/srv/my data' --db-in-memory \
             --listen-address=:15132\""
        )
    );
}

#[test]
fn an_operators_file_retains_the_operators_settings() {
    let former = r#"# mine
HTTP_PROXY=http://proxy:1
FLAGS="--log-level=debug -endpoint e --session-protocol=auto --db-in-memory --components=-disk --xid-thresholds '{\"overrides\":{\"79\":{\"rebootThreshold\":3}}}' --data-dir=/old"
; and more
GPUD_NVML_LIBRARY_PATH="/opt/x"
"#;
    let text = edit(Some(former), &wanted("/new")).unwrap();
    assert_eq!(
        text,
        r#"# mine
HTTP_PROXY=http://proxy:1
FLAGS="--log-level=debug --components=-disk '--xid-thresholds={\"overrides\":{\"79\":{\"rebootThreshold\":3}}}' --data-dir=/new"
; and more
GPUD_NVML_LIBRARY_PATH="/opt/x"
"#
    );
    // Twice is once.
    assert_eq!(edit(Some(&text), &wanted("/new")).unwrap(), text);
}

#[test]
fn the_file_of_gpuds_own_up() {
    let former = "# gpud environment variables are set here\nFLAGS=\"--log-level=info --log-file=/var/log/gpud.log \
                  --endpoint=e --data-dir=/var/lib/gpud --session-protocol=auto\"\n";
    let text = edit(Some(former), &wanted("/var/lib/gpud")).unwrap();
    assert_eq!(
        text,
        "# gpud environment variables are set here\nFLAGS=\"--log-level=info --log-file=/var/log/gpud.log \
         --data-dir=/var/lib/gpud\"\n"
    );
}

#[test]
fn flags_that_make_no_sense_are_replaced_and_reported() {
    for (former, why) in [
        (
            "A=1\nFLAGS=\"--nope\"\n",
            "flag provided but not defined: -nope",
        ),
        (
            "A=1\nFLAGS=--log-level\n",
            "flag needs an argument: -log-level",
        ),
        ("A=1\nFLAGS=--help\n", "they ask for help"),
    ] {
        let (problem, text) = edit(Some(former), &wanted("/d")).unwrap_err();
        assert_eq!(problem, why);
        assert_eq!(
            text,
            "A=1\nFLAGS=\"--log-level=info --log-file=/var/log/gpud.log --data-dir=/d\"\n"
        );
    }
}

#[test]
fn the_data_folder_of_a_file() {
    for (text, expected) in [
        (TEMPLATE, Some("/var/lib/gpud")),
        (
            "FLAGS=\"--log-level=info '--data-dir=/srv/my data'\"\n",
            Some("/srv/my data"),
        ),
        ("FLAGS=\"-data-dir /a --data-dir=/b\"\n", Some("/b")),
        ("FLAGS=\"--data-dir=\"\n", None),
        ("FLAGS=\"--nonsense --data-dir=/a\"\n", None),
        ("", None),
    ] {
        assert_eq!(data_dir(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn secrets_of_a_control_plane_are_not_repeated() {
    let text =
        "FLAGS=\"--log-level=info --token=secret --endpoint=e --pprof --session-protocol=auto\"\n";
    let (stay, dropped) = split(&flags(text).unwrap());
    assert_eq!(stay, ["--log-level=info", "--pprof"]);
    assert_eq!(dropped, ["--token", "--endpoint", "--session-protocol"]);
}

#[test]
fn odd_files() {
    for (former, expected) in [
        ("", "FLAGS=\"--data-dir=/d\"\n"),
        ("A=1", "A=1\nFLAGS=\"--data-dir=/d\"\n"),
        // The last one counts, and one is left.
        (
            "FLAGS=--pprof\nFLAGS=--log-level=warn",
            "FLAGS=\"--log-level=warn --data-dir=/d\"\n",
        ),
        (
            "  FLAGS = --pprof \\\n  --log-level=warn\nB=2\n",
            "  FLAGS=\"--pprof --log-level=warn --data-dir=/d\"\nB=2\n",
        ),
        (
            "#FLAGS=--pprof\n",
            "#FLAGS=--pprof\nFLAGS=\"--data-dir=/d\"\n",
        ),
    ] {
        assert_eq!(
            edit(Some(former), &wanted("/d")).unwrap(),
            expected,
            "{former:?}"
        );
    }
}

/// What systemd makes of values; each was tried with `systemd-analyze` of version 252 or follows from its source.
#[test]
fn values_as_systemd_reads_them() {
    for (text, expected) in [
        ("A=b c ", "b c"),
        ("A= b", "b"),
        ("A='b c' ", "b c"),
        ("A=\"b\\\"c\\$d\\e\"", "b\"c$d\\e"),
        ("A='a''b' c", "abc"),
        ("A=b\\ c\\\\", "b c\\"),
        ("A=b\\\nc", "bc"),
        ("A=\"b\\\nc\"", "bc"),
        ("A=b\"c d\"", "b\"c d\""),
        ("A=", ""),
        ("A='b\nc'", "b\nc"),
    ] {
        let found = assignments(text);
        assert_eq!(found.len(), 1, "{text:?}");
        assert_eq!(
            (found[0].key.as_str(), found[0].value.as_str()),
            ("A", expected),
            "{text:?}"
        );
    }
    assert!(assignments("nothing here\n; A=1\n# A=1\\\nA=2\n\n").is_empty());
}

#[test]
fn values_become_words() {
    for (value, expected) in [
        ("", &[][..]),
        ("  a  b\tc ", &["a", "b", "c"]),
        ("'a b'c \"d e\" ''", &["a bc", "d e", ""]),
        ("a\\ b 'c\\'d' \"e'f\"", &["a b", "c'd", "e'f"]),
        ("a\\", &["a\\"]),
        ("'open end", &["open end"]),
    ] {
        assert_eq!(words(value), expected, "{value:?}");
    }
}

proptest! {
    #[test]
    fn any_words_come_back(flags in prop::collection::vec("[^\r]{0,12}", 0..5)) {
        let line = assignment(&flags);
        let found = assignments(&line);
        prop_assert_eq!(found.len(), 1);
        prop_assert_eq!(found[0].span.clone(), 0..line.len());
        prop_assert_eq!(words(&found[0].value), flags);
    }

    #[test]
    fn any_file_keeps_its_other_lines(text in "([A-Z#;= \"'\\\\a-z-]{0,20}\n){0,6}") {
        let edited = replace(&text, &["--pprof".to_owned()]);
        let others = |text: &str| -> Vec<(String, String)> {
            let found = assignments(text).into_iter().filter(|found| found.key != FLAGS);
            found.map(|found| (found.key, found.value)).collect()
        };
        // A quote or comment that is left open swallows what comes behind it, and there is nothing to be kept.
        let mut with_one_more = others(&(text.clone() + "X=1\n"));
        let is_closed = with_one_more.pop() == Some(("X".to_owned(), "1".to_owned()));
        if is_closed && with_one_more == others(&text) {
            prop_assert_eq!(others(&edited), others(&text));
            let all = assignments(&edited).into_iter();
            prop_assert_eq!(all.filter(|found| found.key == FLAGS).count(), 1);
        }
    }
}
