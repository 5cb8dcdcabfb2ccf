use super::*;

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| error.kind().to_string())
}

#[test]
fn full_files_move_on_and_the_sixth_goes() {
    let folder = tempfile::tempdir().unwrap();
    // As a unit file with empty quotes gives it.
    let path = folder.path().join("new").join("\"\"");
    let mut file = RotatingFile::with_limit(&path, 8).unwrap();
    for number in 0..16 {
        file.write_all(format!("{number:02}.\n").as_bytes())
            .unwrap();
    }
    assert_eq!(read(&path), "14.\n15.\n");
    let mut name = path.clone().into_os_string();
    name.push(".1");
    assert_eq!(read(Path::new(&name)), "12.\n13.\n");
    assert_eq!(read(&file.older(5)), "04.\n05.\n");
    assert_eq!(read(&file.older(6)), "entity not found");
}

#[test]
fn an_old_file_is_continued_and_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    fs::write(&path, "old\n").unwrap();
    let mut file = RotatingFile::with_limit(&path, 9).unwrap();
    file.write_all(b"one\n").unwrap();
    assert_eq!(read(&path), "old\none\n");
    file.write_all(b"two\n").unwrap();
    assert_eq!(read(&path), "two\n");
    assert_eq!(read(&file.older(1)), "old\none\n");
}

#[test]
fn a_line_beyond_the_limit_is_written_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut file = RotatingFile::with_limit(&path, 4).unwrap();
    file.write_all(b"far too long\n").unwrap();
    assert_eq!(read(&path), "far too long\n");
}

#[test]
fn what_cannot_be_moved_is_emptied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut file = RotatingFile::with_limit(&path, 4).unwrap();
    file.write_all(b"one\n").unwrap();
    // A folder that is not empty cannot be replaced by a file.
    fs::create_dir(file.older(1)).unwrap();
    fs::write(file.older(1).join("x"), "").unwrap();
    fs::create_dir(file.older(2)).unwrap();
    fs::write(file.older(2).join("x"), "").unwrap();
    for number in 3..=5 {
        fs::create_dir(file.older(number)).unwrap();
        fs::write(file.older(number).join("x"), "").unwrap();
    }
    file.write_all(b"two\n").unwrap();
    assert_eq!(read(&path), "two\n");
}

#[test]
fn others_neither_lead_it_elsewhere_nor_read_it() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    fs::write(&path, "old\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    RotatingFile::open(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
    let victim = folder.path().join("victim");
    fs::write(&victim, "").unwrap();
    let link = folder.path().join("link");
    symlink(&victim, &link).unwrap();
    RotatingFile::open(&link).unwrap();
    if lchown(&link, Some(12345), None).is_err() {
        eprintln!("skipped the foreign owner: only root can give links away");
        return;
    }
    let error = RotatingFile::open(&link).err().unwrap().to_string();
    assert!(error.contains("link") && error.contains("12345"), "{error}");
    fs::hard_link(&victim, folder.path().join("second")).unwrap();
    assert!(RotatingFile::open(&victim).is_err());
}
