//! What other users of the machine try with the files that decide what root runs.

use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, chown, lchown, symlink},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

use crate::{
    daemon::{Daemon, Start, eventually, gpud},
    hostile_machine::{AWAIT, can},
    spec_file::plugin,
};

/// A user who is neither root nor gpud's own.
pub const OTHER: u32 = 12345;

/// A folder of root's that everybody can enter, and nothing where the test is not root.
pub fn home() -> Option<tempfile::TempDir> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("left out: only root can give files away");
        return None;
    }
    let home = tempfile::tempdir().unwrap();
    mode(home.path(), 0o755);
    Some(home)
}

pub fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

pub fn bits(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

fn text(output: &Output) -> String {
    let all = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&all).into_owned()
}

pub fn answers(daemon: &Daemon) {
    eventually("it answers", || {
        daemon
            .try_get("/healthz")
            .filter(|(status, _)| *status == 200)
    });
}

fn names(daemon: &Daemon) -> Vec<String> {
    let names = daemon.get("/v1/components");
    let names = names.as_array().cloned().unwrap_or_default();
    let names = names.iter().filter_map(Value::as_str);
    names.map(str::to_owned).collect()
}

#[test]
fn an_open_data_folder_is_closed_and_no_other_user_takes_its_locks() {
    let Some(home) = home() else { return };
    let data = home.path().join("data");
    let own = ["--components=cpu", "--plugin-specs-file="];
    drop(Start::new().folder(&data).arguments(&own).ready());
    // As an earlier version left it.
    mode(&data, 0o755);
    for name in ["gpud.state", "gpud.lock"] {
        mode(&data.join(name), 0o644);
    }
    let lock = |name: &str| {
        Command::new("flock")
            .args(["--nonblock", "--shared"])
            .arg(data.join(name))
            .arg("true")
            .uid(OTHER)
            .gid(OTHER)
            .output()
            .unwrap()
    };
    assert!(lock("gpud.lock").status.success(), "the attack of before");
    let daemon = Start::new().folder(&data).arguments(&own).ready();
    assert_eq!(bits(&data), 0o700);
    for name in [
        "gpud.state",
        "gpud.state-wal",
        "gpud.state-shm",
        "gpud.lock",
        "gpud.run",
    ] {
        assert_eq!(bits(&data.join(name)), 0o600, "{name}");
        assert!(!lock(name).status.success(), "{name}");
    }
    let log = daemon.log();
    let said = log
        .lines()
        .rfind(|line| line.contains("was open to other users"));
    let said = said.unwrap_or_else(|| panic!("{log}"));
    assert!(said.contains("755") && said.contains("gpud.lock"), "{said}");
}

#[test]
fn a_new_data_folder_is_closed_from_the_start() {
    let Some(home) = home() else { return };
    let data = home.path().join("data");
    let port = crate::daemon::free_port();
    // Not through `Start`, which makes the folder.
    let mut daemon = gpud()
        .args(["run", "--components=none", "--plugin-specs-file="])
        .arg(format!("--listen-address=127.0.0.1:{port}"))
        .arg("--data-dir")
        .arg(&data)
        .env("KMSG_FILE_PATH", "/dev/null")
        .stderr(fs::File::create(home.path().join("log")).unwrap())
        .spawn()
        .unwrap();
    eventually("the database is there", || {
        data.join("gpud.state-shm").exists().then_some(())
    });
    let modes = (
        bits(&data),
        bits(&data.join("gpud.state")),
        bits(&data.join("gpud.lock")),
    );
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert_eq!(modes, (0o700, 0o600, 0o600));
    let log = fs::read_to_string(home.path().join("log")).unwrap();
    assert!(!log.contains("was open to other users"), "{log}");
}

