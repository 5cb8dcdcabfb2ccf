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
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Collected = Result<Option<Vec<u8>>, Problem>;

    fn collect(chunks: &[&[u8]], max: u64) -> Collected {
        let mut collector = Collector::new(max);
        for chunk in chunks {
            collector.add(chunk)?;
        }
        collector.finish().map_err(Problem::Odd)
    }

    #[test]
    fn bodies() {
        let cases: [(&[&[u8]], Collected); 9] = [
            (&[], Ok(None)),
            (&[b"\0\0\0\0\0"], Ok(Some(Vec::new()))),
            (&[b"\0\0\0\0\x03abc"], Ok(Some(b"abc".to_vec()))),
            (
                &[b"\0\0", b"", b"\0\0\x03a", b"bc"],
                Ok(Some(b"abc".to_vec())),
            ),
            (
                &[b"\0\0\0\0\x03ab"],
                Err(Problem::Odd("the message breaks off")),
            ),
            (&[b"\0\0"], Err(Problem::Odd("the message breaks off"))),
            (
                &[b"\0\0\0\0\x01ab"],
                Err(Problem::Odd("more than one message")),
            ),
            (
                &[b"\x01\0\0\0\x01a"],
                Err(Problem::Odd("a compressed message that nobody asked for")),
            ),
            (
                &[b"\0\xff\xff\xff\xff"],
                Err(Problem::TooLarge(0xffff_ffff)),
            ),
        ];
        for (chunks, expected) in cases {
            assert_eq!(collect(chunks, 100), expected, "{chunks:?}");
        }
    }

    #[test]
    fn texts_of_a_status() {
        for (encoded, expected) in [
            (
                "unknown service runtime.v1.RuntimeService",
                "unknown service runtime.v1.RuntimeService",
            ),
            ("a%20b%3A%C3%A9", "a b:é"),
            ("100%", "100%"),
            ("%zz%4", "%zz%4"),
            ("%FF", "\u{fffd}"),
            ("", ""),
        ] {
            assert_eq!(status_text(encoded.as_bytes(), 1024), expected);
        }
        assert_eq!(status_text("é".repeat(10).as_bytes(), 5), "éé");
    }

    proptest! {
        #[test]
        fn what_was_framed_is_found_however_it_is_cut(
            message in prop::collection::vec(any::<u8>(), 0..300), step in 1_usize..50,
        ) {
            let framed = framed(&message);
            let chunks: Vec<&[u8]> = framed.chunks(step).collect();
            prop_assert_eq!(collect(&chunks, 300), Ok(Some(message)));
        }

        #[test]
        fn any_bytes_are_survived_and_bounded(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..10),
        ) {
            let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
            if let Ok(Some(message)) = collect(&chunks, 16) {
                prop_assert!(message.len() <= 16);
            }
        }

        #[test]
        fn any_text_is_survived(encoded in prop::collection::vec(any::<u8>(), 0..200), max in 0_usize..64) {
            prop_assert!(status_text(&encoded, max).len() <= max);
        }
    }
}
