//! The required content of a file, how lists expand, and how problems are reported.

use std::path::Path;

use proptest::prelude::*;

use super::{names, problem_line, problem_lines, read};
use crate::{PluginFile, Problem, parse};

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
fn the_order_of_problems_is_that_of_gpuds_stages_and_good_entries_load() {
    let file = read(concat!(
        "- {plugin_name: ' ', plugin_type: component, health_state_plugin: {}, interval: 1s}\n",
        "- {plugin_name: one, plugin_type: component, health_state_plugin: {}}\n",
        "- {plugin_name: l, plugin_type: component_list}\n",
        "- {plugin_name: [], tags: {}}\n",
        "- {plugin_name: two, plugin_type: init, health_state_plugin: {}}\n",
        "- {plugin_name: l, plugin_type: component_list, component_list: [m, ':x', o], health_state_plugin: {}}\n",
        "- {plugin_name: w, plugin_type: wasm}\n",
        "- 5\n",
        "- {<<: 5}\n",
    ));
    assert_eq!(
        problem_lines(&file),
        [
            "yaml_syntax@9:8 [8]",
            "schema_mismatch@4:17 [3].plugin_name",
            "schema_mismatch@4:27 [3].tags",
            "schema_mismatch@8:3 [7]",
            "wasm_path_required@7:3 [6]",
            "component_list_empty@3:3 [2].component_list",
            "component_list_entry_empty_name@6:69 [5].component_list[1]",
            "component_name_required@1:17 [0].plugin_name",
            "interval_too_short@1:81 [0].interval",
        ]
    );
    assert_eq!(names(&file), ["one", "two", "m", "o"]);
    assert!(file.plugins[1].is_init());
}

#[test]
fn lists_expand_in_place_with_name_and_param_put_in() {
    let text = "- plugin_name: parent
  plugin_type: Component_List
  PLUGIN_TYPE: component_list
  run_mode: auto
  tags: [site]
  timeout: 5s
  interval: 2m
  component_list: ['eth0#manual[a, b]:-v ${NAME} 2', '${PAR}:x', 010]
  health_state_plugin:
    steps:
      - {name: '${NAME}', run_bash_script: {content_type: plaintext, script: 'p ${NAME} ${PAR} $NAME ${NAME:-x}'}}
      - {name: s, run_bash_script: {content_type: base64, script: JHtOQU1FfQ==}}
    parser: {log_path: '/x/${NAME}', json_paths: [{query: '${NAME}'}]}
- {plugin_name: last, plugin_type: init, health_state_plugin: {}}
";
    let file = read(text);
    assert_eq!(problem_lines(&file), Vec::<String>::new());
    assert_eq!(names(&file), ["eth0", "${par}", "8", "last"]);
    let specs: Vec<_> = file.plugins.iter().map(|plugin| &plugin.spec).collect();
    let script = |at: usize, step: usize| {
        let plugin = specs[at].health_state_plugin.as_ref().unwrap();
        plugin.steps[step].run_bash_script.clone().unwrap().script
    };
    assert_eq!(script(0, 0), "p eth0 -v ${NAME} 2 $NAME ${NAME:-x}");
    assert_eq!(script(1, 0), "p x x $NAME ${NAME:-x}");
    assert_eq!(script(2, 0), "p 8  $NAME ${NAME:-x}");
    assert_eq!(script(0, 1), "JHtOQU1FfQ==");
    assert_eq!(
        (specs[0].run_mode.as_str(), specs[1].run_mode.as_str()),
        ("manual", "auto")
    );
    assert_eq!(
        (specs[0].tags.join(","), specs[1].tags.join(",")),
        ("a,b".into(), "site".into())
    );
    for (at, plugin) in file.plugins[..3].iter().enumerate() {
        assert_eq!(plugin.spec.plugin_type, "component");
        assert_eq!(
            (
                plugin.spec.timeout.to_string(),
                plugin.spec.interval.to_string()
            ),
            ("5s".into(), "2m0s".into())
        );
        assert!(plugin.spec.component_list.is_empty());
        let state = plugin.spec.health_state_plugin.as_ref().unwrap();
        assert_eq!(state.steps[0].name, "${NAME}");
        assert_eq!(state.parser.as_ref().unwrap().log_path, "/x/${NAME}");
        assert_eq!(plugin.place.column, [20, 54, 66][at]);
    }
    assert!(file.plugins[0].is_manual());
}

