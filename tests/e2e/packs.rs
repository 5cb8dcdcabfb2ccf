//! Vendor packs from the command line into a running daemon, and, where a registry and minisign are installed, through them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    daemon::{Daemon, Start, eventually, free_port, gpud},
    tools::tool,
};

/// A vendor and an operator in one folder.
pub struct Site(tempfile::TempDir);

impl Site {
    pub fn new() -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        fs::create_dir(site.path("keys")).unwrap();
        site.ok(&["keygen", &site.text("acme")]);
        fs::copy(site.path("acme.pub"), site.path("keys/acme.pub")).unwrap();
        site
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn pack(&self, arguments: &[&str]) -> (bool, String) {
        let output = gpud().arg("pack").args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap())
    }

    pub fn ok(&self, arguments: &[&str]) -> String {
        let (ok, said) = self.pack(arguments);
        assert!(ok, "{arguments:?}: {said}");
        said
    }

    pub fn refused(&self, arguments: &[&str]) -> String {
        let (ok, said) = self.pack(arguments);
        assert!(!ok, "{arguments:?}: {said}");
        said
    }

    /// A signed archive of a pack around a real checker.
    pub fn build(&self, version: &str, plugin: &str, grants: &str) -> String {
        let folder = self.path("sources");
        fs::create_dir_all(&folder).unwrap();
        let memory = xtask::guests::alone("memory");
        fs::write(folder.join("memory.wasm"), memory).unwrap();
        fs::write(
            folder.join("pack.yaml"),
            format!(
                "name: acme\nvendor: Acme\nversion: {version}\nplugins:\n- {{name: {plugin}, file: memory.wasm, grants: {grants}}}\n"
            ),
        )
        .unwrap();
        let archive = self.text(&format!("acme-{version}.tar"));
        let sources = folder.display().to_string();
        self.ok(&[
            "build",
            &sources,
            "-o",
            &archive,
            "--key",
            &self.text("acme.key"),
        ]);
        archive
    }

    pub fn install<'a>(&self, pack: &'a str, more: &[&'a str]) -> Vec<String> {
        let (keys, data) = (self.text("keys"), self.text("data"));
        let mut arguments = vec![
            "install",
            pack,
            "--trusted-keys",
            &keys,
            "--data-dir",
            &data,
        ];
        arguments.extend(more);
        arguments.into_iter().map(str::to_owned).collect()
    }

    fn daemon(&self) -> Daemon {
        fs::create_dir_all(self.path("data")).unwrap();
        let daemon = Start::new()
            .folder(&self.path("data"))
            .arguments(&["--components", "none", "--plugin-specs-file", ""])
            .spawn();
        eventually("it answers", || {
            daemon
                .try_get("/healthz")
                .filter(|(status, _)| *status == 200)
        });
        daemon
    }
}

pub const GRANTS: &str = "{sysfs: ['/proc/meminfo', '/proc/vmallocinfo'], kmsg: true, state: true, history: true, config: true}";

pub fn strs(owned: &[String]) -> Vec<&str> {
    owned.iter().map(String::as_str).collect()
}

