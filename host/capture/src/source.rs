//! The bytes of a file as text: decompressed, and from UTF-16 to UTF-8.

use std::{
    cell::Cell,
    io::{self, BufRead, BufReader, Cursor, ErrorKind, Read},
    rc::Rc,
};

use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};

use super::{
    MAX_EXPANDED,
    error::CaptureError,
    utf16::{self, Utf16},
};

/// So many bytes of the beginning say what a file is.
const START: usize = 4096;
/// The most memory of the xz decoder, in KiB: `xz -9` needs 65 MiB.
const XZ_MEMORY_KIB: u32 = 128 << 10;
/// A text expands less.
const MAX_RATIO: u64 = 10_000;
/// From so many bytes on the ratio counts.
const RATIO_FROM: u64 = 64 << 20;

/// A text that is being read.
pub(super) struct Source<'r> {
    /// UTF-8 or something near it.
    pub text: Box<dyn Read + 'r>,
    /// How the file is compressed.
    pub packed: Option<&'static str>,
    /// It begins like no text.
    pub is_binary: bool,
}

/// Finds out what the bytes are.
///
/// # Errors
/// They are in a form that cannot be read here, or cannot be read at all.
pub(super) fn open<'r>(mut raw: impl Read + 'r) -> Result<Source<'r>, CaptureError> {
    let start = beginning(&mut raw).map_err(|error| CaptureError::Read(error.to_string()))?;
    let packing = Packing::of(&start)?;
    let whole = Cursor::new(start.clone()).chain(raw);
    let Some(packing) = packing else {
        return Ok(text(start, whole, None));
    };
    let name = packing.name();
    let mut unpacked = packing.open(whole);
    let start = beginning(&mut unpacked).map_err(|error| of_error(&error, Some(name)))?;
    if Packing::of(&start)?.is_some() {
        return Err(CaptureError::Packed("compressed twice"));
    }
    let whole = Cursor::new(start.clone()).chain(unpacked);
    Ok(text(start, whole, Some(name)))
}

/// The error of a read.
pub(super) fn of_error(error: &io::Error, packed: Option<&'static str>) -> CaptureError {
    let own = error
        .get_ref()
        .and_then(|own| own.downcast_ref::<CaptureError>());
    match (own, packed) {
        (Some(own), _) => CaptureError::clone(own),
        (None, Some(name)) => CaptureError::Damaged(name, error.to_string()),
        (None, None) => CaptureError::Read(error.to_string()),
    }
}

fn text<'r>(start: Vec<u8>, whole: impl Read + 'r, packed: Option<&'static str>) -> Source<'r> {
    let order = utf16::order(&start);
    Source {
        text: match order {
            Some(order) => Box::new(Utf16::new(whole, order)),
            None => Box::new(whole),
        },
        packed,
        is_binary: order.is_none() && is_binary(&start),
    }
}

/// Whether more than a tenth of the bytes are in no text. NUL bytes do not count: a crash leaves them in logs.
fn is_binary(start: &[u8]) -> bool {
    let is_odd = |byte: u8| byte < b' ' && !b"\0\x07\x08\t\n\x0b\x0c\r\x1b\x1e".contains(&byte);
    let valid: usize = start.utf8_chunks().map(|chunk| chunk.valid().len()).sum();
    let odd = start.iter().filter(|&&byte| is_odd(byte)).count();
    (start.len() - valid + odd) * 10 > start.len()
}

/// Reads up to [`START`] bytes.
fn beginning(source: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = vec![0; START];
    let mut size = 0;
    while let Some(room) = start.get_mut(size..).filter(|room| !room.is_empty()) {
        match source.read(room) {
            Ok(0) => break,
            Ok(read) => size += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // What was read before is worth showing; the error comes again.
            Err(_) if size > 0 => break,
            Err(error) => return Err(error),
        }
    }
    start.truncate(size);
    Ok(start)
}

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Gzip,
    Xz,
    Zstd,
}

