use std::path::Path;

use super::*;

const PROGRAM: &[u8] = b"\x7fELF, and so on";

fn key(number: u8) -> Key {
    Key {
        component: [number; 32],
        engine: 7,
    }
}

fn codes() -> Vec<(Key, Vec<u8>)> {
    let code = |byte: u8| (0..5000_u32).map(|at| (at / 7) as u8 ^ byte).collect();
    vec![(key(1), code(1)), (key(2), code(2)), (key(3), Vec::new())]
}

fn open(folder: &Path, bytes: &[u8]) -> Result<Option<Archive>, ArchiveError> {
    let path = folder.join("gpud");
    std::fs::write(&path, bytes).unwrap();
    Archive::open(Parts::open(&path).unwrap())
}

fn whole() -> Vec<u8> {
    [PROGRAM, &write(&codes()).unwrap()].concat()
}

#[test]
fn what_was_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = whole();
    let archive = open(folder.path(), &bytes).unwrap().unwrap();
    for (key, code) in codes() {
        assert_eq!(archive.code(key).unwrap().as_deref(), Some(&*code));
    }
    assert!(archive.code(key(4)).unwrap().is_none(), "a plugin's");
    let other = Key {
        engine: 8,
        ..key(1)
    };
    let error = archive.code(other).unwrap_err();
    assert!(matches!(error, ArchiveError::OtherEngine), "{error}");
    let empty = [PROGRAM, &write(&[]).unwrap()].concat();
    let empty = open(folder.path(), &empty).unwrap().unwrap();
    assert!(empty.code(key(1)).unwrap().is_none());
}

#[test]
fn a_file_without_an_archive_has_none() {
    let folder = tempfile::tempdir().unwrap();
    for bytes in [
        b"".as_slice(),
        PROGRAM,
        &[0; 500],
        &whole()[..whole().len() - 1],
    ] {
        assert!(open(folder.path(), bytes).unwrap().is_none());
        assert_eq!(length_without(bytes), bytes.len());
    }
    assert_eq!(length_without(&whole()), PROGRAM.len());
}

#[test]
fn a_file_that_was_cut_off_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = whole();
    for length in 0..bytes.len() {
        let found = open(folder.path(), &bytes[..length]);
        assert!(found.unwrap().is_none(), "{length}");
    }
}

/// It takes a while and much memory, and all components are loaded at about the same time.
#[test]
fn code_is_unpacked_once_while_it_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let archive = open(folder.path(), &whole()).unwrap().unwrap();
    let first = archive.code(key(1)).unwrap().unwrap();
    let second = archive.code(key(2)).unwrap().unwrap();
    assert!(Arc::ptr_eq(&first.all, &second.all));
    drop((first, second));
    assert!(archive.unpacked.lock().unwrap().upgrade().is_none());
    assert!(archive.code(key(2)).unwrap().is_some());
}

/// Whatever byte is flipped: the right code, or none.
#[test]
fn damage_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = whole();
    let mut damaged = 0;
    for at in PROGRAM.len()..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x41;
        match open(folder.path(), &bytes) {
            Ok(Some(archive)) => {
                for (key, code) in codes() {
                    match archive.code(key) {
                        Ok(found) => assert_eq!(found.as_deref(), Some(&*code), "byte {at}"),
                        Err(_) => damaged += 1,
                    }
                }
            }
            Ok(None) => assert!(at >= bytes.len() - MAGIC.len(), "byte {at}"),
            Err(_) => damaged += 1,
        }
    }
    assert!(damaged > 100, "{damaged}");
}

#[test]
fn lengths_are_bounded_before_memory_is_allocated() {
    let folder = tempfile::tempdir().unwrap();
    let index = |offset: u64, length: u64| {
        let mut index = [[1; 32], [2; 32]].concat();
        for number in [7, offset, length] {
            index.extend_from_slice(&u64::to_le_bytes(number));
        }
        index
    };
    let with_trailer = |index: Vec<u8>, length: u64, index_length: u64| {
        let sum = Sha256::digest(&index);
        let numbers = [length.to_le_bytes(), index_length.to_le_bytes()].concat();
        [PROGRAM, &index, &numbers, &sum, &MAGIC].concat()
    };
    let good = (RECORD + TRAILER) as u64;
    for bytes in [
        with_trailer(index(u64::MAX, 5), good, RECORD as u64),
        with_trailer(index(1, u64::MAX), good, RECORD as u64),
        with_trailer(index(MAX_CODE, 1), good, RECORD as u64),
        with_trailer(index(0, 0), u64::MAX, RECORD as u64),
        with_trailer(index(0, 0), good, u64::MAX),
        with_trailer(index(0, 0), TRAILER as u64, RECORD as u64),
        with_trailer(vec![0; RECORD - 1], good - 1, RECORD as u64 - 1),
    ] {
        let error = open(folder.path(), &bytes).unwrap_err();
        assert!(matches!(error, Damaged(_)), "{error}");
    }
}
