//! Recognises files that no grant reaches under their second names: hard links, and folders that are mounted in a
//! second place. A path does not show either; the device and inode numbers are the same under each name.

use rustix::{fd::OwnedFd, fs::Stat};

use super::names;

/// The device and inode of a file or folder, which are the same under each of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    device: u64,
    number: u64,
}

impl FileIdentity {
    /// Returns what a path leads to; `None` where there is nothing. Blocks.
    pub fn of_path(path: &str) -> Option<Self> {
        let stat = rustix::fs::stat(path);
        let stat = stat.or_else(|error| match names::raw(path) {
            Some(raw) => rustix::fs::stat(raw),
            None => Err(error),
        });
        stat.ok().map(|stat| Self::of(&stat))
    }

    fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            number: stat.st_ino,
        }
    }
}

/// Whether an open file, at its real path, is one of some files or below one of some folders. Blocks.
pub fn is_among(handle: &OwnedFd, real: &str, denied: &[FileIdentity]) -> bool {
    let itself = rustix::fs::fstat(handle).ok();
    let itself = itself.map(|stat| FileIdentity::of(&stat));
    // The first slash is that of `/`, which is never denied.
    let ends = real.match_indices('/').skip(1);
    let above = ends.filter_map(|(end, _)| FileIdentity::of_path(real.get(..end)?));
    itself
        .into_iter()
        .chain(above)
        .any(|one| denied.contains(&one))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_known_by_another_name_and_below_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let inner = folder.join("inner");
        fs::create_dir(&inner).unwrap();
        let (file, second) = (inner.join("file"), folder.join("second"));
        fs::write(&file, "x").unwrap();
        fs::hard_link(&file, &second).unwrap();
        let identity =
            |path: &std::path::Path| FileIdentity::of_path(path.to_str().unwrap()).unwrap();
        let is_among = |path: &std::path::Path, denied: &[FileIdentity]| {
            let handle = OwnedFd::from(fs::File::open(path).unwrap());
            super::is_among(&handle, path.to_str().unwrap(), denied)
        };
        assert!(is_among(&second, &[identity(&file)]));
        assert!(is_among(&file, &[identity(&inner)]));
        assert!(is_among(&inner, &[identity(&inner)]));
        assert!(!is_among(&second, &[identity(&inner)]));
        assert!(!is_among(&file, &[]));
        assert!(FileIdentity::of_path(folder.join("none").to_str().unwrap()).is_none());
    }
}
