//! A spec file.

#![no_main]

use std::path::Path;

use gpud_fuzz::{
    script::base64,
    small_stack,
    spec::{
        self, DEFAULT_TIMEOUT, MAX_PLUGIN_NAME_BYTES, MIN_INTERVAL, Plugin, Problem, component_name,
    },
    wire::{GoDuration, RunBashScript, to_json, to_yaml},
};
use libfuzzer_sys::fuzz_target;

/// As many as a file may have of each, and one that counts the rest.
const MAX_PROBLEMS: usize = 1001;

fuzz_target!(init: small_stack(), |bytes: &[u8]| {
    let file = spec::parse(bytes, "fuzz.yaml", &read_list);
    for list in [&file.problems, &file.warnings, &file.duplicates()] {
        assert!(list.len() <= MAX_PROBLEMS);
        list.iter().for_each(|problem| check_problem(problem, bytes));
    }
    file.plugins.iter().for_each(check_plugin);
});

/// A list file that is there for every name but one.
fn read_list(path: &Path) -> Result<String, String> {
    match path.to_str() {
        Some("absent") => Err("no such file or directory".to_owned()),
        _ => Ok("# all of them\n\neth0#manual[a, b]:-v 2\neth1\n#[\n".to_owned()),
    }
}

fn check_problem(problem: &Problem, bytes: &[u8]) {
    if let Some(place) = problem.place {
        let text = str::from_utf8(bytes).expect("a place is in a text");
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // LF, CR LF and CR alone end a line.
        let text = text.replace("\r\n", "\n");
        let line = usize::try_from(place.line).expect("a line number");
        let line = text.split(['\n', '\r']).nth(line - 1);
        let columns = line.expect("a line of the file").chars().count();
        let column = usize::try_from(place.column).expect("a column number");
        assert!((1..=columns + 1).contains(&column), "{problem}");
    }
    assert!(!problem.kind.as_str().is_empty());
    assert!(problem.message.len() <= 2048 + '…'.len_utf8());
    assert!(!problem.to_string().contains(char::is_control), "{problem}");
    assert!(problem.report().starts_with(&problem.message));
}

fn check_plugin(plugin: &Plugin) {
    let spec = &plugin.spec;
    assert!(!plugin.component.is_empty());
    assert_eq!(plugin.component, component_name(&spec.plugin_name));
    assert!(spec.plugin_name.len() <= MAX_PLUGIN_NAME_BYTES);
    assert_ne!(
        spec.timeout,
        GoDuration(0),
        "{DEFAULT_TIMEOUT:?} is the default"
    );
    assert!(spec.interval <= GoDuration(0) || spec.interval >= MIN_INTERVAL);
    assert_eq!(plugin.tags().len(), 2 + spec.tags.len());
    match spec.plugin_type.as_str() {
        "component" | "init" => {
            assert!(plugin.wasm.is_none() && spec.wasm.is_none());
            let state = spec.health_state_plugin.as_ref().expect("a state plugin");
            for step in &state.steps {
                assert!(!step.name.is_empty());
                check_script(step.run_bash_script.as_ref().expect("a script"));
            }
        }
        "wasm" => {
            let (places, wasm) = (plugin.wasm.as_ref(), spec.wasm.as_ref());
            let (places, wasm) = (places.expect("places"), wasm.expect("values"));
            assert!(!wasm.path.is_empty());
            assert!(wasm.config.is_object() && wasm.grants.is_object());
            assert!(wasm.config.to_string().len() <= spec::MAX_JSON_BYTES);
            places.config_place("/a/0/b");
            places.grants_place("/fs/read/0");
        }
        other => panic!("{other}"),
    }
    to_json(spec).expect("JSON");
    to_yaml(spec).expect("YAML");
}

fn check_script(bash: &RunBashScript) {
    assert!(!bash.script.is_empty());
    match bash.content_type.as_str() {
        "plaintext" | "text/plain" => {}
        "base64" => assert!(base64::decode(&bash.script).is_ok()),
        other => panic!("{other}"),
    }
}
