//! Files of an archive or package, and their encoding as tar, which is the same for the same files everywhere.

use std::{collections::BTreeMap, io::Write as _};

use anyhow::Result;
use flate2::{Compression, GzBuilder};

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A folder with its mode.
    Folder(u32),
    /// A file with its mode and content.
    File(u32, Vec<u8>),
}

/// Files by their paths, which have no `/` in front. Parents come before what is in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<String, Node>);

impl Tree {
    /// Adds a file, and the folders above it if they are missing.
    pub fn file(&mut self, path: &str, mode: u32, content: impl Into<Vec<u8>>) {
        self.insert(path, Node::File(mode, content.into()));
    }

    /// Adds a folder.
    pub fn folder(&mut self, path: &str, mode: u32) {
        self.insert(path, Node::Folder(mode));
    }

    /// Adds all of another tree below a folder.
    pub fn extend(&mut self, folder: &str, other: &Self) {
        for (path, node) in other.iter() {
            self.insert(&format!("{folder}/{path}"), node.clone());
        }
    }

    /// Returns the same without a folder and what is in it.
    #[must_use]
    pub fn without(self, folder: &str) -> Self {
        let inside = format!("{folder}/");
        let entries = self.0.into_iter();
        Self(
            entries
                .filter(|(path, _)| path != folder && !path.starts_with(&inside))
                .collect(),
        )
    }

    /// Returns all entries, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.0.iter().map(|(path, node)| (path.as_str(), node))
    }

    /// Returns the number of bytes in all files.
    pub fn size(&self) -> u64 {
        let sizes = self.0.values().map(|node| match node {
            Node::File(_, content) => content.len() as u64,
            Node::Folder(_) => 0,
        });
        sizes.sum()
    }

    /// Encodes it as tar: owned by root, every entry with the same time.
    ///
    /// # Errors
    /// A path cannot be in an archive.
    pub fn tar(&self, time: u64) -> Result<Vec<u8>> {
        self.tar_with_owners(time, &BTreeMap::new())
    }

    /// The same, with other owners (user and group of one number) of some paths.
    ///
    /// # Errors
    /// A path cannot be in an archive.
    pub fn tar_with_owners(&self, time: u64, owners: &BTreeMap<&str, u64>) -> Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, node) in self.iter() {
            let owner = owners.get(path).copied().unwrap_or(0);
            let mut header = tar::Header::new_gnu();
            header.set_uid(owner);
            header.set_gid(owner);
            header.set_mtime(time);
            match node {
                Node::Folder(mode) => {
                    header.set_entry_type(tar::EntryType::Directory);
                    header.set_mode(*mode);
                    header.set_size(0);
                    archive.append_data(&mut header, format!("{path}/"), [].as_slice())?;
                }
                Node::File(mode, content) => {
                    header.set_entry_type(tar::EntryType::Regular);
                    header.set_mode(*mode);
                    header.set_size(content.len() as u64);
                    archive.append_data(&mut header, path, content.as_slice())?;
                }
            }
        }
        Ok(archive.into_inner()?)
    }

    fn insert(&mut self, path: &str, node: Node) {
        for (end, _) in path.match_indices('/') {
            if let Some(folder) = path.get(..end) {
                let missing = || Node::Folder(0o755);
                self.0.entry(folder.to_owned()).or_insert_with(missing);
            }
        }
        self.0.insert(path.to_owned(), node);
    }
}

/// Compresses with gzip, without a time or name in the header.
///
/// # Errors
/// Memory cannot be written to, which does not happen.
pub fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read as _;

    #[test]
    fn the_order_in_which_files_are_added_does_not_count() {
        let (mut one, mut other) = (Tree::default(), Tree::default());
        one.file("a/b/c", 0o644, "text");
        one.file("a-b", 0o755, "program");
        other.file("a-b", 0o755, "program");
        other.file("a/b/c", 0o644, "text");
        let bytes = one.tar(86_400).unwrap();
        assert_eq!(bytes, other.tar(86_400).unwrap());
        assert_eq!(gzip(&bytes).unwrap(), gzip(&bytes).unwrap());
        let mut archive = tar::Archive::new(bytes.as_slice());
        let listed: Vec<(String, u32, u64, u64)> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let header = entry.header();
                let path = entry.path().unwrap().display().to_string();
                let owner = header.uid().unwrap() + header.gid().unwrap();
                (path, header.mode().unwrap(), owner, header.mtime().unwrap())
            })
            .collect();
        let expected = [
            ("a", 0o755),
            ("a-b", 0o755),
            ("a/b", 0o755),
            ("a/b/c", 0o644),
        ];
        let expected: Vec<(String, u32, u64, u64)> = expected
            .iter()
            .map(|(path, mode)| ((*path).to_owned(), *mode, 0, 86_400))
            .collect();
        let listed: Vec<_> = listed
            .into_iter()
            .map(|(path, mode, owner, time)| {
                (path.trim_end_matches('/').to_owned(), mode, owner, time)
            })
            .collect();
        assert_eq!(listed, expected);
    }

    #[test]
    fn gzip_has_no_time() {
        let bytes = gzip(b"text").unwrap();
        assert_eq!(bytes[4..8], [0; 4]);
        assert_eq!(bytes[3] & 0b1000, 0, "no name");
    }

    proptest! {
        #[test]
        fn every_tree_is_read_back(files in prop::collection::btree_map("[a-z]{1,80}(/[a-z]{1,80}){0,2}", prop::collection::vec(any::<u8>(), 0..600), 0..6)) {
            let mut tree = Tree::default();
            for (path, content) in &files {
                tree.file(path, 0o600, content.clone());
            }
            let bytes = tree.tar(1).unwrap();
            let mut found = BTreeMap::new();
            for entry in tar::Archive::new(bytes.as_slice()).entries().unwrap() {
                let mut entry = entry.unwrap();
                let mut content = Vec::new();
                entry.read_to_end(&mut content).unwrap();
                if entry.header().entry_type().is_file() {
                    found.insert(entry.path().unwrap().display().to_string(), content);
                }
            }
            let expected: BTreeMap<String, Vec<u8>> = tree.iter().filter_map(|(path, node)| match node {
                Node::File(_, content) => Some((path.to_owned(), content.clone())),
                Node::Folder(_) => None,
            }).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
