//! Reads a spec file and the files that it names. Blocks: a file may be on a dead mount. What somebody else can change is not
//! read.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    node::{
        local_file::FileStamp,
        trusted::{self, Opener},
    },
    spec::{self, PluginFile},
};

/// Largest list file, bytes: what a spec file may hold.
const MAX_LIST_BYTES: usize = spec::MAX_FILE_BYTES;

/// Reads and checks a spec file, and the lists that it names.
///
/// # Errors
/// The file cannot be read, in words such as `open /x: no such file or directory`, or is not trusted. What is wrong in it is
/// in the answer.
pub fn read(path: &Path, opener: Opener) -> Result<PluginFile, String> {
    // One byte more, so that the reader says what is wrong with a file that is too large.
    let bytes = opener
        .read(path, spec::MAX_FILE_BYTES + 1)
        .map_err(|error| error.to_string())?;
    Ok(parse_with(&bytes, &path.display().to_string(), opener))
}

/// Checks a spec file that came from elsewhere.
pub fn parse(bytes: &[u8], source: &str) -> PluginFile {
    parse_with(bytes, source, Opener::of_daemon())
}

fn parse_with(bytes: &[u8], source: &str, opener: Opener) -> PluginFile {
    spec::parse(bytes, source, &|list| {
        let bytes = opener
            .read(list, MAX_LIST_BYTES)
            .map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", list.display()))
    })
}

/// The folder that relative paths of a spec file start from.
pub fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Stamps of a spec file and of everything that it names: if they are as before, nothing was edited.
#[derive(Debug, Clone, Default)]
pub struct Stamps {
    /// Sorted, each once: a thousand plugins may be of one file. Shared by all looks at the same files.
    files: Arc<[PathBuf]>,
    stamps: Vec<Option<FileStamp>>,
}

impl Stamps {
    /// Looks at these files now.
    pub(crate) fn take(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut files: Vec<PathBuf> = files.into_iter().collect();
        files.sort_unstable();
        files.dedup();
        Self::look(files.into())
    }

    fn look(files: Arc<[PathBuf]>) -> Self {
        let stamps = files.iter().map(|file| trusted::stamp(file)).collect();
        Self { files, stamps }
    }

    /// Of a file that is not there.
    pub fn missing(file: PathBuf) -> Self {
        Self {
            files: Arc::new([file]),
            stamps: vec![None],
        }
    }

    /// Looks at the same files again.
    #[must_use]
    pub(crate) fn again(&self) -> Self {
        Self::look(Arc::clone(&self.files))
    }

    /// The files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path)
    }

    /// The stamp of one of them.
    pub(crate) fn of(&self, file: &Path) -> Option<FileStamp> {
        let at = self
            .files
            .binary_search_by(|known| known.as_path().cmp(file))
            .ok()?;
        self.stamps.get(at).copied().flatten()
    }
}

impl PartialEq for Stamps {
    fn eq(&self, other: &Self) -> bool {
        let same_files = Arc::ptr_eq(&self.files, &other.files) || self.files == other.files;
        same_files && self.stamps == other.stamps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_looked_at_once_and_again() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two, none] = ["one", "two", "none"].map(|name| folder.path().join(name));
        std::fs::write(&one, "1").unwrap();
        std::fs::write(&two, "22").unwrap();
        let before = Stamps::take([&two, &one, &two, &none].map(Clone::clone));
        assert_eq!(before.files.len(), 3);
        assert_eq!(before.of(&one), trusted::stamp(&one));
        assert_eq!(before.of(&two), trusted::stamp(&two));
        assert_ne!(before.of(&one), before.of(&two));
        assert_eq!(before.of(&none), None);
        assert_eq!(before.of(folder.path()), None);
        assert_eq!(before, before.again());
        assert_eq!(
            before,
            Stamps::take([&none, &two, &one].map(Clone::clone)),
            "the order in which they are named is nothing"
        );
        assert_ne!(before, Stamps::take([two.clone(), one.clone()]));
        std::fs::write(&two, "333").unwrap();
        let after = before.again();
        assert_ne!(before, after);
        assert_eq!(before.of(&one), after.of(&one));
        assert_ne!(Stamps::missing(one.clone()), Stamps::take([one]));
        assert_eq!(Stamps::missing(none.clone()), Stamps::take([none]));
    }
}
