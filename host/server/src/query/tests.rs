use proptest::prelude::*;

use super::*;

fn query(text: &str) -> Query {
    Query::of(&format!("/x?{text}").parse().unwrap())
}

#[test]
fn pairs_are_read_as_go_reads_them() {
    for (text, value) in [
        ("a=1&a=2", Some("1")),
        ("a=&a=2", None),
        ("a", None),
        ("b=1", None),
        ("a=x%2Cy+z", Some("x,y z")),
        ("a=%zz&a=2", Some("2")),
        ("a=1%2", None),
        ("a=1;b=2&a=3", Some("3")),
        ("%61=1=2", Some("1=2")),
        ("&&a=1", Some("1")),
        ("a=%ff", Some("\u{fffd}")),
    ] {
        assert_eq!(query(text).get("a"), value, "{text}");
    }
}

#[test]
fn moments_fail_with_gos_words() {
    for (text, message) in [
        ("x", r#"strconv.ParseInt: parsing "x": invalid syntax"#),
        ("-", r#"strconv.ParseInt: parsing "-": invalid syntax"#),
        ("1.5", r#"strconv.ParseInt: parsing "1.5": invalid syntax"#),
        ("1_0", r#"strconv.ParseInt: parsing "1_0": invalid syntax"#),
        (
            "a\"b\n",
            r#"strconv.ParseInt: parsing "a\"b\n": invalid syntax"#,
        ),
        (
            "9223372036854775808",
            r#"strconv.ParseInt: parsing "9223372036854775808": value out of range"#,
        ),
        (
            "9223372036854775807",
            "9223372036854775807 is not in the years 0 to 9999",
        ),
    ] {
        assert_eq!(parse_moment(text, TimeZone::UTC).unwrap_err(), message);
    }
    for (text, seconds) in [("+7", 7), ("-5", -5), ("007", 7)] {
        assert_eq!(
            parse_moment(text, TimeZone::UTC).unwrap().unix_seconds(),
            seconds
        );
    }
}

proptest! {
    #[test]
    fn an_escaped_value_comes_back(value in "\\PC{1,20}") {
        let escaped: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let query = query(&format!("x=1&a={escaped}"));
        prop_assert_eq!(query.get("a"), Some(value.as_str()));
    }

    #[test]
    fn any_number_is_taken_as_it_is_or_refused(seconds in any::<i64>()) {
        match parse_moment(&seconds.to_string(), TimeZone::UTC) {
            Ok(time) => prop_assert_eq!(time.unix_seconds(), seconds),
            Err(error) => prop_assert!(error.contains("not in the years")),
        }
    }
}
