//! What stands in the way of a start, and what does not.

use std::{net::TcpListener, os::unix::fs::symlink, path::Path, process::Command};

use http::Method;
use serde_json::json;

use crate::daemon::{Start, eventually, gpud};

/// Runs a daemon that is expected to end by itself; its exit and what it said.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = gpud().arg("run").args(arguments).output().unwrap();
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[test]
fn a_taken_port_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let (code, said) = refused(&[
        "--data-dir",
        folder.path().to_str().unwrap(),
        "--listen-address",
        &address,
    ]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains(&address) && said.contains("--listen-address"),
        "{said}"
    );
}

#[test]
fn a_second_daemon_on_the_same_folder_is_refused() {
    let daemon = Start::new().ready();
    let folder = daemon.folder().to_str().unwrap().to_owned();
    let (code, said) = refused(&["--data-dir", &folder, "--listen-address", "127.0.0.1:0"]);
    assert_eq!(code, Some(1));
    assert!(said.contains(&folder), "{said}");
    assert_eq!(
        daemon.state("cpu")["health"],
        "Healthy",
        "the first one goes on"
    );
    let output = gpud()
        .args(["compact", "--data-dir", &folder])
        .output()
        .unwrap();
    assert!(
        !output.status.success(),
        "nor is its database compacted under it"
    );
}

#[test]
fn a_bad_certificate_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no.pem");
    let missing = missing.to_str().unwrap();
    let (code, said) = refused(&[
        "--data-dir",
        folder.path().to_str().unwrap(),
        "--listen-address=127.0.0.1:0",
        "--tls-cert",
        missing,
        "--tls-key",
        missing,
    ]);
    assert_eq!(code, Some(1));
    assert!(said.contains("no.pem"), "{said}");
}

#[test]
fn compiled_code_is_cached_and_a_broken_cache_is_replaced() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let compiled = |daemon: &crate::daemon::Daemon| {
        let log = daemon.log();
        let line = log
            .lines()
            .rfind(|line| line.contains("all components are loaded"))
            .unwrap()
            .to_owned();
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        line["compiled"].as_u64().unwrap()
    };
    // The plain binary, without the code of a release.
    let start = || {
        Start::new()
            .program(Path::new(env!("CARGO_BIN_EXE_gpud")))
            .folder(&data)
            .arguments(&["--components=cpu,disk"])
    };
    let first = start().ready();
    assert_eq!(compiled(&first), 2);
    drop(first);
    let cache = data.join("cache");
    let mut spoiled = 0;
    for entry in std::fs::read_dir(&cache).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "cwasm")
            && spoiled < 1
        {
            std::fs::write(&path, b"not code").unwrap();
            spoiled += 1;
        }
    }
    let second = start().ready();
    assert_eq!(compiled(&second), 1, "{}", second.log());
    drop(second);
    assert_eq!(compiled(&start().ready()), 0);
}

#[test]
fn requests_wait_for_checkers_that_are_being_compiled() {
    let cold = tempfile::tempdir().unwrap();
    let daemon = Start::new()
        .program(Path::new(env!("CARGO_BIN_EXE_gpud")))
        .folder(cold.path())
        .arguments(&["--components=cpu,disk,memory"])
        .spawn();
    eventually("it answers", || daemon.try_get("/healthz"));
    let (status, body) = daemon.send(
        Method::POST,
        "/v1/health-states/set-healthy?components=disk",
    );
    let body = String::from_utf8(body).unwrap();
    assert_eq!(status, 200, "{body}");
    assert!(body.contains(r#""successful":["disk"]"#), "{body}");
    assert_eq!(
        daemon.get("/v1/components/trigger-tag?tagName=memory"),
        json!({"components": ["memory"], "exit": 0, "success": true})
    );
    let checked = daemon.get("/v1/components/trigger-check?componentName=cpu");
    assert_eq!(checked[0]["states"][0]["reason"], "ok", "{checked}");
}

#[test]
fn a_cache_folder_that_is_not_ours_is_not_touched() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let elsewhere = home.path().join("elsewhere");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, data.join("cache")).unwrap();
    let daemon = Start::new().folder(&data).ready();
    assert_eq!(daemon.state("cpu")["health"], "Healthy");
    assert!(
        daemon.log().contains("compiled code cannot be kept"),
        "{}",
        daemon.log()
    );
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn a_bad_command_line_says_what_is_wrong() {
    for (arguments, code, said) in [
        (&["nonsense"][..], 3, "No help topic for 'nonsense'"),
        (&["run", "--listen-adress=x"], 1, "listen-adress"),
        (&["run", "--events-retention-period=1h30"], 1, "1h30"),
        (&["run", "--xid-thresholds={\"x\":1}"], 1, "xid thresholds"),
        (&["scan", "--fail-on=never"], 1, "never"),
    ] {
        let output = gpud().args(arguments).output().unwrap();
        let all = [output.stdout, output.stderr].concat();
        let all = String::from_utf8_lossy(&all);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {all}");
        assert!(all.contains(said), "{arguments:?}: {all}");
    }
    let version = Command::new(env!("CARGO_BIN_EXE_gpud"))
        .arg("--version")
        .output()
        .unwrap();
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    assert!(
        version.starts_with("gpud version 0.1.0 (")
            && version.ends_with("contract gpud:plugin@0.1.0)\n")
            && version.lines().count() == 1,
        "{version}"
    );
}

#[test]
fn the_operators_commands_take_the_place_of_lsblk_and_findmnt() {
    let home = tempfile::tempdir().unwrap();
    let marker = |name: &str| home.path().join(name);
    let command = |name: &str| {
        let file = marker(name);
        format!("--{name}-commands=echo x >> '{}'; {name}", file.display())
    };
    let daemon = Start::new()
        .arguments(&[
            "--plugin-specs-file=",
            "--components=disk",
            &command("lsblk"),
            &command("findmnt"),
        ])
        .ready();
    // The check, which asks both.
    for name in ["lsblk", "findmnt"] {
        assert!(marker(name).exists(), "{name}\n{}", daemon.log());
    }
    assert_ne!(daemon.state("disk")["health"], "Initializing");
}
