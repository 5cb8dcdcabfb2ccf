//! How a daemon stops.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::daemon::{Start, eventually};

#[test]
fn sigterm_during_a_check_ends_it_and_its_programs() {
    let home = tempfile::tempdir().unwrap();
    let lsblk = home.path().join("lsblk");
    let marker = home.path().join("pid");
    // An lsblk that hangs, so that the daemon is in the middle of a check of `disk`.
    let script = format!(
        "#!/bin/sh\necho $$ > {}\nexec sleep 1000\n",
        marker.display()
    );
    fs::write(&lsblk, script).unwrap();
    fs::set_permissions(&lsblk, fs::Permissions::from_mode(0o755)).unwrap();
    let command = format!("--lsblk-commands={}", lsblk.display());
    let daemon = Start::new().arguments(&[&command]).spawn();
    let pid: u32 = eventually("lsblk runs", || {
        fs::read_to_string(&marker).ok()?.trim().parse().ok()
    });
    daemon.signal("-TERM");
    let (status, log) = daemon.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    eventually("its program is gone", || {
        (!fs::exists(format!("/proc/{pid}")).unwrap()).then_some(())
    });
}

#[test]
fn sigint_stops_in_good_order() {
    let daemon = Start::new().ready();
    let data = daemon.folder().to_owned();
    daemon.signal("-INT");
    eventually("the log is written back", || {
        (!data.join("gpud.state-wal").exists()).then_some(())
    });
    let (status, _) = daemon.wait();
    assert_eq!(status.code(), Some(0));
}
