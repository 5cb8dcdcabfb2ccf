//! A database that is broken, read-only or full.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use crate::{
    daemon::{Start, eventually},
    hostile_machine::{BOUNDED, PROMPT, check},
};

#[test]
fn a_corrupt_database_is_set_aside_and_the_daemon_runs_on() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("gpud.state"), vec![0xa5; 20_000]).unwrap();
    let daemon = Start::new().folder(&data).ready();
    assert_eq!(daemon.state("cpu")["health"], "Healthy");
    let aside = fs::read_dir(&data)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .find(|name| name.starts_with("gpud.state.corrupt-"))
        .expect("set aside");
    assert_eq!(
        fs::read(data.join(&aside)).unwrap(),
        vec![0xa5; 20_000],
        "nothing is lost"
    );
    assert!(daemon.log().contains(&aside), "{}", daemon.log());
    assert_eq!(
        daemon.events("os")[0]["name"],
        "reboot",
        "and a new one is in use"
    );
}

/// A small file system of its own: the only way to a full or read-only disk that root feels.
struct Mount(std::path::PathBuf);

impl Mount {
    fn new(folder: &std::path::Path, size: &str) -> Option<Self> {
        let options = format!("size={size},mode=0700");
        Self::of(folder, &["-t", "tmpfs", "-o", &options, "tmpfs"])
    }

    /// A disk whose file system the kernel can freeze.
    fn of_image(folder: &std::path::Path, image: &std::path::Path) -> Option<Self> {
        fs::File::create(image).unwrap().set_len(64 << 20).unwrap();
        let made = Command::new("mkfs.ext4").arg("-q").arg(image).status();
        if !made.is_ok_and(|made| made.success()) {
            eprintln!("left out: needs mkfs.ext4");
            return None;
        }
        let mount = Self::of(folder, &["-o", "loop", image.to_str()?])?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
        Some(mount)
    }

    fn of(folder: &std::path::Path, arguments: &[&str]) -> Option<Self> {
        fs::create_dir_all(folder).unwrap();
        let mount = Command::new("mount").args(arguments).arg(folder).output();
        match mount {
            Ok(output) if output.status.success() => Some(Self(folder.to_owned())),
            Ok(output) => {
                eprintln!(
                    "left out: {}",
                    String::from_utf8_lossy(&output.stderr).trim()
                );
                None
            }
            Err(error) => {
                eprintln!("left out: mount: {error}");
                None
            }
        }
    }

    fn remount(&self, option: &str) {
        let options = format!("remount,{option}");
        assert!(
            Command::new("mount")
                .args(["-o", &options])
                .arg(&self.0)
                .status()
                .unwrap()
                .success()
        );
    }
}

/// A file system that answers nothing until this is dropped.
struct Frozen<'a>(&'a Mount);

