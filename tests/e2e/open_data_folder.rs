//! What other users of the machine leave in a data folder that was open to them for a while, or still hold open.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Output},
    thread::sleep,
    time::Duration,
};

use crate::{
    daemon::{Start, copy_program, eventually, gpud, release},
    hostile_machine::{AWAIT, can},
    trust::{OTHER, answers, bits, home, mode},
};

const XID: &str = "accelerator-nvidia-error-xid";

/// A data folder as a daemon that was killed leaves it.
fn used(home: &Path) -> PathBuf {
    let data = home.join("data");
    let arguments = ["--components=cpu", "--plugin-specs-file="];
    drop(Start::new().folder(&data).arguments(&arguments).ready());
    assert!(data.join("gpud.state-shm").exists());
    data
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// The folder with what was set aside.
fn aside(data: &Path) -> PathBuf {
    let names = names(data);
    let name = names.iter().find(|name| name.starts_with("set-aside-"));
    data.join(name.unwrap_or_else(|| panic!("nothing is set aside: {names:?}")))
}

/// Runs a script as the other user.
fn as_other(folder: &Path, script: &str) {
    let status = Command::new("sh")
        .args(["-ec", script])
        .current_dir(folder)
        .uid(OTHER)
        .gid(OTHER)
        .status()
        .unwrap();
    assert!(status.success(), "the attack of before: {script}");
}

/// Code with its checksum, a line that is as long as a token, a file of somebody else's: all of root's, and open to nobody.
#[test]
fn a_file_of_roots_is_not_another_one_under_another_name() {
    let Some(home) = home() else { return };
    let data = used(home.path());
    for folder in [&data, &data.join("cache")] {
        mode(folder, 0o777);
    }
    as_other(
        &data,
        "cd cache; set -- *.cwasm; mv \"$1\" swap; mv \"$2\" \"$1\"; mv swap \"$2\"; mv \"${1%.cwasm}.sha256\" ../token; echo x > ../gpud.b",
    );
    let known = fs::read_to_string(data.join("token")).unwrap();
    let arguments = ["--components=cpu,disk", "--require-token"];
    let daemon = Start::new().folder(&data).arguments(&arguments).spawn();
    answers(&daemon);
    let aside = aside(&data);
    let now = eventually("a new token", || {
        fs::read_to_string(data.join("token")).ok()
    });
    assert_ne!(now, known);
    assert_eq!(bits(&data), 0o700);
    let moved = names(&aside);
    for name in ["cache", "gpud.b", "gpud.lock", "gpud.state", "token"] {
        assert!(moved.contains(&name.to_owned()), "{name}: {moved:?}");
    }
    let log = fs::read_to_string(aside.join("log")).unwrap();
    assert!(log.contains("other users could write to"), "{log}");
    assert!(!log.contains("does not describe a component"), "{log}");
}

/// A trigger that removes what was inserted.
#[test]
fn the_database_that_others_could_write_is_another_one() {
    let Some(home) = home() else { return };
    if !can(&["python3"]) {
        return;
    }
    let data = used(home.path());
    mode(&data, 0o711);
    for name in ["gpud.state", "gpud.state-wal", "gpud.state-shm"] {
        mode(&data.join(name), 0o666);
    }
    as_other(
        &data,
        "python3 -c 'import sqlite3; db = sqlite3.connect(\"gpud.state\"); db.execute(\"create trigger t after insert on event \
         begin delete from event; end\"); db.commit()'",
    );
    let log = home.path().join("kmsg");
    let line = "NVRM: Xid (PCI:0000:e9:00): 79, pid='<unknown>', GPU has fallen off the bus.";
    fs::write(&log, format!("3,1,1000,-;{line}\n")).unwrap();
    let components = format!("--components={XID}");
    let arguments = [components.as_str(), "--plugin-specs-file="];
    let daemon = Start::new()
        .kernel_log(log.to_str().unwrap())
        .folder(&data)
        .arguments(&arguments)
        .ready();
    eventually("the event is there", || {
        (!daemon.events(XID).is_empty()).then_some(())
    });
    let moved = names(&aside(&data));
    assert_eq!(moved, ["gpud.state", "gpud.state-shm", "gpud.state-wal"]);
    assert!(daemon.log().contains("they may be theirs"));
}

/// Kills it when dropped.
struct OtherProcess(Child);

impl Drop for OtherProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn gpud_name() -> &'static OsStr {
    release().program.file_name().unwrap()
}

