use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn lays_out_as_gos_encoder_does() {
    // The right-hand sides were printed by `sigs.k8s.io/yaml` 1.4.
    for (value, yaml) in [
        (json!([]), "[]\n"),
        (json!({}), "{}\n"),
        (json!(null), "null\n"),
        (json!("x"), "x\n"),
        (
            json!([null, 1, 1.5, true, {}]),
            "- null\n- 1\n- 1.5\n- true\n- {}\n",
        ),
        (
            json!([{"a": [], "b": {}, "c": null, "d": [{"x": 1, "y": [1, 2]}], "e": [[1, 2], [3]], "w": 1_741_064_767_000_u64}]),
            "- a: []\n  b: {}\n  c: null\n  d:\n  - x: 1\n    \"y\":\n    - 1\n    - 2\n  e:\n  - - 1\n    - 2\n  - - 3\n  w: 1741064767000\n",
        ),
        (
            json!({"o": {"k": "line1\nline2"}}),
            "o:\n  k: |-\n    line1\n    line2\n",
        ),
        (
            json!({"o": {"k": "end\n\n"}, "p": 1}),
            "o:\n  k: |+\n    end\n\np: 1\n",
        ),
        (json!(["a\n\nb\n", "x"]), "- |\n  a\n\n  b\n- x\n"),
        (
            json!({"b": 1, "a10": 1, "a9": 1, "A": 0, "_": 1, "1": 2, "é": 1, "a.b": 1, "a_b": 1, "aB": 1, "": 3, "true": 1}),
            "\"\": 3\n_: 1\n\"1\": 2\nA: 0\na.b: 1\na_b: 1\na9: 1\na10: 1\naB: 1\nb: 1\n\"true\": 1\né: 1\n",
        ),
    ] {
        assert_eq!(emit(&value), yaml);
    }
}

#[test]
fn a_long_key_is_written_explicitly() {
    let key = "k".repeat(200);
    assert_eq!(emit(&json!({ &key: [1] })), format!("? {key}\n:\n- 1\n"));
}

fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        any::<String>(),
        "[-+0-9a-zA-Z:. #\n'\"_{}~|>]{0,12}",
        "[ \n\tx]{0,6}"
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e6..1e6_f64).prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(text.clone(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn another_yaml_reader_gets_the_same_document(value in any_value()) {
        let yaml = emit(&value);
        let read: Value = serde_yaml::from_str(&yaml).map_err(|e| TestCaseError::fail(format!("{yaml:?}: {e}")))?;
        prop_assert!(same(&read, &value), "{yaml}\n{read}\n{value}");
    }

    #[test]
    fn the_order_of_keys_is_total(mut keys in prop::collection::vec("[a-b0-1_]{0,5}", 0..8)) {
        keys.sort_by(|a, b| natural(a, b));
        for (at, a) in keys.iter().enumerate() {
            for b in &keys[at..] {
                prop_assert_ne!(natural(a, b), Ordering::Greater);
                prop_assert_eq!(natural(a, b) == Ordering::Equal, a == b);
            }
        }
    }
}

/// Equal, with numbers compared by value: a whole float is written as an integer.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => a == b,
    }
}
