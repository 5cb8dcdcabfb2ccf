use super::*;
use crate::dist::elf::Program;

fn example() -> Vec<u8> {
    let mut files = Tree::default();
    files.file("usr/bin/gpud", 0o755, vec![7; 100]);
    files.file("etc/default/gpud", 0o644, "FLAGS=\n");
    files.file("usr/share/doc/gpud/README.md", 0o644, "text");
    let package = RpmPackage {
        version: "1.2.3",
        release: "1",
        machine: ("x86_64", 1),
        requires: vec!["libc.so.6(GLIBC_2.28)(64bit)".to_owned()],
        time: 1_000,
        scripts: [
            (Script::AfterInstallation, "true".to_owned()),
            (Script::BeforeRemoval, "true".to_owned()),
            (Script::AfterRemoval, "true".to_owned()),
        ],
        files: &files,
    };
    package.encode().unwrap()
}

/// The length of the header at this place, and the content of one of its texts.
fn text(bytes: &[u8], at: usize, tag: u32) -> (usize, String) {
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let count = word(at + 8) as usize;
    let store = at + 16 + 16 * count;
    let entry = (0..count)
        .map(|number| at + 16 + 16 * number)
        .find(|entry| word(*entry) == tag)
        .unwrap();
    let start = store + word(entry + 8) as usize;
    let end = bytes[start..].iter().position(|byte| *byte == 0).unwrap();
    let value = String::from_utf8_lossy(&bytes[start..start + end]).into_owned();
    (16 + 16 * count + word(at + 12) as usize, value)
}

#[test]
fn digests_cover_the_header_and_the_payload() {
    let bytes = example();
    assert_eq!(bytes, example());
    assert_eq!(bytes[..4], [0xed, 0xab, 0xee, 0xdb]);
    let (length, digest) = text(&bytes, 96, 273);
    let header = (96 + length).next_multiple_of(8);
    let (length, name) = text(&bytes, header, 1000);
    assert_eq!(name, "gpud");
    assert_eq!(digest, sha256(&bytes[header..header + length]));
    let (_, payload) = text(&bytes, header, 5092);
    assert_eq!(payload, sha256(&bytes[header + length..]));
}

#[test]
fn folders_of_the_system_are_not_in_the_package() {
    assert!(is_own("usr/share/doc/gpud"));
    assert!(is_own("usr/share/doc/gpud/examples"));
    assert!(!is_own("usr/bin"));
    assert_eq!(kind("etc/default/gpud"), CONFIG);
    assert_eq!(kind("usr/share/doc/gpud/README.md"), DOCUMENTATION);
    assert_eq!(kind("usr/bin/gpud"), 0);
}

#[test]
fn libraries_have_rpms_names() {
    let program = Program {
        libraries: vec!["libc.so.6".to_owned()],
        versions: vec![
            ("libc.so.6".to_owned(), "GLIBC_2.28".to_owned()),
            ("libc.so.6".to_owned(), "GLIBC_2.28".to_owned()),
        ],
        ..Program::default()
    };
    assert_eq!(
        requires(&program),
        ["libc.so.6()(64bit)", "libc.so.6(GLIBC_2.28)(64bit)"]
    );
}
