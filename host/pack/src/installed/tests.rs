use serde_json::json;

use super::*;
use crate::content::tests::{MANIFEST, collected, pack, read_spec};

const APPROVED: Decisions = Decisions {
    approved: true,
    downgrade: false,
    config: None,
};

fn version(version: &str, grants: &str) -> Pack {
    let manifest = MANIFEST
        .replace("1.0.0", version)
        .replace("{kmsg: true}", grants);
    collected(&manifest, version.as_bytes())
        .into_pack(true)
        .unwrap()
}

fn wasm(packs: &Packs) -> (PathBuf, Value) {
    let spec = packs.folder().join("acme.yaml");
    let read = read_spec(&spec);
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    let wasm = read.plugins[0].spec.wasm.clone().unwrap();
    (packs.folder().join(wasm.path), wasm.config)
}

fn list(packs: &Packs) -> Vec<Result<Record, PackRefusal>> {
    let specs = packs.specs().unwrap();
    specs.iter().map(|spec| packs.record(spec)).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_pack_becomes_a_spec_that_the_daemon_reads() {
    let home = tempfile::tempdir().unwrap();
    let packs = Packs::of(home.path());
    assert!(list(&packs).is_empty());
    let installed = packs.install(&pack(), None, APPROVED).unwrap();
    assert_eq!(installed.before, None);
    let (component, config) = wasm(&packs);
    assert_eq!(fs::read(component).unwrap(), b"wasm");
    assert_eq!(config, json!({}));
    assert_eq!(packs.get("acme").unwrap().unwrap(), installed.record);
    assert_eq!(list(&packs), [Ok(installed.record)]);
    assert_eq!(names(packs.folder()), [".lock", "acme", "acme.yaml"]);
}

#[test]
fn more_has_to_be_approved_and_until_then_the_old_one_stays() {
    let home = tempfile::tempdir().unwrap();
    let packs = Packs::of(home.path());
    let refusal = |pack: &Pack| {
        packs
            .install(pack, None, Decisions::default())
            .unwrap_err()
            .to_string()
    };
    assert!(
        refusal(&pack()).contains("asks for what it was not granted:\n  acme-fans: kmsg: true")
    );
    assert_eq!(packs.get("acme").unwrap(), None);
    packs.install(&pack(), None, APPROVED).unwrap();
    // No more than before needs no approval.
    packs
        .install(
            &version("1.1.0", "{kmsg: true}"),
            None,
            Decisions::default(),
        )
        .unwrap();
    let greedy = version("2.0.0", "{kmsg: true, exec: bash}");
    assert!(refusal(&greedy).contains("acme-fans: exec: bash"));
    assert_eq!(fs::read(wasm(&packs).0).unwrap(), b"1.1.0");
    let installed = packs.install(&greedy, None, APPROVED).unwrap();
    assert_eq!(installed.before.unwrap().manifest.version, "1.1.0");
    assert_eq!(fs::read(wasm(&packs).0).unwrap(), b"2.0.0");
    assert_eq!(
        names(&packs.folder().join("acme")).len(),
        2,
        "this one and the one before"
    );
}

#[test]
fn an_operators_configuration_stays_with_the_pack() {
    let home = tempfile::tempdir().unwrap();
    let packs = Packs::of(home.path());
    let own = |plugin: &str| {
        let keys = Map::from_iter([("min_rpm".to_owned(), json!(7))]);
        Some(OwnConfig::from([(plugin.to_owned(), keys)]))
    };
    let decisions = |config| Decisions {
        approved: true,
        downgrade: true,
        config,
    };
    packs
        .install(&pack(), None, decisions(own("acme-fans")))
        .unwrap();
    assert_eq!(wasm(&packs).1, json!({"min_rpm": 7}));
    packs
        .install(&version("1.1.0", "{kmsg: true}"), None, APPROVED)
        .unwrap();
    assert_eq!(wasm(&packs).1, json!({"min_rpm": 7}));
    let error = packs
        .install(&pack(), None, decisions(own("other")))
        .unwrap_err()
        .to_string();
    assert!(error.contains("no plugin \"other\""), "{error}");
    assert_eq!(
        fs::read(wasm(&packs).0).unwrap(),
        b"1.1.0",
        "nothing by half"
    );
}

#[test]
fn leftovers_go_and_what_cannot_be_written_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let packs = Packs::of(home.path());
    packs.install(&pack(), None, APPROVED).unwrap();
    let left = packs.folder().join(".unfinished-x");
    fs::create_dir_all(left.join("deep")).unwrap();
    packs.install(&pack(), None, APPROVED).unwrap();
    assert!(!left.exists());
    // A file stands where the version's folder has to go.
    let blocked = version("3.0.0", "{kmsg: true}");
    let place = packs
        .folder()
        .join(format!("acme/{}", &blocked.digest()[..16]));
    fs::write(&place, "in the way").unwrap();
    packs.install(&blocked, None, APPROVED).unwrap();
    assert_eq!(fs::read(wasm(&packs).0).unwrap(), b"3.0.0");
    // A folder stands where the spec has to go: nothing can be renamed over it.
    let spec = packs.folder().join("acme.yaml");
    let good = fs::read(&spec).unwrap();
    fs::remove_file(&spec).unwrap();
    fs::create_dir(&spec).unwrap();
    assert!(
        packs
            .install(&version("4.0.0", "{kmsg: true}"), None, APPROVED)
            .is_err()
    );
    fs::remove_dir(&spec).unwrap();
    fs::write(&spec, good).unwrap();
    assert_eq!(
        fs::read(wasm(&packs).0).unwrap(),
        b"3.0.0",
        "the version of before is whole"
    );
    let names = names(packs.folder());
    assert!(
        names.iter().all(|name| !name.starts_with(UNFINISHED)),
        "{names:?}"
    );
}