/// Others could take the lock away, so that it says nothing.
#[test]
fn a_second_daemon_leaves_an_open_folder_alone() {
    let Some(home) = home() else { return };
    let data = home.path().join("data");
    let arguments = ["--components=cpu", "--plugin-specs-file="];
    // As an update leaves the program of one that runs.
    let program = home.path().join(gpud_name());
    copy_program(&release().program, &program);
    let first = Start::new().program(&program).folder(&data);
    let _first = first.arguments(&arguments).ready();
    fs::remove_file(&program).unwrap();
    let before = names(&data);
    mode(&data, 0o777);
    as_other(&data, "mv gpud.lock ..lock");
    let output = gpud()
        .args(["run", "--components=none", "--plugin-specs-file="])
        .args(["--listen-address=127.0.0.1:0", "--local-socket=none"])
        .arg("--data-dir")
        .arg(&data)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("another gpud"), "{said}");
    assert_eq!((names(&data).len(), bits(&data)), (before.len(), 0o777));
}

#[test]
fn files_that_others_hold_open_are_replaced() {
    let Some(home) = home() else { return };
    if !can(&["python3"]) {
        return;
    }
    let data = used(home.path());
    mode(&data, 0o755);
    for name in ["gpud.lock", "gpud.state", "gpud.state-shm"] {
        mode(&data.join(name), 0o644);
    }
    let shared_memory = fs::File::options()
        .write(true)
        .open(data.join("gpud.state-shm"))
        .unwrap();
    // The name of its process is no UTF-8.
    let script = "import ctypes, fcntl, time; ctypes.CDLL(None).prctl(15, b'a\\xff'); lock = open('gpud.lock'); \
                  fcntl.flock(lock, fcntl.LOCK_SH); time.sleep(600)";
    let holder = Command::new("python3")
        .args(["-c", script])
        .current_dir(&data)
        .uid(OTHER)
        .gid(OTHER)
        .spawn()
        .unwrap();
    let _holder = OtherProcess(holder);
    eventually("the lock is held", || {
        let free = Command::new("flock")
            .args(["--nonblock"])
            .arg(data.join("gpud.lock"))
            .arg("true")
            .status()
            .unwrap();
        (!free.success()).then_some(())
    });
    let daemon = Start::new()
        .folder(&data)
        .arguments(&["--components=os", "--plugin-specs-file="])
        .ready();
    // A process that has it mapped would end at its next read.
    shared_memory.set_len(0).unwrap();
    for _ in 0..5 {
        daemon.get("/v1/components/trigger-check?componentName=os");
        assert!(!daemon.events("os").is_empty());
        sleep(Duration::from_millis(20));
    }
}

/// A script that mounts a file system of the other user's, which never answers.
fn mute_file_system(ready: &Path, point: &Path, private: &str) -> String {
    mute_file_system_of(OTHER, ready, point, private)
}

fn mute_file_system_of(user: u32, ready: &Path, point: &Path, private: &str) -> String {
    format!(
        "{AWAIT}\npython3 '{}/../tests/e2e/hostile_machine/mute_fuse.py' '{ready}' '{point}' {user} {private} &\nawait '{ready}'",
        env!("CARGO_MANIFEST_DIR"),
        ready = ready.display(),
        point = point.display(),
    )
}

#[test]
fn file_systems_in_the_folder_that_never_answer_are_unmounted() {
    let Some(home) = home() else { return };
    if !can(&["python3", "/dev/fuse"]) {
        return;
    }
    // A name that is no UTF-8 makes the kernel's table of mounts none.
    let odd = OsStr::from_bytes(b"odd \xff");
    for (number, (name, private)) in [
        (OsStr::new("exports"), ""),
        (OsStr::new("cache"), "private"),
        (odd, ""),
    ]
    .into_iter()
    .enumerate()
    {
        let data = home.path().join(format!("data-{number}"));
        fs::create_dir_all(data.join(name)).unwrap();
        mode(&data, 0o777);
        let ready = home.path().join(format!("ready-{number}"));
        let point = home.path().join(format!("point-{number}"));
        symlink(data.join(name), &point).unwrap();
        let daemon = Start::new()
            .inside(&mute_file_system(&ready, &point, private))
            .folder(&data)
            .arguments(&["--components=none", "--plugin-specs-file="])
            .spawn();
        answers(&daemon);
        let log = fs::read_to_string(aside(&data).join("log")).unwrap();
        assert!(log.contains("is unmounted"), "{log}");
    }
}