#[test]
fn list_files_are_trimmed_and_commented_and_named_in_notes() {
    let text = "- {plugin_name: p, plugin_type: component_list, component_list: [], component_list_file: list.txt, health_state_plugin: {}}";
    let file = with_list(text, "a\r\n\n  # no\n\tb#manual\n:x\n \u{a0}c: d \nA\n");
    assert_eq!(names(&file), ["a", "b", "c", "a"]);
    assert_eq!(file.list_files, [Path::new("list.txt")]);
    assert_eq!(
        problem_lines(&file),
        ["component_list_entry_empty_name@1:90 [0].component_list_file"]
    );
    assert_eq!(file.problems[0].note.as_deref(), Some("line 5 of list.txt"));
    let duplicates = file.duplicates();
    assert_eq!(duplicates.len(), 1);
    let note = duplicates[0].note.as_deref().unwrap();
    assert!(
        note.contains("line 1 of list.txt") && note.contains("line 7 of list.txt"),
        "{note}"
    );
    // A file that is missing is still worth watching.
    let missing =
        read("- {plugin_name: p, plugin_type: component_list, component_list_file: gone}");
    assert_eq!(missing.list_files, [Path::new("gone")]);
}

#[test]
fn a_fault_of_a_lists_template_is_reported_once() {
    let file = read(
        "- {plugin_name: p, plugin_type: component_list, component_list: [a, ' ', b], health_state_plugin: {steps: [{name: x}]}}",
    );
    assert_eq!(
        problem_lines(&file),
        [
            // The copy of a step without a script has lost its name.
            "step_name_required@1:115 [0].health_state_plugin.steps[0].name",
            "missing_plugin_step@1:108 [0].health_state_plugin.steps[0].run_bash_script",
            "component_name_required@1:69 [0].component_list[1]",
        ]
    );
    assert!(file.plugins.is_empty());
    // The parent must have a name, but its length does not matter.
    let long = "n".repeat(300);
    let list = |name: &str| {
        format!(
            "- {{plugin_name: {name}, plugin_type: component_list, component_list: [a], health_state_plugin: {{}}}}"
        )
    };
    assert_eq!(names(&read(&list(&long))), ["a"]);
    assert_eq!(
        problem_lines(&read(&list("' '"))),
        ["component_name_required@1:17 [0].plugin_name"]
    );
    // A param can leave one member without a script.
    let file = read(
        "- {plugin_name: p, plugin_type: component_list, component_list: ['a:x', b], health_state_plugin: {steps: [{name: x, run_bash_script: {content_type: plaintext, script: '${PAR}'}}]}}",
    );
    assert_eq!(
        (names(&file), file.problems[0].kind.as_str()),
        (vec!["a"], "script_required")
    );
}

#[test]
fn duplicates_name_both_places_whatever_the_type() {
    let file = read(
        "- {plugin_name: A b, plugin_type: init, health_state_plugin: {}}\n- {plugin_name: c, plugin_type: component, health_state_plugin: {}}\n- {plugin_name: a B, plugin_type: component, health_state_plugin: {}}\n",
    );
    assert_eq!(file.plugins.len(), 3);
    let duplicates = file.duplicates();
    assert_eq!(duplicates.len(), 1);
    let problem = &duplicates[0];
    assert_eq!(
        problem.to_string(),
        "duplicate component name: a-b (f.yaml:3:3, [2])"
    );
    assert_eq!(
        problem.report(),
        "duplicate component name: a-b\n --> f.yaml:3:3, plugin \"a B\"\n 3 | - {plugin_name: a B, plugin_type: component, health_state_plugin: {}}\n   |   ^\n   = the first one is [0] at f.yaml:1:3; this one is [2]"
    );
}

