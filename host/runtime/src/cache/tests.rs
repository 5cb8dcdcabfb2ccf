use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::{folder::private_folder, *};
use crate::{archive, engine};

const COMPONENT: &str =
    "(component (core module $m (func (export \"f\"))) (core instance (instantiate $m)))";

fn wasm() -> Vec<u8> {
    wat::parse_str(COMPONENT).unwrap()
}

fn open(folder: &Path) -> Cache {
    Cache::with_archive(folder, Compiler::InProcess, None)
}

/// One whose archive has this code.
fn with_code(home: &Path, key: Key, code: Vec<u8>) -> Cache {
    with_codes(home, &[(key, code)])
}

fn with_codes(home: &Path, codes: &[(Key, Vec<u8>)]) -> Cache {
    let path = home.join("gpud");
    let archive = archive::write(codes).unwrap();
    fs::write(&path, [b"program".as_slice(), &archive].concat()).unwrap();
    let archive = Archive::open(Parts::open(&path).unwrap()).unwrap();
    Cache::with_archive(&home.join("cache"), Compiler::InProcess, archive)
}

async fn component(cache: &Cache, engine: &Engine) -> Result<Component, LoadError> {
    let key = key(engine, Wasm::Bytes(&wasm()));
    cache
        .component(engine, "test", key, Wasm::Bytes(&wasm()))
        .await
}

#[tokio::test]
async fn compiles_once_and_heals_itself() {
    let engine = engine::new().unwrap();
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache");
    let cache = open(&folder);
    component(&cache, &engine).await.unwrap();
    component(&cache, &engine).await.unwrap();
    assert_eq!(cache.compiled(), 1);

    let entry = cache
        .folder
        .as_ref()
        .unwrap()
        .entry(key(&engine, Wasm::Bytes(&wasm())));
    let mut code = fs::read(&entry).unwrap();
    let middle = code.len() / 2;
    code[middle] ^= 1;
    fs::write(&entry, code).unwrap();
    component(&cache, &engine).await.unwrap();
    assert_eq!(cache.compiled(), 2, "a flipped bit is noticed");

    fs::write(&entry, b"").unwrap();
    component(&cache, &engine).await.unwrap();
    fs::remove_file(sum_file(&entry)).unwrap();
    component(&cache, &engine).await.unwrap();
    assert_eq!(cache.compiled(), 4);
    let names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .map(|e| e.file_name())
        .collect();
    assert_eq!(names.len(), 2, "no leftovers: {names:?}");
}

#[tokio::test]
async fn code_of_the_binary_is_put_into_the_folder_and_not_compiled() {
    let engine = engine::new().unwrap();
    let home = tempfile::tempdir().unwrap();
    let code = compiler::compile(&wasm()).unwrap();
    let cache = with_code(home.path(), key(&engine, Wasm::Bytes(&wasm())), code);
    component(&cache, &engine).await.unwrap();
    // Again: the folder has it now, or it is put there once more.
    component(&cache, &engine).await.unwrap();
    let entry = cache
        .folder
        .as_ref()
        .unwrap()
        .entry(key(&engine, Wasm::Bytes(&wasm())));
    fs::write(&entry, b"damaged").unwrap();
    component(&cache, &engine).await.unwrap();
    assert!(fs::metadata(&entry).unwrap().len() > 100);
    assert_eq!(cache.compiled(), 0);
    let plugin = wat::parse_str("(component)").unwrap();
    let its_key = key(&engine, Wasm::Bytes(&plugin));
    let loaded = cache
        .component(&engine, "plugin", its_key, Wasm::Bytes(&plugin))
        .await;
    loaded.unwrap();
    assert_eq!(cache.compiled(), 1, "the archive knows no plugin");
}

/// All of it is unpacked for the first, and unpacking takes longest.
#[tokio::test]
async fn the_first_use_of_the_binarys_code_puts_all_of_it_into_the_folder() {
    let engine = engine::new().unwrap();
    let home = tempfile::tempdir().unwrap();
    let code = compiler::compile(&wasm()).unwrap();
    let used = key(&engine, Wasm::Bytes(&wasm()));
    let other = Key {
        component: [7; 32],
        ..used
    };
    let foreign = Key {
        engine: !used.engine,
        ..other
    };
    let codes = [used, other, foreign].map(|key| (key, code.clone()));
    let cache = with_codes(home.path(), &codes);
    component(&cache, &engine).await.unwrap();
    let folder = cache.folder.as_ref().unwrap();
    assert!(folder.entry(other).exists());
    assert!(!folder.entry(foreign).exists(), "of another engine");
    assert_eq!(cache.compiled(), 0);
}

/// Code with its checksum, which somebody could put there while the folder was open to others.
#[tokio::test]
async fn other_code_under_the_name_of_a_built_in_component_is_replaced() {
    let engine = engine::new().unwrap();
    let home = tempfile::tempdir().unwrap();
    let key = key(&engine, Wasm::Bytes(&wasm()));
    let code = compiler::compile(&wasm()).unwrap();
    let cache = with_code(home.path(), key, code.clone());
    let folder = cache.folder.as_ref().unwrap();
    let other = compiler::compile(&wat::parse_str("(component (core module))").unwrap()).unwrap();
    folder.place(key, &other).unwrap();
    component(&cache, &engine).await.unwrap();
    assert!(fs::read(folder.entry(key)).unwrap() == code);
    assert_eq!(cache.compiled(), 0);
}