/// What is mounted in a folder cannot move to a new one.
#[test]
fn a_folder_that_others_could_read_stays_where_something_is_mounted_in_it() {
    let Some(home) = home() else { return };
    if !can(&[]) {
        return;
    }
    let data = home.path().join("data");
    fs::create_dir_all(data.join("exports")).unwrap();
    fs::write(data.join("kept"), "").unwrap();
    mode(&data, 0o755);
    let mount = format!(
        "mount -t tmpfs -o mode=0700 none '{}'",
        data.join("exports").display()
    );
    let daemon = Start::new()
        .inside(&mount)
        .folder(&data)
        .arguments(&["--components=none", "--plugin-specs-file="])
        .spawn();
    answers(&daemon);
    assert_eq!(bits(&data), 0o700);
    assert!(data.join("kept").exists());
    assert_eq!(names(home.path()), ["data"]);
}

/// What a killed gpud leaves in the folder for temporary files has such a name.
#[test]
fn a_file_system_among_temporary_files_that_never_answers_is_left_alone() {
    let Some(home) = home() else { return };
    if !can(&["python3", "/dev/fuse"]) {
        return;
    }
    let temporary = home.path().join("tmp");
    let point = temporary.join(".gpud-temporary-x");
    fs::create_dir_all(&point).unwrap();
    mode(&temporary, 0o1777);
    let daemon = Start::new()
        .inside(&mute_file_system(&home.path().join("ready"), &point, ""))
        .environment("TMPDIR", temporary.to_str().unwrap())
        .arguments(&["--components=none", "--plugin-specs-file="])
        .spawn();
    answers(&daemon);
}

#[test]
fn a_folder_that_another_user_serves_ends_the_start() {
    let Some(home) = home() else { return };
    if !can(&["python3", "/dev/fuse"]) {
        return;
    }
    for private in ["", "private"] {
        served_by_another_user(home.path(), private);
    }
}

/// As where another user's process holds the folder.
#[test]
fn a_start_that_hangs_can_be_ended() {
    let Some(home) = home() else { return };
    if !can(&["python3", "/dev/fuse"]) {
        return;
    }
    let data = home.path().join("data");
    fs::create_dir_all(&data).unwrap();
    // Root's own, which is trusted.
    let prepare = mute_file_system_of(0, &home.path().join("ready"), &data, "");
    let arguments = [
        "run",
        "--components=none",
        "--listen-address=127.0.0.1:0",
        "--local-socket=none",
    ];
    let script = format!("{prepare}\nset -- timeout --kill-after=30 3 \"$@\"");
    let output = prepared(&script, &arguments, &data);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("starting gpud"), "{said}");
    // Ended by SIGTERM, and not killed.
    assert_eq!(output.status.code(), Some(124), "{said}");
}

/// Runs gpud with this data folder, in namespaces that a script has prepared. One that does not end is killed.
fn prepared(script: &str, arguments: &[&str], data: &Path) -> Output {
    Command::new("timeout")
        .args(["--signal=KILL", "120", "unshare"])
        .args(["--mount", "--propagation=private", "--pid", "--fork"])
        .args(["--kill-child", "--mount-proc", "bash", "-ec"])
        .arg(format!("{script}\nexec \"$@\""))
        .arg("bash")
        .arg(gpud().get_program())
        .args(arguments)
        .arg("--data-dir")
        .arg(data)
        .output()
        .unwrap()
}

#[test]
fn commands_do_not_look_into_file_systems_that_never_answer() {
    let Some(home) = home() else { return };
    if !can(&["python3", "/dev/fuse"]) {
        return;
    }
    let data = home.path().join("data");
    let point = data.join("packs");
    fs::create_dir_all(&point).unwrap();
    mode(&data, 0o777);
    let link = home.path().join("link");
    symlink(&data, &link).unwrap();
    for (number, (arguments, data)) in [
        (&["pack", "list"][..], data.as_path()),
        (&["pack", "remove", "x"], &data),
        (&["pack", "list"], &link),
        (&["pack", "list"], Path::new("data")),
    ]
    .into_iter()
    .enumerate()
    {
        let ready = home.path().join(format!("ready-{number}"));
        let prepare = mute_file_system(&ready, &point, "");
        let prepare = format!("{prepare}\ncd '{}'", home.path().display());
        let output = prepared(&prepare, arguments, data);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("12345 serves"), "{arguments:?}: {said}");
    }
}

fn served_by_another_user(home: &Path, private: &str) {
    let data = home.join("data");
    fs::create_dir_all(&data).unwrap();
    let prepare = mute_file_system(&home.join(format!("ready-{private}")), &data, private);
    let output = prepared(
        &prepare,
        &[
            "run",
            "--components=none",
            "--plugin-specs-file=",
            "--listen-address=127.0.0.1:0",
            "--local-socket=none",
        ],
        &data,
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("that user 12345 serves"), "{said}");
}
