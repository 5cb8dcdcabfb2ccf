use proptest::prelude::*;
use serde_json::json;

use super::*;

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn strings_are_safe_to_put_into_html() {
    let given = "a<b>&\u{2028}\u{2029}\u{1}\u{7f}\n\t\r\"\\/é\u{8}\u{c}";
    // Printed by Go 1.26.
    let go = "\"a\\u003cb\\u003e\\u0026\\u2028\\u2029\\u0001\u{7f}\\n\\t\\r\\\"\\\\/é\\b\\f\"";
    assert_eq!(text(to_json(given).unwrap()), go);
}

#[test]
fn indents_by_four_spaces_and_keeps_empty_ones_short() {
    let go = "{\n    \"a\": [],\n    \"b\": {},\n    \"c\": [\n        1,\n        {\n            \"x\": 1.5\n        }\n    ]\n}";
    let document = json!({"a": [], "b": {}, "c": [1, {"x": 1.5}]});
    assert_eq!(text(to_json_indented(&document).unwrap()), go);
}

#[test]
fn whole_floats_lose_their_point_and_not_finite_ones_become_null() {
    assert_eq!(
        text(to_json(&[1.0, 1e21, f64::NAN]).unwrap()),
        "[1,1e+21,null]"
    );
}

proptest! {
    #[test]
    fn any_string_reads_back(given in any::<String>()) {
        let bytes = to_json(&given).unwrap();
        prop_assert!(!bytes.iter().any(|b| b"<>&".contains(b)));
        prop_assert_eq!(serde_json::from_slice::<String>(&bytes).unwrap(), given);
    }
}
