//! Reads zip files of which nothing is believed: bounded, and whole or not at all.

use std::io::Read as _;

use flate2::{Crc, read::DeflateDecoder};

/// Signatures of the three kinds of records.
const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: [u8; 4] = *b"PK\x05\x06";
/// The methods: as it is, and DEFLATE.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ZipError {
    /// It ends too early, or its parts contradict each other.
    #[error("it is no zip file, or one that is cut short")]
    Broken,
    /// It is packed in another way.
    #[error("{0} is compressed or encrypted in a way that is not read here")]
    Method(String),
    /// A file is not what the directory says.
    #[error("{0} does not have its checksum")]
    Checksum(String),
    /// There is too much in it.
    #[error("it holds more than {0} bytes")]
    TooLarge(u64),
}

/// Returns the paths and contents of all files, which together have `max` bytes at most.
///
/// # Errors
/// [`ZipError`].
pub(crate) fn read(bytes: &[u8], max: u64) -> Result<Vec<(String, Vec<u8>)>, ZipError> {
    let file = File(bytes);
    let end = bytes
        .windows(END.len())
        .rposition(|window| window == END)
        .ok_or(ZipError::Broken)?;
    let count = file.u16(end, 10)?;
    let mut place = file.u32(end, 16)?;
    let mut left = max;
    let mut files = Vec::new();
    for _ in 0..count {
        let (entry, next) = file.entry(place)?;
        place = next;
        if entry.path.ends_with('/') {
            continue;
        }
        let content = file.content(&entry, left)?;
        left = left
            .checked_sub(content.len() as u64)
            .ok_or(ZipError::TooLarge(max))?;
        files.push((entry.path, content));
    }
    Ok(files)
}

/// What the directory says of a file.
struct Entry {
    path: String,
    is_encrypted: bool,
    method: u16,
    checksum: u32,
    compressed_size: usize,
    size: u64,
    offset: usize,
}

struct File<'a>(&'a [u8]);

