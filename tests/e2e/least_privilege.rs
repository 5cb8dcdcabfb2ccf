//! A daemon that gave up root: what it still sees, what runs as whom, and what it says of what it cannot see.

use std::{
    fs::{self, Permissions},
    io::{Read as _, Write as _},
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, chown},
        net::UnixStream,
    },
    path::Path,
    process::Command,
};

use serde_json::Value;

use crate::{
    daemon::{Daemon, Start, copy_program, eventually, inject, release},
    hostile_clients::can_be_others,
    spec_file::{Spec, plugin},
};

/// The number of the user `nobody`.
const NUMBER: u32 = 65_534;
const XID: &str = "accelerator-nvidia-error-xid";
/// Components that judge by the kernel log alone.
const UNKNOWN: [&str; 2] = ["block-io", "kernel-stalls"];
/// Components that judge by more, and say what they could not read.
const SAYS_SO: [&str; 4] = ["cpu", "disk", "memory", "os"];

/// A field of `/proc/‹pid›/status`; empty where the process is gone.
fn field(pid: u32, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let prefix = format!("{name}:");
    let value = status.lines().find_map(|line| line.strip_prefix(&prefix));
    value.unwrap_or_default().trim().to_owned()
}

fn assert_has_no_rights(pid: u32) {
    let numbers = field(pid, "Uid");
    assert!(
        numbers
            .split_whitespace()
            .all(|number| number == NUMBER.to_string()),
        "{numbers}"
    );
    for name in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(field(pid, name), "0000000000000000", "{name}");
    }
    assert_eq!(field(pid, "NoNewPrivs"), "1");
    assert_eq!(field(pid, "Groups"), "");
    assert_eq!(field(pid, "Seccomp"), "2", "a filter of system calls");
}

