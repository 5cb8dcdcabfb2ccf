//! The compiled code of built-in components in the binary: whole, damaged, cut off, and without a folder to unpack it in.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    daemon::{Daemon, Start, copy_program, eventually, join, release},
    hot_swap::{guest, rebuilt},
};

/// Bytes of the trailer behind the index.
const TRAILER: usize = 64;
/// Of two components of code, so that compiling them takes not long.
const FEW: &str = "--components=cpu,disk";

/// The binary with an archive that can be changed.
struct Changed {
    folder: TempDir,
    archive: Vec<u8>,
}

impl Changed {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            archive: fs::read(&release().archive).unwrap(),
        }
    }

    /// The binary with these bytes behind it.
    fn with(&self, archive: &[u8]) -> PathBuf {
        let (part, path) = (self.path("part"), self.path("gpud"));
        fs::write(&part, archive).unwrap();
        join(Path::new(env!("CARGO_BIN_EXE_gpud")), &part, &path);
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// How many components the last start compiled.
fn compiled(daemon: &Daemon) -> u64 {
    let log = daemon.log();
    let line = log
        .lines()
        .rfind(|line| line.contains("all components are loaded"));
    let line: Value = serde_json::from_str(line.unwrap()).unwrap();
    line["compiled"].as_u64().unwrap()
}

fn start(program: &Path, data: &Path) -> Start {
    Start::new().program(program).folder(data)
}

#[test]
fn a_release_compiles_nothing() {
    let release = Changed::new();
    let program = release.with(&release.archive);
    let data = tempfile::tempdir().unwrap();
    let daemon = start(&program, data.path())
        .environment("WASMTIME_BACKTRACE_DETAILS", "1")
        .ready();
    assert_eq!(compiled(&daemon), 0, "{}", daemon.log());
    assert_eq!(daemon.state("cpu")["health"], "Healthy");
    drop(daemon);
    assert!(fs::read_dir(data.path().join("cache")).unwrap().count() > 10);

    // The binary has it again where the cache was damaged.
    for entry in fs::read_dir(data.path().join("cache")).unwrap() {
        fs::write(entry.unwrap().path(), b"damaged").unwrap();
    }
    let daemon = start(&program, data.path()).ready();
    assert_eq!(compiled(&daemon), 0, "{}", daemon.log());
    assert_eq!(daemon.state("memory")["health"], "Healthy");
    drop(daemon);

    // No folder: neither in the data folder nor for temporary files; nobody can make one in /proc.
    let data = tempfile::tempdir().unwrap();
    fs::write(data.path().join("cache"), b"not a folder").unwrap();
    let daemon = start(&program, data.path())
        .environment("TMPDIR", "/proc")
        .arguments(&[FEW])
        .ready();
    assert_eq!(compiled(&daemon), 0, "{}", daemon.log());
    assert!(daemon.log().contains("held in memory"), "{}", daemon.log());
    assert_eq!(daemon.state("cpu")["health"], "Healthy");
}

#[test]
fn a_damaged_release_compiles_what_it_runs_and_says_so() {
    let release = Changed::new();
    let whole = &release.archive;
    let index = |archive: &mut Vec<u8>| {
        let at = archive.len() - TRAILER - 1;
        archive[at] ^= 1;
    };
    let trailer = |archive: &mut Vec<u8>| {
        let at = archive.len() - TRAILER + 20;
        archive[at] ^= 1;
    };
    let code = |archive: &mut Vec<u8>| {
        let trailer = archive.len() - TRAILER;
        let length = u64::from_le_bytes(archive[trailer + 8..][..8].try_into().unwrap());
        archive[..trailer - usize::try_from(length).unwrap()].fill(0);
    };
    let cut = |archive: &mut Vec<u8>| archive.truncate(archive.len() - 10);
    type Damage<'a> = &'a dyn Fn(&mut Vec<u8>);
    let damages: [(Damage<'_>, &str); 4] = [
        (&index, "damaged"),
        (&trailer, "damaged"),
        (&code, "damaged"),
        (&cut, ""),
    ];
    for (damage, said) in damages {
        let mut archive = whole.clone();
        damage(&mut archive);
        let program = release.with(&archive);
        let mode = fs::metadata(&program).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111);
        let data = tempfile::tempdir().unwrap();
        let daemon = start(&program, data.path()).arguments(&[FEW]).ready();
        assert_eq!(compiled(&daemon), 2, "{}", daemon.log());
        assert!(daemon.log().contains(said), "{}", daemon.log());
        assert_eq!(daemon.state("cpu")["health"], "Healthy");
    }
}

/// The path of the program names another version then, whose command and engine may differ from those of the daemon.
#[test]
fn after_an_update_a_daemon_compiles_with_the_program_that_it_still_is() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let put = |name: &str, content: &[u8]| {
        fs::write(at("new"), content).unwrap();
        fs::rename(at("new"), at(name)).unwrap();
    };
    let (program, other_ran) = (at("gpud"), at("other-ran"));
    copy_program(&release().program, &program);
    put("probe.wasm", guest("well_behaved"));
    let spec = "- plugin_name: probe\n  plugin_type: wasm\n  path: probe.wasm\n  interval: 1h\n";
    put("specs.yaml", spec.as_bytes());
    let daemon = Start::new()
        .program(&program)
        .arguments(&["--components=none", "--plugin-specs-file"])
        .arguments(&[at("specs.yaml").to_str().unwrap()])
        .ready();
    let digest = || daemon.get("/v1/plugins")[0]["running_version"]["digest"].clone();
    let before = digest();
    let other = format!("#!/bin/sh\necho > {}\nexit 1\n", other_ran.display());
    fs::write(at("other"), other).unwrap();
    fs::set_permissions(at("other"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(at("other"), &program).unwrap();
    put("probe.wasm", &rebuilt(guest("well_behaved"), 1));
    eventually("the new plugin is compiled", || {
        (digest() != before || other_ran.exists()).then_some(())
    });
    assert!(!other_ran.exists());
}
