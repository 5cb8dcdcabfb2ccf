//! Lists of components, in the file and in files of their own.

use super::*;

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
