//! `gpud scan`: every component by name with a verdict, and exits that gates can use.

use serde_json::Value;

use crate::daemon::gpud;

fn scan(arguments: &[&str]) -> (Option<i32>, String, String) {
    let cache = tempfile::tempdir().unwrap();
    let output = gpud()
        .arg("scan")
        .args(arguments)
        .env("XDG_CACHE_HOME", cache.path())
        .env("KMSG_FILE_PATH", "/dev/null")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn names_every_component_of_this_machine() {
    let (code, out, err) = scan(&[]);
    assert_eq!(code, Some(0), "{err}");
    for line in [
        "✔ machine info",
        "✔ cpu: ok",
        "✔ memory: ",
        " disk: ",
        " os: ",
        "✔ scan complete",
    ] {
        assert!(out.contains(line), "no {line:?} in\n{out}");
    }
    assert!(
        !out.contains("accelerator-nvidia-error-xid"),
        "no GPU, nothing to say\n{out}"
    );
    assert!(!out.contains('\u{1b}'), "no colours in a pipe");
}

#[test]
fn gives_one_json_document() {
    let (code, out, err) = scan(&["--json", "--components=cpu,memory"]);
    assert_eq!(code, Some(0), "{err}");
    let document: Value = serde_json::from_str(&out).unwrap();
    let names: Vec<_> = document["components"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| &c["component"])
        .collect();
    assert_eq!(names, ["cpu", "memory"]);
    assert_eq!(document["components"][0]["states"][0]["health"], "Healthy");
    assert_eq!(document["machine_info"]["operatingSystem"], "linux");
}

#[test]
fn a_gate_fails_on_what_it_was_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("kmsg");
    let line = "NVRM: Xid (PCI:0000:04:00): 79, pid='<unknown>', GPU has fallen off the bus.";
    std::fs::write(&log, format!("3,1,1000,-;{line}\n")).unwrap();
    let gate = |fail_on: Option<&str>| {
        let mut command = gpud();
        command.args(["scan", "--components=accelerator-nvidia-error-xid"]);
        command.args(fail_on.map(|word| format!("--fail-on={word}")));
        command
            .env("KMSG_FILE_PATH", &log)
            .env("XDG_CACHE_HOME", folder.path());
        let output = command.output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, out) = gate(None);
    assert_eq!(code, Some(0));
    assert!(
        out.contains("✘ accelerator-nvidia-error-xid: matched 1 xid errors from 1 kmsg(s)"),
        "{out}"
    );
    assert_eq!(gate(Some("unhealthy")).0, Some(1));
    assert_eq!(gate(Some("degraded")).0, Some(1));
    std::fs::write(&log, "6,1,1000,-;all is well\n").unwrap();
    assert_eq!(gate(Some("degraded")).0, Some(0));
}
