//! A machine that does not answer: filesystems behind which nobody is, container runtimes that accept a connection and
//! never say a word, or say nonsense. What hangs is reported as such, and nothing else is held up.
//!
//! Everything is made in namespaces of the daemon's own and ends with it. Without root, `unshare`, Python or FUSE a test
//! says so and is left out.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use http::Method;
use serde_json::Value;

use crate::daemon::{Daemon, Start, eventually};

/// Longest that a check of something else may take in the meantime. It does so in milliseconds; the machine may be
/// busy.
pub const PROMPT: Duration = Duration::from_secs(10);
/// Of a check of what hangs: the deadline of a guest, and some.
pub const BOUNDED: Duration = Duration::from_secs(45);

/// Whether a daemon can have namespaces, and what is needed in them is there.
pub fn can(needs: &[&str]) -> bool {
    let own = Command::new("unshare")
        .args([
            "--mount",
            "--propagation=private",
            "--pid",
            "--fork",
            "--mount-proc",
            "true",
        ])
        .status();
    let missing = needs.iter().find(|need| match need.starts_with('/') {
        true => !Path::new(need).exists(),
        false => Command::new(need).arg("--version").output().is_err(),
    });
    match (own, missing) {
        (Ok(status), None) if status.success() => true,
        (own, missing) => {
            eprintln!(
                "left out: needs namespaces of its own (unshare: {own:?}) and {needs:?} (missing: {missing:?})"
            );
            false
        }
    }
}

fn helper(name: &str) -> String {
    format!(
        "{}/../tests/e2e/hostile_machine/{name}",
        env!("CARGO_MANIFEST_DIR")
    )
}

/// Waits in the script for a file.
pub const AWAIT: &str = r#"await() { for _ in $(seq 600); do [ -e "$1" ] && return; sleep 0.05; done; echo "no $1" >&2; exit 1; }"#;

/// A check on demand, which must come back in time; its state.
pub fn check(daemon: &Daemon, component: &str, within: Duration) -> Value {
    let started = Instant::now();
    let target = format!("/v1/components/trigger-check?componentName={component}");
    let (status, body) = daemon.send(Method::GET, &target);
    let took = started.elapsed();
    let text = String::from_utf8_lossy(&body).into_owned();
    assert_eq!(status, 200, "{component}: {text}");
    assert!(took < within, "{component} took {took:?}");
    let answer: Value = serde_json::from_slice(&body).unwrap();
    answer[0]["states"][0].clone()
}

/// Components that have nothing to do with what hangs.
fn nothing_else_is_held_up(daemon: &Daemon) {
    for component in [
        "cpu",
        "memory",
        "os",
        "kernel-module",
        "network-interface",
        "pressure",
    ] {
        let state = check(daemon, component, PROMPT);
        let reason = state["reason"].as_str().unwrap_or_default();
        assert!(
            !reason.contains("no answer") && !reason.contains("checker itself failed"),
            "{state}"
        );
    }
    let started = Instant::now();
    assert_eq!(daemon.send(Method::GET, "/healthz").0, 200);
    assert!(started.elapsed() < PROMPT);
}

