//! gpud in a container that sees the machine's processes and has mounts of its own.

use std::{path::Path, process::Command};

use serde_json::Value;

use crate::{daemon::release, hostile_machine::can};

/// Closes the way through process 1 for the command behind it.
const NO_PTRACE: &str = "setpriv --bounding-set=-sys_ptrace";

/// Scans for inodes in namespaces of its own: process 1 has a small filesystem at `full` without a free inode, gpud does not.
/// `mount` is run in gpud's mount namespace before that filesystem goes, `wrapper` is put before gpud, `flags` behind.
/// Returns the state.
fn scanned(full: &Path, mount: &str, wrapper: &str, flags: &str) -> Value {
    let full = full.display();
    let program = release().program.display();
    let script = format!(
        "mount -t tmpfs -o size=1m,nr_inodes=8 none {full}\n\
         touch {full}/{{1..7}}\n\
         unshare --mount --propagation=private bash -ec '{mount}; umount {full}; \
         exec {wrapper} {program} scan --components=inodes --json {flags}'\n\
         exit 0"
    );
    let output = Command::new("unshare")
        .args(["--mount", "--propagation=private", "--pid", "--fork"])
        .args(["--kill-child", "--mount-proc", "bash", "-ec", &script])
        .env_remove("GPUD_HOST_ROOT")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let found: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    found["components"][0]["states"][0].clone()
}

#[test]
fn a_full_filesystem_of_the_machine_is_judged_by_its_own_numbers() {
    if !can(&[]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let state = scanned(folder.path(), ":", "", "");
    let reason = state["reason"].as_str().unwrap();
    assert_eq!(state["health"], "Unhealthy", "{state}");
    assert!(reason.contains(folder.path().to_str().unwrap()), "{reason}");
}

#[test]
fn what_cannot_be_seen_is_unknown_and_not_healthy() {
    if !can(&["setpriv"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let state = scanned(folder.path(), ":", NO_PTRACE, "");
    let reason = state["reason"].as_str().unwrap();
    assert_eq!(state["health"], "Degraded", "{state}");
    for part in [
        "cannot be judged",
        "not visible from here",
        "SYS_PTRACE",
        "--host-root",
        "GPUD_HOST_ROOT",
    ] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
}

#[test]
fn a_named_folder_shows_the_machine_s_mounts() {
    if !can(&["setpriv"]) {
        return;
    }
    let full = tempfile::tempdir().unwrap();
    let seen = tempfile::tempdir().unwrap();
    let seen = seen.path().display();
    let bind = format!("mount --rbind / {seen}");
    let state = scanned(
        full.path(),
        &bind,
        NO_PTRACE,
        &format!("--host-root={seen}"),
    );
    let reason = state["reason"].as_str().unwrap();
    assert_eq!(state["health"], "Unhealthy", "{state}");
    assert!(reason.contains(full.path().to_str().unwrap()), "{reason}");
}

/// Containers without the kernel log sometimes have another device in its place. Where it says nothing, no fault is seen, and
/// components that do not apply to this machine are not made to.
#[test]
fn a_device_that_is_not_the_kernel_log_is_not_read() {
    if !can(&[]) {
        return;
    }
    let program = release().program.display();
    let components =
        "--components=kernel-stalls,device-loss,accelerator-amd-errors,ethernet,storage-clients";
    let script =
        format!("mount --bind /dev/null /dev/kmsg; {program} scan {components} --json; exit 0");
    let output = Command::new("unshare")
        .args(["--mount", "--propagation=private", "bash", "-ec", &script])
        .env_remove("KMSG_FILE_PATH")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let found: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    let judged = found["components"].as_array().unwrap();
    let judged: Vec<&Value> = judged
        .iter()
        .filter(|one| !one["states"].as_array().is_none_or(Vec::is_empty))
        .collect();
    assert_eq!(judged.len(), 1, "{found}");
    let state = &judged[0]["states"][0];
    assert_eq!(state["component"], "kernel-stalls", "{state}");
    assert_eq!(state["health"], "Degraded", "{state}");
    assert_eq!(
        state["reason"],
        "unknown: the kernel log cannot be read (/dev/kmsg (here the device 1:3, not the kernel log): not found)"
    );
}
