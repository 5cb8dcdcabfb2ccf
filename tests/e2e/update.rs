//! `gpud update` with made-up releases, a made-up daemon, and a `systemctl` of its own, below a folder that represents `/`.
//!
//! It needs root, as `gpud up` does. The programs of the releases are small ones that print their version; they are made
//! here, for one processor.
#![cfg(target_arch = "x86_64")]

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{Read as _, Write as _},
    os::unix::{fs::PermissionsExt as _, net::UnixListener},
    path::{Path, PathBuf},
    thread,
};

use flate2::{Compression, write::GzEncoder};
use gpud::pack::{hex, signature::SecretKey};
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use crate::daemon::gpud;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A program for x86-64 Linux that prints a line, whatever its arguments are, and ends with status 0.
fn program(line: &str) -> Vec<u8> {
    // mov eax, 1; mov edi, 1; lea rsi, [rip + 16]; mov edx, LENGTH
    let mut code = vec![
        0xb8, 1, 0, 0, 0, 0xbf, 1, 0, 0, 0, 0x48, 0x8d, 0x35, 16, 0, 0, 0, 0xba,
    ];
    code.extend(u32::try_from(line.len()).unwrap().to_le_bytes());
    // syscall; mov eax, 60; xor edi, edi; syscall
    code.extend([0x0f, 0x05, 0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05]);
    let size = 120 + code.len() as u64 + line.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    for half in [2_u16, 62] {
        file.extend(half.to_le_bytes());
    }
    file.extend(1_u32.to_le_bytes());
    for word in [0x40_0078_u64, 64, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(0_u32.to_le_bytes());
    for half in [64_u16, 56, 1, 64, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    for half in [1_u32, 5] {
        file.extend(half.to_le_bytes());
    }
    for word in [0, 0x40_0000, 0x40_0000, size, size, 0x1000] {
        file.extend(word.to_le_bytes());
    }
    file.extend(code);
    file.extend(line.as_bytes());
    file
}

/// A machine on which gpud 0.1.0 is installed and runs.
struct Machine {
    folder: TempDir,
    key: SecretKey,
    /// As a daemon holds it.
    _running: File,
}

impl Machine {
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("left out: needs root");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for path in [
            "bin",
            "root/usr/local/bin",
            "root/etc/default",
            "data",
            "release",
        ] {
            fs::create_dir_all(at(path)).unwrap();
        }
        let key = SecretKey::generate().unwrap();
        fs::write(at("release.pub"), key.public()).unwrap();
        let environment = format!("FLAGS=\"--data-dir={}\"\n", at("data").display());
        fs::write(at("root/etc/default/gpud"), environment).unwrap();
        let running = File::create(at("data/gpud.run")).unwrap();
        flock(&running, FlockOperation::NonBlockingLockExclusive).unwrap();
        let listener = UnixListener::bind(at("data/gpud.sock")).unwrap();
        thread::spawn(move || answer(&listener));
        let machine = Self {
            folder,
            key,
            _running: running,
        };
        machine.install(&program("gpud version 0.1.0 (contract x)\n"));
        machine.systemctl("");
        machine.announce("0.1.0");
        Some(machine)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn install(&self, program: &[u8]) {
        write_program(&self.path("root/usr/local/bin/gpud"), program);
    }

    /// Its `systemctl`. A restart writes what a daemon of the installed version would write, unless `before` ends it.
    fn systemctl(&self, before: &str) {
        let script = format!(
            "#!/bin/sh\n\
             echo \"$@\" >> {calls}\n\
             version=$({root}/usr/local/bin/gpud --version | cut -d' ' -f3)\n\
             {before}\n\
             case $1 in\n\
             is-active) echo active ;;\n\
             restart) printf '{{\"pid\":7,\"address\":\"127.0.0.1:1\",\"version\":\"%s\",\"socket\":\"{data}/gpud.sock\"}}' \
             \"$version\" > {data}/gpud.run ;;\n\
             esac\n",
            calls = self.path("calls").display(),
            root = self.path("root").display(),
            data = self.path("data").display(),
        );
        write_program(&self.path("bin/systemctl"), script.as_bytes());
    }

    /// Writes what a daemon of this version writes.
    fn announce(&self, version: &str) {
        let socket = self.path("data/gpud.sock").display().to_string();
        let text = format!(
            "{{\"pid\":7,\"address\":\"127.0.0.1:1\",\"version\":\"{version}\",\"socket\":\"{socket}\"}}"
        );
        fs::write(self.path("data/gpud.run"), text).unwrap();
    }

    /// Adds a release to the folder, signed by this key.
    fn release(&self, version: &str, program: &[u8], key: &SecretKey) {
        let name = format!("gpud-{version}-{TARGET}");
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(program.len() as u64);
        header.set_mode(0o755);
        let path = format!("{name}/gpud");
        builder.append_data(&mut header, path, program).unwrap();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&builder.into_inner().unwrap()).unwrap();
        let archive = encoder.finish().unwrap();
        let folder = self.path("release");
        fs::write(folder.join(format!("{name}.tar.gz")), &archive).unwrap();
        let mut sums = fs::read_to_string(folder.join("SHA256SUMS")).unwrap_or_default();
        writeln!(sums, "{}  {name}.tar.gz", hex(&archive)).unwrap();
        fs::write(folder.join("SHA256SUMS"), &sums).unwrap();
        let signature = key.sign(sums.as_bytes(), &format!("gpud {version}"));
        fs::write(folder.join("SHA256SUMS.minisig"), signature).unwrap();
    }

    fn good_release(&self, version: &str) {
        let program = program(&format!("gpud version {version} (contract x)\n"));
        self.release(version, &program, &self.key);
    }

    /// Status, standard output and standard error of an update from the folder of releases.
    fn update(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        let output = gpud()
            .args(["update", "--wait=1s", "--settle=0s"])
            .arg(format!("--from={}", self.path("release").display()))
            .arg(format!(
                "--public-key={}",
                self.path("release.pub").display()
            ))
            .arg(format!("--install-root={}", self.path("root").display()))
            .args(arguments)
            .env("PATH", path)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    /// An update that fails, and leaves the program as it is; gives what it says.
    fn refusal(&self, arguments: &[&str]) -> String {
        let before = fs::read(self.path("root/usr/local/bin/gpud")).unwrap();
        let (code, stdout, stderr) = self.update(arguments);
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
        assert!(
            before == fs::read(self.path("root/usr/local/bin/gpud")).unwrap(),
            "{stderr}"
        );
        let left = fs::read_dir(self.path("root/usr/local/bin"))
            .unwrap()
            .count();
        assert_eq!(left, 1, "{stderr}");
        stderr
    }

    /// What the installed program prints.
    fn installed(&self) -> String {
        let output = std::process::Command::new(self.path("root/usr/local/bin/gpud")).output();
        String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.path("calls")).unwrap_or_default()
    }
}

fn write_program(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Says to each request that all is well, until the test ends.
fn answer(listener: &UnixListener) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { return };
        let mut request = [0; 4096];
        let _ = stream.read(&mut request);
        let _ = stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    }
}

