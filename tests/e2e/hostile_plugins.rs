//! Plugins that want more than they were granted, each checked once by `gpud plugin run`.

use std::fs;

use serde_json::Value;

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