impl Packing {
    /// By the first bytes. Source: the formats' own descriptions.
    fn of(start: &[u8]) -> Result<Option<Self>, CaptureError> {
        let refused: [(&[u8], CaptureError); 6] = [
            (b"BZh", CaptureError::Packed("compressed with bzip2")),
            (
                b"\x04\x22\x4d\x18",
                CaptureError::Packed("compressed with lz4"),
            ),
            (b"PK\x03\x04", CaptureError::Packed("a zip archive")),
            (b"7z\xbc\xaf\x27\x1c", CaptureError::Packed("a 7z archive")),
            (b"LPKSHHRH", CaptureError::BinaryJournal),
            (b"\x7fELF", CaptureError::Binary),
        ];
        if let Some((_, error)) = refused
            .into_iter()
            .find(|(magic, _)| start.starts_with(magic))
        {
            return Err(error);
        }
        if start.get(257..262) == Some(b"ustar") {
            return Err(CaptureError::Packed("a tar archive"));
        }
        let known: [(&[u8], Self); 4] = [
            (b"\x1f\x8b", Self::Gzip),
            (b"\xfd7zXZ\0", Self::Xz),
            (b"\x28\xb5\x2f\xfd", Self::Zstd),
            // A frame to be skipped, which pzstd writes first.
            (b"\x50\x2a\x4d\x18", Self::Zstd),
        ];
        let found = known.iter().find(|(magic, _)| start.starts_with(magic));
        Ok(found.map(|(_, packing)| *packing))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        }
    }

    fn open<'r>(self, packed: impl Read + 'r) -> Box<dyn Read + 'r> {
        let taken = Rc::new(Cell::new(0));
        let packed = CountingReader {
            source: packed,
            taken: Rc::clone(&taken),
        };
        let unpacked: Box<dyn Read + 'r> = match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Self::Xz => Box::new(XzReader::new_mem_limit(packed, true, XZ_MEMORY_KIB)),
            Self::Zstd => Box::new(Zstd::new(packed)),
        };
        Box::new(BoundedReader {
            unpacked,
            name: self.name(),
            taken,
            given: 0,
        })
    }
}

/// Counts the bytes that are read from a source.
struct CountingReader<R> {
    source: R,
    taken: Rc<Cell<u64>>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.taken.set(self.taken.get().saturating_add(read as u64));
        Ok(read)
    }
}

/// Ends with an error where compressed data expands without measure.
struct BoundedReader<R> {
    unpacked: R,
    name: &'static str,
    taken: Rc<Cell<u64>>,
    given: u64,
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.unpacked.read(buffer)?;
        self.given = self.given.saturating_add(read as u64);
        let most = self.taken.get().max(1).saturating_mul(MAX_RATIO);
        if self.given > RATIO_FROM && self.given > most {
            return Err(io::Error::other(CaptureError::Bomb(self.name, MAX_RATIO)));
        }
        if self.given > MAX_EXPANDED {
            return Err(io::Error::other(CaptureError::Expands(self.name)));
        }
        Ok(read)
    }
}

/// Decodes all frames of a zstd file; the decoder itself stops after the first.
struct Zstd<R: Read> {
    packed: BufReader<R>,
    decoder: FrameDecoder,
    is_started: bool,
}

impl<R: Read> Zstd<R> {
    fn new(packed: R) -> Self {
        Self {
            packed: BufReader::new(packed),
            decoder: FrameDecoder::new(),
            is_started: false,
        }
    }

    /// Begins the next frame; false at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.packed.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.init(&mut self.packed) {
                Ok(()) => {
                    self.is_started = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = (&mut self.packed).take(length.into());
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
}

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_started && self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if !self.is_started || self.decoder.is_finished() {
                if !self.begin()? {
                    return Ok(0);
                }
                continue;
            }
            self.decoder
                .decode_blocks(&mut self.packed, BlockDecodingStrategy::UptoBlocks(1))
                .map_err(io::Error::other)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_expands_without_measure_ends_with_an_error() {
        let read = |taken, given| {
            let mut bounded = BoundedReader {
                unpacked: io::repeat(b'x'),
                name: "gzip",
                taken: Rc::new(Cell::new(taken)),
                given,
            };
            let error = bounded.read(&mut [0; 100]).err();
            error.map(|error| of_error(&error, Some("gzip")))
        };
        assert_eq!(read(1, 0), None);
        assert_eq!(read(1 << 20, RATIO_FROM), None);
        let bomb = CaptureError::Bomb("gzip", MAX_RATIO);
        assert_eq!(read(1, RATIO_FROM), Some(bomb));
        let large = CaptureError::Expands("gzip");
        assert_eq!(read(1 << 30, MAX_EXPANDED), Some(large));
    }
}
