//! Reads a spec file and the files that it names. Blocks: a file may lie on a dead mount.

use std::path::{Path, PathBuf};

use crate::{
    node::local_file::{self, Stamp},
    spec::{self, PluginFile},
};

/// Largest list file, bytes: what a spec file may hold.
const MAX_LIST_BYTES: usize = spec::MAX_FILE_BYTES;

/// Reads and checks a spec file.
///
/// # Errors
/// The file cannot be read, in words such as `open /x: no such file or directory`. What is wrong in it is in the answer.
pub fn read(path: &Path) -> Result<PluginFile, String> {
    // One byte more, so that the reader says what is wrong with a file that is too large.
    let bytes = local_file::read(path, spec::MAX_FILE_BYTES + 1)
        .map_err(|error| local_file::open_error(path, &error))?;
    Ok(parse(&bytes, &path.display().to_string()))
}

/// Checks a spec file that came from elsewhere.
pub fn parse(bytes: &[u8], source: &str) -> PluginFile {
    spec::parse(bytes, source, &|list| {
        let bytes = local_file::read(list, MAX_LIST_BYTES)
            .map_err(|error| local_file::open_error(list, &error))?;
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

/// Stamps of a spec file and of everything that it names, in a fixed order: if they are as before, nothing was edited.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stamps(Vec<(PathBuf, Option<Stamp>)>);

impl Stamps {
    /// Looks at these files now.
    pub fn take(files: impl IntoIterator<Item = PathBuf>) -> Self {
        let stamped = files.into_iter().map(|file| {
            let stamp = local_file::stamp(&file);
            (file, stamp)
        });
        Self(stamped.collect())
    }

    /// Of a file that is not there.
    pub fn missing(file: PathBuf) -> Self {
        Self(vec![(file, None)])
    }

    /// Looks at the same files again.
    #[must_use]
    pub fn again(&self) -> Self {
        Self::take(self.0.iter().map(|(file, _)| file.clone()))
    }

    /// The stamp of one of them.
    pub fn of(&self, file: &Path) -> Option<Stamp> {
        let found = self.0.iter().find(|(known, _)| known == file);
        found.and_then(|(_, stamp)| *stamp)
    }
}
