use super::*;
use crate::component::builtin;

/// A folder with the sources of a pack around a real component.
fn sources(home: &Path, version: &str, grants: &str) -> PathBuf {
    let folder = home.join(format!("src-{version}"));
    std::fs::create_dir_all(folder.join("plugins")).unwrap();
    let all = builtin::all();
    let memory = all.iter().find(|one| one.component == "memory").unwrap();
    std::fs::write(folder.join("plugins/memory.wasm"), memory.wasm).unwrap();
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
        json: false,
    };
    let text = done(build("1.0.0", GRANTS)).await;
    assert!(
        text.contains("acme.tar") && text.contains("signed"),
        "{text}"
    );

    // Nobody is trusted yet.
    let told = refused(install(home, &archive, true)).await;
    assert!(told.contains("no key is trusted"), "{told}");
    std::fs::create_dir(home.join("keys")).unwrap();
    std::fs::copy(with_suffix(&key, "pub"), home.join("keys/acme.pub")).unwrap();
    let told = refused(install(home, &archive, false)).await;
    assert!(
        told.contains("--approve") && told.contains("acme-memory: config: true"),
        "{told}"
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
    let told = refused(install(home, &archive, false)).await;
    assert!(told.contains("acme-memory: exec: bash"), "{told}");
    let mut bytes = std::fs::read(&archive).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&archive, bytes).unwrap();
    let told = refused(install(home, &archive, true)).await;
    assert!(
        told.contains("changed or is damaged") || told.contains("no archive"),
        "{told}"
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
        json: false,
    };
    let told = refused(build(sources(home, "1.0.0", "{kmsg: true}"))).await;
    assert!(told.contains("without a grant"), "{told}");
    let folder = sources(home, "1.0.1", GRANTS);
    std::fs::write(folder.join("plugins/memory.wasm"), "text").unwrap();
    let told = refused(build(folder.clone())).await;
    assert!(told.contains("does not begin like WebAssembly"), "{told}");
    std::fs::remove_file(folder.join("plugins/memory.wasm")).unwrap();
    assert!(refused(build(folder)).await.contains("is not in the pack"));
    assert!(!home.join("x.tar").exists());
    let text = done(build(sources(home, "1.0.2", GRANTS))).await;
    assert!(text.contains("not signed"), "{text}");
}
