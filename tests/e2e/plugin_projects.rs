//! `gpud plugin` as somebody new would use it: from an empty folder to a verdict.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use crate::daemon::{Start, eventually, gpud};

fn plugin(folder: &Path, arguments: &[&str]) -> Output {
    gpud()
        .arg("plugin")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn ok(folder: &Path, arguments: &[&str]) -> String {
    let output = plugin(folder, arguments);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}{wrong}");
    said
}

#[test]
fn a_new_rust_plugin_builds_tests_and_runs_at_once() {
    let home = tempfile::tempdir().unwrap();
    ok(home.path(), &["new", "--lang", "rust", "fan-check"]);
    let folder = home.path().join("fan-check");
    let told = plugin(&folder, &["test"]);
    if !told.status.success() {
        // Its own tests ran first.
        let wrong = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(wrong.contains("`gpud plugin build` makes it"), "{wrong}");
    }
    ok(&folder, &["build"]);
    let tested = ok(&folder, &["test"]);
    assert!(tested.ends_with("4 cases, all as expected\n"), "{tested}");
    let inspected = ok(&folder, &["inspect", "fan-check.wasm"]);
    assert!(inspected.contains("asks for  config, sysfs"), "{inspected}");
    assert!(!inspected.contains("WASI"), "{inspected}");
    let valid = ok(&folder, &["validate", "fan-check.wasm"]);
    assert!(!valid.contains('✘'), "{valid}");
    let ran = ok(
        &folder,
        &[
            "run",
            "fan-check.wasm",
            "--grant",
            "sysfs=/sys/class/hwmon/**",
            "--grant",
            "config",
        ],
    );
    assert!(ran.contains("host calls"), "{ran}");
    let same = ok(
        &folder,
        &["diff", "fan-check.wasm", "fan-check.wasm", "--exit-code"],
    );
    assert!(same.contains("byte for byte"), "{same}");
    let refused = plugin(&folder, &["run", "fan-check.wasm", "--grant", "config"]);
    let wrong = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && wrong.contains("`sysfs` without a grant"),
        "{wrong}"
    );

    // Five lines of a spec, and a daemon that runs already.
    let specs = home.path().join("specs.yaml");
    let data = home.path().join("data");
    fs::create_dir(&data).unwrap();
    let daemon = Start::new()
        .folder(&data)
        .arguments(&[
            "--components",
            "none",
            "--plugin-specs-file",
            specs.to_str().unwrap(),
        ])
        .spawn();
    eventually("it answers", || {
        daemon
            .try_get("/healthz")
            .filter(|(status, _)| *status == 200)
    });
    let entry = fs::read_to_string(folder.join("plugin.yaml")).unwrap();
    let absolute = folder.join("fan-check.wasm").display().to_string();
    fs::write(
        &specs,
        entry.replace("path: fan-check.wasm", &format!("path: {absolute}")),
    )
    .unwrap();
    eventually("it is there", || {
        let names = daemon.get("/v1/components");
        names
            .as_array()?
            .iter()
            .any(|name| name == "fan-check")
            .then_some(())
    });
    let checked = Command::new(env!("CARGO_BIN_EXE_gpud"))
        .args(["cs", "plugin.yaml"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(checked.status.success());
}

#[test]
fn a_file_of_plugins_is_still_checked() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("none.yaml"), "[]\n").unwrap();
    let output = plugin(home.path(), &["none.yaml"]);
    assert!(output.status.success(), "{output:?}");
    let output = plugin(home.path(), &["inspect", "none.yaml"]);
    assert!(!output.status.success());
    let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(wrong.contains("does not begin like WebAssembly"), "{wrong}");
}
