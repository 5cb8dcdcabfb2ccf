//! The required content of a file, and what is checked in it.

use std::path::Path;

use proptest::prelude::*;

use super::{names, problem_line, problem_lines, read};
use crate::{PluginFile, Problem, parse};

mod lists;
mod reports;

const GOOD: &str = "plugin_type: component, health_state_plugin: {}";

/// The one problem of a file.
fn only(text: &str) -> Problem {
    let file = read(text);
    assert_eq!(file.problems.len(), 1, "{text}: {:?}", problem_lines(&file));
    file.problems.into_iter().next().unwrap()
}

fn with_list(text: &str, list: &'static str) -> PluginFile {
    parse(text.as_bytes(), "f.yaml", &|path: &Path| {
        assert_eq!(path, Path::new("list.txt"));
        Ok(list.to_owned())
    })
}

#[test]
fn the_example_of_the_reference() {
    let file = read(include_str!("../testdata/fan-tray.yaml"));
    assert_eq!((problem_lines(&file), file.warnings.len()), (vec![], 0));
    let plugin = &file.plugins[0];
    assert_eq!(plugin.component, "fan-tray");
    assert_eq!(plugin.tags(), ["custom-plugin", "fan-tray", "cooling"]);
    assert!(!plugin.is_init() && !plugin.is_manual() && plugin.wasm.is_none());
    let served = String::from_utf8(crate::wire::to_json(&plugin.spec).unwrap()).unwrap();
    assert_eq!(served, include_str!("../testdata/fan-tray.json").trim_end());
}

#[test]
fn each_kind_with_its_message_and_place() {
    let step = |step: &str| {
        format!(
            "- {{plugin_name: a, plugin_type: component, health_state_plugin: {{steps: [{step}]}}}}\n"
        )
    };
    let long = "n".repeat(129);
    let cases = [
        ("- a: [\n".to_owned(), "yaml_syntax@1:6 ", "error converting YAML to JSON: yaml: line 1: "),
        ("plugin_name: a\n".to_owned(), "schema_mismatch@1:1 ", "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal object into Go value of type customplugins.Specs"),
        (format!("- {{plugin_name: a, tags: x, {GOOD}}}"), "schema_mismatch@1:26 [0].tags", "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go struct field Spec.tags of type []string"),
        (format!("- {{plugin_name: a, timeout: 1d, {GOOD}}}"), "schema_mismatch@1:29 [0].timeout", "error unmarshaling JSON: while decoding JSON: time: unknown unit \"d\" in duration \"1d\""),
        (format!("- {{plugin_name: a, interval: 0, {GOOD}}}"), "schema_mismatch@1:30 [0].interval", "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal number into Go struct field Spec.interval of type string"),
        ("- {plugin_name: a, plugin_type: component_list, component_list: [x], component_list_file: f}".to_owned(), "component_list_conflict@1:91 [0].component_list_file", "component list must be empty when using component_list_file"),
        ("- {plugin_name: a, plugin_type: component_list, component_list_file: f}".to_owned(), "component_list_file_unreadable@1:70 [0].component_list_file", "failed to read component list file f: open f: no such file or directory"),
        ("- {plugin_name: a, plugin_type: component_list}".to_owned(), "component_list_empty@1:3 [0].component_list", "component list is empty"),
        ("- {plugin_name: a, plugin_type: component_list, component_list: [':p'], health_state_plugin: {}}".to_owned(), "component_list_entry_empty_name@1:66 [0].component_list[0]", "component name cannot be empty in component list"),
        ("- {plugin_name: a, plugin_type: component_list, component_list: ['a#x]['], health_state_plugin: {}}".to_owned(), "component_list_entry_invalid_tags@1:66 [0].component_list[0]", "invalid tag format in component list entry: a#x]["),
        ("- {plugin_name: a, plugin_type: Component}".to_owned(), "invalid_plugin_type@1:33 [0].plugin_type", "invalid plugin type"),
        ("-".to_owned(), "invalid_plugin_type@1:2 [0].plugin_type", "invalid plugin type"),
        ("- {plugin_type: component_list_file, component_list_file: f}".to_owned(), "invalid_plugin_type@1:17 [0].plugin_type", "invalid plugin type"),
        (format!("- {{plugin_name: {long}, {GOOD}}}"), "plugin_name_too_long@1:17 [0].plugin_name", &format!("plugin name is too long: {long}")),
        (format!("- {{plugin_name: ' ', {GOOD}}}"), "component_name_required@1:17 [0].plugin_name", "component name is required"),
        ("- {plugin_name: a, plugin_type: init, health_state_plugin: }".to_owned(), "missing_state_plugin@1:58 [0].health_state_plugin", "state plugin is required"),
        (step("{run_bash_script: {content_type: plaintext, script: x}}"), "step_name_required@1:74 [0].health_state_plugin.steps[0].name", "step name is required"),
        (step("{name: s}"), "missing_plugin_step@1:74 [0].health_state_plugin.steps[0].run_bash_script", "plugin step cannot be empty"),
        (step("{name: s, run_bash_script: {content_type: plaintext}}"), "script_required@1:101 [0].health_state_plugin.steps[0].run_bash_script.script", "script is required"),
        (step("{name: s, run_bash_script: {content_type: text, script: x}}"), "unsupported_content_type@1:116 [0].health_state_plugin.steps[0].run_bash_script.content_type", "unsupported content type: text"),
        (step("{name: s, run_bash_script: {content_type: base64, script: 'YQ='}}"), "invalid_base64@1:132 [0].health_state_plugin.steps[0].run_bash_script.script", "not base64: the standard alphabet, padded with = to a multiple of four characters, is expected"),
        (format!("- {{plugin_name: a, interval: 59s, {GOOD}}}"), "interval_too_short@1:30 [0].interval", "interval is too short"),
    ];
    for (text, place, message) in cases {
        let problem = only(&text);
        assert_eq!(problem_line(&problem), place, "{text}");
        let whole = problem.kind.as_str() != "yaml_syntax";
        assert!(
            problem.message.starts_with(message) && (!whole || problem.message == message),
            "{text}: {}",
            problem.message
        );
    }
    let empty = with_list(
        "- {plugin_name: a, plugin_type: component_list, component_list_file: list.txt}",
        "\n # x\n",
    );
    assert_eq!(
        problem_lines(&empty),
        ["component_list_file_empty@1:70 [0].component_list_file"]
    );
    assert_eq!(
        empty.problems[0].message,
        "component list file list.txt is empty"
    );
}