#[test]
fn filesystems_that_never_answer_are_reported_and_hold_up_nothing() {
    if !can(&["python3", "/dev/fuse"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    // Three of them. The list of mounts is changed so that one passes for NFS and one for a disk of this machine; of the
    // third, requests pile up.
    let script = format!(
        r#"
{AWAIT}
cd '{place}'
mkdir nfs disk plain
mount -t fusectl none /sys/fs/fuse/connections || true
python3 '{}' '{place}/ready' '{place}/nfs' '{place}/disk' '{place}/plain' &
await ready
# Of other names each: a client that requests the same file waits for the first, not for an answer of his own.
for n in $(seq 12); do stat -f plain/$n >/dev/null 2>&1 & done
sed -e '\|{place}/nfs| s/fuse\.hung/nfs4/' -e '\|{place}/disk| s/fuse\.hung/ext4/' /proc/1/mountinfo >mounts
mount --bind mounts /proc/1/mountinfo
cd /
"#,
        helper("hung_fuse.py")
    );
    let probes =
        format!(r#"[{{"volume_path":"{place}/nfs","dir_name":"probe","file_contents":"x"}}]"#);
    let started = Instant::now();
    let daemon = Start::new()
        .inside(&script)
        .arguments(&[&format!("--nfs-checker-configs={probes}")])
        .ready();
    eprintln!("all components checked after {:?}", started.elapsed());
    nothing_else_is_held_up(&daemon);

    let nfs = check(&daemon, "nfs", BOUNDED);
    assert_eq!(nfs["health"], "Degraded", "{nfs}");
    let reason = nfs["reason"].as_str().unwrap();
    assert!(reason.starts_with("NFS validation timed out"), "{nfs}");

    let inodes = check(&daemon, "inodes", BOUNDED);
    let reason = inodes["reason"].as_str().unwrap();
    assert!(reason.contains(&format!("{place}/disk")), "{inodes}");

    // Five silent looks in a row make a verdict; what hangs already answers at once.
    let disk = eventually("disk tells of the mount that is silent", || {
        let disk = check(&daemon, "disk", BOUNDED);
        (disk["health"] == "Degraded").then_some(disk)
    });
    let reason = disk["reason"].as_str().unwrap();
    assert!(
        reason.contains(&format!("{place}/nfs stat timed out (possible connection issue) has failed continuously for 5 checks")),
        "{disk}"
    );

    let event = eventually("fuse tells of the requests that wait", || {
        check(&daemon, "fuse", PROMPT);
        daemon.events("fuse").into_iter().next()
    });
    assert_eq!(
        (event["name"].as_str(), event["type"].as_str()),
        (Some("fuse_connections"), Some("Critical"))
    );
    assert!(
        event["message"]
            .as_str()
            .unwrap()
            .contains("exceeds threshold 90.00%"),
        "{event}"
    );

    nothing_else_is_held_up(&daemon);
}

#[test]
fn specs_and_exports_behind_a_server_that_is_gone_are_reported_and_do_not_stop_the_start() {
    if !can(&["python3", "/dev/fuse"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let script = format!(
        r#"
{AWAIT}
mkdir '{place}/gone'
python3 '{}' '{place}/ready' '{place}/gone' &
await '{place}/ready'
"#,
        helper("hung_fuse.py")
    );
    let daemon = Start::new()
        .inside(&script)
        .arguments(&[
            &format!("--plugin-specs-file={place}/gone/specs.yaml"),
            &format!("--exports-file={place}/gone/exports.yaml"),
        ])
        .ready();
    nothing_else_is_held_up(&daemon);
    for (component, file) in [("plugin-specs", "specs"), ("exports-file", "exports")] {
        let state = eventually("it is said that the file does not answer", || {
            let (_, states) = daemon.try_get(&format!("/v1/states?components={component}"))?;
            let states: Value = serde_json::from_slice(&states).ok()?;
            let state = states[0]["states"][0].clone();
            (state["health"] == "Unhealthy").then_some(state)
        });
        let reason = state["reason"].as_str().unwrap();
        let problem = format!("{place}/gone/{file}.yaml does not answer within 5 s");
        assert!(reason.contains(&problem), "{state}");
    }
    drop(daemon);
    // Without a token it cannot serve.
    std::fs::remove_dir(folder.path().join("gone")).unwrap();
    std::fs::remove_file(folder.path().join("ready")).unwrap();
    let without_token = Start::new()
        .inside(&script)
        .arguments(&[&format!("--token-file={place}/gone/token")])
        .spawn();
    let (status, log) = without_token.wait();
    assert!(!status.success(), "{log}");
    assert!(log.contains("token does not answer within 5 s"), "{log}");
}

/// A daemon on a machine where these listen in place of Docker and containerd.
fn with_runtimes(manner: &str) -> Option<Daemon> {
    if !can(&["python3"]) {
        return None;
    }
    let script = format!(
        r#"
{AWAIT}
mount -t tmpfs none /run
[ /var/run -ef /run ] || mount --bind /run /var/run
python3 '{}' {manner} /run/ready /run/docker.sock /run/containerd/containerd.sock /run/tailscale/tailscaled.sock &
await /run/ready
"#,
        helper("bad_socket.py")
    );
    Some(Start::new().inside(&script).ready())
}

fn reports_of_runtimes(daemon: &Daemon) {
    for (component, reason) in [
        ("docker", "docker installed but docker is not running"),
        ("containerd", "containerd installed but not running"),
    ] {
        let state = check(daemon, component, BOUNDED);
        assert_eq!(state["health"], "Unhealthy", "{state}");
        assert_eq!(state["reason"], reason, "{state}");
        assert!(
            state["error"]
                .as_str()
                .is_some_and(|error| error.contains(".sock")),
            "{state}"
        );
        assert!(state["suggested_actions"].is_null(), "{state}");
    }
    nothing_else_is_held_up(daemon);
}

#[test]
fn runtimes_that_accept_and_never_reply_are_reported() {
    if let Some(daemon) = with_runtimes("silent") {
        reports_of_runtimes(&daemon);
    }
}

#[test]
fn runtimes_that_answer_nonsense_are_reported() {
    if let Some(daemon) = with_runtimes("nonsense") {
        reports_of_runtimes(&daemon);
    }
}