impl<'a> Frozen<'a> {
    fn new(mount: &'a Mount) -> Self {
        let frozen = Command::new("fsfreeze").arg("-f").arg(&mount.0).status();
        assert!(frozen.unwrap().success());
        Self(mount)
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("-u").arg(&self.0.0).status();
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_read_only_folder_leaves_the_daemon_running_in_memory() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let Some(mount) = Mount::new(&data, "16m") else {
        return;
    };
    fs::File::create(data.join("log")).unwrap();
    fs::create_dir(data.join("cache")).unwrap();
    fs::set_permissions(data.join("cache"), fs::Permissions::from_mode(0o700)).unwrap();
    let other = tempfile::tempdir().unwrap();
    let log = other.path().join("log");
    mount.remount("ro");
    let port = crate::daemon::free_port();
    let mut child = crate::daemon::gpud()
        .args(["run", "--data-dir", data.to_str().unwrap()])
        .arg(format!("--listen-address=127.0.0.1:{port}"))
        .env("KMSG_FILE_PATH", "/dev/null")
        .stderr(fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let said = crate::daemon::eventually("all components are loaded", || {
        let said = fs::read_to_string(&log).unwrap();
        said.contains("all components are loaded").then_some(said)
    });
    assert!(said.contains("nothing is kept across restarts"), "{said}");
    let components = gpud::component::builtin::all().len();
    assert!(
        said.contains(&format!("\"components\":{components}")),
        "{said}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_start_on_a_full_disk_runs_all_the_same() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let Some(_mount) = Mount::new(&data, "1m") else {
        return;
    };
    let daemon = Start::new()
        .folder(&data)
        .arguments(&["--components=pci,pressure"])
        .spawn();
    crate::daemon::eventually("it is checked", || {
        let (status, body) =
            daemon.try_get("/v1/components/trigger-check?componentName=pressure")?;
        let text = String::from_utf8_lossy(&body).into_owned();
        (status == 200 && text.contains("\"Healthy\"")).then_some(())
    });
}

#[test]
fn a_full_disk_stops_no_check_and_is_forgotten_once_there_is_room() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let Some(_mount) = Mount::new(&data, "256m") else {
        return;
    };
    let kmsg = home.path().join("kmsg");
    fs::write(&kmsg, "").unwrap();
    let daemon = Start::new()
        .folder(&data)
        .kernel_log(kmsg.to_str().unwrap())
        .ready();
    let ballast = data.join("ballast");
    let filled = Command::new("dd")
        .arg("if=/dev/zero")
        .arg(format!("of={}", ballast.display()))
        .args(["bs=64k", "status=none"])
        .output()
        .unwrap();
    assert!(!filled.status.success(), "the disk is full");
    let triggered = daemon.get("/v1/components/trigger-check?componentName=cpu");
    assert_eq!(
        triggered[0]["states"][0]["health"], "Healthy",
        "checks go on"
    );
    fs::remove_file(&ballast).unwrap();
    let line = "NVRM: Xid (PCI:0000:d1:00): 79, pid='<unknown>', GPU has fallen off the bus.";
    fs::write(&kmsg, format!("3,1,60000000,-;{line}\n")).unwrap();
    crate::daemon::eventually("writes work again", || {
        daemon
            .events("accelerator-nvidia-error-xid")
            .into_iter()
            .next()
    });
}

/// Fills a file system.
fn fill(folder: &std::path::Path) -> std::path::PathBuf {
    let ballast = folder.join("ballast");
    for size in ["bs=64k", "bs=512"] {
        let filled = Command::new("dd")
            .arg("if=/dev/zero")
            .arg(format!("of={}", ballast.display()))
            .args([size, "status=none", "oflag=append", "conv=notrunc"])
            .output()
            .unwrap();
        assert!(!filled.status.success(), "the disk is full");
    }
    ballast
}

/// How names of disks begin in this run: the machine's ring can still hold lines of an earlier one. Digits would be those of
/// partitions.
fn disk_of_this_run() -> String {
    let digits = std::process::id().to_string();
    let letters = digits.bytes().map(|digit| char::from(digit - b'0' + b'k'));
    format!("sd{}", letters.collect::<String>())
}

/// A line about a disk that no other line names.
fn disk_error(number: usize) -> String {
    let digits = number.to_string();
    let letters: String = digits
        .bytes()
        .map(|digit| char::from(digit - b'0' + b'a'))
        .collect();
    let disk = disk_of_this_run();
    format!(
        "I/O error, dev {disk}{letters}, sector 7 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2"
    )
}

/// The numbers of [`disk_error`] that became events, the oldest first.
fn stored(daemon: &crate::daemon::Daemon) -> Vec<usize> {
    let disk = disk_of_this_run();
    let number = |event: &serde_json::Value| {
        let message = event["message"].as_str()?;
        let (_, rest) = message.split_once(&disk)?;
        let letters = rest.bytes().take_while(|byte| (b'a'..=b'j').contains(byte));
        let digits: String = letters
            .map(|letter| char::from(letter - b'a' + b'0'))
            .collect();
        digits.parse().ok()
    };
    let mut numbers: Vec<usize> = daemon
        .events("block-io")
        .iter()
        .filter_map(number)
        .collect();
    numbers.reverse();
    numbers
}

/// Has the daemon's log written elsewhere than on the disk that is going to be full.
fn log_elsewhere(home: &std::path::Path, data: &std::path::Path) {
    std::os::unix::fs::symlink(home.join("log"), data.join("log")).unwrap();
}

fn says_that_it_cannot_write(daemon: &crate::daemon::Daemon) -> Option<()> {
    let reason = daemon.state("os")["reason"].as_str()?.to_owned();
    (reason.contains("the database cannot be written since 2") && reason.contains("no space left"))
        .then_some(())
}

#[test]
fn a_full_disk_loses_no_kernel_message() {
    const LINES: usize = 3000;
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let Some(_mount) = Mount::new(&data, "256m") else {
        return;
    };
    log_elsewhere(home.path(), &data);
    let kmsg = home.path().join("kmsg");
    fs::write(&kmsg, "").unwrap();
    let start = || {
        Start::new()
            .folder(&data)
            .kernel_log(kmsg.to_str().unwrap())
            .arguments(&["--components=os,block-io"])
    };
    let daemon = start().ready();
    let ballast = fill(&data);
    let record =
        |number: usize| format!("3,{number},{},-;{}\n", number * 10_000, disk_error(number));
    fs::write(&kmsg, (0..LINES / 2).map(record).collect::<String>()).unwrap();
    crate::daemon::eventually("it is said", || says_that_it_cannot_write(&daemon));
    assert!(
        daemon.log().contains("the database cannot be written"),
        "{}",
        daemon.log()
    );
    crate::daemon::eventually("the checker is not to blame, and does not know", || {
        let state = daemon.state("block-io");
        let says_why = state["reason"]
            .as_str()?
            .starts_with("unknown: kernel messages wait");
        (state["health"] == "Degraded" && says_why).then_some(())
    });
    // Killed with everything outstanding: the next start begins where the database is, on the full disk.
    daemon.signal("-KILL");
    daemon.wait();
    let daemon = start().ready();
    let mut file = fs::File::options().append(true).open(&kmsg).unwrap();
    let rest = (LINES / 2..LINES).map(record).collect::<String>();
    std::io::Write::write_all(&mut file, rest.as_bytes()).unwrap();
    fs::remove_file(&ballast).unwrap();
    crate::daemon::eventually("all are stored", || {
        (stored(&daemon).len() == LINES).then_some(())
    });
    let mut numbers = stored(&daemon);
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..LINES), "each once");
    crate::daemon::eventually("it is over", || {
        let reason = daemon.state("os")["reason"].as_str()?.to_owned();
        (!reason.contains("database")).then_some(())
    });
}