#[test]
fn a_data_folder_or_a_log_of_another_user_ends_the_start() {
    let Some(home) = home() else { return };
    // One that starts all the same is stopped, and ends with another status.
    let run = |data: &Path, log: &[&str]| {
        Command::new("timeout")
            .arg("60")
            .arg(gpud().get_program())
            .args(["run", "--components=none", "--plugin-specs-file="])
            .arg("--listen-address=127.0.0.1:0")
            .arg("--data-dir")
            .arg(data)
            .args(log)
            .output()
            .unwrap()
    };
    let theirs = home.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(OTHER), None).unwrap();
    for data in [theirs.clone(), theirs.join("data")] {
        let output = run(&data, &[]);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("belongs to user 12345") && said.contains("chown root"),
            "{said}"
        );
        assert!(!theirs.join("data").exists());
    }
    let victim = home.path().join("victim");
    fs::write(&victim, "untouched").unwrap();
    let link = home.path().join("log");
    symlink(&victim, &link).unwrap();
    lchown(&link, Some(OTHER), None).unwrap();
    let output = run(
        &home.path().join("data"),
        &["--log-file", link.to_str().unwrap()],
    );
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("belongs to user 12345"), "{said}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
}

/// `sudo -E` and `su` keep the environment of the user who calls them.
#[test]
fn root_keeps_no_compiled_code_where_the_environment_says() {
    let Some(home) = home() else { return };
    chown(home.path(), Some(OTHER), None).unwrap();
    let output = gpud()
        .args(["scan", "--components=cpu"])
        .env("HOME", home.path())
        .env("XDG_CACHE_HOME", home.path().join("cache"))
        .env("TMPDIR", home.path())
        .env("KMSG_FILE_PATH", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let made: Vec<_> = fs::read_dir(home.path()).unwrap().collect();
    assert!(made.is_empty(), "{made:?}");
}

/// Whose file the environment names decides what root is shown.
#[test]
fn root_reads_no_kernel_log_of_another_user() {
    let Some(home) = home() else { return };
    let log = home.path().join("kmsg");
    let line = "NVRM: Xid (PCI:0000:e9:00): 79, pid='<unknown>', GPU has fallen off the bus.";
    fs::write(&log, format!("3,1,1000,-;{line}\n")).unwrap();
    let scan = || {
        let output = gpud()
            .args(["scan", "--components=accelerator-nvidia-error-xid"])
            .env("KMSG_FILE_PATH", &log)
            .output()
            .unwrap();
        text(&output)
    };
    chown(&log, Some(OTHER), None).unwrap();
    let said = scan();
    assert!(!said.contains("0000:e9:00"), "{said}");
    assert!(said.contains("KMSG_FILE_PATH is not used"), "{said}");
    chown(&log, Some(0), None).unwrap();
    let said = scan();
    assert!(said.contains("0000:e9:00.0 fell off the bus"), "{said}");
}

/// `su` without `-` keeps every variable. bash runs the file of this one before a script.
#[test]
fn scripts_of_root_run_no_code_that_the_environment_names() {
    let Some(home) = home() else { return };
    let (spec, theirs) = (home.path().join("specs.yaml"), home.path().join("theirs"));
    let (proof, ran) = (home.path().join("proof"), home.path().join("ran"));
    let script = format!(
        "test -z \"$NCCL_NET_PLUGIN$ACME_FILE\" && touch {}",
        ran.display()
    );
    fs::write(&spec, plugin("p", "component", &script)).unwrap();
    fs::write(&theirs, format!("touch {}", proof.display())).unwrap();
    chown(&theirs, Some(OTHER), None).unwrap();
    let exported = format!("() {{ command touch {}; }}", proof.display());
    let output = gpud()
        .args(["cs", "-r", "--log-level", "info"])
        .arg(&spec)
        .env("BASH_ENV", &theirs)
        .env("BASH_FUNC_touch%%", exported)
        .env("NCCL_NET_PLUGIN", &theirs)
        .env("ACME_FILE", &theirs)
        .output()
        .unwrap();
    let said = text(&output);
    assert!(!proof.exists(), "it ran: {said}");
    assert!(ran.exists(), "{said}");
    assert_eq!(said.matches("scripts do not get").count(), 1, "{said}");
}

/// The user who serves a file system says whose its files are.
#[test]
fn a_file_system_of_another_user_is_not_believed() {
    let Some(home) = home() else { return };
    if !can(&["python3", "/dev/fuse"]) {
        return;
    }
    let path = |name: &str| home.path().join(name).display().to_string();
    let script = format!("touch {}", path("proof"));
    fs::write(path("source"), plugin("p", "component", &script)).unwrap();
    fs::create_dir(path("theirs")).unwrap();
    chown(path("theirs"), Some(OTHER), None).unwrap();
    let prepare = format!(
        "{AWAIT}\npython3 '{}/../tests/e2e/hostile_machine/lying_fuse.py' '{ready}' '{theirs}' {OTHER} '{source}' &\nawait '{ready}'\n\
         cat '{theirs}/specs.yaml' >&2\nexec \"$@\"",
        env!("CARGO_MANIFEST_DIR"),
        ready = path("ready"),
        theirs = path("theirs"),
        source = path("source"),
    );
    let output = Command::new("unshare")
        .args(["--mount", "--propagation=private", "--pid", "--fork"])
        .args(["--kill-child", "--mount-proc", "bash", "-ec"])
        .arg(&prepare)
        .arg("bash")
        .arg(gpud().get_program())
        .args(["cs", "-r", &path("theirs/specs.yaml")])
        .output()
        .unwrap();
    let said = text(&output);
    assert!(said.contains("plugin_name: p"), "it is served: {said}");
    assert!(!Path::new(&path("proof")).exists(), "it ran: {said}");
    assert!(said.contains("that user 12345 serves"), "{said}");
    assert!(!output.status.success(), "{said}");
}

#[test]
fn root_installs_no_pack_into_a_folder_of_others() {
    let Some(home) = home() else { return };
    let pack = Pack::installed();
    let theirs = home.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    let linked = home.path().join("linked");
    fs::create_dir(&linked).unwrap();
    // It would write and remove files there.
    symlink(&linked, theirs.join("packs")).unwrap();
    lchown(theirs.join("packs"), Some(OTHER), None).unwrap();
    chown(&theirs, Some(OTHER), None).unwrap();
    let (archive, keys) = (pack.text("acme.tar"), pack.text("keys"));
    let data = theirs.display().to_string();
    let place = ["--trusted-keys", &keys, "--data-dir", &data, "--approve"];
    let (ok, said) = pack.run(&[&["install", &archive][..], &place].concat());
    assert!(!ok && said.contains("belongs to user 12345"), "{said}");
    assert_eq!(fs::read_dir(&linked).unwrap().count(), 0);
}

#[test]
fn root_tries_no_plugins_out_of_files_of_others() {
    let Some(home) = home() else { return };
    let spec = home.path().join("specs.yaml");
    let proof = home.path().join("proof");
    let script = format!("touch {}", proof.display());
    fs::write(&spec, plugin("p", "component", &script)).unwrap();
    chown(&spec, Some(OTHER), None).unwrap();
    let file = spec.to_str().unwrap();
    for arguments in [
        &["cs", "-r", file][..],
        &["cs", file],
        &["plugin", "inspect", file],
    ] {
        let output = gpud().args(arguments).output().unwrap();
        let said = text(&output);
        assert!(!output.status.success(), "{arguments:?}: {said}");
        assert!(
            said.contains("chown root") && said.contains("copy"),
            "{said}"
        );
    }
    let project = home.path().join("project");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("gpud-plugin.yaml"), "name: x\n").unwrap();
    chown(project.join("gpud-plugin.yaml"), Some(OTHER), None).unwrap();
    let output = gpud()
        .args(["plugin", "build"])
        .arg(&project)
        .output()
        .unwrap();
    let said = text(&output);
    assert!(
        !output.status.success() && said.contains("chown root"),
        "{said}"
    );
    assert!(!proof.exists());
    chown(&spec, Some(0), None).unwrap();
    let output = gpud().args(["cs", "-r", file]).output().unwrap();
    assert!(proof.exists(), "{}", text(&output));
}

