use proptest::prelude::*;
use serde::Deserialize;

use super::*;

/// One question to Go 1.26 (`regexp.Compile`, `MatchString`) and its answer.
#[derive(Deserialize)]
struct Case {
    pattern: String,
    text: String,
    #[serde(rename = "match")]
    matches: bool,
    error: Option<String>,
}

#[test]
fn answers_as_go_does() {
    let mut count = 0;
    for line in include_str!("testdata/go.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let expected = case.error.map_or(Ok(case.matches), Err);
        let got = Pattern::compile(&case.pattern)
            .map(|pattern| pattern.is_match(&case.text))
            .map_err(|error| error.to_string());
        assert_eq!(got, expected, "{:?} on {:?}", case.pattern, case.text);
        count += 1;
    }
    assert!(count > 2000);
}

#[test]
fn what_is_too_deep_or_too_large_is_refused() {
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    let starred = |depth: usize| format!("{}a{}", "(?:b|".repeat(depth), "c)*d".repeat(depth));
    let folded = |class: &str, times: usize| format!("(?i){}", class.repeat(times));
    let max = translate::MAX_DEPTH as usize;
    for (pattern, fault) in [
        (nested(max), None),
        (nested(max + 1), Some(PatternFault::TooDeep)),
        ("(".repeat(60_000), Some(PatternFault::TooDeep)),
        (starred(max / 2), None),
        (starred(max), Some(PatternFault::TooDeep)),
        (format!("a{}", "*(?i)".repeat(max)), None),
        (
            format!("a{}", "*(?i)".repeat(max + 1)),
            Some(PatternFault::TooDeep),
        ),
        (".{1000}".to_owned(), None),
        (r"(?i)\pL{1000}".to_owned(), Some(PatternFault::TooLarge)),
        (folded(r"\P{Any}", 60), None),
        (folded(r"\P{Any}", 61), Some(PatternFault::TooLarge)),
        (folded(r"[k\D]", 61), Some(PatternFault::TooLarge)),
        (folded("[k[:^digit:]]", 61), Some(PatternFault::TooLarge)),
        (folded(r"[!-\x{10FFFF}]", 61), Some(PatternFault::TooLarge)),
        (folded(r"[\x{D800}]", 61), Some(PatternFault::TooLarge)),
        (folded(r"[^\s\w.-]", 61), None),
        (format!("{}(?i)a", r"\P{Any}".repeat(61)), None),
        ("a".repeat(MAX_PATTERN_BYTES), None),
        (
            "a".repeat(MAX_PATTERN_BYTES + 1),
            Some(PatternFault::TooLarge),
        ),
    ] {
        // As small a stack as any thread has here, so that what is taken is safe to compile, run and drop.
        let run = move || {
            let compiled = Pattern::compile(&pattern);
            let _ = compiled.as_ref().map(|pattern| pattern.is_match("abcd"));
            compiled.err().map(|error| error.fault)
        };
        let thread = std::thread::Builder::new().stack_size(1 << 20);
        assert_eq!(thread.spawn(run).unwrap().join().unwrap(), fault);
    }
}

#[test]
fn a_lazy_pattern_keeps_its_outcome() {
    let good = LazyPattern::new("^[1-9]");
    assert_eq!(
        (good.is_match("7"), good.is_match("0")),
        (Ok(true), Ok(false))
    );
    assert_eq!(good.text(), "^[1-9]");
    let bad = LazyPattern::new("[a");
    let first = bad.is_match("a").unwrap_err();
    assert_eq!(
        first.to_string(),
        "error parsing regexp: missing closing ]: `[a`"
    );
    assert_eq!(bad.is_match("b"), Err(first));
}

/// Pieces that mean something, and text.
fn pattern() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "(",
            ")",
            "|",
            "*",
            "+",
            "?",
            "{2}",
            "{0,3}",
            "{1,}",
            "[",
            "]",
            "[^",
            "-",
            "^",
            "$",
            ".",
            "\\",
            "\\Q",
            "\\E",
            "\\d",
            "\\b",
            "\\pL",
            "\\x{",
            "}",
            "(?i)",
            "(?m:",
            "(?P<a>",
            "[:alpha:]",
            "&&",
            "\\x{D900}",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Whatever passes Go's grammar is taken by the crate too, unless it is too large.
    #[test]
    fn what_is_translated_compiles(pattern in pattern(), text in any::<String>()) {
        match Pattern::compile(&pattern) {
            Ok(compiled) => { compiled.is_match(&text); }
            Err(error) => prop_assert!(error.fault != PatternFault::TooLarge, "{pattern:?}"),
        }
    }

    #[test]
    fn quoted_text_matches_itself_and_nothing_else(text in "[^\\\\]{0,12}", other in "[^\\\\]{0,12}") {
        let pattern = Pattern::compile(&format!("^\\Q{text}\\E$")).unwrap();
        prop_assert!(pattern.is_match(&text));
        prop_assert_eq!(pattern.is_match(&other), text == other);
    }

    #[test]
    fn alternatives_match_each_of_their_branches(a in pattern(), b in pattern(), text in any::<String>()) {
        if let (Ok(one), Ok(two)) = (Pattern::compile(&a), Pattern::compile(&b)) {
            // Without what reaches past the group: an open quotation.
            if let Ok(both) = Pattern::compile(&format!("(?:{a})|(?:{b})")) {
                let either = one.is_match(&text) || two.is_match(&text);
                prop_assert!(a.contains("\\Q") || b.contains("\\Q") || both.is_match(&text) == either);
            }
        }
    }
}
