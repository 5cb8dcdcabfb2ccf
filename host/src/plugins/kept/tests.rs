use std::os::unix::fs::PermissionsExt;

use super::*;

const FILE: &str = "/etc/specs.yaml";

fn version(wasm: &[u8]) -> KeptVersion {
    KeptVersion {
        version: Version {
            file: sha256(wasm),
            entry: sha256(b""),
        },
        spec: format!("[\"{}\"]", wasm.len()),
    }
}

/// A version goes through its probation.
fn works(kept: &Kept, component: &str, wasm: &[u8]) -> Version {
    let new = version(wasm);
    kept.begin(component, FILE, new.clone(), wasm).unwrap();
    kept.worked(component, &new.version).unwrap();
    new.version
}

fn names(kept: &Kept, extension: &str) -> usize {
    files(&kept.folder, extension).len()
}

#[test]
fn the_last_versions_that_worked_survive_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("kept");
    let kept = Kept::open(folder.clone());
    let (one, two) = (works(&kept, "a/b", b"one"), works(&kept, "a/b", b"two!"));
    let mode = fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    let new = version(b"three");
    kept.begin("a/b", FILE, new.clone(), b"three").unwrap();
    assert_eq!(names(&kept, "wasm"), 3);
    drop(kept);
    let kept = Kept::open(folder.clone());
    assert!(kept.has_worked("a/b", FILE, &two) && !kept.has_worked("a/b", FILE, &new.version));
    assert_eq!(kept.before("a/b", FILE, &new.version).unwrap().version, two);
    assert_eq!(kept.before("a/b", FILE, &two).unwrap().version, one);
    assert_eq!(kept.before("a/b", "/other.yaml", &new.version), None);
    assert_eq!(kept.wasm(&two).unwrap(), b"two!");

    let refused = Refused {
        version: new.version.clone(),
        reason: "é".repeat(2000),
        time: 7,
    };
    kept.refuse("a/b", refused).unwrap();
    assert_eq!(names(&kept, "wasm"), 2, "nobody needs its file");
    drop(kept);
    let kept = Kept::open(folder);
    let refused = kept.refused("a/b", FILE, &new.version).unwrap();
    assert_eq!((refused.reason.len(), refused.time), (MAX_REASON, 7));
    assert_eq!(kept.refused("a/b", FILE, &two), None);
    works(&kept, "a/b", b"four");
    assert_eq!(
        kept.refused("a/b", FILE, &new.version),
        None,
        "there is a better one"
    );
    assert!(!kept.has_worked("a/b", FILE, &one), "two are kept");
    assert_eq!(names(&kept, "wasm"), 2);
    kept.forget("a/b");
    assert_eq!((names(&kept, "wasm"), names(&kept, "json")), (0, 0));
}

#[test]
fn only_the_version_on_probation_can_work() {
    let home = tempfile::tempdir().unwrap();
    let kept = Kept::open(home.path().join("kept"));
    kept.worked("a", &version(b"1").version).unwrap();
    kept.begin("a", FILE, version(b"1"), b"1").unwrap();
    kept.begin("a", FILE, version(b"2"), b"2").unwrap();
    kept.worked("a", &version(b"1").version).unwrap();
    assert!(!kept.has_worked("a", FILE, &version(b"1").version));
    assert_eq!(names(&kept, "wasm"), 1);
}

#[test]
fn what_is_damaged_is_left_out() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("kept");
    let kept = Kept::open(folder.clone());
    let one = works(&kept, "a", b"one");
    works(&kept, "b", b"two");
    let file = kept.file(&one);
    fs::write(&file, "ono").unwrap();
    assert!(kept.wasm(&one).unwrap_err().contains("was changed"));
    fs::remove_file(&file).unwrap();
    assert!(kept.wasm(&one).unwrap_err().contains("no such file"));
    let record = kept.record_file("a");
    let mut text = fs::read_to_string(&record).unwrap();
    drop(kept);
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
    let kept = Kept::open(folder);
    assert_eq!(kept.records().keys().collect::<Vec<_>>(), ["b"]);
    assert_eq!(
        (
            names(&kept, "json"),
            names(&kept, "wasm"),
            names(&kept, "tmp")
        ),
        (1, 1, 0)
    );
}

#[test]
fn room_is_bounded_and_the_oldest_gives_way() {
    let home = tempfile::tempdir().unwrap();
    let kept = Kept::with_room(home.path().join("kept"), 10);
    works(&kept, "a", b"1234");
    works(&kept, "b", b"5678");
    works(&kept, "c", b"9abc");
    assert_eq!(kept.records().keys().collect::<Vec<_>>(), ["b", "c"]);
    let large = kept.begin("c", FILE, version(b"larger than ten"), b"larger than ten");
    assert!(large.is_err());
    assert!(
        kept.has_worked("c", FILE, &version(b"9abc").version),
        "what it has stays"
    );
}

#[test]
fn plugins_of_a_request_and_entries_that_are_gone_are_forgotten() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("kept");
    let kept = Kept::open(folder.clone());
    works(&kept, "a", b"1");
    works(&kept, "b", b"2");
    kept.begin("c", REQUEST, version(b"3"), b"3").unwrap();
    kept.worked("c", &version(b"3").version).unwrap();
    kept.forget_others(FILE, &BTreeSet::from(["b".to_owned()]));
    assert_eq!(kept.records().keys().collect::<Vec<_>>(), ["b", "c"]);
    drop(kept);
    assert_eq!(
        Kept::open(folder).records().keys().collect::<Vec<_>>(),
        ["b"]
    );
}

#[test]
fn a_folder_that_others_can_write_to_is_not_used() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("kept");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let kept = Kept::open(folder);
    assert!(kept.begin("a", FILE, version(b"1"), b"1").is_err());
    assert_eq!(names(&kept, "wasm"), 0);
}