#[test]
fn a_full_disk_hides_no_verdict() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let Some(_mount) = Mount::new(&data, "256m") else {
        return;
    };
    log_elsewhere(home.path(), &data);
    let kmsg = home.path().join("kmsg");
    fs::write(&kmsg, "").unwrap();
    let start = || {
        Start::new()
            .folder(&data)
            .kernel_log(kmsg.to_str().unwrap())
            .arguments(&["--components=os,block-io"])
    };
    let daemon = start().ready();
    let ballast = fill(&data);
    let disk = disk_of_this_run();
    // Many, so that there is no room for them in what the database has already.
    let lost = (0..600).map(|number| {
        let line = format!(
            "sd 0:0:0:0: [{disk}{number}] Device offlined - not ready after error recovery"
        );
        format!("3,{number},{},-;{line}\n", number * 10_000)
    });
    fs::write(&kmsg, lost.collect::<String>()).unwrap();
    let is_lost = |daemon: &crate::daemon::Daemon| {
        let state = daemon.state("block-io");
        let error = state["error"].as_str().unwrap_or_default().to_owned();
        (state["health"] == "Unhealthy").then_some(error)
    };
    let waits = "kernel messages wait";
    let error = eventually("it is judged at once", || is_lost(&daemon));
    assert!(error.contains(waits), "{error}");
    assert!(daemon.events("block-io").is_empty(), "nothing is stored");
    daemon.signal("-KILL");
    daemon.wait();
    let daemon = start().ready();
    let error = eventually("also by the next daemon", || is_lost(&daemon));
    assert!(error.contains(waits), "{error}");
    fs::remove_file(&ballast).unwrap();
    eventually("it is known again", || {
        is_lost(&daemon).filter(|error| !error.contains(waits))
    });
    crate::daemon::eventually("all are stored", || {
        (daemon.events("block-io").len() == 600).then_some(())
    });
}

#[test]
fn lines_of_the_real_ring_are_stored_or_counted_after_a_full_disk() {
    const LINES: usize = 10_000;
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let Some(_mount) = Mount::new(&data, "256m") else {
        return;
    };
    log_elsewhere(home.path(), &data);
    // Opened for each line: the kernel holds back what one opener writes quickly.
    let write = |number: usize| {
        let line = format!("<3>{}\n", disk_error(number));
        let ring = fs::File::options().write(true).open("/dev/kmsg");
        ring.and_then(|mut ring| std::io::Write::write_all(&mut ring, line.as_bytes()))
    };
    let daemon = Start::new()
        .folder(&data)
        .real_kernel_log()
        .arguments(&["--components=os,block-io"])
        .ready();
    crate::daemon::eventually("the log is read", || {
        daemon
            .log()
            .contains("following the kernel log")
            .then_some(())
    });
    let ballast = fill(&data);
    for number in 0..LINES {
        if let Err(error) = write(number) {
            eprintln!("left out: {error}");
            return;
        }
    }
    crate::daemon::eventually("it is said", || says_that_it_cannot_write(&daemon));
    fs::remove_file(&ballast).unwrap();
    // One more, which is in the ring for sure.
    write(LINES).unwrap();
    crate::daemon::eventually("the last one is stored", || {
        stored(&daemon).contains(&LINES).then_some(())
    });
    let numbers = stored(&daemon);
    let mut distinct = numbers.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), numbers.len(), "none is doubled");
    let lost = || -> usize {
        let events = daemon.events("os");
        let gaps = events
            .iter()
            .filter(|event| event["name"] == "kernel_log_gap");
        gaps.filter_map(|event| {
            event["message"]
                .as_str()?
                .split(' ')
                .next()?
                .parse::<usize>()
                .ok()
        })
        .sum()
    };
    // What the ring had lost is an event of `os`, which is stored by itself.
    crate::daemon::eventually("every line is stored or counted", || {
        (stored(&daemon).len() + lost() == LINES + 1).then_some(())
    });
}

