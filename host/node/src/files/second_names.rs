//! Second names of the files that no grant reaches: hard links, and folders that are mounted in a second place.
//!
//! Neither shows in a path. The number that the filesystem gives a file is the same under each name.

use rustix::{fd::OwnedFd, fs::Stat};

use super::names;

/// A file or folder, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    number: u64,
}

impl Identity {
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
pub fn is_among(handle: &OwnedFd, real: &str, sealed: &[Identity]) -> bool {
    let itself = rustix::fs::fstat(handle).ok();
    let itself = itself.map(|stat| Identity::of(&stat));
    // The first slash is that of `/`, which is never sealed.
    let ends = real.match_indices('/').skip(1);
    let above = ends.filter_map(|(end, _)| Identity::of_path(real.get(..end)?));
    itself
        .into_iter()
        .chain(above)
        .any(|one| sealed.contains(&one))
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
        let identity = |path: &std::path::Path| Identity::of_path(path.to_str().unwrap()).unwrap();
        let is_among = |path: &std::path::Path, sealed: &[Identity]| {
            let handle = OwnedFd::from(fs::File::open(path).unwrap());
            super::is_among(&handle, path.to_str().unwrap(), sealed)
        };
        assert!(is_among(&second, &[identity(&file)]));
        assert!(is_among(&file, &[identity(&inner)]));
        assert!(is_among(&inner, &[identity(&inner)]));
        assert!(!is_among(&second, &[identity(&inner)]));
        assert!(!is_among(&file, &[]));
        assert!(Identity::of_path(folder.join("none").to_str().unwrap()).is_none());
    }
}