/// Asks over the Unix socket: root's own client refuses a port of another user.
fn get(daemon: &Daemon, target: &str) -> Option<Value> {
    let mut stream = UnixStream::connect(daemon.socket()).ok()?;
    let head = "HTTP/1.1\r\nHost: localhost\r\nConnection: close";
    write!(stream, "GET {target} {head}\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let is_good = head.starts_with("HTTP/1.1 200");
    is_good.then(|| serde_json::from_str(body).ok())?
}

fn wait_until_ready(daemon: &Daemon) {
    eventually("all components are checked", || {
        let states = get(daemon, "/v1/states")?.to_string();
        let is_waiting = states.contains("Initializing") || states.contains("no data yet");
        let log = daemon.log();
        let count = |line: &str| log.matches(line).count();
        let is_loaded = count("all components are loaded") == count("starting gpud");
        (is_loaded && !is_waiting).then_some(())
    });
}

/// The only state of a component.
fn state(daemon: &Daemon, component: &str) -> Value {
    let target = format!("/v1/states?components={component}");
    get(daemon, &target).unwrap()[0]["states"][0].clone()
}

/// The number of the daemon's helper.
fn helper(daemon: &Daemon) -> u32 {
    eventually("the helper is there", || {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let mut numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.find(|pid: &u32| {
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.contains("\0root-helper\0") && field(*pid, "PPid") == daemon.pid().to_string()
        })
    })
}

#[test]
fn it_has_no_rights_and_still_sees_the_kernel_log() {
    if !can_be_others() {
        return;
    }
    let bus = "0000:d5:00";
    let (data, run) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let socket = run.path().join("gpud.sock");
    let start = || {
        Start::new()
            .real_kernel_log()
            .folder(data.path())
            .socket(&socket)
            .arguments(&["--user=nobody", "--plugin-specs-file="])
            .arguments(&["--components=accelerator-nvidia-error-xid,cpu"])
            .spawn()
    };
    let daemon = start();
    wait_until_ready(&daemon);
    assert_has_no_rights(daemon.pid());
    assert_eq!(fs::metadata(data.path()).unwrap().uid(), NUMBER);
    let helper = helper(&daemon);
    assert_eq!(field(helper, "Uid"), "0\t0\t0\t0");
    // Root's commands trust what root made.
    let stream = UnixStream::connect(&socket).unwrap();
    let served_by = rustix::net::sockopt::socket_peercred(&stream).unwrap();
    assert!(served_by.uid.is_root());

    let line = format!(
        "NVRM: Xid (PCI:{bus}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
    );
    if inject(&line) {
        eventually("the event", || {
            let target = format!("/v1/events?startTime=0&components={XID}");
            let events = get(&daemon, &target)?[0]["events"].as_array()?.clone();
            let is_it = |event: &Value| event["message"].as_str().unwrap().contains(bus);
            events.iter().any(is_it).then_some(())
        });
    }
    daemon.signal("-TERM");
    let (status, log) = daemon.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    eventually("the helper ends with the daemon", || {
        // Who reaps it is the machine's affair.
        let state = field(helper, "State");
        (state.is_empty() || state.starts_with('Z')).then_some(())
    });
    // The folder is the user's by now, and the socket of before is replaced.
    let daemon = start();
    wait_until_ready(&daemon);
    assert_has_no_rights(daemon.pid());
}

/// Without code of built-in components it compiles them in a child, which is the program that runs: its path is closed to the
/// user, and after an update it names another version.
#[test]
fn it_compiles_also_where_the_user_cannot_reach_the_program() {
    if !can_be_others() {
        return;
    }
    let (data, closed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::set_permissions(closed.path(), Permissions::from_mode(0o700)).unwrap();
    let program = closed.path().join("gpud");
    copy_program(Path::new(env!("CARGO_BIN_EXE_gpud")), &program);
    let daemon = Start::new()
        .program(&program)
        .folder(data.path())
        .arguments(&["--user=nobody", "--plugin-specs-file=", "--components=cpu"])
        .spawn();
    wait_until_ready(&daemon);
    let log = daemon.log();
    assert!(!log.contains("could not be compiled"), "{log}");
    assert_has_no_rights(daemon.pid());
}

#[test]
fn script_plugins_run_as_the_user_but_for_the_named_one() {
    if !can_be_others() {
        return;
    }
    let specs = |as_root: &str| {
        let plugins = [
            plugin(
                "as-user",
                "component",
                "id -u; grep ^Seccomp: /proc/self/status",
            ),
            plugin("as-root", "component", as_root),
        ];
        plugins.concat()
    };
    let spec = Spec::new(&specs("id -u; echo $HOME"));
    // The user has to be able to read it, too.
    fs::set_permissions(spec.folder.path(), Permissions::from_mode(0o755)).unwrap();
    let daemon = Start::new()
        .arguments(&[
            "--components=cpu",
            "--user=nobody",
            "--root-plugins=as-root",
        ])
        .arguments(&["--plugin-specs-file", spec.path().to_str().unwrap()])
        .spawn();
    wait_until_ready(&daemon);
    let output = |component: &str| state(&daemon, component)["raw_output"].clone();
    assert_eq!(output("as-user"), format!("{NUMBER}\nSeccomp:\t2\n"));
    assert_eq!(output("as-root"), "0\n/\n");
    // An edit is not root's word for what the helper may run: it takes a new start.
    fs::write(spec.path(), specs("id -u; echo edited")).unwrap();
    let state = eventually("the edit is refused", || {
        Some(state(&daemon, "as-root")).filter(|state| state["health"] == "Degraded")
    });
    assert!(state.to_string().contains("restart gpud"), "{state}");
}

/// The rows of the table in `docs/least-privilege.md` that any machine can show.
#[test]
fn what_cannot_be_read_is_unknown() {
    if !can_be_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    chown(folder.path(), Some(NUMBER), Some(NUMBER)).unwrap();
    // Never root, so there is no helper.
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("gpud");
    let gpud = release().program.display().to_string();
    let as_user =
        format!("setpriv --reuid={NUMBER} --regid={NUMBER} --clear-groups --no-new-privs {gpud}");
    let tried = Command::new("sh")
        .args(["-c", &format!("{as_user} --version")])
        .output();
    if !tried.unwrap().status.success() {
        eprintln!("left out: there is no setpriv, or others cannot run {gpud}");
        return;
    }
    let script = format!("#!/bin/sh\nexec {as_user} \"$@\"\n");
    // A shell writes it: a test that starts a program at the same moment would hold it open.
    let written = Command::new("sh")
        .args(["-c", "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"", "sh"])
        .arg(script)
        .arg(&program)
        .status()
        .unwrap();
    assert!(written.success());
    let daemon = Start::new()
        .program(&program)
        .real_kernel_log()
        .folder(folder.path())
        .arguments(&["--plugin-specs-file="])
        .spawn();
    wait_until_ready(&daemon);
    assert_eq!(field(daemon.pid(), "CapEff"), "0000000000000000");
    if !daemon.log().contains("the kernel log cannot be read") {
        eprintln!("left out: everybody may read the kernel log here (kernel.dmesg_restrict is 0)");
        return;
    }
    for component in UNKNOWN {
        let state = state(&daemon, component);
        let text = state.to_string();
        assert!(
            state["health"] != "Healthy" && text.contains("the kernel log cannot be read"),
            "{component}: {text}"
        );
    }
    for component in SAYS_SO {
        let text = state(&daemon, component)["error"].to_string();
        assert!(
            text.contains("permission denied"),
            "{component} does not say what it could not read: {text}"
        );
    }
}
