//! Entries of type `wasm`.

use serde_json::json;

use super::{problem_lines, read};
use crate::Position;

const FULL: &str = "- plugin_name: My Check
  plugin_type: wasm
  path: ./my.wasm
  run_mode: manual
  tags: [site]
  timeout: 10s
  interval: 5m
  config:
    thresholds: {warn: 5, crit: 7.5}
    on: [yes, ~, 010, 'x', 18446744073709551615]
    a/b~c: {1: 2}
  grants:
    kmsg: yes
    sysfs: [/sys/class/hwmon/**]
  limits: {memory: 128MiB, host_calls: 5, host_bytes: 1 KiB, log_lines: 1, states: 2, events: 3, metrics: 4, table_elements: 0x10}
";

#[test]
fn a_full_entry() {
    let file = read(FULL);
    assert_eq!((problem_lines(&file), file.warnings.len()), (vec![], 0));
    let plugin = &file.plugins[0];
    assert_eq!(
        (plugin.component.as_str(), plugin.is_manual()),
        ("my-check", true)
    );
    let wasm = plugin.spec.wasm.as_ref().unwrap();
    assert_eq!(wasm.path, "./my.wasm");
    assert_eq!(
        wasm.config,
        json!({"thresholds": {"warn": 5, "crit": 7.5}, "true": [true, null, 8, "x", 18446744073709551615_u64], "a/b~c": {"1": 2}})
    );
    assert_eq!(
        wasm.grants,
        json!({"kmsg": true, "sysfs": ["/sys/class/hwmon/**"]})
    );
    assert_eq!(
        serde_json::to_value(wasm.limits).unwrap(),
        json!({"memory": 128 << 20, "host_calls": 5, "host_bytes": 1024, "log_lines": 1, "states": 2, "events": 3, "metrics": 4, "table_elements": 16})
    );
    let places = plugin.wasm.as_ref().unwrap();
    for (pointer, line, column) in [
        ("", 9, 5),
        ("/thresholds", 9, 17),
        ("/thresholds/warn", 9, 24),
        ("/thresholds/none/x", 9, 17),
        ("/true/2", 10, 18),
        ("/true/9", 10, 9),
        ("/a~1b~0c/1", 11, 16),
        ("/none", 9, 5),
    ] {
        assert_eq!(
            places.config_place(pointer),
            Position { line, column },
            "{pointer}"
        );
    }
    assert_eq!(
        places.grants_place("/sysfs/0"),
        Position {
            line: 14,
            column: 13
        }
    );
}

#[test]
fn the_least_that_is_needed() {
    let file = read("- {plugin_name: w, plugin_type: wasm, path: w.wasm}");
    assert_eq!(problem_lines(&file), Vec::<String>::new());
    let plugin = &file.plugins[0];
    let served = serde_json::to_string(&plugin.spec).unwrap();
    assert_eq!(
        served,
        r#"{"plugin_name":"w","plugin_type":"wasm","run_mode":"","timeout":"1m0s","interval":"0s","path":"w.wasm","config":{},"grants":{}}"#
    );
    assert_eq!(
        plugin.wasm.as_ref().unwrap().config_place("/x"),
        Position { line: 1, column: 3 }
    );
}

#[test]
fn nothing_is_lenient() {
    let entry = |rest: &str| format!("- {{plugin_name: w, plugin_type: wasm, path: w, {rest}}}");
    let large = format!("config: {{a: {}}}", "x".repeat(256 << 10));
    let escapes = format!("config: {{a: \"{}\"}}", "\\x01".repeat(60_000));
    let aliases = format!(
        "config: {{a: &a {}, b: [{}]}}",
        "x".repeat(10_000),
        "*a,".repeat(30)
    );
    for (rest, expected) in [
        (
            "health_state_plugin: {}",
            "wasm_unknown_key@1:48 [0].health_state_plugin",
        ),
        (
            "component_list: [a]",
            "wasm_unknown_key@1:48 [0].component_list",
        ),
        ("confg: {}", "wasm_unknown_key@1:48 [0].confg"),
        (
            "limits: {memry: 5}",
            "wasm_unknown_key@1:57 [0].limits.memry",
        ),
        ("config: []", "wasm_value@1:56 [0].config"),
        ("grants: kmsg", "wasm_value@1:56 [0].grants"),
        ("limits: 5", "wasm_value@1:56 [0].limits"),
        ("config: {a: {b: .inf}}", "wasm_value@1:64 [0].config.a.b"),
        ("config: {~: 1}", "yaml_syntax@1:57 [0].config"),
        (
            "limits: {memory: 1023KiB}",
            "wasm_limit@1:65 [0].limits.memory",
        ),
        (
            "limits: {memory: 2GiB}",
            "wasm_limit@1:65 [0].limits.memory",
        ),
        ("limits: {memory: 64M}", "wasm_limit@1:65 [0].limits.memory"),
        (
            "limits: {memory: 99999999999999999999GiB}",
            "wasm_limit@1:65 [0].limits.memory",
        ),
        ("limits: {states: 0}", "wasm_limit@1:65 [0].limits.states"),
        ("limits: {events: -1}", "wasm_limit@1:65 [0].limits.events"),
        (
            "limits: {metrics: 409601}",
            "wasm_limit@1:66 [0].limits.metrics",
        ),
        (
            "limits: {host_calls: 5KiB}",
            "wasm_limit@1:69 [0].limits.host_calls",
        ),
        (
            "limits: {log_lines: 1.5}",
            "wasm_limit@1:68 [0].limits.log_lines",
        ),
        ("tags: x", "schema_mismatch@1:54 [0].tags"),
        ("interval: 5s", "interval_too_short@1:58 [0].interval"),
        (&large, "wasm_config_too_large@1:56 [0].config"),
        (&escapes, "wasm_config_too_large@1:56 [0].config"),
        (&aliases, "wasm_config_too_large@1:56 [0].config"),
    ] {
        let file = read(&entry(rest));
        assert_eq!(problem_lines(&file), [expected]);
        assert!(file.plugins.is_empty());
    }
    for (text, expected) in [
        (
            "- {plugin_name: w, plugin_type: wasm}",
            "wasm_path_required@1:3 [0]",
        ),
        (
            "- {plugin_type: wasm, path: w}",
            "component_name_required@1:3 [0].plugin_name",
        ),
    ] {
        assert_eq!(problem_lines(&read(text)), [expected]);
    }
}