#[test]
fn a_release_replaces_the_program_and_the_daemon_runs_it() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.good_release("0.9.0");
    machine.good_release("0.10.0");
    let (code, stdout, stderr) = machine.update(&["--dry-run"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(
        stdout.starts_with("would replace gpud 0.1.0 by 0.10.0 (")
            && stdout.contains(") and restart gpud.service\n"),
        "{stdout}"
    );
    assert_eq!(machine.installed(), "gpud version 0.1.0 (contract x)\n");
    assert_eq!(machine.calls(), "is-active gpud.service\n");

    let (code, stdout, stderr) = machine.update(&[]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(
        stdout.starts_with("✔ gpud 0.1.0 was replaced by 0.10.0 ("),
        "{stdout}"
    );
    assert!(
        stdout.contains("\n  gpud.service was restarted and answers\n"),
        "{stdout}"
    );
    assert_eq!(machine.installed(), "gpud version 0.10.0 (contract x)\n");
    assert!(
        machine
            .calls()
            .ends_with("reset-failed gpud.service\nrestart gpud.service\n")
    );
    let retained = fs::read(machine.path("root/usr/local/share/gpud/gpud.before")).unwrap();
    assert!(retained == program("gpud version 0.1.0 (contract x)\n"));

    let (code, stdout, _) = machine.update(&[]);
    assert_eq!(code, Some(0));
    assert!(
        stdout.starts_with("✔ gpud 0.10.0 is installed already ("),
        "{stdout}"
    );

    // Back, by the name of an archive, and only with leave.
    let archive = machine.path(&format!("release/gpud-0.9.0-{TARGET}.tar.gz"));
    let archive = format!("--from={}", archive.display());
    let refused = machine.refusal(&[&archive]);
    assert!(
        refused.contains("0.9.0 is earlier than the installed 0.10.0"),
        "{refused}"
    );
    let (code, _, stderr) = machine.update(&[&archive, "--allow-downgrade"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(machine.installed(), "gpud version 0.9.0 (contract x)\n");
}

#[test]
fn a_program_that_does_not_come_up_is_taken_back() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.good_release("0.2.0");
    for (before, why) in [
        (
            "[ \"$1 $version\" = 'restart 0.2.0' ] && { echo 'Job for gpud.service failed.' >&2; exit 1; }",
            "systemctl restart: exit status 1: Job for gpud.service failed.",
        ),
        // It ends at once, and the daemon that is found is none of this version.
        (
            "[ \"$1 $version\" = 'restart 0.2.0' ] && exit 0",
            "version 0.1.0 runs",
        ),
    ] {
        machine.systemctl(before);
        let stderr = machine.refusal(&[]);
        assert!(
            stderr.starts_with(&format!(
                "✘ gpud 0.2.0 did not come up: {why}; 0.1.0 is back ("
            )),
            "{stderr}"
        );
        assert!(stderr.ends_with(") and runs\n"), "{stderr}");
        // The former daemon looks for it, and takes the state file from before the update if it has to.
        fs::remove_file(machine.path("data/gpud.state.restore")).unwrap();
    }
    machine.systemctl("[ $1 = restart ] && exit 1");
    let stderr = machine.refusal(&[]);
    assert!(stderr.contains("does not come up either"), "{stderr}");
}

#[test]
fn what_is_not_signed_or_does_not_fit_changes_nothing() {
    let Some(machine) = Machine::new() else {
        return;
    };
    let release = |version: &str, content: &[u8]| {
        let _ = fs::remove_file(machine.path("release/SHA256SUMS"));
        machine.release(version, content, &machine.key);
    };
    let good = program("gpud version 0.2.0 (contract x)\n");
    let (mut other, mut dead) = (good.clone(), good.clone());
    // The processor; the number of segments, without which nothing can be started.
    other[18] = 183;
    dead[56] = 0;
    for (version, content, why) in [
        ("0.2.0", &b"#!/bin/sh\n"[..], "is none for Linux"),
        ("0.2.0", &other[..], "for another processor"),
        ("0.3.0", &good[..], "says that it is version 0.2.0"),
        ("0.2.0", &dead[..], "does not start on this machine"),
    ] {
        release(version, content);
        let refused = machine.refusal(&[]);
        assert!(refused.contains(why), "{why}: {refused}");
    }
    release("0.2.0", &good);
    let archive = machine.path(&format!("release/gpud-0.2.0-{TARGET}.tar.gz"));
    let intact = fs::read(&archive).unwrap();
    fs::write(&archive, &intact[..intact.len() - 1]).unwrap();
    assert!(machine.refusal(&[]).contains("does not have the checksum"));
    fs::write(&archive, &intact).unwrap();
    let sums = machine.path("release/SHA256SUMS");
    let text = fs::read_to_string(&sums).unwrap();
    fs::write(&sums, text.replace("gpud-0.2.0", "gpud-0.9.0")).unwrap();
    assert!(machine.refusal(&[]).contains("its signature is bad"));
    fs::write(&sums, &text).unwrap();
    machine.release("0.4.0", &good, &SecretKey::generate().unwrap());
    assert!(machine.refusal(&[]).contains("signed by another key"));
    fs::remove_file(machine.path("release/SHA256SUMS.minisig")).unwrap();
    assert!(machine.refusal(&[]).contains("cannot read"));
    let missing = format!("--public-key={}", machine.path("none").display());
    assert!(
        machine
            .refusal(&[&missing])
            .contains("no such file or directory: name the public key")
    );
}

#[test]
fn a_daemon_that_systemd_does_not_run_needs_a_command() {
    let Some(machine) = Machine::new() else {
        return;
    };
    machine.good_release("0.2.0");
    let systemctl = machine.path("bin/systemctl");
    let script = fs::read_to_string(&systemctl).unwrap();
    let inactive = script.replace("echo active", "echo inactive; exit 3");
    write_program(&systemctl, inactive.as_bytes());
    let refused = machine.refusal(&[]);
    assert!(
        refused.contains("the daemon (process 7) is not run by systemd"),
        "{refused}"
    );
    let command = format!("--restart={} restart", systemctl.display());
    let (code, stdout, stderr) = machine.update(&[&command]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stdout.contains("\n  the daemon was restarted and answers\n"),
        "{stdout}"
    );
    assert_eq!(machine.installed(), "gpud version 0.2.0 (contract x)\n");

    // Without a daemon the program is replaced, and nothing is started.
    machine.good_release("0.3.0");
    fs::remove_file(machine.path("data/gpud.run")).unwrap();
    let (code, stdout, stderr) = machine.update(&[]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stdout.contains("\n  no daemon runs; nothing was started\n"),
        "{stdout}"
    );
    assert_eq!(machine.installed(), "gpud version 0.3.0 (contract x)\n");

    // A package brings its own upgrade.
    fs::create_dir_all(machine.path("root/usr/bin")).unwrap();
    let installed = machine.path("root/usr/local/bin/gpud");
    fs::rename(&installed, machine.path("root/usr/bin/gpud")).unwrap();
    let (code, _, stderr) = machine.update(&[]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("belongs to a package"), "{stderr}");
}
