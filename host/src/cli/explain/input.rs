//! Turns the words of `gpud explain` into a kernel message.

use jiff::tz::TimeZone;

use super::error_code::ErrorCode;
use crate::{capture, model::UnixMillis, node::kmsg::KernelMessage};

/// The log lines or the message to explain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExplainInput {
    /// Lines of a log, each with the prefix of that log's format.
    Log(String),
    /// A kernel message without a prefix.
    Message(KernelMessage),
}

/// Returns the line to explain: the sample line of a code, or a pasted line, with or without a log's prefix.
pub fn line(words: &[String], now: UnixMillis) -> Result<ExplainInput, String> {
    let text = match (words, ErrorCode::read(words)) {
        ([], _) => {
            return Err(
                "say what: `xid 79`, `sxid 12028`, a pasted kernel line, or --file FILE".to_owned(),
            );
        }
        (_, Some(code)) => code?.sample_line(),
        (words, None) => {
            let pasted = words.join(" ");
            let read = capture::read(pasted.as_bytes(), now, &TimeZone::system());
            match read {
                Ok(read) if !read.logs.is_empty() => return Ok(ExplainInput::Log(pasted)),
                _ => pasted,
            }
        }
    };
    Ok(ExplainInput::Message(KernelMessage {
        sequence: 1,
        time: now,
        monotonic_micros: 0,
        level: 3,
        facility: 0,
        text,
        dictionary: Vec::new(),
        fragment: false,
    }))
}
