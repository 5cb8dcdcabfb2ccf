use proptest::prelude::*;

use super::*;

#[test]
fn complaints() {
    for (stdout, stderr, expected) in [
        ("out\n", "\n  no bus \nmore", "no bus"),
        ("out\n", "", "out"),
        ("", "", ""),
        (
            "",
            "IANA PEN registry open failed: No such file or directory\nFailed to load entries from IANA PEN Registry\nCould not open device at /dev/ipmi0",
            "Could not open device at /dev/ipmi0",
        ),
        (
            "out\n",
            "IANA PEN registry open failed: No such file\n",
            "out",
        ),
    ] {
        let said = ProgramOutput::new(Some(1), stdout.as_bytes(), stderr.as_bytes());
        assert_eq!(said.complaint, expected);
        assert!(!said.is_ok());
    }
}

#[test]
fn json_among_other_lines() {
    for (text, expected) in [
        (r#"{"a":1}"#, Some(1)),
        ("warning: x\n{\"a\":1}\n", Some(1)),
        ("note {\"a\":2}\n", Some(2)),
        (
            "Warning: {unknown option}\n{\"a\":1}\nExit Code: 0x00\n",
            Some(1),
        ),
        (
            "{broken\n{\n  \"a\": 1,\n  \"b\": {\n    \"a\": 3\n  }\n}\n",
            Some(1),
        ),
        // Cut off: what is inside is not the document.
        ("{\"b\":{\"a\":3},", None),
        ("[1, 2]", None),
        ("no JSON", None),
        ("", None),
    ] {
        let found = json_object(text).and_then(|json| json.get("a")?.as_u64());
        assert_eq!(found, expected, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "([{}\\[\\],:\"\n ä0-9a]|\\{\"a\":1\\}){0,40}") {
        if let Some(json) = json_object(&text) {
            prop_assert!(json.is_object());
        }
    }
}
