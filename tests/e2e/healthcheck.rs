//! `gpud healthcheck`, as schedulers and monitoring systems run it.

use std::{fs, process::Output};

use crate::daemon::{Daemon, Start, gpud};

/// A check that says what the file beside it says.
const SPEC: &str = r"
- plugin_name: switch
  plugin_type: component
  run_mode: auto
  timeout: 10s
  interval: 1m
  health_state_plugin:
    steps:
      - name: read
        run_bash_script:
          content_type: plaintext
          script: |
            cat FOLDER/says
    parser:
      json_paths:
        - query: $.status
          field: status
          expect: {regex: '^ok$'}
          suggested_actions:
            HARDWARE_INSPECTION: {regex: '^bad$'}
";

/// Runs with the environment of slurmd's health checks, which is empty.
fn healthcheck(daemon: &Daemon, arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, .. } = gpud()
        .arg("healthcheck")
        .arg(format!("--data-dir={}", daemon.folder().display()))
        .args(arguments)
        .env_clear()
        .output()
        .unwrap();
    (status.code(), String::from_utf8(stdout).unwrap())
}

#[test]
fn each_form_has_its_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let (says, spec) = (folder.path().join("says"), folder.path().join("spec.yaml"));
    fs::write(&says, r#"{"status":"ok"}"#).unwrap();
    let text = SPEC.replace("FOLDER", folder.path().to_str().unwrap());
    fs::write(&spec, text).unwrap();
    let spec = format!("--plugin-specs-file={}", spec.display());
    let daemon = Start::new()
        .arguments(&[&spec, "--components=none"])
        .ready();
    let check = || {
        let (status, _) = daemon.send(
            http::Method::GET,
            "/v1/components/trigger-check?componentName=switch",
        );
        assert_eq!(status, 200);
    };
    let dry_run = [
        "--slurm",
        "--dry-run",
        "--node=n1",
        "--scontrol=/nonexistent",
        "--components=switch",
    ];
    check();
    let (code, said) = healthcheck(&daemon, &["--components=switch"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.starts_with("OK - 1 of 1 components healthy | "),
        "{said}"
    );
    assert_eq!(
        healthcheck(&daemon, &["--components=switch", "--npd"]),
        (Some(0), "1 of 1 components healthy\n".to_owned())
    );

    fs::write(&says, r#"{"status":"bad"}"#).unwrap();
    check();
    let (code, said) = healthcheck(&daemon, &["--components=switch"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.starts_with("CRITICAL - switch: "), "{said}");
    let (code, said) = healthcheck(&daemon, &["--components=switch", "--npd"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with("switch: ") && said.len() <= 81, "{said}");
    // Without Slurm's program, the verdict counts all the same.
    let (code, said) = healthcheck(&daemon, &dry_run);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = healthcheck(&daemon, &[&dry_run[..1], &dry_run[2..]].concat());
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("cannot drain this node") && said.contains("it is unfit: switch: "),
        "{said}"
    );
    let other = ["--components=switch", "--actions=REBOOT_SYSTEM"];
    let (code, said) = healthcheck(&daemon, &other);
    assert_eq!(code, Some(0), "{said}");
    let this = ["--components=switch", "--actions=HARDWARE_INSPECTION"];
    let (code, said) = healthcheck(&daemon, &this);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("[HARDWARE_INSPECTION]"), "{said}");

    daemon.signal("-KILL");
    for (arguments, expected) in [
        (&[][..], 3),
        (&["--npd"], 2),
        (&["--slurm", "--node=n1", "--scontrol=/nonexistent"], 0),
        (&["--no-such-flag"], 3),
    ] {
        let (code, said) = healthcheck(&daemon, arguments);
        assert_eq!(code, Some(expected), "{arguments:?}: {said}");
    }
}
