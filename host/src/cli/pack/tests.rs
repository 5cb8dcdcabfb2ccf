use std::path::Path;

use super::{signing::with_suffix, *};
use crate::pack::archive;

/// A folder with the sources of a pack around a real component.
fn sources(home: &Path, version: &str, grants: &str) -> PathBuf {
    let folder = home.join(format!("src-{version}"));
    std::fs::create_dir_all(folder.join("plugins")).unwrap();
    let memory = xtask::guests::alone("memory");
    std::fs::write(folder.join("plugins/memory.wasm"), memory).unwrap();
    let manifest = format!(
        "name: acme\nvendor: Acme\nversion: {version}\ndescription: Memory\nneeds: {{programs: [no-such-program-here]}}\nplugins:\n- name: acme-memory\n  \
         file: plugins/memory.wasm\n  grants: {grants}\n"
    );
    std::fs::write(folder.join("pack.yaml"), manifest).unwrap();
    folder
}

const GRANTS: &str =
    "{sysfs: ['/proc/meminfo'], kmsg: true, state: true, history: true, config: true}";

fn install(home: &Path, pack: &Path, approve: bool) -> PackAction {
    PackAction::Install(Box::new(Installation {
        pack: pack.display().to_string(),
        trust: Trust {
            keys: home.join("keys"),
            unsigned: false,
        },
        access: Access::default(),
        approve,
        downgrade: false,
        config: None,
        data_dir: home.join("data"),
        json: false,
    }))
}

async fn done(action: PackAction) -> String {
    let exit = pack(&action, Terminal::PLAIN).await.unwrap();
    assert_eq!(exit.code, 0);
    exit.stdout
}

async fn refused(action: PackAction) -> String {
    let exit = pack(&action, Terminal::PLAIN).await.unwrap_err();
    assert_eq!(exit.code, 1);
    format!("{:?}", exit.stderr)
}

#[tokio::test]
async fn from_a_key_to_an_installed_pack_and_to_its_end() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let key = home.join("acme");
    done(PackAction::Keygen(key.clone())).await;
    assert!(
        refused(PackAction::Keygen(key.clone()))
            .await
            .contains("is there already")
    );
    let archive = home.join("acme.tar");
    let build = |version: &str, grants: &str| PackAction::Build {
        folder: sources(home, version, grants),
        output: Some(archive.clone()),
        key: Some(with_suffix(&key, "key")),
        replace: false,
        json: false,
    };
    let text = done(build("1.0.0", GRANTS)).await;
    assert!(
        text.contains("acme.tar") && text.contains("signed"),
        "{text}"
    );

    // Nobody is trusted yet.
    let refusal = refused(install(home, &archive, true)).await;
    assert!(refusal.contains("no key is trusted"), "{refusal}");
    std::fs::create_dir(home.join("keys")).unwrap();
    std::fs::copy(with_suffix(&key, "pub"), home.join("keys/acme.pub")).unwrap();
    let refusal = refused(install(home, &archive, false)).await;
    assert!(
        refusal.contains("--approve") && refusal.contains("acme-memory: config: true"),
        "{refusal}"
    );
    let text = done(install(home, &archive, true)).await;
    assert!(
        text.contains("✔ installed pack acme 1.0.0 of Acme: Memory"),
        "{text}"
    );
    assert!(text.contains("it needs no-such-program-here"), "{text}");

    // A version that asks for more, and one that was changed after it was signed.
    let more = GRANTS.replace("state: true", "state: true, exec: bash");
    done(build("1.1.0", &more)).await;
    let refusal = refused(install(home, &archive, false)).await;
    assert!(refusal.contains("acme-memory: exec: bash"), "{refusal}");
    let mut bytes = std::fs::read(&archive).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&archive, bytes).unwrap();
    let refusal = refused(install(home, &archive, true)).await;
    assert!(
        refusal.contains("changed or is damaged") || refusal.contains("no archive"),
        "{refusal}"
    );

    let list = PackAction::List {
        data_dir: home.join("data"),
        json: false,
    };
    let text = done(list.clone()).await;
    assert!(
        text.contains("pack acme 1.0.0") && text.contains("acme.pub"),
        "{text}"
    );
    let remove = PackAction::Remove {
        data_dir: home.join("data"),
        name: "acme".to_owned(),
    };
    done(remove.clone()).await;
    assert!(done(list).await.starts_with("no packs in "));
    assert!(refused(remove).await.contains("is not installed"));
}

#[tokio::test]
async fn what_a_manifest_says_of_its_components_has_to_be_true() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let build = |folder: PathBuf| PackAction::Build {
        folder,
        output: Some(home.join("x.tar")),
        key: None,
        replace: false,
        json: false,
    };
    let refusal = refused(build(sources(home, "1.0.0", "{kmsg: true}"))).await;
    assert!(refusal.contains("without a grant"), "{refusal}");
    let folder = sources(home, "1.0.1", GRANTS);
    std::fs::write(folder.join("plugins/memory.wasm"), "text").unwrap();
    let refusal = refused(build(folder.clone())).await;
    assert!(
        refusal.contains("does not begin like WebAssembly"),
        "{refusal}"
    );
    std::fs::remove_file(folder.join("plugins/memory.wasm")).unwrap();
    assert!(refused(build(folder)).await.contains("is not in the pack"));
    assert!(!home.join("x.tar").exists());
    let text = done(build(sources(home, "1.0.2", GRANTS))).await;
    assert!(text.contains("not signed"), "{text}");
}

