use std::fs;

use super::*;
use crate::cli::exit::Stderr;

fn said(text: &str, json: bool) -> Result<Exit, Exit> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("exports.yaml");
    fs::write(&file, text).unwrap();
    check(&file, json)
}

#[test]
fn a_good_file_is_summed_up() {
    let text = "exports:\n  - {name: ops, kind: webhook, url: 'https://h.example/secret'}\n";
    let exit = said(text, false).unwrap();
    let first = exit.stdout.lines().next();
    assert_eq!(first, Some("ops: webhook to https://h.example"));
    assert!(
        exit.stdout.ends_with("1 export, nothing is wrong\n"),
        "{}",
        exit.stdout
    );
    let exit = said(text, true).unwrap();
    let document: Value = serde_json::from_str(&exit.stdout).unwrap();
    assert_eq!(
        document["exports"],
        json!([{"name": "ops", "kind": "webhook", "target": "https://h.example"}])
    );
}

#[test]
fn a_wrong_file_fails_with_the_place() {
    let exit = said("exports:\n  - {name: ops, kind: webhoook}\n", false).unwrap_err();
    let Stderr::Failure(message) = exit.stderr else {
        panic!("{exit:?}");
    };
    assert!(
        message.contains("exports.yaml:2:23: there is no kind \"webhoook\""),
        "{message}"
    );
    let missing = check(Path::new("/nonexistent/exports.yaml"), false).unwrap_err();
    let Stderr::Failure(message) = missing.stderr else {
        panic!("{missing:?}");
    };
    assert!(message.contains("/nonexistent"), "{message}");
}
