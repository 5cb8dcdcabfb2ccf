//! Messages inside the body: a byte that says whether it is compressed, the length in four bytes, the message.

use bytes::{BufMut, Bytes, BytesMut};

/// Bytes before a message.
const PREFIX: usize = 5;

/// A message with its prefix.
pub fn framed(message: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(PREFIX + message.len());
    framed.put_u8(0);
    // What is asked is far below 4 GiB: see `MAX_REQUEST_BYTES`.
    framed.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    framed.put_slice(message);
    framed.freeze()
}

/// Why a body is not taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Problem {
    /// The message has this many bytes.
    TooLarge(u64),
    /// The problem.
    Odd(&'static str),
}

/// Puts the one message of a unary call together. Never holds more than was allowed, whatever a prefix announces.
#[derive(Debug)]
pub struct Collector {
    max_bytes: u64,
    prefix: Vec<u8>,
    /// How long it will be; known once the prefix is there.
    announced: Option<usize>,
    message: Vec<u8>,
}

impl Collector {
    /// Takes a message of up to so many bytes.
    pub fn new(max_bytes: u64) -> Self {
        Self {
            max_bytes,
            prefix: Vec::with_capacity(PREFIX),
            announced: None,
            message: Vec::new(),
        }
    }

    /// Takes the next bytes of the body.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut rest = bytes;
        if self.announced.is_none() {
            let missing = PREFIX.saturating_sub(self.prefix.len());
            let (head, tail) = rest.split_at_checked(missing).unwrap_or((rest, &[]));
            self.prefix.extend_from_slice(head);
            rest = tail;
            let &[compressed, a, b, c, d] = self.prefix.as_slice() else {
                return Ok(());
            };
            if compressed != 0 {
                return Err(Problem::Odd("a compressed message that nobody asked for"));
            }
            let length = u32::from_be_bytes([a, b, c, d]);
            if u64::from(length) > self.max_bytes {
                return Err(Problem::TooLarge(length.into()));
            }
            self.announced = usize::try_from(length).ok();
        }
        self.message.extend_from_slice(rest);
        if self.message.len() > self.announced.unwrap_or_default() {
            return Err(Problem::Odd("more than one message"));
        }
        Ok(())
    }

    /// The message; nothing if none began.
    pub fn finish(self) -> Result<Option<Vec<u8>>, &'static str> {
        match self.announced {
            Some(length) if length == self.message.len() => Ok(Some(self.message)),
            None if self.prefix.is_empty() => Ok(None),
            _ => Err("the message breaks off"),
        }
    }
}

/// The text of a status: percent-encoded UTF-8. What is not that stands as it is; long texts are cut.
pub fn status_text(encoded: &[u8], max_bytes: usize) -> String {
    let mut decoded = Vec::new();
    let mut rest = encoded;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        let escape = (byte == b'%').then(|| tail.split_at_checked(2)).flatten();
        let pair = escape.and_then(|(pair, after)| {
            let [high, low] = *pair else { return None };
            let digit = |digit: u8| char::from(digit).to_digit(16);
            let value = digit(high)? * 16 + digit(low)?;
            Some((u8::try_from(value).ok()?, after))
        });
        match pair {
            Some((value, after)) => {
                decoded.push(value);
                rest = after;
            }
            None => decoded.push(byte),
        }
    }
    let mut text = String::from_utf8_lossy(&decoded).into_owned();
    text.truncate(text.floor_char_boundary(max_bytes));
    text
}

#[cfg(test)]
mod tests;
