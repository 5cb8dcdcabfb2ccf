//! A database that is broken, read-only or full.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use crate::daemon::Start;

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
        fs::create_dir_all(folder).unwrap();
        let options = format!("size={size}");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(folder)
            .output();
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
