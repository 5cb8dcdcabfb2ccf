//! The Unix socket for local administration.

use std::{
    fs,
    os::unix::{
        fs::{FileTypeExt as _, MetadataExt as _},
        net::UnixStream,
    },
    process::Output,
};

use crate::daemon::{Daemon, Start, eventually, gpud};

const ONE: &[&str] = &["--components=cpu", "--plugin-specs-file="];

/// `gpud status` for the daemon of this folder.
fn status(daemon: &Daemon) -> Output {
    gpud()
        .args(["status", "--json", "--data-dir"])
        .arg(daemon.folder())
        .output()
        .unwrap()
}

#[test]
fn commands_use_it_and_need_no_token_there() {
    let arguments = [ONE, &["--require-token"]].concat();
    let daemon = Start::new().arguments(&arguments).spawn();
    eventually("it answers", || {
        daemon
            .try_get("/healthz")
            .filter(|(status, _)| *status == 200)
    });
    let socket = daemon.socket().to_owned();
    let facts = fs::symlink_metadata(&socket).unwrap();
    assert!(facts.file_type().is_socket());
    assert_eq!(facts.mode() & 0o7777, 0o660);
    assert_eq!(facts.uid(), fs::metadata(daemon.folder()).unwrap().uid());
    assert_eq!(daemon.send(http::Method::GET, "/v1/states").0, 401);
    let output = eventually("the daemon is found", || {
        Some(status(&daemon)).filter(|output| output.status.success())
    });
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("\"component\":\"cpu\""), "{text}");
    daemon.signal("-TERM");
    daemon.wait();
    assert!(!socket.exists());
}

#[test]
fn it_is_not_taken_from_a_daemon_that_lives_but_from_one_that_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("run").join("gpud.sock");
    let first = Start::new().arguments(ONE).socket(&socket).ready();
    let inode = || fs::symlink_metadata(&socket).unwrap().ino();
    let before = inode();
    let second = Start::new().arguments(ONE).socket(&socket).ready();
    assert!(
        second.log().contains("another gpud serves this socket"),
        "{}",
        second.log()
    );
    assert_eq!(inode(), before);
    assert!(status(&second).status.success(), "over the port");
    // Killed.
    drop(first);
    assert!(UnixStream::connect(&socket).is_err());
    let third = Start::new().arguments(ONE).socket(&socket).ready();
    UnixStream::connect(&socket).unwrap();
    assert!(!third.log().contains("there is no Unix socket"));
}

#[test]
fn it_can_be_switched_off_and_a_file_in_its_place_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("precious");
    fs::write(&file, "content").unwrap();
    let daemon = Start::new().arguments(ONE).socket(&file).ready();
    assert!(
        daemon.log().contains("not a socket of gpud"),
        "{}",
        daemon.log()
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "content");
    let daemon = Start::new().arguments(ONE).socket("none".as_ref()).ready();
    assert!(!daemon.log().contains("Unix socket"), "{}", daemon.log());
}
