use super::*;
use proptest::prelude::*;
use regex::Regex;

fn names(pattern: &str) -> Result<Names, String> {
    Names::parse(&[pattern.to_owned()])
}

#[test]
fn what_is_not_understood_is_refused() {
    for pattern in [
        "a+", "[a]", "a?", "(a)", "a.b", "a*", r"\d", r"a\", "a{2}", "a^", "$a", "^^", ".*?", ".**",
    ] {
        let error = names(pattern).unwrap_err();
        assert!(
            error.starts_with(&format!("invalid blocked process name regex {pattern:?}: ")),
            "{error}"
        );
    }
    assert!(names(" ").unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

    /// A pattern that we take means what it means as a regular expression.
    #[test]
    fn agrees_with_regular_expressions(pattern in r"[\^]?(a|b|\.\*|\\[.\]]|[|][\^]?|\.|[$][|]){0,5}[$]?", name in r"[ab.\]]{0,5}") {
        if let Ok(names) = names(&pattern)
            && !names.is_empty()
        {
            prop_assert_eq!(names.matches(&name), Regex::new(&pattern).unwrap().is_match(&name));
        }
    }
}