/// A pack of a vendor with a key, which is trusted.
async fn signed(home: &Path) -> PathBuf {
    let (key, archive) = (home.join("acme"), home.join("acme.tar"));
    done(PackAction::Keygen(key.clone())).await;
    std::fs::create_dir(home.join("keys")).unwrap();
    std::fs::copy(with_suffix(&key, "pub"), home.join("keys/acme.pub")).unwrap();
    done(PackAction::Build {
        folder: sources(home, "1.0.0", GRANTS),
        output: Some(archive.clone()),
        key: Some(with_suffix(&key, "key")),
        replace: false,
        json: false,
    })
    .await;
    archive
}

fn unsigned(action: PackAction) -> PackAction {
    let PackAction::Install(mut installation) = action else {
        panic!("{action:?}");
    };
    installation.trust.unsigned = true;
    PackAction::Install(installation)
}

#[tokio::test]
async fn allow_unsigned_takes_no_pack_whose_known_key_does_not_fit() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let archive = signed(home).await;
    let bytes = std::fs::read(&archive).unwrap();
    // Another component under the signature of the first: whole as an archive, and changed after it was signed.
    let mut changed = archive::from_bytes(&bytes).unwrap();
    let signature = changed.signature.clone();
    changed = archive::sources(&sources(home, "1.0.1", GRANTS)).unwrap();
    changed.signature = signature;
    std::fs::write(&archive, archive::to_bytes(&changed).unwrap()).unwrap();
    let message = refused(unsigned(install(home, &archive, true))).await;
    assert!(
        message.contains("its signature is bad") && !message.contains("--allow-unsigned"),
        "{message}"
    );
    // Without a signature, and of somebody who is not known.
    changed.signature = None;
    std::fs::write(&archive, archive::to_bytes(&changed).unwrap()).unwrap();
    let message = refused(install(home, &archive, true)).await;
    assert!(message.contains("--allow-unsigned takes it"), "{message}");
    done(unsigned(install(home, &archive, true))).await;
    std::fs::remove_file(home.join("keys/acme.pub")).unwrap();
    std::fs::write(&archive, bytes).unwrap();
    let PackAction::Install(mut older) = unsigned(install(home, &archive, true)) else {
        panic!();
    };
    let message = refused(PackAction::Install(older.clone())).await;
    assert!(message.contains("--allow-downgrade"), "{message}");
    older.downgrade = true;
    done(PackAction::Install(older)).await;
}

#[tokio::test]
async fn an_unsigned_archive_replaces_a_signed_one_only_when_asked() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let archive = signed(home).await;
    let before = std::fs::read(&archive).unwrap();
    let build = |replace| PackAction::Build {
        folder: sources(home, "1.0.0", GRANTS),
        output: Some(archive.clone()),
        key: None,
        replace,
        json: false,
    };
    std::fs::remove_dir_all(home.join("src-1.0.0")).unwrap();
    let message = refused(build(false)).await;
    assert!(
        message.contains("is signed") && message.contains("--replace"),
        "{message}"
    );
    assert_eq!(std::fs::read(&archive).unwrap(), before);
    std::fs::remove_dir_all(home.join("src-1.0.0")).unwrap();
    done(build(true)).await;
    // An unsigned pack is replaced as ever.
    std::fs::remove_dir_all(home.join("src-1.0.0")).unwrap();
    done(build(false)).await;
}

#[tokio::test]
async fn the_list_names_the_damaged_pack_and_file_and_shows_the_others() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let archive = signed(home).await;
    done(install(home, &archive, true)).await;
    let list = PackAction::List {
        data_dir: home.join("data"),
        json: false,
    };
    done(list.clone()).await;
    let spec = home.join("data/packs/acme.yaml");
    let installed = std::fs::read_to_string(&spec).unwrap();
    // The entry, and not the record before it.
    let edited = installed.replace(": \"acme-memory\"", ": \"acme-other\"");
    std::fs::write(&spec, edited).unwrap();
    let exit = pack(&list, Terminal::PLAIN).await.unwrap();
    assert_eq!(exit.code, 1);
    let why = "its entries are not those of the signed";
    assert!(exit.stdout.contains(why), "{}", exit.stdout);
    std::fs::write(&spec, installed).unwrap();
    let versions = std::fs::read_dir(home.join("data/packs/acme")).unwrap();
    let version = versions.flatten().next().unwrap().path();
    std::fs::write(version.join("plugins/memory.wasm"), "text").unwrap();
    std::fs::write(home.join("data/packs/own.yaml"), "").unwrap();
    let exit = pack(&list, Terminal::PLAIN).await.unwrap();
    assert_eq!(exit.code, 1);
    for part in [
        "✘ pack acme 1.0.0",
        "damaged: pack acme 1.0.0: plugins/memory.wasm is not as it was signed",
        "own.yaml was not written by",
    ] {
        assert!(exit.stdout.contains(part), "{part}: {}", exit.stdout);
    }
    let list = PackAction::List {
        data_dir: home.join("data"),
        json: true,
    };
    let exit = pack(&list, Terminal::PLAIN).await.unwrap();
    let document: serde_json::Value = serde_json::from_str(&exit.stdout).unwrap();
    assert_eq!(document[0]["manifest"]["name"], "acme");
    assert!(document[0]["damage"][0].to_string().contains("memory.wasm"));
    assert!(document[1]["error"].is_string());
}