#[test]
fn specs_that_others_can_change_wait_until_they_are_closed() {
    let Some(home) = home() else { return };
    let folder = home.path().join("open");
    fs::create_dir(&folder).unwrap();
    let spec = folder.join("specs.yaml");
    fs::write(&spec, plugin("p", "component", "echo hello")).unwrap();
    mode(&folder, 0o777);
    let daemon = Start::new()
        .arguments(&["--components=none", "--plugin-specs-file"])
        .arguments(&[spec.to_str().unwrap()])
        .spawn();
    answers(&daemon);
    eventually("it is refused", || {
        (names(&daemon) == ["plugin-specs"]).then_some(())
    });
    let reason = daemon.state("plugin-specs")["reason"].to_string();
    assert!(reason.contains("chmod go-w"), "{reason}");
    mode(&folder, 0o755);
    daemon.signal("-HUP");
    eventually("it runs", || (names(&daemon) == ["p"]).then_some(()));
    // An edit by somebody else is not taken over.
    let other = folder.join("other.yaml");
    fs::copy(&spec, &other).unwrap();
    let text = fs::read_to_string(&spec).unwrap();
    fs::write(&other, text.replace("plugin_name: p", "plugin_name: evil")).unwrap();
    chown(&other, Some(OTHER), None).unwrap();
    fs::rename(&other, &spec).unwrap();
    eventually("the edit is refused", || {
        (names(&daemon) == ["p", "plugin-specs"]).then_some(())
    });
}