/// The umask of a service or a shell does not open code to others, which would have it compiled at each start.
#[tokio::test]
async fn code_and_sums_are_for_their_owner_alone() {
    let engine = engine::new().unwrap();
    let home = tempfile::tempdir().unwrap();
    let compiled = home.path().join("compiled");
    component(&open(&compiled), &engine).await.unwrap();
    let code = compiler::compile(&wasm()).unwrap();
    let cache = with_code(home.path(), key(&engine, Wasm::Bytes(&wasm())), code);
    component(&cache, &engine).await.unwrap();
    for folder in [compiled, home.path().join("cache")] {
        let mut seen = 0;
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let mode = entry.metadata().unwrap().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", entry.path().display());
            seen += 1;
        }
        assert_eq!(seen, 2, "{}", folder.display());
    }
}

#[tokio::test]
async fn code_of_the_binary_that_cannot_be_used_is_compiled() {
    let engine = engine::new().unwrap();
    let right = key(&engine, Wasm::Bytes(&wasm()));
    let other_engine = Key {
        engine: !right.engine,
        ..right
    };
    let good = compiler::compile(&wasm()).unwrap();
    let nonsense = b"the checksum is right, the rest is not".to_vec();
    for (key, code) in [(other_engine, good), (right, nonsense)] {
        let home = tempfile::tempdir().unwrap();
        let cache = with_code(home.path(), key, code);
        component(&cache, &engine).await.unwrap();
        assert_eq!(cache.compiled(), 1);
    }
}

#[tokio::test]
async fn without_any_folder_code_is_held_in_memory() {
    let engine = engine::new().unwrap();
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, b"").unwrap();
    assert!(
        Folder::open(&file.join("cache"), || Err(
            io::ErrorKind::StorageFull.into()
        ))
        .is_none()
    );

    let code = compiler::compile(&wasm()).unwrap();
    let mut cache = with_code(home.path(), key(&engine, Wasm::Bytes(&wasm())), code);
    cache.folder = None;
    component(&cache, &engine).await.unwrap();
    assert_eq!(cache.compiled(), 0, "the binary has it");
    cache.archive = None;
    component(&cache, &engine).await.unwrap();
    assert_eq!(cache.compiled(), 1);
}

/// As root every folder can be written to, so this one is taken away.
#[tokio::test]
async fn a_folder_that_is_gone_is_no_reason_to_compile() {
    let engine = engine::new().unwrap();
    let home = tempfile::tempdir().unwrap();
    let code = compiler::compile(&wasm()).unwrap();
    let cache = with_code(home.path(), key(&engine, Wasm::Bytes(&wasm())), code);
    fs::remove_dir(home.path().join("cache")).unwrap();
    component(&cache, &engine).await.unwrap();
    assert_eq!(cache.compiled(), 0);
}

#[tokio::test]
async fn a_folder_that_is_not_ours_is_not_used() {
    let engine = engine::new().unwrap();
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("elsewhere");
    fs::create_dir(&target).unwrap();
    let link = home.path().join("cache");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    component(&open(&link), &engine).await.unwrap();
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);

    let foreign = home.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    if std::os::unix::fs::chown(&foreign, Some(12345), None).is_err() {
        eprintln!("skipped the foreign owner: only root can give folders away");
        return;
    }
    component(&open(&foreign), &engine).await.unwrap();
    assert_eq!(fs::read_dir(&foreign).unwrap().count(), 0);
}

#[test]
fn the_folder_is_made_private() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("a/b");
    private_folder(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    private_folder(&folder).unwrap();
    assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
}

/// A user who owns a folder on the way could put code of their own in the place of ours.
#[tokio::test]
async fn a_folder_below_one_of_another_user_is_not_used() {
    let engine = engine::new().unwrap();
    let home = tempfile::tempdir().unwrap();
    let theirs = home.path().join("theirs");
    let folder = theirs.join("cache");
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    for spoil in [
        |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777)),
        |path: &Path| std::os::unix::fs::chown(path, Some(12345), None),
    ] {
        if spoil(&theirs).is_err() {
            eprintln!("skipped the foreign owner: only root can give folders away");
            return;
        }
        component(&open(&folder), &engine).await.unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::set_permissions(&theirs, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[tokio::test]
async fn code_that_others_can_change_or_a_link_is_compiled_again() {
    let engine = engine::new().unwrap();
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("cache");
    let cache = open(&folder);
    component(&cache, &engine).await.unwrap();
    let entry = cache
        .folder
        .as_ref()
        .unwrap()
        .entry(key(&engine, Wasm::Bytes(&wasm())));
    fs::set_permissions(&entry, fs::Permissions::from_mode(0o666)).unwrap();
    component(&cache, &engine).await.unwrap();
    assert_eq!(cache.compiled(), 2, "open to others");
    let moved = home.path().join("moved");
    fs::rename(&entry, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &entry).unwrap();
    component(&cache, &engine).await.unwrap();
    assert_eq!(cache.compiled(), 3, "a link");
    assert!(moved.exists());
}
