use super::*;

fn options(text: &str) -> Options {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    Options::parse(&words).unwrap()
}

fn program(version: &str) -> Program {
    Program {
        machine: 62,
        versions: vec![("libm.so.6".to_owned(), version.to_owned())],
        ..Program::default()
    }
}

#[test]
fn a_binary_that_needs_a_later_library_is_refused() {
    let plain = options("--target x86_64-unknown-linux-gnu --binary /a");
    assert_eq!(check(&program("GLIBC_2.28"), &plain).unwrap(), GLIBC);
    let error = check(&program("GLIBC_2.29"), &plain).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("needs glibc 2.29 (libm.so.6)"), "{error}");
    let any = options("--target x86_64-unknown-linux-gnu --binary /a --any-glibc");
    assert_eq!(check(&program("GLIBC_2.29"), &any).unwrap(), Glibc(2, 29));
}

#[test]
fn a_binary_for_another_machine_is_refused() {
    let other = options("--target aarch64-unknown-linux-gnu --binary /a");
    let error = check(&program("GLIBC_2.17"), &other).unwrap_err();
    assert!(error.to_string().contains("62, not 183"), "{error}");
}

#[test]
fn a_second_kind_of_machine_is_added_to_the_checksums() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| BTreeMap::from([(name.to_owned(), b"abc".to_vec())]);
    let list = || fs::read_to_string(folder.path().join("SHA256SUMS")).unwrap();
    write(folder.path(), &file("a.deb"), None, "1").unwrap();
    fs::write(folder.path().join("SHA256SUMS.minisig"), "old").unwrap();
    write(folder.path(), &file("b.deb"), None, "1").unwrap();
    assert_eq!(list().lines().count(), 2, "{}", list());
    assert!(!folder.path().join("SHA256SUMS.minisig").exists());
    fs::remove_file(folder.path().join("a.deb")).unwrap();
    write(folder.path(), &file("b.deb"), None, "1").unwrap();
    assert_eq!(list().lines().count(), 1, "{}", list());
    assert!(list().ends_with("  b.deb\n"));
}
