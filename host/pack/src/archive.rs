//! Packs as folders and as `.tar` archives. The archive of a pack is always the same bytes: files by path, without times,
//! owners or anything else of the machine that made it; and only such an archive is taken.
#![allow(
    clippy::disallowed_methods,
    reason = "a pack that was named on the command line"
)]

use std::{
    fs,
    io::{Cursor, Read as _},
    path::Path,
};

use tar::{Archive, EntryType, Header};

use super::{MAX_BYTES, MAX_FILES, Pack, PackRefusal, content::PackFiles};
use crate::node::{local_file, trusted::Opener};

/// What headers and padding add to the files of the largest pack, bytes.
const OVERHEAD: usize = (MAX_FILES + 2) * 1024 + 1024;
/// Largest archive that is read, bytes.
pub const MAX_ARCHIVE: usize = MAX_BYTES + OVERHEAD;
/// Deepest folder of a pack.
const MAX_DEPTH: usize = 16;

/// Reads a pack: an archive, or a folder in which it was built.
///
/// # Errors
/// [`PackRefusal`], naming the file.
pub fn read(path: &Path) -> Result<Pack, PackRefusal> {
    if path.is_dir() {
        return collect(path)?.into_pack(false);
    }
    let bytes = Opener::of_command()
        .read(path, MAX_ARCHIVE)
        .map_err(|error| PackRefusal(error.to_string()))?;
    from_bytes(&bytes).map_err(|PackRefusal(why)| PackRefusal(format!("{}: {why}", path.display())))
}

/// Reads the sources of a pack from a folder, to be built. Digests and a signature of before are left out.
///
/// # Errors
/// [`PackRefusal`], naming the file.
pub fn sources(folder: &Path) -> Result<Pack, PackRefusal> {
    collect(folder)?.into_pack(true)
}

/// Reads an archive.
///
/// # Errors
/// [`PackRefusal`]: anything in it that is not a plain file with a plain path, anything beyond a bound, digests that do not
/// fit, and any byte that is not as [`to_bytes`] writes it.
pub fn from_bytes(bytes: &[u8]) -> Result<Pack, PackRefusal> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(PackRefusal(
            "it is compressed; a pack is a plain .tar".to_owned(),
        ));
    }
    let damaged =
        |error: std::io::Error| PackRefusal(format!("it is no archive, or a damaged one: {error}"));
    let mut collected = PackFiles::default();
    let mut archive = Archive::new(Cursor::new(bytes));
    // Raw: long names and sparse files are kinds of entries of their own then, and refused like links.
    for entry in archive.entries().map_err(damaged)?.raw(true) {
        let mut entry = entry.map_err(damaged)?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let kind = match entry.header().entry_type() {
            EntryType::Regular => None,
            EntryType::Symlink | EntryType::Link => Some("a link"),
            EntryType::Char | EntryType::Block => Some("a device file"),
            EntryType::Fifo => Some("a pipe"),
            EntryType::Directory => Some("a folder entry"),
            _ => Some("not a plain file"),
        };
        if let Some(kind) = kind {
            return Err(PackRefusal(format!(
                "{path:?} in the archive is {kind}; a pack holds plain files only"
            )));
        }
        let room = collected.room();
        if entry.size() > room as u64 {
            return Err(PackRefusal(format!(
                "{path:?} in the archive has {} bytes, more than a pack may hold",
                entry.size()
            )));
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(damaged)?;
        collected.add(&path, content)?;
    }
    let pack = collected.into_pack(false)?;
    match to_bytes(&pack)? == bytes {
        true => Ok(pack),
        false => Err(PackRefusal(
            "the archive is not as `gpud pack build` writes it: it was changed, damaged, or made by another program".to_owned(),
        )),
    }
}

/// Writes a pack as an archive.
///
/// # Errors
/// [`PackRefusal`]: a path does not fit a header, which `check_path` rules out.
pub fn to_bytes(pack: &Pack) -> Result<Vec<u8>, PackRefusal> {
    let failed =
        |error: std::io::Error| PackRefusal(format!("the archive cannot be made: {error}"));
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in pack.all_files() {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_path(&path).map_err(failed)?;
        header.set_cksum();
        builder
            .append(&header, content.as_slice())
            .map_err(failed)?;
    }
    builder.into_inner().map_err(failed)
}

/// The files of a folder.
fn collect(folder: &Path) -> Result<PackFiles, PackRefusal> {
    let mut collected = PackFiles::default();
    below(&mut collected, folder, "", MAX_DEPTH)?;
    Ok(collected)
}

