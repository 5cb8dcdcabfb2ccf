//! Properties that hold for all inputs.

use jsonpath_rust::JsonPath;
use proptest::prelude::*;
use serde_json::Value;

use super::super::{Query, literal, scan};
use super::ask;

/// Texts of characters and pieces that mean something in a query.
fn query() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => "[$@.\\[\\]()?:,*=!\"'`0-9a-e /\n_-]{1,4}",
        4 => prop::sample::select(vec![
            "$", "$..*", ".a", "..a", "[*]", "[0]", "[1:]", "[?(@.a == 1)]", "[\"a\",\"b\"]", "(@)", " == ", "-1", "\"a\"",
        ])
        .prop_map(str::to_owned),
        1 => "\\PC{1,3}",
    ];
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i8..9).prop_map(|n| Value::from(f64::from(n))),
        "[a-c0-2]{0,2}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            members(inner),
        ]
    });
    members(value)
}

fn members(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-e]", value, 0..5)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

/// A path that means the same in RFC 9535.
fn common_path() -> impl Strategy<Value = String> {
    let index = 0usize..5;
    let step = prop_oneof![
        3 => "\\.[a-e]",
        1 => "\\[\"[a-e]\"\\]",
        2 => index.clone().prop_map(|n| format!("[{n}]")),
        1 => Just("[*]".to_owned()),
        1 => Just(".*".to_owned()),
        1 => "\\.\\.[a-e]",
        1 => Just("..*".to_owned()),
        1 => (index, 0usize..4, 1usize..3).prop_map(|(from, more, step)| format!("[{from}:{}:{step}]", from + more)),
        1 => (1usize..4).prop_map(|back| format!("[-{back}:]")),
        1 => Just("[::-1]".to_owned()),
    ];
    prop::collection::vec(step, 1..5).prop_map(|steps| format!("${}", steps.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn no_query_panics(query in query(), document in document()) {
        let _ = ask(&query, &document);
    }

    #[test]
    fn no_text_panics(text in any::<String>(), document in document()) {
        let _ = ask(&text, &document);
    }

    /// Tokens are in order within the text, and the last is its end.
    #[test]
    fn scanning_ends(text in query()) {
        let mut scanner = scan::Scanner::new(&text);
        let mut before = 0;
        loop {
            let token = scanner.scan();
            prop_assert!(before <= token.start && token.start <= token.end && token.end <= text.len());
            prop_assert!(text.is_char_boundary(token.start) && text.is_char_boundary(token.end));
            if token.kind == scan::Kind::End {
                break;
            }
            prop_assert!(token.end > token.start);
            before = token.end;
        }
    }

    #[test]
    fn any_key_can_be_quoted(key in any::<String>()) {
        // Rust's escapes are not all Go's, so the quoting is Go's.
        let quoted = crate::wire::go_quote(&key);
        prop_assert_eq!(literal::unquote(&quoted), Some(key.clone()));
        let document = Value::Object([(key, Value::from(1.0))].into_iter().collect());
        prop_assert_eq!(ask(&format!("$[{quoted}]"), &document), Ok(Some(Value::from(1.0))));
    }

    /// `jsonpath-rust` finds the same by paths that both understand alike. A definite path finds one value or none
    /// there; null, an absent key and an error are not distinguished.
    #[test]
    fn common_paths_find_the_same_as_in_rfc_9535(path in common_path(), document in document()) {
        let theirs: Vec<Value> = document.query(&path).unwrap().into_iter().cloned().collect();
        let ours = Query::parse(&path).unwrap().select(&document);
        if path.contains(['*', ':']) || path.contains("..") {
            prop_assert_eq!(ours, Ok(Some(Value::from(theirs))));
        } else {
            let theirs = theirs.into_iter().next().filter(|value| !value.is_null());
            prop_assert_eq!(ours.ok().flatten(), theirs);
        }
    }
}
