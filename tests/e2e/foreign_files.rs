//! What commands of root make of folders, names of files, saved logs and ports that another user has prepared.

use std::{
    fs::{self, Permissions},
    io::{Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::{PermissionsExt as _, chown, lchown, symlink},
    path::Path,
    process::{Command, Output, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::Value;

use crate::{
    daemon::{eventually, gpud},
    hostile_clients::{STRANGER, as_user, can_be_others},
};

fn text(output: &Output) -> String {
    let all = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&all).into_owned()
}

/// Makes a folder of another user.
fn theirs(path: &Path) {
    fs::create_dir(path).unwrap();
    chown(path, Some(STRANGER), None).unwrap();
}

/// Libraries open what a variable names: a pipe never answers, and a zone's file says what time it is.
#[test]
fn root_reads_no_time_zone_of_others() {
    if !can_be_others() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("theirs");
    theirs(&folder);
    let pipe = folder.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let pipe = pipe.to_str().unwrap();
    let folder = folder.to_str().unwrap();
    for (zone, zones) in [
        (pipe, None),
        (&*format!(":{pipe}"), None),
        ("pipe", None),
        ("pipe", Some(folder)),
        ("zoneinfo/pipe", Some(folder)),
    ] {
        let mut command = gpud();
        command
            .args([
                "explain",
                "NVRM: Xid (PCI:0000:0f:00): 79, GPU has fallen off the bus.",
            ])
            .current_dir(folder)
            .env("TZ", zone)
            .envs(zones.map(|zones| ("TZDIR", zones)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        eventually("it ends", || child.try_wait().unwrap());
        let output = text(&child.wait_with_output().unwrap());
        assert!(output.contains("XID 79"), "{zone}, {zones:?}: {output}");
    }
}

/// SQLite follows a link in the place of the state file, and a lock file is made where its link leads to.
#[test]
fn root_opens_no_state_file_in_a_folder_of_others() {
    if !can_be_others() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let (folder, secret) = (home.path().join("theirs"), home.path().join("secret"));
    theirs(&folder);
    fs::create_dir(&secret).unwrap();
    for name in ["gpud.lock", "gpud.state"] {
        symlink(secret.join(name), folder.join(name)).unwrap();
        lchown(folder.join(name), Some(STRANGER), None).unwrap();
    }
    let state = secret.join("gpud.state");
    // An empty file is an empty database.
    fs::write(&state, "").unwrap();
    let before = fs::read(&state).unwrap();
    for arguments in [
        &["compact"][..],
        &["metadata"],
        &["metadata", "--set-key", "x", "--set-value", "y"],
    ] {
        let output = gpud()
            .args(arguments)
            .arg("--data-dir")
            .arg(&folder)
            .output()
            .unwrap();
        assert!(!output.status.success(), "{arguments:?}: {}", text(&output));
        assert_eq!(fs::read(&state).unwrap(), before, "{arguments:?}");
        assert!(!secret.join("gpud.lock").exists(), "{arguments:?}");
    }
    let output = gpud()
        .arg("metadata")
        .arg("--data-dir")
        .arg(&folder)
        .output()
        .unwrap();
    let said = text(&output);
    assert!(said.contains("belongs to user 12345"), "{said}");
}

/// JSON allows characters that some terminals act upon, and users choose names that the kernel prints.
#[test]
fn documents_do_not_drive_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("kern.log");
    let line = "[    1.0] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=a\u{202e}b, GPU has fallen off the bus.\n";
    fs::write(&file, line).unwrap();
    for command in [
        &["scan", "--json", "--kmsg-file"][..],
        &["explain", "--json", "--file"],
    ] {
        let output = gpud().args(command).arg(&file).output().unwrap();
        let said = text(&output);
        assert!(said.contains("a\\u202eb"), "{command:?}: {said}");
        assert!(!said.contains('\u{202e}'), "{command:?}: {said}");
        assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok());
    }
}

/// A user who owns the folder above, or a link on the way, would choose where root's files are made.
#[test]
fn root_writes_through_no_link_of_others() {
    if !can_be_others() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let (folder, victim) = (home.path().join("theirs"), home.path().join("victim"));
    theirs(&folder);
    fs::create_dir(&victim).unwrap();
    let way = folder.join("way");
    symlink(&victim, &way).unwrap();
    lchown(&way, Some(STRANGER), None).unwrap();
    let inner = way.join("new");
    let (way, inner) = (way.to_str().unwrap(), inner.to_str().unwrap());
    for arguments in [
        &["man", "--dir", way][..],
        &["man", "--dir", inner],
        &["plugin", "new", "--lang", "rust", "--folder", inner, "fans"],
        &["pack", "new", "--lang", "rust", "--folder", inner, "acme"],
        &["pack", "keygen", inner],
    ] {
        let output = gpud().args(arguments).output().unwrap();
        assert!(!output.status.success(), "{arguments:?}: {}", text(&output));
        assert!(
            text(&output).contains("root follows no link"),
            "{arguments:?}: {}",
            text(&output)
        );
        let made = fs::read_dir(&victim).unwrap().count();
        assert_eq!(made, 0, "{arguments:?}");
    }
    // Without a link a folder of theirs is as good as another one.
    let output = gpud()
        .args(["man", "--dir"])
        .arg(folder.join("man"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(folder.join("man/gpud.1").exists());
}

#[test]
fn names_and_content_of_files_do_not_drive_the_terminal() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("a\u{1b}]0;x\u{7}\u{1b}[31m.tar");
    // An archive whose head is full of control characters.
    fs::write(&file, b"\x1b[2J\x1b]52;c;AAAA\x07".repeat(100)).unwrap();
    let folder = home.path().join("\u{1b}[31m");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    for (arguments, path) in [
        (&["pack", "verify"][..], &file),
        (&["pack", "build"], &folder),
        (&["pack", "list", "--data-dir"], &folder),
        (&["plugin", "inspect"], &file),
        (&["plugin", "build"], &folder),
        (&["cs"], &file),
        (&["explain", "--file"], &folder),
        (&["scan", "--kmsg-file"], &folder),
        (&["compact", "--data-dir"], &folder),
        (&["metadata", "--data-dir"], &folder),
        (&["man", "--dir"], &file),
    ] {
        let output = gpud().args(arguments).arg(path).output().unwrap();
        let said = text(&output);
        let drives = said.chars().any(|c| c.is_control() && !"\n\t".contains(c));
        assert!(!said.is_empty() && !drives, "{arguments:?}: {said:?}");
    }
    let output = gpud().arg(&folder).output().unwrap();
    assert!(!text(&output).contains('\u{1b}'), "{:?}", text(&output));
}

/// A crashed program whose file has a line feed in its name: in `/dev/kmsg` it is `\x0a`, `dmesg` prints it as it is and
/// moves what follows to the right.
#[test]
fn a_line_feed_in_a_users_text_begins_no_message_of_a_saved_log() {
    let home = tempfile::tempdir().unwrap();
    let xid = "NVRM: Xid (PCI:0000:04:00): 79, pid=1, name=x, GPU has fallen off the bus.";
    let crash = "a[7]: segfault at 0 ip 0000560000001132 sp 00007ffe00000000 error 6 in a";
    let stamp = "[38219.507825]";
    for log in [
        format!("{stamp} {crash}\n               {xid}[1132,560000001000+1000]\n"),
        format!("{stamp} {crash}\n               {stamp} {xid}\n"),
        format!("<6>{stamp} {crash}\n                  <3>{stamp} {xid}\n"),
        format!("6,1,38219507825,-;{crash}\\x0a{xid}[1132,560000001000+1000]\n"),
        format!("Nov 26 08:00:00 host kernel: {crash}\n                             {xid}\n"),
    ] {
        let file = home.path().join("log");
        fs::write(&file, &log).unwrap();
        let output = gpud()
            .args(["explain", "--file"])
            .arg(&file)
            .output()
            .unwrap();
        let said = text(&output);
        assert!(output.status.success(), "{log}: {said}");
        assert!(!said.contains("XID"), "{log}: {said}");
    }
}

#[test]
fn links_in_a_folder_of_others_lead_no_output_of_root_elsewhere() {
    if !can_be_others() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let (folder, victim) = (home.path().join("theirs"), home.path().join("victim"));
    theirs(&folder);
    for name in ["gpud.1", "gpud-scan.1", "k.key", "k.pub"] {
        symlink(&victim, folder.join(name)).unwrap();
        lchown(folder.join(name), Some(STRANGER), None).unwrap();
    }
    let key = folder.join("k");
    for arguments in [["man", "--dir"], ["pack", "keygen"]] {
        let place = match arguments {
            ["pack", _] => &key,
            _ => &folder,
        };
        let output = gpud().args(arguments).arg(place).output().unwrap();
        assert!(!victim.exists(), "{arguments:?}: {}", text(&output));
    }
}

/// The kubelet's port while there is no kubelet, or while it is down.
#[test]
fn a_port_that_another_user_holds_is_no_kubelet() {
    if !can_be_others() {
        return;
    }
    let listener = as_user(STRANGER, async || TcpListener::bind("127.0.0.1:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut sent = [0; 4096];
            let length = stream.read(&mut sent).unwrap_or_default();
            sink.lock().unwrap().extend_from_slice(&sent[..length]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let home = tempfile::tempdir().unwrap();
    let configs = home.path().join("components.yaml");
    let own = format!("kubelet: {{health_port: {port}, read_only_port: {port}}}\n");
    fs::write(&configs, own).unwrap();
    let output = gpud()
        .args(["scan", "--json", "--components", "kubelet"])
        .arg("--component-configs-file")
        .arg(&configs)
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    // Without a kubelet the component is left out.
    let said = found["components"].to_string();
    assert!(
        said.starts_with('[') && !said.contains("answers its health check"),
        "{said}"
    );
    assert_eq!(String::from_utf8_lossy(&asked.lock().unwrap()), "");
}
