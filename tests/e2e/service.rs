//! `gpud up` and `gpud down` against a stand-in for systemd's program, below a folder that stands for `/`.
//!
//! Both need root, as the daemon's tests of the kernel log do.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Output,
};

use tempfile::TempDir;

use crate::daemon::gpud;

/// A machine with a systemd that records the messages it receives.
pub struct Machine {
    folder: TempDir,
}

impl Machine {
    pub fn new() -> Self {
        let machine = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for path in ["bin", "root/usr/local/bin", "data"] {
            fs::create_dir_all(machine.path(path)).unwrap();
        }
        fs::write(machine.path("root/usr/local/bin/gpud"), "").unwrap();
        machine.systemctl("case $1 in is-active) echo inactive; exit 3;; esac");
        machine
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What its `systemctl` does besides noting the call.
    pub fn systemctl(&self, script: &str) {
        let path = self.path("bin/systemctl");
        let calls = self.path("calls");
        let script = format!("#!/bin/sh\necho \"$@\" >> {}\n{script}\n", calls.display());
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn calls(&self) -> String {
        fs::read_to_string(self.path("calls")).unwrap_or_default()
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        gpud()
            .args(arguments)
            .arg("--data-dir")
            .arg(self.path("data"))
            .env("PATH", path)
            .output()
            .unwrap()
    }

    pub fn up(&self, arguments: &[&str]) -> Output {
        let root = format!("--install-root={}", self.path("root").display());
        self.run(&[&["up", &root][..], arguments].concat())
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path("root").join(path)).unwrap()
    }
}

pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("left out: needs root");
    }
    root
}

pub fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn up_writes_its_files_and_starts_the_service() {
    if !is_root() {
        return;
    }
    let machine = Machine::new();
    let (code, stdout, stderr) = said(&machine.up(&[]));
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert_eq!(stdout, "✔ gpud.service runs\n");
    assert_eq!(
        machine.calls(),
        "enable gpud.service\ndaemon-reload\nrestart gpud.service\n"
    );
    let unit = machine.read("etc/systemd/system/gpud.service");
    assert!(unit.contains("\nExecStart=/usr/local/bin/gpud run $FLAGS\n"));
    let data = machine.path("data").display().to_string();
    let environment = machine.read("etc/default/gpud");
    assert!(
        environment.contains(&format!(
            "--log-file=/var/log/gpud.log --data-dir={data}\"\n"
        )),
        "{environment}"
    );
    for path in ["etc/default/gpud", "etc/systemd/system/gpud.service"] {
        let mode = fs::metadata(machine.path("root").join(path)).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o644, "{path}");
    }
}

#[test]
fn up_keeps_the_operators_flags_and_tells_of_those_without_effect() {
    if !is_root() {
        return;
    }
    let machine = Machine::new();
    let file = machine.path("root/etc/default/gpud");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(
        &file,
        "NO_PROXY=x\nFLAGS=\"--log-level=warn --endpoint=e --components=-disk --data-dir=/old --session-protocol=auto\"\n",
    )
    .unwrap();
    let output = machine.up(&["--token=secret", "--listen-address=:15132", "--gpu-count=8"]);
    let (code, _, stderr) = said(&output);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(
        stderr.contains("no control plane") && stderr.contains("--token"),
        "{stderr}"
    );
    assert!(!stderr.contains("secret"), "{stderr}");
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        format!(
            "NO_PROXY=x\nFLAGS=\"--log-level=warn --components=-disk --data-dir={} --listen-address=:15132\"\n",
            machine.path("data").display()
        )
    );

    fs::write(&file, "FLAGS=\"--nonsense\"\n").unwrap();
    let (code, stdout, _) = said(&machine.up(&[]));
    assert_eq!(code, Some(0));
    assert!(
        stdout.contains("--nonsense") || stdout.contains("-nonsense"),
        "{stdout}"
    );
    assert_eq!(
        machine.read("etc/default/gpud.bak"),
        "FLAGS=\"--nonsense\"\n"
    );
    assert!(!machine.read("etc/default/gpud").contains("nonsense"));
}