#[test]
fn what_loads() {
    for (text, expected) in [
        ("", 0),
        ("# nothing\n", 0),
        ("null", 0),
        ("[]", 0),
        (
            "- {plugin_name: a, plugin_type: init, health_state_plugin: {}}",
            1,
        ),
        (
            "- {plugin_name: a, plugin_type: component, health_state_plugin: {}, timeout: -5m, interval: -1s}",
            1,
        ),
        (
            "- {plugin_name: a, plugin_type: component, health_state_plugin: {}, interval: 1m}",
            1,
        ),
        (
            "- {plugin_name: a, plugin_type: component, component_list: [x], component_list_file: f, health_state_plugin: {parser: {}}}",
            1,
        ),
        (
            r#"[{"plugin_name": "a", "plugin_type": "component", "health_state_plugin": {"steps": null}}]"#,
            1,
        ),
        (
            "- {plugin_name: a, plugin_type: component, health_state_plugin: {parser: {json_paths: [{query: '$[', expect: {regex: '('}}]}}}",
            1,
        ),
        (
            "- {plugin_name: a, plugin_type: component, health_state_plugin: {steps: [{name: s, run_bash_script: {content_type: base64, script: \"\\n\"}}]}}",
            1,
        ),
    ] {
        let file = read(text);
        assert_eq!(
            (problem_lines(&file), file.plugins.len()),
            (vec![], expected),
            "{text}"
        );
        for plugin in &file.plugins {
            assert!(plugin.spec.timeout.0 != 0);
        }
    }
}

