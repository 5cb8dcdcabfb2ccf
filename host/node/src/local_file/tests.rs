use super::*;

#[test]
fn reads_what_fits_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    std::fs::write(&file, "12345").unwrap();
    assert_eq!(read(&file, 5).unwrap(), b"12345");
    assert_eq!(
        read(&file, 4).unwrap_err().kind(),
        io::ErrorKind::FileTooLarge
    );
    assert!(read(folder.path(), 5).is_err());
    assert!(read(Path::new("/dev/zero"), 5).is_err());
    let missing = folder.path().join("missing");
    let error = read(&missing, 5).unwrap_err();
    assert_eq!(
        open_error(&missing, &error),
        format!("open {}: no such file or directory", missing.display())
    );
}

#[test]
fn a_stamp_changes_with_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (file, other) = (folder.path().join("f"), folder.path().join("g"));
    assert_eq!(stamp(&file), None);
    std::fs::write(&file, "1").unwrap();
    let first = stamp(&file);
    assert_eq!(stamp(&file), first);
    std::fs::write(&other, "2").unwrap();
    std::fs::rename(&other, &file).unwrap();
    assert_ne!(stamp(&file), first, "replaced by one of the same size");
}
