use serde_json::json;

use super::*;

fn rule(regex: &str) -> MatchRule {
    MatchRule {
        regex: Some(regex.to_owned()),
    }
}

#[test]
fn actions_keep_their_order_and_are_written_sorted() {
    let rules: ActionRules = [("b", "1"), ("a", "2"), ("b", "3")]
        .map(|(name, regex)| (name.to_owned(), rule(regex)))
        .into_iter()
        .collect();
    let names: Vec<_> = rules.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["b", "a"]);
    assert_eq!(
        serde_json::to_string(&rules).unwrap(),
        r#"{"a":{"regex":"2"},"b":{"regex":"3"}}"#
    );
    assert_eq!((rules.len(), rules.is_empty()), (2, false));
}

#[test]
fn a_script_entry_shows_nothing_of_wasm_and_a_wasm_entry_shows_its_keys() {
    let script = PluginSpec::default();
    assert_eq!(
        serde_json::to_string(&script).unwrap(),
        r#"{"plugin_name":"","plugin_type":"","run_mode":"","timeout":"0s","interval":"0s"}"#
    );
    let wasm = PluginSpec {
        wasm: Some(WasmSpec {
            path: "x.wasm".into(),
            config: json!({"a": 1}),
            grants: json!({}),
            limits: LimitOverrides {
                memory_bytes: Some(1 << 20),
                ..LimitOverrides::default()
            },
            ..WasmSpec::default()
        }),
        ..script
    };
    assert_eq!(
        serde_json::to_string(&wasm).unwrap(),
        r#"{"plugin_name":"","plugin_type":"","run_mode":"","timeout":"0s","interval":"0s","path":"x.wasm","config":{"a":1},"grants":{},"limits":{"memory":1048576}}"#
    );
}