#[test]
fn queries_patterns_and_run_modes_are_checked() {
    let spec = |parser: &str| {
        let text = format!(
            "- plugin_name: a\n  plugin_type: component\n  run_mode: manuel\n  health_state_plugin:\n    steps: []\n    parser: {parser}\n"
        );
        let file = read(&text);
        let said = |problems: &[Problem]| -> Vec<String> {
            let line = |problem: &Problem| format!("{}: {problem}", problem.kind.as_str());
            problems.iter().map(line).collect()
        };
        (said(&file.problems), said(&file.warnings))
    };
    // What GPUd loads stays loadable.
    let (problems, warnings) =
        spec("{json_paths: [{query: '$[', field: a, expect: {regex: '('}}]}");
    assert_eq!(problems, Vec::<String>::new());
    let begins = [
        "unknown_run_mode: unknown run mode: manuel (f.yaml:3:13, [0].run_mode)",
        "invalid_query: the query does not compile (language gpud): parsing error",
        "invalid_pattern: the regular expression does not compile: ",
    ];
    assert_eq!(warnings.len(), begins.len(), "{warnings:#?}");
    for begin in begins {
        let found = warnings.iter().any(|warning| warning.starts_with(begin));
        assert!(found, "{begin}: {warnings:#?}");
    }
    // What GPUd does not know is held to the rule at once.
    let (problems, _) = spec("{query_language: jsonpath, json_paths: [{query: '$[', field: a}]}");
    assert!(
        problems[0].starts_with("invalid_query: the query does not compile (language jsonpath)")
    );
    let (problems, _) = spec("{query_language: xpath}");
    assert!(
        problems[0].starts_with("unknown_query_language: unknown query language: xpath (f.yaml:6:")
    );
    let (problems, warnings) =
        spec("{query_language: jsonpath, json_paths: [{query: '$.a[?@.b > 1].c', field: a}]}");
    assert_eq!((problems, warnings.len()), (vec![], 1));
}

#[test]
fn actions_keep_the_order_of_the_spec() {
    let file = read(
        "- {plugin_name: a, plugin_type: component, health_state_plugin: {parser: {json_paths: [{suggested_actions: {<<: {M: {regex: m}, Z: }, Z: {regex: z}, y: {}, A: ~, Z: {regex: last}}}]}}}",
    );
    let plugin = file.plugins[0].spec.health_state_plugin.clone().unwrap();
    let rules = plugin
        .parser
        .unwrap()
        .json_paths
        .remove(0)
        .suggested_actions;
    let list: Vec<_> = rules
        .iter()
        .map(|(name, rule)| (name, rule.regex.as_deref()))
        .collect();
    assert_eq!(
        list,
        [
            ("M", Some("m")),
            ("Z", Some("last")),
            ("true", None),
            ("A", None)
        ]
    );
    assert_eq!(file.warnings.len(), 2);
}

/// Texts that look like spec files, with a few characters put in at random.
fn any_file() -> impl Strategy<Value = String> {
    let lines = prop::sample::select(vec![
        "- plugin_name: a\n",
        "- &x\n",
        "  plugin_type: component\n",
        "  plugin_type: component_list\n",
        "  plugin_type: wasm\n",
        "  component_list: [a, 'b#[t]:p', *x]\n",
        "  health_state_plugin: &h\n",
        "    steps:\n",
        "    - name: s\n",
        "      run_bash_script: {content_type: base64, script: YQ==}\n",
        "    parser: {json_paths: [{suggested_actions: {A: }}]}\n",
        "  <<: *x\n",
        "  <<: [*x, *h]\n",
        "  tags: [yes, 010]\n",
        "  config: {a: [1, {b/c: 2.5}], y: .inf}\n",
        "  grants: *h\n",
        "  limits: {memory: 64MiB, states: 0}\n",
        "  path: p\n",
        "  timeout: 1x\n",
        "---\n",
        "- *x\n",
        "\t",
        "?",
        "é",
        "]",
        "\"",
        "\u{0}",
        "\r",
        "|\n",
    ]);
    prop::collection::vec(lines, 0..14).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn no_file_panics(bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..200), any_file().prop_map(String::into_bytes)]) {
        let file = parse(&bytes, "f.yaml", &|_| Ok("a\nb:c\n".to_owned()));
        for problem in file.problems.iter().chain(&file.warnings).chain(&file.duplicates()) {
            prop_assert_eq!(problem.to_string().lines().count(), 1);
            let is_go = problem.kind.as_str() == "schema_mismatch";
            prop_assert!(is_go || problem.report().starts_with(&problem.message));
        }
        for plugin in &file.plugins {
            prop_assert!(!plugin.component.is_empty() && plugin.spec.timeout.0 != 0);
            if let Some(wasm) = &plugin.wasm {
                wasm.config_place("/a/1/b~1c");
                wasm.grants_place("");
            }
        }
    }
}
