//! `gpud status`, `metadata`, and what else an operator asks about a daemon.

use std::{fs, process::Output};

use serde_json::Value;

use crate::daemon::{Daemon, Start, gpud};

fn run(arguments: &[&str]) -> Output {
    // Without systemd's program, whatever this machine has.
    gpud()
        .args(arguments)
        .env("PATH", "/nonexistent")
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn folder_of(daemon: &Daemon) -> String {
    format!("--data-dir={}", daemon.folder().display())
}

#[test]
fn a_daemon_on_any_port_is_found_by_its_folder() {
    let daemon = Start::new()
        .arguments(&["--plugin-specs-file=", "--components=cpu"])
        .ready();
    let folder = folder_of(&daemon);
    let output = run(&["status", &folder, "--classic"]);
    let shown = text(&output);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    for line in [
        "No login activity recorded\n".to_owned(),
        format!("✔ gpud process is running (PID {})\n", daemon.pid()),
        format!(" at {}\n", daemon.url()),
        "✔ successfully checked gpud status\n".to_owned(),
        "✔ successfully checked gpud health\n".to_owned(),
        " components are healthy\n".to_owned(),
        "no packages found\n".to_owned(),
    ] {
        assert!(shown.contains(&line), "{line}{shown}");
    }
    assert!(!shown.contains('\u{1b}'), "no colours into a pipe");
    let forced = run(&["st", &folder, "--classic", "--color=always"]);
    assert!(text(&forced).contains("\u{1b}[32m✔\u{1b}[0m"));

    let output = run(&["status", &folder]);
    let shown = text(&output);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    let page = format!("PID {}, page at {}/\n", daemon.pid(), daemon.url());
    assert!(shown.contains(&page), "{shown}");
    let verdict = shown.lines().last().unwrap().split(':').next().unwrap();
    assert!(
        shown
            .lines()
            .next()
            .unwrap()
            .contains(&format!(": {verdict}")),
        "{shown}"
    );
    assert!(
        !shown.contains('\u{1b}') && !shown.contains("login"),
        "{shown}"
    );

    let output = run(&["st", &folder, "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["running"], true);
    assert_eq!(document["pid"], daemon.pid());
    assert_eq!(document["url"], daemon.url());
    assert_eq!(document["unit"], Value::Null);
    assert_eq!(document["summary"]["counts"]["absent"], 0);
    let names = document["components"].as_array().unwrap();
    assert!(
        names
            .iter()
            .any(|c| c["component"] == "cpu" && c["health"] == "Healthy")
    );
}

#[test]
fn a_daemon_that_was_killed_is_not_taken_for_one_that_runs() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let daemon = Start::new()
        .folder(&data)
        .arguments(&["--plugin-specs-file=", "--components=cpu"])
        .ready();
    let url = daemon.url();
    daemon.signal("-KILL");
    daemon.wait();
    assert!(data.join("gpud.run").exists(), "left behind");
    let folder = format!("--data-dir={}", data.display());
    // Asked at its former address, for the usual one may have a daemon of its own.
    let output = run(&["status", &folder, "--server", &url]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output).contains("✘ gpud process is not running\n"),
        "{}",
        text(&output)
    );
    let output = run(&["status", &folder, "--server", &url, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["running"], false);

    let again = Start::new()
        .folder(&data)
        .arguments(&["--plugin-specs-file=", "--components=cpu"])
        .ready();
    assert!(text(&run(&["status", &folder])).contains(&again.url()));
    again.signal("-TERM");
    again.wait();
    assert!(!data.join("gpud.run").exists(), "taken away in good order");
}

#[test]
fn metadata_of_a_daemon_that_runs() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("left out: needs root");
        return;
    }
    let daemon = Start::new()
        .arguments(&["--plugin-specs-file=", "--components=cpu"])
        .ready();
    let folder = folder_of(&daemon);
    let output = run(&[
        "metadata",
        &folder,
        "--set-key=token",
        "--set-value=0123456789abcdef",
    ]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output).ends_with("✔ successfully updated metadata\n"));
    let output = run(&["metadata", &folder, "--json", "--reboot-history"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["metadata"]["token"], "0123...cdef");
    assert!(document["reboot_history"].is_array());
    let output = run(&["metadata", "--data-dir=/nowhere/at/all", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["error"]["code"], "failed_to_open_state_file");
}

#[test]
fn commands_that_this_build_only_answers() {
    for (arguments, code, stderr) in [
        (
            &["notify", "startup"][..],
            0,
            "nobody to notify: this build has no control plane\n",
        ),
        (
            &["update", "check"],
            1,
            "✘ nobody is asked for the latest version: `gpud update --from PLACE --dry-run` says what a place has\n",
        ),
        (
            &["release", "gen-key", "--root"],
            1,
            "✘ this build has no tools to sign releases\n",
        ),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), stderr);
        assert_eq!(text(&output), "");
    }
}

#[test]
fn scripts_for_shells_and_manual_pages() {
    let folder = tempfile::tempdir().unwrap();
    let script = run(&["completion", "bash"]);
    let path = folder.path().join("gpud.bash");
    fs::write(&path, &script.stdout).unwrap();
    // bash takes it, and completes a command and a flag with it.
    let probe = format!(
        "source {}; complete -p gpud; COMP_WORDS=(gpud set-h); COMP_CWORD=1; _gpud gpud set-h gpud; echo \"${{COMPREPLY[@]}}\"; \
         COMP_WORDS=(gpud scan --fail); COMP_CWORD=2; _gpud gpud --fail scan; echo \"${{COMPREPLY[@]}}\"",
        path.display()
    );
    let output = std::process::Command::new("bash")
        .args(["-c", &probe])
        .output()
        .unwrap();
    let shown = text(&output);
    assert!(output.status.success(), "{output:?}");
    assert!(
        shown.contains("set-healthy") && shown.contains("--fail-on"),
        "{shown}"
    );

    let pages = folder.path().join("man1");
    let output = run(&["man", "--dir", pages.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let page = fs::read_to_string(pages.join("gpud-scan.1")).unwrap();
    assert!(page.contains("fail\\-on"), "{page}");
    assert_eq!(text(&run(&["man", "scan"])), page);
}