fn below(
    collected: &mut PackFiles,
    folder: &Path,
    prefix: &str,
    depth: usize,
) -> Result<(), PackRefusal> {
    let wrong = |error: &std::io::Error| PackRefusal(local_file::open_error(folder, error));
    if depth == 0 {
        return Err(PackRefusal(format!(
            "{} is deeper than {MAX_DEPTH} folders",
            folder.display()
        )));
    }
    for entry in fs::read_dir(folder).map_err(|error| wrong(&error))? {
        let entry = entry.map_err(|error| wrong(&error))?;
        let name = entry.file_name();
        let name = name.to_str().ok_or_else(|| {
            PackRefusal(format!("{}: its name is not UTF-8", entry.path().display()))
        })?;
        let path = match prefix {
            "" => name.to_owned(),
            prefix => format!("{prefix}/{name}"),
        };
        let kind = entry.file_type().map_err(|error| wrong(&error))?;
        if kind.is_dir() {
            below(collected, &entry.path(), &path, depth - 1)?;
        } else if kind.is_file() {
            let content = Opener::of_command()
                .read(&entry.path(), collected.room())
                .map_err(|error| PackRefusal(error.to_string()))?;
            collected.add(&path, content)?;
        } else {
            return Err(PackRefusal(format!(
                "{path} is neither a plain file nor a folder; a pack holds plain files only"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;
    use crate::{SUMS_FILE, content::tests::pack};

    fn header(path: &str, kind: EntryType, size: u64) -> Header {
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o644);
        // Written past the crate's own checks, as an attacker would.
        let name = &mut header.as_old_mut().name;
        name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        header
    }

    fn refused(path: &str, kind: EntryType) -> String {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = header(path, kind, 0);
        if matches!(kind, EntryType::Symlink | EntryType::Link) {
            header.set_link_name("/etc/passwd").unwrap();
            header.set_cksum();
        }
        builder.append(&header, &b""[..]).unwrap();
        from_bytes(&builder.into_inner().unwrap())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn an_archive_is_read_as_it_was_written_and_always_the_same() {
        let bytes = to_bytes(&pack()).unwrap();
        assert_eq!(bytes, to_bytes(&pack()).unwrap());
        assert_eq!(from_bytes(&bytes).unwrap(), pack());
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        for (path, kind, expected) in [
            ("link", EntryType::Symlink, "is a link"),
            ("hard", EntryType::Link, "is a link"),
            ("dev", EntryType::Char, "is a device file"),
            ("dev", EntryType::Block, "is a device file"),
            ("pipe", EntryType::Fifo, "is a pipe"),
            ("folder/", EntryType::Directory, "is a folder entry"),
            ("long", EntryType::GNULongName, "is not a plain file"),
            ("pax", EntryType::XHeader, "is not a plain file"),
            ("sparse", EntryType::GNUSparse, "is not a plain file"),
            ("../../etc/cron.d/x", EntryType::Regular, "leads out of it"),
            ("/etc/cron.d/x", EntryType::Regular, "is absolute"),
        ] {
            let error = refused(path, kind);
            assert!(error.contains(expected), "{path}: {error}");
        }
        assert!(from_bytes(b"").unwrap_err().to_string().contains("no pack"));
        assert!(
            from_bytes(&[0x1f, 0x8b, 8])
                .unwrap_err()
                .to_string()
                .contains("compressed")
        );
        assert!(
            from_bytes(&[b'x'; 2000])
                .unwrap_err()
                .to_string()
                .contains("no archive")
        );
    }

    #[test]
    fn a_false_size_is_refused_without_memory_for_it() {
        let lying = header("big", EntryType::Regular, 7 << 30);
        let mut bytes = lying.as_bytes().to_vec();
        bytes.extend([0; 1024]);
        let error = from_bytes(&bytes).unwrap_err().to_string();
        assert!(error.contains("more than a pack may hold"), "{error}");
        let short = header("short", EntryType::Regular, 4096);
        let mut bytes = short.as_bytes().to_vec();
        bytes.extend([0; 10]);
        assert!(from_bytes(&bytes).is_err());
    }

    #[test]
    fn a_folder_gives_the_same_pack_and_links_in_it_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in pack().all_files() {
            fs::write(folder.path().join(path), content).unwrap();
        }
        assert_eq!(read(folder.path()).unwrap(), pack());
        fs::write(folder.path().join(SUMS_FILE), "old").unwrap();
        assert!(read(folder.path()).is_err());
        assert_eq!(sources(folder.path()).unwrap(), pack());
        symlink("/etc/passwd", folder.path().join("extra")).unwrap();
        let error = sources(folder.path()).unwrap_err().to_string();
        assert!(
            error.contains("extra is neither a plain file nor a folder"),
            "{error}"
        );
        let missing = read(Path::new("/nonexistent.tar")).unwrap_err().to_string();
        assert!(missing.contains("no such file"), "{missing}");
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_refused(at in any::<prop::sample::Index>(), flip in 1u8..=255) {
            let mut bytes = to_bytes(&pack()).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            prop_assert!(from_bytes(&bytes).is_err());
        }

        #[test]
        fn any_cut_is_refused(at in any::<prop::sample::Index>()) {
            let bytes = to_bytes(&pack()).unwrap();
            prop_assert!(from_bytes(&bytes[..at.index(bytes.len())]).is_err());
        }

        #[test]
        fn any_bytes_are_a_pack_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..2048)) {
            prop_assert!(from_bytes(&bytes).is_err());
        }
    }
}