/// Two plugins of one pack, which have passed their probation.
struct Pack {
    home: tempfile::TempDir,
}

impl Pack {
    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn run(&self, arguments: &[&str]) -> (bool, String) {
        let output = gpud().arg("pack").args(arguments).output().unwrap();
        (output.status.success(), text(&output))
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let (ok, said) = self.run(arguments);
        assert!(ok, "{arguments:?}: {said}");
        said
    }

    fn installed() -> Self {
        let home = tempfile::tempdir().unwrap();
        let pack = Self { home };
        fs::create_dir_all(pack.path("keys")).unwrap();
        fs::create_dir_all(pack.path("sources")).unwrap();
        fs::create_dir_all(pack.path("data")).unwrap();
        pack.ok(&["keygen", &pack.text("acme")]);
        fs::copy(pack.path("acme.pub"), pack.path("keys/acme.pub")).unwrap();
        let all = gpud::component::builtin::all();
        let mut entries = String::new();
        for name in ["cpu", "memory"] {
            let component = all.iter().find(|one| one.component == name).unwrap();
            fs::write(
                pack.path(&format!("sources/{name}.wasm")),
                xtask::guests::alone(name),
            )
            .unwrap();
            let grants = &component.grants;
            entries.push_str(&format!(
                "- {{name: acme-{name}, file: {name}.wasm, interval: 1h, grants: {grants}}}\n"
            ));
        }
        let manifest = format!("name: acme\nvendor: Acme\nversion: 1.0.0\nplugins:\n{entries}");
        fs::write(pack.path("sources/pack.yaml"), manifest).unwrap();
        let (sources, archive) = (pack.text("sources"), pack.text("acme.tar"));
        let (key, keys, data) = (pack.text("acme.key"), pack.text("keys"), pack.text("data"));
        pack.ok(&["build", &sources, "-o", &archive, "--key", &key]);
        let install = [
            "install",
            &archive,
            "--trusted-keys",
            &keys,
            "--data-dir",
            &data,
        ];
        pack.ok(&[&install[..], &["--approve"]].concat());
        pack
    }

    /// The installed file.
    fn file(&self, name: &str) -> PathBuf {
        let versions = fs::read_dir(self.path("data/packs/acme")).unwrap();
        let version = versions.map(|entry| entry.unwrap().path()).next().unwrap();
        version.join(name)
    }

