//! Why a file is no capture.

use super::{MAX_EXPANDED, MAX_MESSAGES, MAX_TEXT, hosts::MAX_HOSTS};

/// Why a file cannot be read as a capture at all. A line that cannot be read is no error; it is counted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// The messages have more than [`MAX_TEXT`] bytes.
    #[error("more than {MAX_TEXT} bytes of kernel messages; cut out the part that matters")]
    TooLarge,
    /// More than [`MAX_MESSAGES`].
    #[error("more than {MAX_MESSAGES} messages; cut out the part that matters")]
    TooManyMessages,
    /// More hosts than are distinguished.
    #[error("lines of more than {MAX_HOSTS} hosts; split the log by host")]
    TooManyHosts,
    /// Compressed in a way that is not read here.
    #[error("{0}; unpack it first")]
    Packed(&'static str),
    /// Decompressed, it would have more than [`MAX_EXPANDED`] bytes.
    #[error(
        "more than {MAX_EXPANDED} bytes when decompressed ({0}); decompress it and cut out the part that matters"
    )]
    Expands(&'static str),
    /// It expands far more than text does.
    #[error(
        "expands more than {1} times when decompressed ({0}), which no log does; decompress it first"
    )]
    Bomb(&'static str, u64),
    /// Compressed, and damaged from the start.
    #[error("cannot decompress it ({0}): {1}")]
    Damaged(&'static str, String),
    /// A file of journald's own.
    #[error(
        "a binary file of systemd's journal; convert it first: journalctl --file FILE -o json _TRANSPORT=kernel"
    )]
    BinaryJournal,
    /// No text, and not a line in it is a kernel message.
    #[error("a binary file, not a text; save the kernel log with dmesg or journalctl -k")]
    Binary,
    /// The system's.
    #[error("cannot read it: {0}")]
    Read(String),
}
