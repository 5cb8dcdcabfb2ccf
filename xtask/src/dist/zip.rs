//! Zip files, which are the same for the same files everywhere. Wheels of Python and modules of Go are such files.

use std::io::Write as _;

use anyhow::{Context, Result};
use flate2::{Compression, Crc, write::DeflateEncoder};

use super::tree::{Node, Tree};

/// Signatures of the three kinds of records.
const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// Version 2.0 of the format, which has DEFLATE.
const VERSION: u16 = 20;
/// The same, written on Unix: then there are permissions.
const MADE_BY: u16 = (3 << 8) | VERSION;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// DEFLATE.
const METHOD: u16 = 8;
/// 1 January 1980, the earliest date that there is, at midnight.
const DATE: u16 = (1 << 5) | 1;
/// A regular file, as Unix says it in the upper half of the attributes.
const REGULAR: u32 = 0o100_000;

/// Encodes the files of a tree, compressed, without times and folders.
///
/// # Errors
/// It has more files or bytes than the format's first version can number.
pub fn encode(tree: &Tree) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    let mut count = 0_u16;
    for (path, node) in tree.iter() {
        let Node::File(mode, content) = node else {
            continue;
        };
        let entry = Entry::new(path, *mode, content, file.len())?;
        entry.central(&mut directory);
        entry.local(&mut file);
        count = count
            .checked_add(1)
            .context("too many files for a zip file")?;
    }
    let start = small(file.len())?;
    let size = small(directory.len())?;
    file.append(&mut directory);
    file.extend(END.to_le_bytes());
    // The number of this disk, and of the one with the directory.
    file.extend([0; 4]);
    file.extend(count.to_le_bytes());
    file.extend(count.to_le_bytes());
    file.extend(size.to_le_bytes());
    file.extend(start.to_le_bytes());
    // No comment.
    file.extend([0; 2]);
    Ok(file)
}

struct Entry<'a> {
    path: &'a str,
    path_length: u16,
    mode: u32,
    checksum: u32,
    compressed: Vec<u8>,
    compressed_size: u32,
    size: u32,
    offset: u32,
}

impl<'a> Entry<'a> {
    fn new(path: &'a str, mode: u32, content: &[u8], offset: usize) -> Result<Self> {
        let mut checksum = Crc::new();
        checksum.update(content);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content)?;
        let compressed = encoder.finish()?;
        Ok(Self {
            path,
            path_length: u16::try_from(path.len()).context("a path is too long")?,
            mode,
            checksum: checksum.sum(),
            compressed_size: small(compressed.len())?,
            compressed,
            size: small(content.len())?,
            offset: small(offset)?,
        })
    }

    /// Writes what both records say.
    fn common(&self, to: &mut Vec<u8>) {
        for number in [VERSION, FLAGS, METHOD, 0, DATE] {
            to.extend(number.to_le_bytes());
        }
        for number in [self.checksum, self.compressed_size, self.size] {
            to.extend(number.to_le_bytes());
        }
        to.extend(self.path_length.to_le_bytes());
        // No further fields.
        to.extend([0; 2]);
    }

    fn local(&self, to: &mut Vec<u8>) {
        to.extend(LOCAL.to_le_bytes());
        self.common(to);
        to.extend(self.path.as_bytes());
        to.extend(&self.compressed);
    }

    fn central(&self, to: &mut Vec<u8>) {
        to.extend(CENTRAL.to_le_bytes());
        to.extend(MADE_BY.to_le_bytes());
        self.common(to);
        // No comment, the first disk, no internal attributes.
        to.extend([0; 6]);
        to.extend(((REGULAR | self.mode) << 16).to_le_bytes());
        to.extend(self.offset.to_le_bytes());
        to.extend(self.path.as_bytes());
    }
}

fn small(number: usize) -> Result<u32> {
    u32::try_from(number).context("too many bytes for a zip file")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn tree() -> Tree {
        let mut tree = Tree::default();
        tree.file("a/one.txt", 0o644, "one ".repeat(100));
        tree.file("a/run.sh", 0o755, "#!/bin/sh\n");
        tree.file("b", 0o644, "");
        tree
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        let bytes = encode(&tree()).unwrap();
        assert_eq!(bytes, encode(&tree()).unwrap());
        assert!(bytes.starts_with(b"PK\x03\x04"));
        let end = bytes.len() - 22;
        assert_eq!(bytes[end..end + 4], *b"PK\x05\x06");
        assert_eq!(bytes[end + 10..end + 12], [3, 0]);
    }

    #[test]
    fn other_programs_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.zip");
        std::fs::write(&file, encode(&tree()).unwrap()).unwrap();
        let program = "import sys, zipfile\n\
            z = zipfile.ZipFile(sys.argv[1])\n\
            assert z.testzip() is None\n\
            assert z.namelist() == ['a/one.txt', 'a/run.sh', 'b'], z.namelist()\n\
            assert z.read('a/one.txt') == b'one ' * 100\n\
            assert z.getinfo('a/run.sh').external_attr >> 16 == 0o100755\n";
        let output = Command::new("python3")
            .args(["-c", program])
            .arg(&file)
            .output();
        let Ok(output) = output else {
            eprintln!("left out: no python3");
            return;
        };
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