fn names(daemon: &Daemon) -> Vec<String> {
    let names = daemon.get("/v1/components");
    let names = names.as_array().cloned().unwrap_or_default();
    names
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_running_daemon_follows_packs_that_are_installed_replaced_and_removed() {
    let site = Site::new();
    let daemon = site.daemon();
    assert_eq!(names(&daemon), Vec::<String>::new());

    let first = site.build("1.0.0", "acme-memory", GRANTS);
    let refusal = site.refused(&strs(&site.install(&first, &[])));
    assert!(refusal.contains("--approve"), "{refusal}");
    site.ok(&strs(&site.install(&first, &["--approve"])));
    eventually("it runs", || {
        (names(&daemon) == ["acme-memory"]).then_some(())
    });
    eventually("it is checked", || {
        let state = daemon.state("acme-memory");
        (state["health"] == "Healthy" && state["reason"] != "no data yet").then_some(())
    });

    let second = site.build("2.0.0", "acme-ram", GRANTS);
    let refusal = site.refused(&strs(&site.install(&second, &[])));
    assert!(
        refusal.contains("acme-ram: config: true"),
        "a new plugin asks for all of it: {refusal}"
    );
    assert_eq!(names(&daemon), ["acme-memory"], "the old one goes on");
    site.ok(&strs(&site.install(&second, &["--approve"])));
    eventually("the new one runs alone", || {
        (names(&daemon) == ["acme-ram"]).then_some(())
    });

    // What cannot be loaded leaves what runs alone, and is said.
    let spec = site.path("data/packs/acme.yaml");
    let good = fs::read_to_string(&spec).unwrap();
    fs::write(&spec, good.replace("memory.wasm", "gone.wasm")).unwrap();
    eventually("the problem is shown", || {
        let shown = names(&daemon);
        (shown == ["acme-ram", "plugin-packs"]).then_some(())
    });
    assert!(
        daemon.state("plugin-packs")["reason"]
            .as_str()
            .unwrap()
            .contains("gone.wasm")
    );
    fs::write(&spec, good).unwrap();
    eventually("the problem is gone", || {
        (names(&daemon) == ["acme-ram"]).then_some(())
    });

    site.ok(&["remove", "acme", "--data-dir", &site.text("data")]);
    eventually("it is ended", || names(&daemon).is_empty().then_some(()));
}

#[test]
fn a_pack_is_there_again_after_a_restart() {
    let site = Site::new();
    let archive = site.build("1.0.0", "acme-memory", GRANTS);
    site.ok(&strs(&site.install(&archive, &["--approve"])));
    for _ in 0..2 {
        let daemon = site.daemon();
        eventually("it runs", || {
            (names(&daemon) == ["acme-memory"]).then_some(())
        });
    }
}

#[test]
fn a_pack_that_was_changed_or_is_from_elsewhere_is_refused() {
    let site = Site::new();
    let archive = site.build("1.0.0", "acme-memory", GRANTS);
    let good = fs::read(&archive).unwrap();
    for at in [0, 600, good.len() / 2, good.len() - 1] {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        fs::write(&archive, bytes).unwrap();
        site.refused(&strs(
            &site.install(&archive, &["--approve", "--allow-unsigned"]),
        ));
    }
    fs::write(&archive, good).unwrap();
    fs::remove_file(site.path("keys/acme.pub")).unwrap();
    let refusal = site.refused(&strs(&site.install(&archive, &["--approve"])));
    assert!(refusal.contains("no key is trusted"), "{refusal}");
    assert!(!site.path("data/packs/acme.yaml").exists());
    let list = site.ok(&["list", "--data-dir", &site.text("data")]);
    assert!(list.starts_with("no packs"), "{list}");
}

#[test]
fn minisign_itself_verifies_what_gpud_signed_and_signs_what_gpud_verifies() {
    let Some(minisign) = tool("minisign") else {
        return;
    };
    let site = Site::new();
    let archive = site.build("1.0.0", "acme-memory", GRANTS);
    let unpacked = site.path("unpacked");
    fs::create_dir(&unpacked).unwrap();
    run(Command::new("tar")
        .arg("xf")
        .arg(&archive)
        .current_dir(&unpacked));
    run(Command::new(&minisign)
        .args(["-V", "-p", &site.text("acme.pub"), "-m", "SHA256SUMS"])
        .current_dir(&unpacked));
    run(Command::new("sha256sum")
        .args(["-c", "SHA256SUMS"])
        .current_dir(&unpacked));

    run(Command::new(&minisign).args([
        "-G",
        "-W",
        "-p",
        &site.text("keys/own.pub"),
        "-s",
        &site.text("own.key"),
    ]));
    fs::remove_file(site.path("keys/acme.pub")).unwrap();
    run(Command::new(&minisign)
        .args(["-S", "-s", &site.text("own.key"), "-m", "SHA256SUMS"])
        .current_dir(&unpacked));
    let signature = unpacked.join("SHA256SUMS.minisig").display().to_string();
    site.ok(&["sign", &archive, "--signature", &signature]);
    let verified = site.ok(&["verify", &archive, "--trusted-keys", &site.text("keys")]);
    assert!(verified.contains("own.pub"), "{verified}");
    // And a secret key that minisign made.
    site.ok(&["sign", &archive, "--key", &site.text("own.key")]);
    site.ok(&["verify", &archive, "--trusted-keys", &site.text("keys")]);
}

#[test]
fn a_real_registry_keeps_packs() {
    let Some(program) = tool("docker-registry") else {
        return;
    };
    let site = Site::new();
    let port = free_port();
    let config = site.path("registry.yml");
    let storage = site.path("storage");
    fs::write(
        &config,
        format!(
            "version: 0.1\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: 127.0.0.1:{port}}}\n",
            storage.display()
        ),
    )
    .unwrap();
    let mut registry = Command::new(program)
        .arg("serve")
        .arg(&config)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the registry answers", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).ok()
    });
    let pushed = std::panic::catch_unwind(|| through(&site, port, &storage));
    registry.kill().unwrap();
    registry.wait().unwrap();
    pushed.unwrap();
}

fn through(site: &Site, port: u16, storage: &Path) {
    let archive = site.build("1.0.0", "acme-memory", GRANTS);
    let reference = format!("127.0.0.1:{port}/acme/sensors:1.0.0");
    let pushed = site.ok(&["push", &archive, &reference, "--plain-http"]);
    let digest = pushed.lines().last().unwrap().trim().to_owned();
    let pulled = site.text("pulled.tar");
    let exact = format!("127.0.0.1:{port}/acme/sensors@{digest}");
    for reference in [&reference, &exact] {
        site.ok(&["pull", reference, "-o", &pulled, "--plain-http"]);
        assert_eq!(fs::read(&pulled).unwrap(), fs::read(&archive).unwrap());
    }
    let oci = format!("oci://{reference}");
    site.ok(&strs(&site.install(&oci, &["--approve", "--plain-http"])));
    assert!(site.path("data/packs/acme.yaml").exists());
    let refusal = site.refused(&["pull", &reference.replace("1.0.0", "9"), "--plain-http"]);
    assert!(refusal.contains("404"), "{refusal}");
    // Its storage lies about one file: the registry serves it, gpud refuses it.
    let component = fs::read(site.path("sources/memory.wasm")).unwrap();
    let changed = change(storage, &component);
    assert_eq!(changed, 1, "the component is stored once");
    site.refused(&[
        "pull",
        &reference,
        "-o",
        &site.text("bad.tar"),
        "--plain-http",
    ]);
    assert!(!site.path("bad.tar").exists());
}

/// Flips a bit of every stored file with this content.
fn change(folder: &Path, content: &[u8]) -> usize {
    let mut changed = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            changed += change(&path, content);
        } else if fs::read(&path).is_ok_and(|stored| stored == content) {
            let mut other = content.to_vec();
            other[content.len() / 2] ^= 1;
            fs::write(&path, other).unwrap();
            changed += 1;
        }
    }
    changed
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{command:?}: {said}");
}
