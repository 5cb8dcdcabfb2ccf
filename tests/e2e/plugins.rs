//! Plugins of a spec file, and those registered while the daemon runs.

use std::{path::Path, process::Command};

use http::Method;
use serde_json::{Value, json};

use crate::daemon::{Daemon, Start, eventually};

/// The example of GPUd's users: one of each kind of run mode, three plugins with one tag.
const SPECS: &str = r#"
- plugin_name: Fan Tray
  plugin_type: component
  run_mode: auto
  tags: [cooling]
  timeout: 20s
  interval: 5m
  health_state_plugin:
    steps:
      - name: read sensors
        run_bash_script:
          content_type: plaintext
          script: |
            echo "fan tray probe"
            echo '{"tray": {"rpm": 0}, "advice": "replace tray 2"}'
    parser:
      json_paths:
        - query: $.tray.rpm
          field: rpm
          expect:
            regex: "^[1-9]"
        - query: $.advice
          field: advice
          suggested_actions:
            HARDWARE_INSPECTION:
              regex: "(?i)replace"
- plugin_name: manual-exit-1
  plugin_type: component
  run_mode: manual
  timeout: 1m
  health_state_plugin:
    steps:
      - name: fail
        run_bash_script:
          content_type: base64
          script: ZWNobyAneyJyZXN1bHQiOiAibm90IG9rIn0nOyBleGl0IDE=
    parser:
      json_paths:
        - query: $.result
          field: result
          suggested_actions:
            REBOOT_SYSTEM:
              regex: "^not ok$"
- plugin_name: echo
  plugin_type: component_list
  run_mode: auto
  interval: 10m
  tags: [echo]
  component_list: ["one:1", "two:2", "three#manual[echo,slow]:3"]
  health_state_plugin:
    steps:
      - name: echo
        run_bash_script:
          content_type: plaintext
          script: echo "${NAME} ${PAR}"
"#;

fn with_specs(folder: &Path, specs: &str) -> Daemon {
    start(folder, specs, "none")
}

fn start(folder: &Path, specs: &str, components: &str) -> Daemon {
    let file = folder.join("specs.yaml");
    std::fs::write(&file, specs).unwrap();
    let daemon = Start::new()
        .folder(folder)
        .arguments(&[
            "--plugin-specs-file",
            file.to_str().unwrap(),
            "--components",
            components,
        ])
        .spawn();
    eventually("it answers", || {
        daemon
            .try_get("/healthz")
            .filter(|(status, _)| *status == 200)
    });
    daemon
}

