use std::os::unix::fs::PermissionsExt;

use super::*;

const FILE: &str = "/etc/specs.yaml";

fn version(wasm: &[u8]) -> RetainedVersion {
    RetainedVersion {
        version: Version {
            file: hex(wasm),
            entry: hex(b""),
        },
        spec: format!("[\"{}\"]", wasm.len()),
    }
}

/// A version goes through its probation.
fn works(retained: &RetainedVersions, component: &str, wasm: &[u8]) -> Version {
    let new = version(wasm);
    retained.begin(component, FILE, new.clone(), wasm).unwrap();
    retained.worked(component, &new.version).unwrap();
    new.version
}

fn names(retained: &RetainedVersions, extension: &str) -> usize {
    files(&retained.folder, extension).len()
}

#[test]
fn the_last_versions_that_worked_survive_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("kept");
    let retained = RetainedVersions::open(folder.clone());
    let (one, two) = (
        works(&retained, "a/b", b"one"),
        works(&retained, "a/b", b"two!"),
    );
    let mode = fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    let new = version(b"three");
    retained.begin("a/b", FILE, new.clone(), b"three").unwrap();
    assert_eq!(names(&retained, "wasm"), 3);
    drop(retained);
    let retained = RetainedVersions::open(folder.clone());
    assert!(
        retained.has_worked("a/b", FILE, &two) && !retained.has_worked("a/b", FILE, &new.version)
    );
    assert_eq!(
        retained.before("a/b", FILE, &new.version).unwrap().version,
        two
    );
    assert_eq!(retained.before("a/b", FILE, &two).unwrap().version, one);
    assert_eq!(retained.before("a/b", "/other.yaml", &new.version), None);
    assert_eq!(retained.wasm(&two).unwrap(), b"two!");

    let refused = RolledBackVersion {
        version: new.version.clone(),
        reason: "é".repeat(2000),
        time: 7,
    };
    retained.refuse("a/b", refused).unwrap();
    assert_eq!(names(&retained, "wasm"), 2, "nobody needs its file");
    drop(retained);
    let retained = RetainedVersions::open(folder);
    let refused = retained.refused("a/b", FILE, &new.version).unwrap();
    assert_eq!((refused.reason.len(), refused.time), (MAX_REASON, 7));
    assert_eq!(retained.refused("a/b", FILE, &two), None);
    works(&retained, "a/b", b"four");
    assert_eq!(
        retained.refused("a/b", FILE, &new.version),
        None,
        "there is a better one"
    );
    assert!(!retained.has_worked("a/b", FILE, &one), "two are kept");
    assert_eq!(names(&retained, "wasm"), 2);
    retained.forget("a/b");
    assert_eq!((names(&retained, "wasm"), names(&retained, "json")), (0, 0));
}

#[test]
fn only_the_version_on_probation_can_work() {
    let home = tempfile::tempdir().unwrap();
    let retained = RetainedVersions::open(home.path().join("kept"));
    retained.worked("a", &version(b"1").version).unwrap();
    retained.begin("a", FILE, version(b"1"), b"1").unwrap();
    retained.begin("a", FILE, version(b"2"), b"2").unwrap();
    retained.worked("a", &version(b"1").version).unwrap();
    assert!(!retained.has_worked("a", FILE, &version(b"1").version));
    assert_eq!(names(&retained, "wasm"), 1);
}

#[test]
fn what_is_damaged_is_left_out() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("kept");
    let retained = RetainedVersions::open(folder.clone());
    let one = works(&retained, "a", b"one");
    works(&retained, "b", b"two");
    let file = retained.file(&one);
    fs::write(&file, "ono").unwrap();
    assert!(retained.wasm(&one).unwrap_err().contains("was changed"));
    fs::remove_file(&file).unwrap();
    assert!(retained.wasm(&one).unwrap_err().contains("no such file"));
    let record = retained.record_file("a");
    let mut text = fs::read_to_string(&record).unwrap();
    drop(retained);
    text = text.replace(&one.file, "../../../../etc/passwd");
    fs::write(&record, text).unwrap();
    fs::write(folder.join("zzz.json"), "{").unwrap();
    // Under another name it would be found for another component.
    fs::copy(
        folder.join(format!("{}.json", name_of("b"))),
        folder.join("c.json"),
    )
    .unwrap();
    fs::write(folder.join("stray.wasm"), "x").unwrap();
    fs::write(folder.join("half.tmp"), "x").unwrap();
    let retained = RetainedVersions::open(folder);
    assert_eq!(retained.records().keys().collect::<Vec<_>>(), ["b"]);
    assert_eq!(
        (
            names(&retained, "json"),
            names(&retained, "wasm"),
            names(&retained, "tmp")
        ),
        (1, 1, 0)
    );
}

#[test]
fn room_is_bounded_and_the_oldest_gives_way() {
    let home = tempfile::tempdir().unwrap();
    let retained = RetainedVersions::with_room(home.path().join("kept"), 10);
    works(&retained, "a", b"1234");
    works(&retained, "b", b"5678");
    works(&retained, "c", b"9abc");
    assert_eq!(retained.records().keys().collect::<Vec<_>>(), ["b", "c"]);
    let large = retained.begin("c", FILE, version(b"larger than ten"), b"larger than ten");
    assert!(large.is_err());
    assert!(
        retained.has_worked("c", FILE, &version(b"9abc").version),
        "what it has stays"
    );
}

#[test]
fn plugins_of_a_request_and_entries_that_are_gone_are_forgotten() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("kept");
    let retained = RetainedVersions::open(folder.clone());
    works(&retained, "a", b"1");
    works(&retained, "b", b"2");
    retained.begin("c", REQUEST, version(b"3"), b"3").unwrap();
    retained.worked("c", &version(b"3").version).unwrap();
    retained.forget_others(FILE, &BTreeSet::from(["b".to_owned()]));
    assert_eq!(retained.records().keys().collect::<Vec<_>>(), ["b", "c"]);
    drop(retained);
    assert_eq!(
        RetainedVersions::open(folder)
            .records()
            .keys()
            .collect::<Vec<_>>(),
        ["b"]
    );
}

#[test]
fn a_folder_that_others_can_write_to_is_not_used() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("kept");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let retained = RetainedVersions::open(folder);
    assert!(retained.begin("a", FILE, version(b"1"), b"1").is_err());
    assert_eq!(names(&retained, "wasm"), 0);
}

#[test]
fn its_files_are_its_own() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("kept");
    let retained = RetainedVersions::open(folder.clone());
    retained.begin("a", FILE, version(b"1"), b"1").unwrap();
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap());
    let modes: Vec<_> = files
        .map(|file| {
            (
                file.file_name(),
                file.metadata().unwrap().permissions().mode() & 0o777,
            )
        })
        .collect();
    assert!(modes.len() > 1, "{modes:?}");
    assert!(modes.iter().all(|(_, mode)| *mode == 0o600), "{modes:?}");
}