    fn daemon(&self) -> Daemon {
        let daemon = Start::new()
            .folder(&self.path("data"))
            .arguments(&["--components", "none", "--plugin-specs-file", ""])
            .spawn();
        answers(&daemon);
        daemon
    }

    fn list(&self) -> (bool, String) {
        self.run(&["list", "--data-dir", &self.text("data")])
    }
}

fn running(daemon: &Daemon, plugin: &str) -> Value {
    let all = daemon.get("/v1/plugins");
    let all = all.as_array().cloned().unwrap_or_default();
    let one = all.iter().find(|spec| spec["plugin_name"] == plugin);
    one.map_or(Value::Null, |spec| spec["running_version"].clone())
}

fn wait_for(daemon: &Daemon, wanted: &[&str]) {
    eventually(&format!("{wanted:?}"), || {
        (names(daemon) == wanted).then_some(())
    });
}

/// Waits until a version has passed its probation, and is retained.
fn works(pack: &Pack, daemon: &Daemon, plugin: &str) {
    eventually("it has passed its probation", || {
        daemon.get(&format!(
            "/v1/components/trigger-check?componentName={plugin}"
        ));
        let version = running(daemon, plugin);
        (version.is_object() && version["on_probation"] != true).then_some(())
    });
    eventually("it is retained", || {
        let records = fs::read_dir(pack.path("data/plugin-versions")).unwrap();
        let records = records.map(|entry| fs::read(entry.unwrap().path()).unwrap_or_default());
        let mut records = records.map(|text| String::from_utf8_lossy(&text).into_owned());
        records
            .any(|text| text.contains(plugin) && text.contains("\"good\":[{"))
            .then_some(())
    });
}

#[test]
fn a_damaged_file_of_a_pack_costs_its_plugin_only_until_it_is_repaired() {
    let pack = Pack::installed();
    let daemon = pack.daemon();
    wait_for(&daemon, &["acme-cpu", "acme-memory"]);
    works(&pack, &daemon, "acme-memory");
    let good = running(&daemon, "acme-memory")["digest"].clone();
    assert!(pack.list().0);

    // Swapped for another component while the daemon runs: what runs goes on, and nothing else is loaded.
    let (file, other) = (pack.file("memory.wasm"), pack.file("cpu.wasm"));
    let bytes = fs::read(&file).unwrap();
    fs::copy(&other, &file).unwrap();
    wait_for(&daemon, &["acme-cpu", "acme-memory", "plugin-packs"]);
    let reason = daemon.state("plugin-packs")["reason"].to_string();
    assert!(
        reason.contains("memory.wasm is not as it was signed"),
        "{reason}"
    );
    assert_eq!(running(&daemon, "acme-memory")["digest"], good);
    let (ok, said) = pack.list();
    assert!(
        !ok && said.contains("acme 1.0.0: memory.wasm is not as it was signed"),
        "{said}"
    );
    drop(daemon);

    // After a restart the retained version runs, and the other plugin as if nothing had happened.
    let daemon = pack.daemon();
    wait_for(&daemon, &["acme-cpu", "acme-memory", "plugin-packs"]);
    eventually("the retained version runs", || {
        (running(&daemon, "acme-memory")["digest"] == good).then_some(())
    });
    let rolled_back = running(&daemon, "acme-memory")["rolled_back"].to_string();
    assert!(rolled_back.contains("memory.wasm"), "{rolled_back}");
    assert!(running(&daemon, "acme-cpu")["rolled_back"].is_null());

    // And it heals by itself.
    fs::write(&file, bytes).unwrap();
    wait_for(&daemon, &["acme-cpu", "acme-memory"]);
    assert_eq!(running(&daemon, "acme-memory")["digest"], good);
    assert!(running(&daemon, "acme-memory")["rolled_back"].is_null());
    assert!(pack.list().0);
}

