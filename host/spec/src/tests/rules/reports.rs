//! How problems and warnings are shown.

use super::*;

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
fn a_line_of_a_log_shows_what_is_invisible() {
    let file = read(concat!(
        "- {plugin_name: a, plugin_type: component, health_state_plugin: {steps: [{name: s, ",
        "run_bash_script: {content_type: \"x\\u202ey\\e[31m\", script: s}}]}}\n",
    ));
    let line = file.problems[0].to_string();
    assert!(line.contains("x\\u{202e}y\\u{1b}[31m"), "{line}");
    assert!(!line.contains('\u{202e}'), "{line}");
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