fn names(daemon: &Daemon) -> Vec<String> {
    let names = daemon.get("/v1/components");
    let names = names.as_array().unwrap().iter();
    names
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

fn reason(daemon: &Daemon, component: &str) -> String {
    daemon.state(component)["reason"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn checked(daemon: &Daemon, component: &str) -> Value {
    eventually("it is checked", || {
        let state = daemon.state(component);
        (state["reason"] != "no data yet").then_some(state)
    })
}

/// A name that another spec of the same shape may have.
fn echo(name: &str, script: &str) -> String {
    format!(
        "- plugin_name: {name}\n  plugin_type: component\n  run_mode: auto\n  interval: 10m\n  health_state_plugin:\n    steps:\n      - name: s\n        run_bash_script:\n          content_type: plaintext\n          script: {script}\n"
    )
}

#[test]
fn specs_run_as_in_gpud() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = with_specs(folder.path(), SPECS);
    assert_eq!(
        names(&daemon),
        ["fan-tray", "manual-exit-1", "one", "three", "two"]
    );
    let mut fan = checked(&daemon, "fan-tray");
    assert!(fan["time"].as_str().unwrap().ends_with('Z'));
    fan["time"] = json!(null);
    assert_eq!(
        fan,
        json!({
            "time": null, "component": "fan-tray", "component_type": "custom-plugin", "name": "check",
            "run_mode": "auto", "health": "Unhealthy", "reason": "unexpected plugin output",
            "suggested_actions": {"description": "replace tray 2", "repair_actions": ["HARDWARE_INSPECTION"]},
            "extra_info": {"advice": "replace tray 2", "rpm": "0"},
            "raw_output": "fan tray probe\n{\"tray\": {\"rpm\": 0}, \"advice\": \"replace tray 2\"}\n",
        })
    );

    a_manual_plugin_waits_to_be_asked(&daemon);
    plugins_of_a_tag_run_together(&daemon);
    plugins_are_listed_and_measured(&daemon);

    // GPUd's way to be rid of one, until the next start.
    let gone = daemon.send(Method::DELETE, "/v1/components?componentName=two");
    assert_eq!(
        (gone.0, String::from_utf8(gone.1).unwrap().as_str()),
        (
            200,
            r#"{"code":200,"component":"two","message":"component deregistered"}"#
        )
    );
    assert_eq!(
        daemon
            .send(Method::DELETE, "/v1/components?componentName=two")
            .0,
        404
    );
    assert_eq!(daemon.send(Method::GET, "/v1/states?components=two").0, 404);
    assert!(!names(&daemon).contains(&"two".to_owned()));
}

fn a_manual_plugin_waits_to_be_asked(daemon: &Daemon) {
    let waiting = daemon.state("manual-exit-1");
    assert_eq!(
        (&waiting["health"], &waiting["reason"], &waiting["name"]),
        (&json!("Healthy"), &json!("no data yet"), &json!("check"))
    );
    let asked = daemon.get("/v1/components/trigger-check?componentName=manual-exit-1");
    let state = &asked[0]["states"][0];
    assert_eq!(
        state["reason"],
        "error executing state plugin (exit code: 1)"
    );
    assert_eq!(state["error"], "exit status 1");
    assert_eq!(
        state["suggested_actions"],
        json!({"description": "not ok", "repair_actions": ["REBOOT_SYSTEM"]})
    );
    assert_eq!(daemon.state("manual-exit-1")["reason"], state["reason"]);
}

fn plugins_of_a_tag_run_together(daemon: &Daemon) {
    let tagged = daemon.get("/v1/components/trigger-check?tagName=echo");
    let outputs: Vec<_> = tagged
        .as_array()
        .unwrap()
        .iter()
        .map(|of| {
            (
                of["component"].as_str().unwrap(),
                of["states"][0]["raw_output"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        outputs,
        [
            ("one", "one 1\n"),
            ("three", "three 3\n"),
            ("two", "two 2\n")
        ]
    );
    assert_eq!(
        daemon.get("/v1/components/trigger-tag?tagName=custom-plugin"),
        json!({"components": ["fan-tray", "manual-exit-1", "one", "three", "two"], "exit": 1, "success": false})
    );
}

fn plugins_are_listed_and_measured(daemon: &Daemon) {
    let plugins = daemon.get("/v1/plugins");
    assert_eq!(plugins.as_array().unwrap().len(), 5);
    assert_eq!(plugins[0]["plugin_name"], "Fan Tray");
    assert_eq!(
        (&plugins[0]["timeout"], &plugins[0]["interval"]),
        (&json!("20s"), &json!("5m0s"))
    );
    assert_eq!(plugins[2]["plugin_type"], "component");
    assert_eq!(
        plugins[2]["health_state_plugin"]["steps"][0]["run_bash_script"]["script"],
        "echo \"one 1\""
    );
    let (_, metrics) = daemon.send(Method::GET, "/metrics");
    let metrics = String::from_utf8(metrics).unwrap();
    assert!(metrics.contains("fan_tray_health_state_unhealthy{gpud_component=\"fan-tray\"} 1"));
    assert!(metrics.contains("fan_tray_health_state_healthy{gpud_component=\"fan-tray\"} 0"));
}

#[test]
fn edits_are_applied_and_broken_ones_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("specs.yaml");
    let list = folder.path().join("list.txt");
    std::fs::write(&list, "# of disks\nsda\n").unwrap();
    let with_list = format!(
        "{}- plugin_name: disks\n  plugin_type: component_list\n  component_list_file: {}\n  health_state_plugin: {{}}\n",
        echo("kept", "echo $$"),
        list.display()
    );
    let daemon = with_specs(folder.path(), &with_list);
    assert_eq!(names(&daemon), ["kept", "sda"]);
    let before = checked(&daemon, "kept");

    std::fs::write(&list, "sda\nsdb\n").unwrap();
    eventually("the list is read again", || {
        (names(&daemon) == ["kept", "sda", "sdb"]).then_some(())
    });
    assert_eq!(
        checked(&daemon, "kept"),
        before,
        "what is unchanged goes on"
    );

    std::fs::write(
        &file,
        format!("{with_list}- plugin_name: bad\n  plugin_type: compoment\n"),
    )
    .unwrap();
    let shown = eventually("the edit is refused", || {
        names(&daemon)
            .contains(&"plugin-specs".to_owned())
            .then(|| reason(&daemon, "plugin-specs"))
    });
    for part in ["was refused", "invalid plugin type", "specs.yaml:16:16"] {
        assert!(shown.contains(part), "{shown}");
    }
    assert_eq!(names(&daemon), ["kept", "plugin-specs", "sda", "sdb"]);

    std::fs::remove_file(&file).unwrap();
    eventually("a missing file is said", || {
        reason(&daemon, "plugin-specs")
            .contains("no such file")
            .then_some(())
    });
    assert!(names(&daemon).contains(&"kept".to_owned()));

    // As editors and configuration managers do it.
    let new = folder.path().join("specs.new");
    std::fs::write(&new, echo("kept", "echo edited")).unwrap();
    std::fs::rename(&new, &file).unwrap();
    eventually("the new file is applied", || {
        (names(&daemon) == ["kept"]).then_some(())
    });
    assert_eq!(checked(&daemon, "kept")["raw_output"], "edited\n");
    // A client that watches the trouble sees it end.
    let state = daemon.state("plugin-specs");
    assert_eq!(
        json!([state["health"], state["reason"]]),
        json!(["Healthy", "ok"])
    );
    assert_eq!(
        daemon
            .send(
                Method::GET,
                "/v1/components/trigger-check?componentName=plugin-specs"
            )
            .0,
        200
    );
}

#[test]
fn valid_plugins_run_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let specs = format!(
        "{}{}{}- plugin_name: late\n  plugin_type: component\n  interval: 5s\n  health_state_plugin: {{}}\n",
        echo("good", "echo good"),
        echo("cpu", "echo mine"),
        echo("Good", "echo twice"),
    );
    let daemon = start(folder.path(), &specs, "cpu");
    assert_eq!(names(&daemon), ["cpu", "good", "plugin-specs"]);
    assert_eq!(checked(&daemon, "good")["raw_output"], "good\n");
    let shown = reason(&daemon, "plugin-specs");
    for part in [
        "interval is too short",
        "duplicate component name: good",
        "component `cpu` is already registered",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }

    // What did not run is not forgotten over another edit.
    let specs = format!(
        "{}{}",
        echo("good", "echo better"),
        echo("cpu", "echo mine")
    );
    std::fs::write(folder.path().join("specs.yaml"), specs).unwrap();
    let shown = eventually("the edit is refused", || {
        let shown = reason(&daemon, "plugin-specs");
        shown.contains("was refused").then_some(shown)
    });
    assert!(
        shown.contains("component `cpu` is already registered"),
        "{shown}"
    );

    let folder = tempfile::tempdir().unwrap();
    let daemon = start(folder.path(), "- plugin_name: [", "none");
    assert_eq!(names(&daemon), ["plugin-specs"]);
    assert!(reason(&daemon, "plugin-specs").contains("error converting YAML to JSON"));
}

#[test]
fn init_plugins_come_first() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let init = |name: &str, script: &str| {
        echo(name, script).replace("plugin_type: component", "plugin_type: init")
    };
    let specs = format!(
        "{}{}{}",
        echo("after", &format!("cat {}", mark.display())),
        init("b-init", &format!("echo b >> {}", mark.display())),
        init("a-init", &format!("echo a >> {}", mark.display())),
    );
    let daemon = with_specs(folder.path(), &specs);
    assert_eq!(names(&daemon), ["after"]);
    assert_eq!(checked(&daemon, "after")["raw_output"], "a\nb\n");
    drop(daemon);

    let file = folder.path().join("specs.yaml");
    std::fs::write(&file, init("Broken Init", "exit 3")).unwrap();
    let other = tempfile::tempdir().unwrap();
    let daemon = Start::new()
        .folder(other.path())
        .arguments(&["--plugin-specs-file", file.to_str().unwrap()])
        .spawn();
    let (status, log) = daemon.wait();
    assert_eq!(status.code(), Some(1));
    assert!(
        log.contains(
            "failed to start init plugin broken-init: error executing state plugin (exit code: 3)"
        ),
        "{log}"
    );
}

#[test]
fn plugins_are_registered_and_replaced_while_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = with_specs(folder.path(), &echo("of-file", "echo file"));
    let (status, answer) =
        daemon.send_body(Method::POST, "/v1/plugins", &echo("New One", "echo new"));
    assert_eq!(
        (status, answer.as_str()),
        (
            200,
            r#"{"code":200,"components":["new-one"],"message":"plugins registered"}"#
        )
    );
    assert_eq!(checked(&daemon, "new-one")["raw_output"], "new\n");
    let (status, answer) =
        daemon.send_body(Method::POST, "/v1/plugins", &echo("of-file", "echo other"));
    assert_eq!(status, 409, "{answer}");
    assert!(answer.contains("of-file"), "{answer}");
    let json = r#"[{"plugin_name":"of-file","plugin_type":"component","health_state_plugin":{"steps":[{"name":"s","run_bash_script":{"content_type":"plaintext","script":"echo other"}}]}}]"#;
    let (status, answer) = daemon.send_body(Method::PUT, "/v1/plugins", json);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(checked(&daemon, "of-file")["raw_output"], "other\n");

    for (body, part) in [
        (
            "- plugin_name: x\n  plugin_type: y\n",
            "invalid plugin type",
        ),
        ("{", "error converting YAML to JSON"),
        ("", "no plugin"),
        ("[]", "no plugin"),
        (
            "- plugin_name: i\n  plugin_type: init\n  health_state_plugin: {}\n",
            "init plugins",
        ),
        (
            "- plugin_name: w\n  plugin_type: wasm\n  path: x.wasm\n",
            "not absolute",
        ),
        (
            "- plugin_name: w\n  plugin_type: wasm\n  path: /nowhere.wasm\n",
            "no such file",
        ),
    ] {
        let (status, answer) = daemon.send_body(Method::PUT, "/v1/plugins", body);
        assert_eq!(status, 400, "{body}: {answer}");
        assert!(answer.contains(part), "{body}: {answer}");
    }
    assert_eq!(names(&daemon), ["new-one", "of-file"], "all or nothing");
    assert_eq!(
        daemon
            .send(Method::DELETE, "/v1/components?componentName=new-one")
            .0,
        200
    );
    assert_eq!(names(&daemon), ["of-file"]);
}

#[test]
fn a_wasm_entry_runs_beside_scripts() {
    let folder = tempfile::tempdir().unwrap();
    let memory = xtask::guests::alone("memory");
    std::fs::write(folder.path().join("memory.wasm"), memory).unwrap();
    std::fs::write(folder.path().join("broken.wasm"), "\0asm").unwrap();
    let entry = |name: &str, path: &str, grants: &str| {
        format!(
            "- plugin_name: {name}\n  plugin_type: wasm\n  path: {path}\n  tags: [board]\n  interval: 1h\n  grants: {grants}\n"
        )
    };
    let all = "{ sysfs: [/proc/meminfo, /proc/vmallocinfo], kmsg: yes, state: on, history: true, config: true }";
    let specs = format!(
        "{}{}{}{}",
        entry("My Memory", "memory.wasm", all),
        entry(
            "greedy",
            "memory.wasm",
            "{ kmsg: true, state: true, history: true, config: true }"
        ),
        entry("broken", "broken.wasm", "{}"),
        echo("script", "echo script")
    );
    let daemon = with_specs(folder.path(), &specs);
    let state = eventually("it is loaded and checked", || {
        let state = daemon.state("my-memory");
        (state["reason"] == "ok").then_some(state)
    });
    assert_eq!(
        (&state["component"], &state["health"]),
        (&json!("my-memory"), &json!("Healthy"))
    );
    for (component, part) in [
        ("greedy", "imports `sysfs` without a grant"),
        ("broken", "WebAssembly"),
    ] {
        eventually("it says why not", || {
            reason(&daemon, component).contains(part).then_some(())
        });
    }
    for tag in ["board", "my-memory"] {
        assert_eq!(
            daemon.get(&format!("/v1/components/trigger-tag?tagName={tag}")),
            json!({"components": ["my-memory"], "exit": 0, "success": true})
        );
    }
    let plugins = daemon.get("/v1/plugins");
    assert_eq!(plugins[2]["path"], "memory.wasm");
    assert_eq!(plugins[2]["grants"]["kmsg"], json!(true));

    // A repaired file is loaded without touching the spec.
    std::fs::write(folder.path().join("broken.wasm"), memory).unwrap();
    eventually("the edit is refused for what it asks", || {
        names(&daemon)
            .contains(&"plugin-specs".to_owned())
            .then_some(())
    });
    assert!(reason(&daemon, "plugin-specs").contains("without a grant"));
}

#[test]
fn nothing_is_left_when_the_daemon_stops() {
    let folder = tempfile::tempdir().unwrap();
    let mark = format!("gpud-test-{}", std::process::id());
    let daemon = with_specs(
        folder.path(),
        &echo(
            "sleeper",
            &format!("'bash -c \"sleep 3000; : {mark}\" & sleep 3000; : {mark}'"),
        ),
    );
    let running = || {
        let found = Command::new("pgrep")
            .args(["-f", &format!("sleep 3000; : {mark}")])
            .output()
            .unwrap();
        !found.stdout.is_empty()
    };
    eventually("the script runs", || running().then_some(()));
    daemon.signal("-TERM");
    let (status, _) = daemon.wait();
    assert!(status.success());
    eventually("everything is gone", || (!running()).then_some(()));
}

#[test]
fn only_root_and_the_daemon_itself_register_plugins() {
    let whoami = Command::new("id").arg("-u").output().unwrap();
    let curl = Command::new("curl").arg("--version").output();
    if whoami.stdout != b"0\n" || !curl.is_ok_and(|found| found.status.success()) {
        eprintln!("left out: needs root, to become somebody else, and curl");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let daemon = with_specs(folder.path(), "");
    let as_user = |user: &str| {
        let specs = echo("mine", "id");
        let asked = Command::new("setpriv")
            .args([
                "--reuid",
                user,
                "--clear-groups",
                "curl",
                "-sk",
                "-X",
                "POST",
                "-o",
                "/dev/null",
                "-w",
                "%{http_code}",
            ])
            .args([
                "--data-binary",
                &specs,
                &format!("{}/v1/plugins", daemon.url()),
            ])
            .output()
            .unwrap();
        String::from_utf8(asked.stdout).unwrap()
    };
    assert_eq!(as_user("65534"), "403");
    assert_eq!(as_user("0"), "200");
}