#[test]
fn a_damaged_file_that_never_worked_is_shown_and_the_rest_runs() {
    let pack = Pack::installed();
    let file = pack.file("memory.wasm");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, b"text").unwrap();
    let daemon = pack.daemon();
    wait_for(&daemon, &["acme-cpu", "acme-memory", "plugin-packs"]);
    let state = daemon.state("acme-memory");
    assert!(
        state["reason"].to_string().contains("not as it was signed"),
        "{state}"
    );
    eventually("the other one is checked", || {
        let state = daemon.state("acme-cpu");
        (state["reason"] != "no data yet" && state["health"] != "Initializing").then_some(())
    });
    fs::write(&file, bytes).unwrap();
    wait_for(&daemon, &["acme-cpu", "acme-memory"]);
    eventually("it is checked", || {
        (daemon.state("acme-memory")["health"] == "Healthy").then_some(())
    });
    // A damaged pack is removed like any other.
    fs::write(&file, b"text").unwrap();
    wait_for(&daemon, &["acme-cpu", "acme-memory", "plugin-packs"]);
    pack.ok(&["remove", "acme", "--data-dir", &pack.text("data")]);
    wait_for(&daemon, &[]);
}

#[test]
fn a_script_in_the_spec_of_a_pack_does_not_run() {
    let pack = Pack::installed();
    let (spec, own) = (
        pack.path("data/packs/acme.yaml"),
        pack.path("data/packs/own.yaml"),
    );
    let ran = pack.path("ran");
    let script = |name: &str| {
        format!(
            "- plugin_name: {name}\n  plugin_type: component\n  health_state_plugin:\n    steps:\n    \
             - name: s\n      run_bash_script: {{content_type: plaintext, script: 'touch {}'}}\n",
            ran.display()
        )
    };
    // Behind the record of the installed pack, and in a file of its own.
    let good = fs::read_to_string(&spec).unwrap();
    let record: String = good
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(&spec, record + &script("acme-cpu")).unwrap();
    fs::write(&own, script("own")).unwrap();
    let daemon = pack.daemon();
    wait_for(&daemon, &["acme-cpu", "own", "plugin-packs"]);
    let reason = daemon.state("own")["reason"].to_string();
    assert!(reason.contains("own.yaml was not written by"), "{reason}");
    for component in ["acme-cpu", "own"] {
        daemon.get(&format!(
            "/v1/components/trigger-check?componentName={component}"
        ));
    }
    assert!(!ran.exists());
    fs::write(&spec, good).unwrap();
    fs::remove_file(&own).unwrap();
    wait_for(&daemon, &["acme-cpu", "acme-memory"]);
    assert!(!ran.exists());
}

#[test]
fn grants_that_were_not_signed_are_not_given() {
    let pack = Pack::installed();
    let spec = pack.path("data/packs/acme.yaml");
    let good = fs::read_to_string(&spec).unwrap();
    // Neither to a version that worked and is retained.
    let daemon = pack.daemon();
    wait_for(&daemon, &["acme-cpu", "acme-memory"]);
    works(&pack, &daemon, "acme-memory");
    drop(daemon);
    fs::write(&spec, good.replace("/proc/meminfo", "/etc/shadow")).unwrap();
    let daemon = pack.daemon();
    wait_for(&daemon, &["acme-cpu", "acme-memory", "plugin-packs"]);
    let reason = daemon.state("plugin-packs")["reason"].to_string();
    assert!(reason.contains("it was edited"), "{reason}");
    assert!(running(&daemon, "acme-memory").is_null());
    let state = daemon.state("acme-memory");
    let reason = state["reason"].to_string();
    assert_eq!(state["health"], "Unhealthy", "{state}");
    assert!(
        reason.contains("it had grants that the entry does not give"),
        "{reason}"
    );
    let (ok, said) = pack.list();
    assert!(!ok && said.contains("it was edited"), "{said}");
    fs::write(&spec, good).unwrap();
    wait_for(&daemon, &["acme-cpu", "acme-memory"]);
}
