//! A site's own configuration of built-in components.

use std::{fs, path::Path};

use serde_json::Value;

use crate::daemon::{Start, eventually, gpud};

fn write(folder: &Path, text: &str) -> String {
    let file = folder.join("components.yaml");
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

/// What a scan says of one component.
fn scanned(configs: &str, component: &str) -> Value {
    let output = gpud()
        .args(["scan", "--json", "--components", component])
        .args(["--component-configs-file", configs])
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    found["components"][0]["states"][0].clone()
}

#[test]
fn a_part_that_does_not_fit_is_reported_and_the_component_runs_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let good = write(folder.path(), "block-io: {io_error_window_seconds: 3600}\n");
    let state = scanned(&good, "block-io");
    assert_eq!(state["error"], Value::Null, "{state}");

    let bad = write(
        folder.path(),
        "block-io:\n  io_error_window_seconds: soon\npci: {x: 1}\n",
    );
    let state = scanned(&bad, "block-io");
    let error = state["error"].as_str().unwrap();
    assert!(
        error.starts_with(&format!(
            "{bad}: block-io: config does not fit: /io_error_window_seconds: "
        )),
        "{error}"
    );
    let daemon = Start::new()
        .arguments(&[
            "--components=block-io,pci",
            "--component-configs-file",
            &bad,
        ])
        .ready();
    let error = |component| {
        eventually("the first check", || {
            daemon.state(component)["error"].as_str().map(str::to_owned)
        })
    };
    assert!(error("block-io").contains("it runs without this part"));
    assert!(error("pci").contains("pci: it takes no configuration"));
}

#[test]
fn a_file_that_is_wrong_as_a_whole_ends_a_scan_and_not_the_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "cpus: {}\n");
    let message = "no built-in component is called \"cpus\"";
    for command in [&["scan"][..], &["explain", "xid", "79"]] {
        let output = gpud()
            .args(command)
            .args(["--component-configs-file", &file])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        let problem = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(problem.contains(message), "{problem}");
    }
    let daemon = Start::new()
        .arguments(&["--components=cpu", "--component-configs-file", &file])
        .ready();
    let state = daemon.state("component-configs");
    assert_eq!(state["health"], "Unhealthy");
    assert!(
        state["reason"].as_str().unwrap().contains(message),
        "{state}"
    );
    assert_eq!(daemon.state("cpu")["component"], "cpu");
}

#[test]
fn a_policy_is_shown_where_it_changes_a_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let policy =
        "accelerator-nvidia-error-xid:\n  policy:\n    79: {actions: [HARDWARE_INSPECTION]}\n";
    let file = write(folder.path(), policy);
    let output = gpud()
        .args(["explain", "xid", "79", "--component-configs-file", &file])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for part in ["HARDWARE_INSPECTION", "(site policy)"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
