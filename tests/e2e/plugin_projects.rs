//! `gpud plugin` as somebody new would use it: from an empty folder to a verdict.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::{PermissionsExt as _, chown},
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::daemon::{Start, eventually, gpud};

fn plugin(folder: &Path, arguments: &[&str]) -> Output {
    gpud()
        .arg("plugin")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn ok(folder: &Path, arguments: &[&str]) -> String {
    let output = plugin(folder, arguments);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}{wrong}");
    said
}

/// One test: a pack of a Rust plugin uses the crates that are built for the plugin, which takes longest.
#[test]
fn a_new_rust_plugin_and_a_new_pack_build_test_and_run_at_once() {
    let home = tempfile::tempdir().unwrap();
    ok(home.path(), &["new", "--lang", "rust", "memory-check"]);
    let folder = home.path().join("memory-check");
    ok(&folder, &["build"]);
    a_project_is_built_and_tested(&folder);
    a_component_is_validated_run_and_compared(&folder);
    a_running_daemon_loads_it(home.path(), &folder);
    let checked = Command::new(env!("CARGO_BIN_EXE_gpud"))
        .args(["cs", "plugin.yaml"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(checked.status.success());
    let elsewhere = tempfile::tempdir().unwrap();
    a_new_pack_builds_outside_of_the_repository(elsewhere.path(), &folder.join("target"));
}

fn a_project_is_built_and_tested(folder: &Path) {
    let tested = ok(folder, &["test"]);
    assert!(tested.ends_with("4 cases, all as expected\n"), "{tested}");
    let inspected = ok(folder, &["inspect", "memory-check.wasm"]);
    assert!(inspected.contains("asks for  config, sysfs"), "{inspected}");
    assert!(!inspected.contains("WASI"), "{inspected}");
    // A change of the sources is what is tried, by the folder as well as by the file of cases.
    let source = folder.join("src/evaluate.rs");
    let was = fs::read_to_string(&source).unwrap();
    let changed = was.replacen("less than {limit} %", "below {limit} %", 1);
    assert_ne!(changed, was);
    let cases = ["test", "tests/cases.yaml"];
    fs::write(&source, changed).unwrap();
    assert!(!plugin(folder, &cases).status.success());
    assert!(
        !plugin(folder, &["test", "--no-build", "tests/cases.yaml"])
            .status
            .success()
    );
    fs::write(&source, was).unwrap();
    ok(folder, &cases);
}

fn a_component_is_validated_run_and_compared(folder: &Path) {
    let valid = ok(folder, &["validate", "memory-check.wasm"]);
    assert!(!valid.contains('✘'), "{valid}");
    let ran = ok(
        folder,
        &[
            "run",
            "memory-check.wasm",
            "--grant",
            "sysfs=/proc/meminfo",
            "--grant",
            "config",
        ],
    );
    assert!(ran.contains("host calls"), "{ran}");
    // Every machine has what the new plugin watches: its author sees a verdict.
    assert!(ran.contains("% of memory is available"), "{ran}");
    let same = ok(
        folder,
        &[
            "diff",
            "memory-check.wasm",
            "memory-check.wasm",
            "--exit-code",
        ],
    );
    assert!(same.contains("byte for byte"), "{same}");
    let refused = plugin(folder, &["run", "memory-check.wasm", "--grant", "config"]);
    let wrong = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && wrong.contains("`sysfs` without a grant"),
        "{wrong}"
    );
}

/// Five lines of a spec, and a daemon that runs already.
fn a_running_daemon_loads_it(home: &Path, folder: &Path) {
    let specs = home.join("specs.yaml");
    let data = home.join("data");
    fs::create_dir(&data).unwrap();
    let daemon = Start::new()
        .folder(&data)
        .arguments(&[
            "--components",
            "none",
            "--plugin-specs-file",
            specs.to_str().unwrap(),
        ])
        .spawn();
    eventually("it answers", || {
        daemon
            .try_get("/healthz")
            .filter(|(status, _)| *status == 200)
    });
    let entry = fs::read_to_string(folder.join("plugin.yaml")).unwrap();
    let absolute = folder.join("memory-check.wasm").display().to_string();
    fs::write(
        &specs,
        entry.replace("path: memory-check.wasm", &format!("path: {absolute}")),
    )
    .unwrap();
    eventually("it is there", || {
        let names = daemon.get("/v1/components");
        names
            .as_array()?
            .iter()
            .any(|name| name == "memory-check")
            .then_some(())
    });
}

fn a_new_pack_builds_outside_of_the_repository(home: &Path, built_crates: &Path) {
    let made = gpud()
        .args(["pack", "new", "acme-boards"])
        .current_dir(home)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let folder = home.join("acme-boards");
    let plugin = folder.join("plugins/acme-boards-fans");
    fs::rename(built_crates, plugin.join("target")).unwrap();
    let built = Command::new(folder.join("build.sh"))
        .env("GPUD", env!("CARGO_BIN_EXE_gpud"))
        .env_remove("CARGO_TARGET_DIR")
        .current_dir(home)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&built.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&built.stderr).into_owned();
    assert!(built.status.success(), "{said}{wrong}");
    assert!(said.contains("4 cases, all as expected"), "{said}");
    let verified = gpud()
        .args(["pack", "verify", "acme-boards-0.1.0.tar"])
        .args(["--allow-unsigned", "--trusted-keys", "."])
        .current_dir(&folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert!(verified.status.success(), "{said}");
    assert!(said.contains("pack acme-boards 0.1.0"), "{said}");
}

/// A project that needs no toolchain.
fn project(language: &str, build: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let yaml = format!("name: x\nlanguage: {language}\nbuild: ['{build}']\ncomponent: x.wasm\n");
    fs::write(folder.path().join("gpud-plugin.yaml"), yaml).unwrap();
    fs::write(folder.path().join("source"), b"\0asm\x0d\0\x01\0").unwrap();
    folder
}

#[test]
fn a_build_is_seen_while_it_runs() {
    let folder = project(
        "none",
        "echo compiling; until [ -e go ]; do sleep 0.05; done; cp source x.wasm",
    );
    let mut child = gpud()
        .args(["plugin", "build"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    // Lines of the log may come before and between.
    for expected in ["$ echo compiling; ", "compiling"] {
        let shown = lines.any(|line| line.unwrap().starts_with(expected));
        assert!(shown, "{expected}");
    }
    fs::write(folder.path().join("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("x.wasm: 8 B, sha256 "), "{said}");
}

#[test]
fn a_missing_tool_is_named_and_nothing_is_installed() {
    let folder = project("rust", "touch built # --target wasm32-nowhere");
    let output = gpud()
        .args(["plugin", "build"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{wrong}");
    for part in [
        "Rust's standard library for wasm32-nowhere: not found",
        "https://rustup.rs",
    ] {
        assert!(wrong.contains(part), "{wrong}");
    }
    assert!(!folder.path().join("built").exists());
}

/// A user who is neither root nor gpud's own.
const OTHER: u32 = 12345;

/// Whether root runs the tests: only root can give files away, and only root's builds are checked.
fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("left out: needs root");
    }
    is_root
}

#[test]
fn root_runs_no_build_that_another_user_can_change() {
    if !is_root() {
        return;
    }
    // As below `/tmp`, where anybody can put files.
    let shared = tempfile::tempdir().unwrap();
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let source = project("none", "touch built; cp source x.wasm");
    let folder = shared.path().join("project");
    fs::create_dir(&folder).unwrap();
    for name in ["gpud-plugin.yaml", "source"] {
        fs::copy(source.path().join(name), folder.join(name)).unwrap();
    }
    let refused = |said: &str| {
        for arguments in [&["build"][..], &["test"]] {
            let output = plugin(&folder, arguments);
            let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success(), "{wrong}");
            assert!(wrong.contains(said), "{wrong}");
            assert!(!folder.join("built").exists(), "{wrong}");
        }
    };
    // A file of theirs deep in the project.
    let deep = folder.join("target/deep");
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("build.sh"), "").unwrap();
    chown(deep.join("build.sh"), Some(OTHER), None).unwrap();
    refused("target/deep/build.sh belongs to user 12345");
    fs::remove_dir_all(folder.join("target")).unwrap();
    // What cargo reads for every project below.
    let above = shared.path().join(".cargo");
    fs::create_dir(&above).unwrap();
    fs::write(above.join("config.toml"), "").unwrap();
    chown(&above, Some(OTHER), None).unwrap();
    refused(".cargo belongs to user 12345, and build tools look for it");
    fs::remove_dir_all(&above).unwrap();
    // The project itself.
    chown(&folder, Some(OTHER), None).unwrap();
    refused("sudo -u '#12345' gpud plugin build");
    chown(&folder, Some(0), None).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    refused("(mode 0777)");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    ok(&folder, &["build"]);
    assert!(folder.join("built").exists());
}

#[test]
fn the_build_of_root_gets_few_variables() {
    if !is_root() {
        return;
    }
    let folder = project("none", "env >variables; cp source x.wasm");
    let theirs = tempfile::tempdir().unwrap();
    chown(theirs.path(), Some(OTHER), None).unwrap();
    let wrapper = theirs.path().join("wrapper").display().to_string();
    let output = gpud()
        .args(["plugin", "build", "--env", "PIP_INDEX_URL"])
        .current_dir(folder.path())
        .env("HOME", theirs.path())
        .env("RUSTC_WRAPPER", &wrapper)
        .env("GOFLAGS", format!("-toolexec={wrapper}"))
        .env("npm_config_script_shell", &wrapper)
        .env("CC", "cc -B wrapper")
        .env("LANG", "C.UTF-8")
        .env("PIP_INDEX_URL", "https://index.example")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    for name in [
        "CC",
        "GOFLAGS",
        "HOME",
        "RUSTC_WRAPPER",
        "npm_config_script_shell",
    ] {
        assert!(said.contains(name), "{said}");
    }
    let variables = fs::read_to_string(folder.path().join("variables")).unwrap();
    for line in ["LANG=C.UTF-8", "PIP_INDEX_URL=https://index.example"] {
        assert!(variables.lines().any(|found| found == line), "{variables}");
    }
    assert!(
        variables.lines().any(|line| line.starts_with("HOME=/")),
        "{variables}"
    );
    assert!(!variables.contains("wrapper"), "{variables}");
    let theirs = theirs.path().to_str().unwrap();
    assert!(!variables.contains(theirs), "{variables}");
}

#[test]
fn a_file_of_plugins_is_still_checked() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("none.yaml"), "[]\n").unwrap();
    let output = plugin(home.path(), &["none.yaml"]);
    assert!(output.status.success(), "{output:?}");
    let output = plugin(home.path(), &["inspect", "none.yaml"]);
    assert!(!output.status.success());
    let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(wrong.contains("does not begin like WebAssembly"), "{wrong}");
}
