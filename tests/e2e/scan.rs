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
fn begins_and_ends_with_the_verdict() {
    let (code, out, err) = scan(&["--components=cpu,memory,accelerator-nvidia-ecc"]);
    assert_eq!(code, Some(0), "{err}");
    let (first, last) = (out.lines().next().unwrap(), out.lines().last().unwrap());
    let verdict = last.split(':').next().unwrap();
    assert!(first.contains(&format!(": {verdict}")), "{out}");
    assert!(out.contains(" 2 checks in "), "{out}");
    assert!(
        out.contains("absent     1 does not apply    no NVIDIA driver"),
        "{out}"
    );
    if verdict == "Healthy" {
        assert_eq!(last, "Healthy: 2 checks. Nothing to do.");
        assert!(
            out.contains("healthy    2 healthy           cpu, memory"),
            "{out}"
        );
    }
    for sign in ['\u{1b}', '✔', '✘'] {
        assert!(!out.contains(sign), "in a pipe there are words only\n{out}");
    }
    assert!(
        !err.contains("checking"),
        "progress is for terminals\n{err}"
    );
    let (_, coloured, _) = scan(&["--components=cpu", "--color=always"]);
    assert!(coloured.contains("\u{1b}[3"), "{coloured}");
    let (_, verbose, _) = scan(&["--components=cpu,accelerator-nvidia-ecc", "--verbose"]);
    for part in [
        "cpu: ",
        "Logical Cores",
        "✔ machine info",
        "accelerator-nvidia-ecc: no NVIDIA driver",
    ] {
        assert!(verbose.contains(part), "no {part:?} in\n{verbose}");
    }
}

#[test]
fn names_every_component_of_this_machine() {
    let (code, out, err) = scan(&["--classic"]);
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
    assert_eq!(document["summary"]["verdict"], document["health"]);
    let (_, out, _) = scan(&["--json", "--components=cpu,memory", "--classic"]);
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["summary"], Value::Null);
}

#[test]
fn a_gate_fails_on_the_named_conditions() {
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
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, out, _) = gate(None);
    assert_eq!(code, Some(0));
    assert!(
        out.ends_with("Unhealthy: GPU 0000:04:00.0 fell off the bus: Xid 79. Reboot the node.\n"),
        "{out}"
    );
    let (code, _, err) = gate(Some("unhealthy"));
    assert_eq!(code, Some(1));
    assert_eq!(
        err.lines().last(),
        Some(
            "✘ status 1, as --fail-on unhealthy asks: the machine is Unhealthy: GPU 0000:04:00.0 fell off the bus: Xid 79. Reboot the node."
        )
    );
    assert_eq!(gate(Some("degraded")).0, Some(1));
    std::fs::write(&log, "6,1,1000,-;all is well\n").unwrap();
    assert_eq!(gate(Some("degraded")).0, Some(0));
}
