use std::{fs, os::unix::fs::symlink};

use super::*;

fn follow_file(watch: &FileWatch, file: &Path) {
    watch.follow([file], []);
    take(watch);
}

/// Whether something was reported that matters. The kernel has reported when the call that changes something is back.
fn take(watch: &FileWatch) -> bool {
    watch.take_events(watch.inotify.as_ref().unwrap().get_ref())
}

#[tokio::test]
async fn edits_replacements_and_removals_are_noticed_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (file, other) = (folder.path().join("f"), folder.path().join("g"));
    let watch = FileWatch::new();
    follow_file(&watch, &file);
    fs::write(&other, "1").unwrap();
    assert!(!take(&watch), "another file");
    fs::write(&file, "1").unwrap();
    assert!(take(&watch), "made");
    fs::write(&file, "2").unwrap();
    assert!(take(&watch), "edited");
    fs::rename(&other, &file).unwrap();
    assert!(take(&watch), "replaced");
    fs::set_permissions(&file, fs::metadata(folder.path()).unwrap().permissions()).unwrap();
    assert!(take(&watch), "its mode");
    fs::remove_file(&file).unwrap();
    assert!(take(&watch), "removed");
    assert_eq!(watch.pause(), PATIENCE);
    fs::write(&file, "3").unwrap();
    watch.changed().await;
    assert!(!take(&watch));
}

/// As Kubernetes exchanges a mounted ConfigMap: `f` is a link through the link `..data`.
#[tokio::test]
async fn links_that_are_exchanged_on_the_way_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for version in ["one", "two"] {
        fs::create_dir(at(version)).unwrap();
        fs::write(at(version).join("f"), version).unwrap();
    }
    symlink("one", at("..data")).unwrap();
    symlink("..data/f", at("f")).unwrap();
    let watch = FileWatch::new();
    follow_file(&watch, &at("f"));
    fs::write(at("two").join("f"), "2").unwrap();
    assert!(!take(&watch), "the link does not lead there");
    symlink("two", at("..new")).unwrap();
    fs::rename(at("..new"), at("..data")).unwrap();
    assert!(take(&watch));
    follow_file(&watch, &at("f"));
    fs::write(at("one").join("f"), "1").unwrap();
    assert!(!take(&watch), "no longer");
    fs::write(at("two").join("f"), "2").unwrap();
    assert!(take(&watch));
}

#[tokio::test]
async fn what_is_not_there_yet_is_noticed_when_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("a/b");
    let file = inner.join("f");
    let watch = FileWatch::new();
    follow_file(&watch, &file);
    fs::create_dir_all(&inner).unwrap();
    assert!(take(&watch));
    follow_file(&watch, &file);
    fs::write(&file, "1").unwrap();
    assert!(take(&watch));
    fs::remove_dir_all(folder.path().join("a")).unwrap();
    assert!(take(&watch));
}

#[tokio::test]
async fn everything_in_a_folder_matters_where_that_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let watch = FileWatch::new();
    watch.follow([], [folder.path()]);
    fs::write(folder.path().join("any"), "1").unwrap();
    assert!(take(&watch));
}

#[test]
fn links_that_lead_in_a_circle_end() {
    let folder = tempfile::tempdir().unwrap();
    symlink("b", folder.path().join("a")).unwrap();
    symlink("a", folder.path().join("b")).unwrap();
    let mut wanted = BTreeMap::new();
    add_steps(&folder.path().join("a/x/../f"), &mut wanted);
    let names = &wanted[&folder.path().to_owned()];
    assert_eq!(names.some, ["a", "b"].map(OsString::from).into());
}