#[test]
fn a_daemon_that_starts_on_a_full_disk_moves_to_the_file_once_there_is_room() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let Some(_mount) = Mount::new(&data, "256m") else {
        return;
    };
    log_elsewhere(home.path(), &data);
    let ballast = fill(&data);
    let log = home.path().join("log");
    let port = crate::daemon::free_port();
    let mut child = crate::daemon::gpud()
        .args(["run", "--data-dir", data.to_str().unwrap()])
        .arg(format!("--listen-address=127.0.0.1:{port}"))
        .arg("--components=os")
        .env("KMSG_FILE_PATH", "/dev/null")
        .stderr(fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let said = |what: &str| {
        let said = fs::read_to_string(&log).unwrap();
        said.contains(what).then_some(())
    };
    crate::daemon::eventually("it runs", || said("all components are loaded"));
    crate::daemon::eventually("it is in memory", || said("the database is in memory"));
    fs::remove_file(&ballast).unwrap();
    crate::daemon::eventually("it moves", || said("the database is in its file again"));
    child.kill().unwrap();
    child.wait().unwrap();
    let daemon = Start::new()
        .folder(&data)
        .arguments(&["--components=os"])
        .ready();
    let reboots = daemon.events("os");
    assert_eq!(
        reboots.len(),
        1,
        "what was in memory is in the file: {reboots:?}"
    );
}

/// A disk that fails, or a server of files that is gone. The verdicts go on from memory.
#[test]
fn a_disk_that_hangs_holds_up_no_check_and_loses_nothing() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let Some(mount) = Mount::of_image(&data, &home.path().join("image")) else {
        return;
    };
    log_elsewhere(home.path(), &data);
    let log = home.path().join("kmsg");
    fs::write(&log, "6,1,1000,-;nothing\n").unwrap();
    let daemon = Start::new()
        .folder(&data)
        .kernel_log(log.to_str().unwrap())
        .socket(&home.path().join("socket"))
        .arguments(&["--components=cpu,os,accelerator-nvidia-error-xid,kernel-stalls"])
        .ready();
    let frozen = Frozen::new(&mount);
    let line = "NVRM: Xid (PCI:0000:e9:00): 79, pid='<unknown>', GPU has fallen off the bus.";
    let mut text = fs::read_to_string(&log).unwrap();
    text.push_str(&format!("3,2,2000,-;{line}\n"));
    // Its component reads what it has stored before it judges the line.
    text.push_str("3,3,3000,-;INFO: task dd:4242 blocked for more than 122 seconds.\n");
    fs::write(&log, text).unwrap();
    eventually("it is said", || {
        let state = check(&daemon, "os", BOUNDED);
        let reason = state["reason"].as_str().unwrap_or_default();
        (reason.contains("does not answer") && state["health"] != "Healthy").then_some(())
    });
    // It compares with what it has stored, and waits for that.
    let state = check(&daemon, "cpu", BOUNDED);
    let reason = state["reason"].as_str().unwrap();
    assert!(reason.contains("cannot be judged"), "{state}");
    assert_eq!(state["health"], "Degraded", "{state}");
    drop(frozen);
    eventually("the event is there", || {
        let events = daemon.events("accelerator-nvidia-error-xid");
        events
            .iter()
            .any(|event| event["message"].to_string().contains("79"))
            .then_some(())
    });
    eventually("so is that of the other line", || {
        (!daemon.events("cpu").is_empty()).then_some(())
    });
    let lost = |event: &serde_json::Value| event["name"] == "kernel_log_gap";
    assert!(!daemon.events("os").iter().any(lost));
    let state = check(&daemon, "os", PROMPT);
    assert_eq!(state["health"], "Healthy", "{state}");
    daemon.signal("-TERM");
    let (status, log) = daemon.wait();
    assert!(status.success(), "{log}");
}