#[test]
fn up_names_the_obstacle() {
    if !is_root() {
        return;
    }
    let machine = Machine::new();
    machine.systemctl(
        "[ $1 = restart ] && { echo 'Job for gpud.service failed.' >&2; exit 1; }; exit 0",
    );
    let (code, _, stderr) = said(&machine.up(&[]));
    assert_eq!(code, Some(1));
    assert!(
        stderr.starts_with(
            "✘ failed to start gpud.service: systemctl restart: exit status 1: Job for gpud.service failed."
        ),
        "{stderr}"
    );
    fs::remove_file(machine.path("root/usr/local/bin/gpud")).unwrap();
    let (code, _, stderr) = said(&machine.up(&[]));
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("copy this one to /usr/local/bin/gpud"),
        "{stderr}"
    );

    let nowhere = gpud().arg("up").env("PATH", machine.path("data")).output();
    let (code, _, stderr) = said(&nowhere.unwrap());
    assert_eq!(code, Some(1));
    assert!(
        stderr.starts_with("✘ requires systemd, to run without systemd, '/"),
        "{stderr}"
    );
    // A container with systemctl and without systemd: nothing is enabled there.
    if !Path::new("/run/systemd/system").exists() {
        let before = machine.calls();
        let (code, _, stderr) = said(&machine.run(&["up"]));
        assert_eq!(code, Some(1));
        assert!(
            stderr.starts_with("✘ requires systemd, to run without systemd, '/"),
            "{stderr}"
        );
        assert_eq!(machine.calls(), before);
    }
    let (code, _, stderr) = said(&machine.up(&["--token", ""]));
    assert_eq!((code, stderr.as_str()), (Some(1), "✘ token is empty\n"));
}

#[test]
fn down_stops_and_disables() {
    if !is_root() {
        return;
    }
    let machine = Machine::new();
    for (script, code, stdout, stderr, calls) in [
        (
            "case $1 in is-active) echo active;; esac",
            0,
            "✔ successfully stopped gpud\n",
            "",
            "is-active gpud.service\nstop gpud.service\ndisable gpud.service\n",
        ),
        (
            "case $1 in is-active) echo inactive; exit 3;; esac",
            0,
            "✔ gpud is not running (no-op)\n",
            "",
            "is-active gpud.service\n",
        ),
        // GPUd gives up here: a unit that failed would come back at the next boot.
        (
            "case $1 in is-active) echo failed; exit 3;; esac",
            0,
            "✔ successfully stopped gpud\n",
            "",
            "is-active gpud.service\nstop gpud.service\ndisable gpud.service\n",
        ),
        (
            "case $1 in is-active) echo active;; stop) exit 4;; esac",
            1,
            "",
            "✘ failed to stop systemd unit 'gpud.service': systemctl stop: exit status 4\n",
            "is-active gpud.service\nstop gpud.service\n",
        ),
        (
            "echo 'no bus' >&2; exit 1",
            1,
            "",
            "✘ failed to check if gpud is running: systemctl is-active: exit status 1: no bus\n",
            "is-active gpud.service\n",
        ),
    ] {
        machine.systemctl(script);
        let _ = fs::remove_file(machine.path("calls"));
        let found = said(&machine.run(&["down"]));
        assert_eq!(
            found,
            (Some(code), stdout.to_owned(), stderr.to_owned()),
            "{script}"
        );
        assert_eq!(machine.calls(), calls, "{script}");
    }
}

#[test]
fn reset_forgets_what_a_platform_gave_and_nothing_else() {
    if !is_root() {
        return;
    }
    let machine = Machine::new();
    let file = machine.path("data/gpud.state");
    make_state_file(&file);
    let set = [
        "metadata",
        "--set-key=machine_id",
        "--set-value=m-1",
        "--json",
    ];
    let (code, stdout, stderr) = said(&machine.run(&set));
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let metadata = |machine: &Machine| said(&machine.run(&["metadata"])).1;
    assert!(metadata(&machine).contains("machine_id: m-1\n"));
    let (code, stdout, _) = said(&machine.run(&["down", "--reset-state"]));
    assert_eq!(
        (code, stdout.as_str()),
        (Some(0), "✔ gpud is not running (no-op)\n")
    );
    let left = metadata(&machine);
    assert!(
        !left.contains("machine_id") && left.contains("clean_shutdown"),
        "{left}"
    );
}

/// As a daemon leaves it.
fn make_state_file(path: &Path) {
    use gpud::store::{Location, Store, StoreOptions};
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = Store::open(StoreOptions::new(Location::File(path.to_owned())));
        store.unwrap().store.checkpoint_and_close().await.unwrap();
    });
}

/// systemd's own verdict on the unit, where its tools are.
#[test]
fn the_unit_is_one_that_systemd_takes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gpud.service");
    let unit = include_str!("../../deploy/systemd/gpud.service");
    let binary = env!("CARGO_BIN_EXE_gpud");
    fs::write(&path, unit.replace("/usr/local/bin/gpud", binary)).unwrap();
    // Its drop-in is read as well.
    let drop_in = include_str!("../../deploy/systemd/least-privilege.conf");
    let drop_ins = folder.path().join("gpud.service.d");
    fs::create_dir(&drop_ins).unwrap();
    let drop_in = drop_in.replace("/usr/local/bin/gpud", binary);
    fs::write(drop_ins.join("least-privilege.conf"), drop_in).unwrap();
    let output = std::process::Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(&path)
        .output();
    let Ok(output) = output else {
        eprintln!("left out: no systemd-analyze");
        return;
    };
    let (code, stdout, stderr) = said(&output);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert!(!stderr.contains("gpud.service"), "{stderr}");
}
