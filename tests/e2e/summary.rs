//! One lost GPU is one trouble, over HTTP and in the terminal.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
};

use gpud_nvml_mock::install::{built, install};
use serde_json::Value;

use crate::daemon::{Daemon, Start, eventually, gpud};

/// A machine of eight GPUs of which number 3 is lost.
const GPU_LOST: &str = "product: h100-sxm\ngpu: {3: {state: lost_after_lookup}}\n";

fn daemon(scenario: &str, folder: &Path) -> Daemon {
    let library = install(&built().unwrap(), scenario, folder).unwrap();
    let library = format!("--nvml-library={}", library.display());
    Start::new()
        .arguments(&["--plugin-specs-file=", &library])
        .ready()
}

fn get(daemon: &Daemon, path: &str) -> Value {
    let (status, body) = daemon.try_get(path).unwrap();
    assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
    serde_json::from_slice(&body).unwrap()
}

fn run(daemon: &Daemon, arguments: &[&str]) -> Output {
    let server = format!("--server={}", daemon.url());
    gpud().args(arguments).arg(server).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_lost_gpu_is_one_trouble_in_a_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = daemon(GPU_LOST, folder.path());
    let summary = get(&daemon, "/v1/summary");
    assert_eq!(summary["verdict"], "Unhealthy");
    let sentence = summary["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("GPU 3 is lost"), "{sentence}");
    assert!(sentence.ends_with("Reboot the node."), "{sentence}");
    let troubles = summary["troubles"].as_array().unwrap();
    let of_gpus: Vec<&Value> = troubles
        .iter()
        .filter(|trouble| trouble["subject"]["kind"] == "gpu")
        .collect();
    assert_eq!(of_gpus.len(), 1, "{summary:#}");
    let gpu = of_gpus[0];
    assert_eq!(gpu["subject"]["index"], 3);
    assert_eq!(gpu["repair_actions"][0], "REBOOT_SYSTEM");
    assert!(gpu["states"].as_array().unwrap().len() >= 13, "{gpu:#}");
    assert_ne!(gpu["since"], Value::Null);
    let lost = troubles
        .iter()
        .filter(|trouble| trouble.to_string().contains("GPU lost"));
    assert_eq!(lost.count(), 1, "{summary:#}");

    let history = get(&daemon, "/v1/history?since=1h&limit=5");
    assert_eq!(history["entries"].as_array().unwrap().len(), 5);
    let next = history["next"].as_str().unwrap();
    let older = get(&daemon, &format!("/v1/history?before={next}&limit=1000"));
    assert_ne!(older["entries"][0]["id"], history["entries"][4]["id"]);
    for (query, words) in [
        ("since=yesterday", "neither a time"),
        ("limit=0", "from 1 to 1000"),
        ("before=x", "is no cursor"),
    ] {
        let (status, body) = daemon.try_get(&format!("/v1/history?{query}")).unwrap();
        let body = String::from_utf8_lossy(&body).into_owned();
        assert!(
            status == 400 && body.contains(words),
            "{query}: {status} {body}"
        );
    }

    let shown = text(&run(&daemon, &["status"]));
    assert!(
        shown.contains("GPU 3") && shown.contains("BUS ID"),
        "{shown}"
    );
    assert!(shown.contains(" / 700 W"), "{shown}");
    assert_eq!(
        shown.lines().last(),
        Some(format!("Unhealthy: {sentence}").as_str())
    );
    let events = shown.split("Last events").nth(1).unwrap();
    let mut events = events.lines();
    assert!(
        events.any(|line| line.contains("GPU 3") && line.contains(" checks ")),
        "{shown}"
    );
    let output = run(&daemon, &["history", "--since=1h", "--gpu=3", "--json"]);
    let found: Value = serde_json::from_str(&text(&output)).unwrap();
    let entries = found["entries"].as_array().unwrap();
    // A change of each check that names the GPU, whether or not its reason does.
    let changes = entries.iter().filter(|entry| entry["kind"] == "health");
    assert!(changes.count() >= 10, "{found:#}");
    for entry in entries {
        assert_eq!(entry["subject"]["label"], "GPU 3", "{entry:#}");
    }
    let output = run(
        &daemon,
        &["history", "--component=accelerator-nvidia-power"],
    );
    let table = text(&output);
    assert!(table.starts_with("TIME"), "{table}");
    assert!(table.contains("nvidia-power"), "{table}");
}

#[test]
fn a_lost_gpu_is_one_trouble_in_a_scan() {
    let folder = tempfile::tempdir().unwrap();
    let library = install(&built().unwrap(), GPU_LOST, folder.path()).unwrap();
    let output = gpud()
        .args(["scan", "--nvml-library"])
        .arg(library)
        .env("KMSG_FILE_PATH", "/dev/null")
        .env("XDG_CACHE_HOME", folder.path())
        .output()
        .unwrap();
    let shown = text(&output);
    let begin = |line: &&str| line.starts_with("unhealthy  GPU 3 ");
    assert_eq!(shown.lines().filter(begin).count(), 1, "{shown}");
    let last = shown.lines().last().unwrap();
    assert!(last.starts_with("Unhealthy: GPU 3 is lost"), "{shown}");
    assert!(
        shown.contains("8 x NVIDIA H100 80GB HBM3, driver "),
        "{shown}"
    );
}

/// What a screen that was left has been sent, or `None` where nothing can make a terminal.
fn watched(daemon: &Daemon, end: impl FnOnce(&mut std::process::Child)) -> Option<String> {
    let release = &crate::daemon::release().program;
    let command = format!("exec {} watch --server={}", release.display(), daemon.url());
    let mut child = Command::new("script")
        .args(["-qefc", &command, "/dev/null"])
        .env("TERM", "xterm-256color")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    end(&mut child);
    let output = child.wait_with_output().unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn watch_gives_the_terminal_back() {
    let daemon = Start::new()
        .arguments(&["--plugin-specs-file=", "--components=cpu"])
        .ready();
    let output = run(&daemon, &["watch"]);
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(complaint.contains("needs a terminal"), "{complaint}");
    let shown = watched(&daemon, |child| {
        let mut keys = child.stdin.take().unwrap();
        keys.write_all(b"4q").unwrap();
        // Kept open: the end of the input would end it as well.
        eventually("watch ends", || child.try_wait().unwrap());
        drop(keys);
    });
    let Some(shown) = shown else {
        eprintln!("left out: needs util-linux's script");
        return;
    };
    let (enter, leave, cursor) = ("\u{1b}[?1049h", "\u{1b}[?1049l", "\u{1b}[?25h");
    let entered = shown.find(enter).unwrap_or_else(|| panic!("{shown:?}"));
    assert!(shown.rfind(leave).unwrap() > entered, "{shown:?}");
    assert!(shown.rfind(cursor).unwrap() > entered, "{shown:?}");
}