#[test]
fn warnings_for_what_gpud_passes_over() {
    let file = read(concat!(
        "- plugn_name: x\n  plugin_name: a\n  Plugin_Type: component\n  plugin_name: b\n  config: {}\n",
        "  health_state_plugin: {steps: [], parser: {json_path: []}}\n  steps: []\n---\n- [",
    ));
    assert_eq!((problem_lines(&file), names(&file)), (vec![], vec!["b"]));
    let warnings: Vec<_> = file
        .warnings
        .iter()
        .map(|warning| format!("{} | {}", warning, warning.note.as_deref().unwrap()))
        .collect();
    assert_eq!(
        warnings,
        [
            "unknown key `plugn_name` (f.yaml:1:3, [0].plugn_name) | did you mean `plugin_name`?",
            "key `plugin_name` is given more than once (f.yaml:4:3, [0]) | the last one wins",
            "unknown key `config` (f.yaml:5:3, [0].config) | only an entry with `plugin_type: wasm` has this key; it is ignored here",
            "unknown key `steps` (f.yaml:7:3, [0].steps) | keys known here: plugin_name, plugin_type, run_mode, tags, timeout, interval, health_state_plugin, component_list, component_list_file",
            "unknown key `json_path` (f.yaml:6:45, [0].health_state_plugin.parser.json_path) | did you mean `json_paths`?",
            "only the first YAML document of the file is read (f.yaml:8:1) | what follows is ignored; put all plugins into one list",
        ]
    );
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

#[test]
fn people_read_their_own_words_before_those_of_go() {
    let shape = only("- {plugin_name: a, plugin_type: component, health_state_plugin: {steps: 7}}");
    let report = shape.report();
    assert!(
        report.starts_with("a list is wanted here\n --> f.yaml:1:"),
        "{report}"
    );
    assert!(
        report.ends_with(&format!("\n   = {}", shape.message)),
        "{report}"
    );
    assert!(
        shape
            .message
            .contains("json: cannot unmarshal number into Go struct field")
    );
    let value = only(&format!("- {{plugin_name: a, timeout: 1d, {GOOD}}}"));
    assert!(
        value.report().starts_with("time: unknown unit"),
        "{}",
        value.report()
    );
}

#[test]
fn a_tab_is_blamed_where_it_is() {
    for (text, place) in [
        (
            "- plugin_name: a\n  plugin_type: component\n\thealth_state_plugin: 3\n",
            "3:1",
        ),
        ("-   plugin_name: a\n\ttags: []\n", "2:1"),
        ("- plugin_name: a\n  tags:\n  \t- x\n", "3:3"),
    ] {
        let problem = only(text);
        assert_eq!(
            problem_line(&problem),
            format!("yaml_syntax@{place} "),
            "{text:?}"
        );
        let line = place.split(':').next().unwrap();
        assert!(
            problem.report().contains(&format!("yaml: line {line}: ")),
            "{text:?}: {}",
            problem.report()
        );
    }
}

#[test]
fn a_report_shows_the_line_and_no_more() {
    let script = "- plugin_name: a\n  plugin_type: component\n  health_state_plugin:\n    steps:\n    - name: s\n      run_bash_script:\n        content_type: plain\t# tab\n        script: |\n          secret\n";
    assert_eq!(
        only(script).report(),
        "unsupported content type: plain\n --> f.yaml:7:23, plugin \"a\": health_state_plugin.steps[0].run_bash_script.content_type\n 7 |         content_type: plain # tab\n   |                       ^\n   = one of plaintext, text/plain, base64"
    );
    let wide = format!("- {{x: 字{}, plugin_type: no}}", "é".repeat(200));
    let report = only(&wide).report();
    let lines: Vec<_> = report.lines().collect();
    assert!(
        lines.iter().all(|line| line.chars().count() < 130),
        "{report}"
    );
    let caret = lines[3].find('^').unwrap();
    assert!(
        lines[2]
            .chars()
            .skip(caret)
            .collect::<String>()
            .starts_with("no}"),
        "{report}"
    );
    // Nothing of the file can break the one-line form.
    let odd = only(
        "- {plugin_name: a, plugin_type: component_list, component_list: [\"a#[\\n\\e\"], health_state_plugin: {}}",
    );
    assert_eq!(
        odd.to_string(),
        "invalid tag format in component list entry: a#[\\n\\u{1b} (f.yaml:1:66, [0].component_list[0])"
    );
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
