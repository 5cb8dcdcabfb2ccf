//! Machine code of the built-in components, compiled when gpud was built and appended to its binary.
//!
//! ```text
//! | gpud | compressed code … | index | trailer |
//! ```
//!
//! Each record of the index names a component by its SHA-256 and the engine's compatibility hash, and says where in the
//! unpacked code its own begins, how long it is, and its SHA-256. The trailer holds the archive's length, the length and the
//! SHA-256 of the index, and [`MAGIC`], which names the version of the format. Numbers are little-endian. The code of all
//! components is one xz file: much of it is the same.

use std::{
    collections::HashMap,
    io::{self, Read as _, Write as _},
    ops::{Deref, Range},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use lzma_rust2::{XzOptions, XzReader, XzWriter};
use sha2::{Digest, Sha256};

use crate::node::parts::Parts;

/// End of a file that has an archive of this version.
const MAGIC: [u8; 16] = *b"gpud-builtins-3\n";
/// Bytes of the trailer: two lengths, a SHA-256, and [`MAGIC`].
const TRAILER: usize = 8 + 8 + 32 + 16;
/// Bytes of a record in the index: two SHA-256 and three numbers.
const RECORD: usize = 32 + 32 + 3 * 8;
/// Most components of an archive.
const MAX_RECORDS: u64 = 4096;
/// Longest code of all components, bytes.
const MAX_CODE: u64 = 128 << 20;
/// Most memory of the decoder, KiB: a damaged header could ask for 4 GiB.
const MAX_DECODER: u32 = 64 << 10;
/// How hard the compressor tries, of 9. More than this brings little for code of this length.
const PRESET: u32 = 6;

/// A SHA-256.
pub(super) type Sum = [u8; 32];

/// Names the code of one component for one kind of engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// SHA-256 of the component.
    pub(super) component: Sum,
    /// The engine's compatibility, see [`super::engine::compatibility`].
    pub(super) engine: u64,
}

/// Why an archive, or code in it, is not used.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file could not be read.
    #[error("cannot read the compiled code in gpud's binary: {0}")]
    File(#[from] io::Error),
    /// It is not what was written.
    #[error("the compiled code in gpud's binary is damaged ({0}); install gpud again")]
    Damaged(&'static str),
    /// It is for another engine.
    #[error(
        "the compiled code in gpud's binary does not fit this processor or this build; \
         build gpud with `cargo xtask release`, for processors with x86-64-v2"
    )]
    OtherEngine,
}

use ArchiveError::Damaged;

/// An archive whose index was read and checked.
#[derive(Debug)]
pub struct Archive {
    parts: Parts,
    records: HashMap<Key, Record>,
    /// Place of the compressed code in the file.
    compressed: Range<u64>,
    /// The unpacked code of all components while some of it is in use: they are loaded at about the same time.
    unpacked: Mutex<Weak<Vec<u8>>>,
}

/// The location of a component's code in the unpacked code.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    sum: Sum,
    place: Range<usize>,
}

/// The code of one component.
#[derive(Debug)]
pub(super) struct ArchivedCode {
    all: Arc<Vec<u8>>,
    place: Range<usize>,
}

impl Deref for ArchivedCode {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.all.get(self.place.clone()).unwrap_or_default()
    }
}

