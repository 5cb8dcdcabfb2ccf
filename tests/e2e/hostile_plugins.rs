//! Plugins that want more than they were granted, each checked once by `gpud plugin run`.

use std::{fs, io::Write as _, process::Stdio};

use serde_json::{Value, json};

use crate::daemon::gpud;

/// What a plugin of `tests/hostile` says of its attempts with this grant.
fn said_with(plugin: &str, grant: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plugin.wasm");
    fs::write(&file, xtask::guests::hostile(plugin)).unwrap();
    let output = gpud()
        .args(["plugin", "run", "--json", "--grant", grant])
        .arg(&file)
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let state = &document["checks"][0]["states"][0];
    let reason = state["reason"].as_str();
    reason.unwrap_or_else(|| panic!("{document}")).to_owned()
}

/// The first attempts set variables of loaders and shells, and one that the grant does not list.
#[test]
fn a_granted_program_gets_no_variable_of_the_plugin() {
    let said = said_with("sets_environment", "exec=/usr/bin/printenv,/usr/bin/id");
    assert_eq!(said, "denied; denied; denied; denied; denied; ran; ran");
}

#[test]
fn a_grant_of_all_files_reaches_no_secret() {
    let said = said_with("reads_secrets", "sysfs=/**");
    assert_eq!(said, "reached [], well true");
}

/// Definitions `0` to `count`, each of which refers to the one before it `times` times.
fn chain(first: &Value, count: usize, times: usize) -> Value {
    let mut definitions = serde_json::Map::new();
    definitions.insert("0".to_owned(), first.clone());
    for number in 1..=count {
        let before = json!({"$ref": format!("#/$defs/{}", number - 1)});
        definitions.insert(number.to_string(), json!({"allOf": vec![before; times]}));
    }
    json!({"$ref": format!("#/$defs/{count}"), "$defs": definitions})
}

/// What such schemas cost is not seen by counting their parts.
#[test]
fn a_schema_that_takes_for_ever_is_validated_with_for_two_seconds() {
    let ask = |schema: &Value, document: &Value| {
        let mut child = gpud()
            .arg("validate-config")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let question = json!({"schema": schema, "document": document, "most": 8});
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(question.to_string().as_bytes()).unwrap();
        drop(stdin);
        child.wait_with_output().unwrap()
    };
    let pattern = json!({"pattern": "^(?:a|b)*a(?:a|b){200}!$"});
    let long: String = "ab".repeat(100_000);
    let large: Vec<u64> = (0..12_000).map(|number| u64::MAX - number).collect();
    for (schema, document) in [
        (chain(&json!({"type": "object"}), 40, 2), json!({})),
        (chain(&pattern, 3, 20), json!(long)),
        (
            chain(&json!({"propertyNames": pattern}), 3, 20),
            json!({ long: 1 }),
        ),
        (chain(&json!({"uniqueItems": true}), 3, 20), json!(large)),
        (
            json!({"$ref": "#/$defs/c/01", "$defs": {"c": [{}, {"not": {"$ref": "#/$defs/c/01"}}]}}),
            json!({}),
        ),
    ] {
        let output = ask(&schema, &document);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{schema}: {said}");
        assert!(output.stdout.is_empty());
    }
    let output = ask(&json!({"type": "object"}), &json!(5));
    let faults: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(faults[0]["pointer"], "");
}