#[test]
fn a_pack_is_removed_whole() {
    let home = tempfile::tempdir().unwrap();
    let packs = Packs::of(home.path());
    packs.install(&pack(), None, APPROVED).unwrap();
    for wrong in ["other", "../acme", ""] {
        assert!(packs.remove(wrong).is_err(), "{wrong}");
    }
    packs.remove("acme").unwrap();
    assert_eq!(names(packs.folder()), [".lock"]);
    assert!(
        packs
            .remove("acme")
            .unwrap_err()
            .to_string()
            .contains("is not installed")
    );
}

#[test]
fn a_spec_of_somebody_else_is_named() {
    let home = tempfile::tempdir().unwrap();
    let packs = Packs::of(home.path());
    packs.install(&pack(), None, APPROVED).unwrap();
    fs::write(packs.folder().join("own.yaml"), "- plugin_name: x\n").unwrap();
    let list = list(&packs);
    assert!(list[0].is_ok());
    let refusal = list[1].clone().unwrap_err().to_string();
    assert!(refusal.contains("own.yaml was not written by"), "{refusal}");
}

#[test]
fn an_older_version_needs_to_be_allowed() {
    let home = tempfile::tempdir().unwrap();
    let packs = Packs::of(home.path());
    let of = |number: &str| version(number, "{kmsg: true}");
    packs.install(&of("1.10.0"), None, APPROVED).unwrap();
    for older in ["1.9.9", "1.10.0-rc.1"] {
        let message = packs.install(&of(older), None, APPROVED).unwrap_err();
        let message = message.to_string();
        assert!(
            message.contains("older than the installed version 1.10.0")
                && message.contains("--allow-downgrade"),
            "{message}"
        );
    }
    assert_eq!(fs::read(wasm(&packs).0).unwrap(), b"1.10.0");
    let allowed = Decisions {
        downgrade: true,
        ..APPROVED
    };
    packs.install(&of("1.9.9"), None, allowed).unwrap();
    packs.install(&of("1.9.9"), None, APPROVED).unwrap();
    packs.install(&of("2.0.0"), None, APPROVED).unwrap();
}

#[test]
fn what_was_granted_to_one_signer_is_not_granted_to_another() {
    let home = tempfile::tempdir().unwrap();
    let packs = Packs::of(home.path());
    let signer = |key: &str| Signer {
        key: key.to_owned(),
        comment: String::new(),
    };
    let (first, other) = (signer("/keys/a.pub"), signer("/keys/b.pub"));
    let keys = Map::from_iter([("password".to_owned(), json!("p"))]);
    let with_config = Decisions {
        config: Some(OwnConfig::from([("acme-fans".to_owned(), keys)])),
        ..APPROVED
    };
    packs.install(&pack(), Some(&first), with_config).unwrap();
    let next = version("1.0.1", "{kmsg: true}");
    for signer in [Some(&other), None] {
        let refused = packs.install(&next, signer, Decisions::default());
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("acme-fans: kmsg: true"), "{refused}");
        assert!(refused.contains("is signed by /keys/a.pub"), "{refused}");
    }
    let same = packs.install(&next, Some(&first), Decisions::default());
    assert_eq!(same.unwrap().record.config.len(), 1);
    // Nor is what the operator has configured for the first one.
    let approved = packs.install(&next, Some(&other), APPROVED).unwrap();
    assert!(approved.record.config.is_empty());
}