impl Archive {
    /// Reads the index of the archive at the end of a file. `None` when there is no archive.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub fn open(parts: Parts) -> Result<Option<Self>, ArchiveError> {
        let Some(trailer_at) = parts.size().checked_sub(TRAILER as u64) else {
            return Ok(None);
        };
        let trailer = parts.read(trailer_at, TRAILER as u64)?;
        let mut fields = Fields(&trailer);
        let (length, index_length) = (fields.number()?, fields.number()?);
        let (sum, magic): (Sum, [u8; 16]) = (fields.take()?, fields.take()?);
        if magic != MAGIC {
            return Ok(None);
        }
        let start = parts.size().checked_sub(length);
        let index_at = trailer_at.checked_sub(index_length);
        let (Some(start), Some(index_at)) = (start, index_at) else {
            return Err(Damaged("its length"));
        };
        if index_at < start || index_length > MAX_RECORDS * RECORD as u64 {
            return Err(Damaged("the length of its index"));
        }
        let index = parts.read(index_at, index_length)?;
        if Sum::from(Sha256::digest(&index)) != sum {
            return Err(Damaged("its index"));
        }
        let mut records = HashMap::new();
        for bytes in index.chunks(RECORD) {
            let mut fields = Fields(bytes);
            let component = fields.take()?;
            let sum = fields.take()?;
            let engine = fields.number()?;
            let (offset, length) = (fields.number()?, fields.number()?);
            let end = offset.checked_add(length).filter(|end| *end <= MAX_CODE);
            let place = end.and_then(|end| Some(offset.try_into().ok()?..end.try_into().ok()?));
            let place = place.ok_or(Damaged("a length"))?;
            records.insert(Key { component, engine }, Record { sum, place });
        }
        Ok(Some(Self {
            parts,
            records,
            compressed: start..index_at,
            unpacked: Mutex::default(),
        }))
    }

    /// Returns the code of a component. `None` when the archive does not know the component, as it knows no plugin.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub(super) fn code(&self, key: Key) -> Result<Option<ArchivedCode>, ArchiveError> {
        let Some(record) = self.records.get(&key) else {
            let mut known = self.records.keys();
            return match known.any(|known| known.component == key.component) {
                true => Err(ArchiveError::OtherEngine),
                false => Ok(None),
            };
        };
        let (all, place) = (self.unpacked()?, record.place.clone());
        let code = all.get(place.clone()).ok_or(Damaged("a length"))?;
        if Sum::from(Sha256::digest(code)) != record.sum {
            return Err(Damaged("code"));
        }
        Ok(Some(ArchivedCode { all, place }))
    }

    /// Returns the SHA-256 of a component's code, if it is here.
    pub(super) fn sum(&self, key: Key) -> Option<Sum> {
        self.records.get(&key).map(|record| record.sum)
    }

    /// Returns the names of all other code for the same engine.
    pub(super) fn others(&self, key: Key) -> impl Iterator<Item = Key> {
        let keys = self.records.keys().copied();
        keys.filter(move |other| other.engine == key.engine && *other != key)
    }

    /// Unpacks the code of all components, unless it is unpacked.
    fn unpacked(&self) -> Result<Arc<Vec<u8>>, ArchiveError> {
        // Another caller that needs it at the same time waits here.
        let mut unpacked = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(all) = unpacked.upgrade() {
            return Ok(all);
        }
        let Range { start, end } = self.compressed;
        let compressed = self.parts.read(start, end.saturating_sub(start))?;
        let length = self.records.values().map(|record| record.place.end).max();
        let length = length.unwrap_or_default();
        let mut all = Vec::with_capacity(length);
        XzReader::new_mem_limit(&*compressed, false, MAX_DECODER)
            .take(length as u64)
            .read_to_end(&mut all)
            .map_err(|_| Damaged("compressed code"))?;
        let all = Arc::new(all);
        *unpacked = Arc::downgrade(&all);
        Ok(all)
    }
}

/// Returns an archive with the code of these components.
///
/// # Errors
/// When there is more than an archive may hold.
pub(super) fn write(codes: &[(Key, Vec<u8>)]) -> io::Result<Vec<u8>> {
    if codes.len() as u64 > MAX_RECORDS {
        return Err(io::Error::other("too many components"));
    }
    let (mut all, mut index) = (Vec::new(), Vec::new());
    for (key, code) in codes {
        index.extend_from_slice(&key.component);
        index.extend_from_slice(&Sha256::digest(code));
        for number in [key.engine, all.len() as u64, code.len() as u64] {
            index.extend_from_slice(&number.to_le_bytes());
        }
        all.extend_from_slice(code);
    }
    if all.len() as u64 > MAX_CODE {
        return Err(io::Error::other("the components' code is too long"));
    }
    let mut writer = XzWriter::new(Vec::new(), XzOptions::with_preset(PRESET))?;
    writer.write_all(&all)?;
    let mut archive = writer.finish()?;
    let length = archive.len() + index.len() + TRAILER;
    archive.extend_from_slice(&index);
    archive.extend_from_slice(&(length as u64).to_le_bytes());
    archive.extend_from_slice(&(index.len() as u64).to_le_bytes());
    archive.extend_from_slice(&Sha256::digest(&index));
    archive.extend_from_slice(&MAGIC);
    Ok(archive)
}

/// Returns how long a program is without the archive behind it.
pub(super) fn length_without(program: &[u8]) -> usize {
    let start = || {
        let trailer = program.get(program.len().checked_sub(TRAILER)?..)?;
        let (length, _) = trailer.split_first_chunk()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let start = program.len().checked_sub(length)?;
        trailer.ends_with(&MAGIC).then_some(start)
    };
    start().unwrap_or(program.len())
}

/// Takes fields of fixed sizes from the front of bytes.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const SIZE: usize>(&mut self) -> Result<[u8; SIZE], ArchiveError> {
        let (field, rest) = self.0.split_first_chunk().ok_or(Damaged("its index"))?;
        self.0 = rest;
        Ok(*field)
    }

    fn number(&mut self) -> Result<u64, ArchiveError> {
        Ok(u64::from_le_bytes(self.take()?))
    }
}

#[cfg(test)]
mod tests;
