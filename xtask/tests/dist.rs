//! `cargo xtask dist` on a binary that is there: all files, their checksums, and the same bytes a second time.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on stops"
)]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
};

/// Packages this test's own program, with a script in place of a gpud that prints pages.
fn dist(folder: &Path, arguments: &[&str]) -> Output {
    let native = folder.join("native");
    let script = "#!/bin/sh\ncase $1 in man) mkdir -p \"$3\"; echo page >\"$3/gpud.1\" ;; *) echo \"$2\" ;; esac\n";
    fs::write(&native, script).unwrap();
    fs::set_permissions(&native, fs::Permissions::from_mode(0o755)).unwrap();
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["dist", "--image", "--native"])
        .arg(&native)
        .arg("--output")
        .arg(folder.join("out"))
        .args(arguments)
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .output()
        .unwrap()
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.join("out")).unwrap();
    let files = entries.map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap())
    });
    files.collect()
}

#[test]
fn everything_is_made_and_is_the_same_twice() {
    let this = std::env::current_exe().unwrap();
    let this = this.to_str().unwrap();
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let made = folders.each_ref().map(|folder| {
        let output = dist(folder.path(), &["--binary", this, "--any-glibc"]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
        files(folder.path())
    });
    let names: Vec<&str> = made[0].keys().map(String::as_str).collect();
    for end in [
        ".tar.gz",
        ".deb",
        ".rpm",
        ".oci.tar",
        ".cdx.json",
        ".licenses.txt",
        "install.sh",
        "SHA256SUMS",
        ".crate",
        "-py3-none-any.whl",
        ".tgz",
        ".zip",
    ] {
        assert!(
            names.iter().any(|name| name.ends_with(end)),
            "{end} in {names:?}"
        );
    }
    for (name, content) in &made[0] {
        assert!(made[1][name] == *content, "{name} differs");
    }
    let has_crates = |name: &&str| name.starts_with("gpud-sdk-rust-crates-");
    assert!(names.iter().any(has_crates), "{names:?}");
    let check = Command::new("sha256sum")
        .args(["--check", "--strict", "--quiet", "SHA256SUMS"])
        .current_dir(folders[0].path().join("out"))
        .output()
        .unwrap();
    assert!(check.status.success(), "{check:?}");
    let sums = String::from_utf8_lossy(&made[0]["SHA256SUMS"]).into_owned();
    assert_eq!(sums.lines().count() + 1, names.len(), "{sums}");
    let parts = names
        .iter()
        .find(|name| name.ends_with(".cdx.json"))
        .unwrap();
    let parts: serde_json::Value = serde_json::from_slice(&made[0][*parts]).unwrap();
    let parts = parts["components"].as_array().unwrap();
    let has = |name: &str| parts.iter().any(|part| part["name"] == name);
    assert!(has("wasmtime") && has("gpud-sdk") && has("gpud-builtin-xid"));
    assert!(
        !has("insta") && !has("xtask"),
        "what only helps to build and test"
    );
}

#[test]
fn what_is_no_binary_for_the_machine_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let other = match std::env::consts::ARCH {
        "x86_64" => "aarch64-unknown-linux-gnu",
        _ => "x86_64-unknown-linux-gnu",
    };
    let this = std::env::current_exe().unwrap();
    let this = this.to_str().unwrap();
    for (arguments, said) in [
        (
            ["--binary", this, "--target", other],
            "is for another machine",
        ),
        (
            ["--binary", "/bin/sh-none", "--target", other],
            "/bin/sh-none",
        ),
        (
            ["--target", "wasm32-wasip2", "--binary", this],
            "releases are made for",
        ),
    ] {
        let output = dist(folder.path(), &arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && errors.contains(said),
            "{errors}"
        );
        assert!(!folder.path().join("out").exists());
    }
}
