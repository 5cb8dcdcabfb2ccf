//! Why a file is no capture.

use super::{MAX_BYTES, MAX_MESSAGES};

/// Why a file cannot be read as a capture at all. A line that cannot be read is no error; it is counted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// Larger than [`MAX_BYTES`].
    #[error(
        "{0} bytes are more than the {MAX_BYTES} that a saved log may have; cut out the part that matters"
    )]
    TooLarge(usize),
    /// More than [`MAX_MESSAGES`].
    #[error("more than {MAX_MESSAGES} messages; cut out the part that matters")]
    TooManyMessages,
    /// Begins like a compressed file.
    #[error("compressed with {0}; decompress it first")]
    Compressed(&'static str),
    /// A file of journald's own.
    #[error(
        "a binary file of systemd's journal; convert it first: journalctl --file FILE -o json _TRANSPORT=kernel"
    )]
    BinaryJournal,
    /// The system could not read it.
    #[error("{0}")]
    Unreadable(String),
}

impl From<std::io::Error> for CaptureError {
    fn from(error: std::io::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// First bytes of files that are no text. Source: the formats' own descriptions.
const MAGICS: [(&[u8], CaptureError); 5] = [
    (b"\x1f\x8b", CaptureError::Compressed("gzip")),
    (b"\xfd7zXZ\0", CaptureError::Compressed("xz")),
    (b"\x28\xb5\x2f\xfd", CaptureError::Compressed("zstd")),
    (b"BZh", CaptureError::Compressed("bzip2")),
    (b"LPKSHHRH", CaptureError::BinaryJournal),
];

/// Refuses what is too large or no text.
pub(super) fn check(bytes: &[u8]) -> Result<(), CaptureError> {
    if let Some((_, error)) = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Err(error.clone());
    }
    if bytes.len() > MAX_BYTES {
        return Err(CaptureError::TooLarge(bytes.len()));
    }
    Ok(())
}