impl<'a> File<'a> {
    fn bytes(&self, place: usize, distance: usize, length: usize) -> Result<&'a [u8], ZipError> {
        let start = place.checked_add(distance);
        let end = start.and_then(|start| start.checked_add(length));
        let range = start.zip(end);
        let found = range.and_then(|(start, end)| self.0.get(start..end));
        found.ok_or(ZipError::Broken)
    }

    fn u16(&self, place: usize, distance: usize) -> Result<u16, ZipError> {
        let bytes = self.bytes(place, distance, 2)?;
        let bytes = bytes.first_chunk().ok_or(ZipError::Broken)?;
        Ok(u16::from_le_bytes(*bytes))
    }

    fn u32(&self, place: usize, distance: usize) -> Result<usize, ZipError> {
        let bytes = self.bytes(place, distance, 4)?;
        let bytes = bytes.first_chunk().ok_or(ZipError::Broken)?;
        usize::try_from(u32::from_le_bytes(*bytes)).map_err(|_| ZipError::Broken)
    }

    /// Checks what a record begins with.
    fn signature(&self, place: usize, expected: u32) -> Result<(), ZipError> {
        let found = self.bytes(place, 0, 4)?;
        (found == expected.to_le_bytes())
            .then_some(())
            .ok_or(ZipError::Broken)
    }

    /// Reads a record of the directory, and says where the next one is.
    fn entry(&self, place: usize) -> Result<(Entry, usize), ZipError> {
        self.signature(place, CENTRAL)?;
        let length = usize::from(self.u16(place, 28)?);
        let further = usize::from(self.u16(place, 30)?) + usize::from(self.u16(place, 32)?);
        let path = self.bytes(place, 46, length)?;
        let path = std::str::from_utf8(path).map_err(|_| ZipError::Broken)?;
        let entry = Entry {
            path: path.to_owned(),
            is_encrypted: self.u16(place, 8)? & 1 != 0,
            method: self.u16(place, 10)?,
            checksum: u32::try_from(self.u32(place, 16)?).map_err(|_| ZipError::Broken)?,
            compressed_size: self.u32(place, 20)?,
            size: self.u32(place, 24)? as u64,
            offset: self.u32(place, 42)?,
        };
        let next = place
            .checked_add(46 + length + further)
            .ok_or(ZipError::Broken)?;
        Ok((entry, next))
    }

    /// Unpacks a file of up to `max` bytes.
    fn content(&self, entry: &Entry, max: u64) -> Result<Vec<u8>, ZipError> {
        self.signature(entry.offset, LOCAL)?;
        if entry.size > max {
            return Err(ZipError::TooLarge(max));
        }
        let name = usize::from(self.u16(entry.offset, 26)?);
        let further = usize::from(self.u16(entry.offset, 28)?);
        let packed = self.bytes(entry.offset, 30 + name + further, entry.compressed_size)?;
        let mut content = Vec::new();
        match entry.method {
            _ if entry.is_encrypted => return Err(ZipError::Method(entry.path.clone())),
            STORED => content.extend(packed),
            DEFLATED => {
                // One byte more than it says would show.
                let mut decoder = DeflateDecoder::new(packed).take(entry.size.saturating_add(1));
                decoder
                    .read_to_end(&mut content)
                    .map_err(|_| ZipError::Broken)?;
            }
            _ => return Err(ZipError::Method(entry.path.clone())),
        }
        let mut checksum = Crc::new();
        checksum.update(&content);
        let is_whole = content.len() as u64 == entry.size && checksum.sum() == entry.checksum;
        is_whole
            .then_some(content)
            .ok_or_else(|| ZipError::Checksum(entry.path.clone()))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::DeflateEncoder};
    use proptest::prelude::*;

    use super::*;

    /// Makes a zip file of one compressed file after the other.
    pub(crate) fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
        let (mut file, mut directory) = (Vec::new(), Vec::new());
        for (path, content) in files {
            let mut checksum = Crc::new();
            checksum.update(content);
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(content).unwrap();
            let packed = encoder.finish().unwrap();
            let mut common = vec![20, 0, 0, 0, 8, 0, 0, 0, 33, 0];
            for number in [checksum.sum(), packed.len() as u32, content.len() as u32] {
                common.extend(number.to_le_bytes());
            }
            common.extend((path.len() as u16).to_le_bytes());
            common.extend([0; 2]);
            directory.extend(CENTRAL.to_le_bytes());
            directory.extend([20, 0]);
            directory.extend(&common);
            directory.extend([0; 10]);
            directory.extend((file.len() as u32).to_le_bytes());
            directory.extend(path.as_bytes());
            file.extend(LOCAL.to_le_bytes());
            file.extend(&common);
            file.extend(path.as_bytes());
            file.extend(packed);
        }
        let start = file.len() as u32;
        let size = directory.len() as u32;
        file.extend(directory);
        file.extend(END);
        file.extend([0; 4]);
        for _ in 0..2 {
            file.extend((files.len() as u16).to_le_bytes());
        }
        file.extend(size.to_le_bytes());
        file.extend(start.to_le_bytes());
        file.extend([0; 2]);
        file
    }

    #[test]
    fn files_are_read_within_a_bound() {
        let bytes = zipped(&[("a/one", b"one one one"), ("a/", b""), ("two", b"2")]);
        let files = read(&bytes, 12).unwrap();
        assert_eq!(
            files,
            [
                ("a/one".to_owned(), b"one one one".to_vec()),
                ("two".to_owned(), b"2".to_vec())
            ]
        );
        assert!(matches!(read(&bytes, 11), Err(ZipError::TooLarge(_))));
        assert_eq!(read(b"no zip file", 9), Err(ZipError::Broken));
        let mut changed = zipped(&[("one", b"one")]);
        // The checksum in the directory, which begins behind 30 bytes, the name and the content.
        let end = changed.len() - 22;
        changed[end - 46 - 3 + 16] ^= 1;
        assert_eq!(read(&changed, 9), Err(ZipError::Checksum("one".to_owned())));
    }

    proptest! {
        #[test]
        fn damage_does_no_harm(at in 0_usize..200, value in any::<u8>(), end in 0_usize..200) {
            let mut bytes = zipped(&[("a/one", b"one one one"), ("two", b"2")]);
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
            let _ = read(&bytes, 100);
            let _ = read(bytes.get(..end).unwrap_or_default(), 100);
        }
    }
}
