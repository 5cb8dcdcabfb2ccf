//! UTF-16 as UTF-8: what PowerShell's redirection and some serial consoles write.

use std::io::{self, ErrorKind, Read};

const BUFFER: usize = 16 << 10;

/// The order of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The low byte first.
    Little,
    /// The high byte first.
    Big,
}

/// The order in a text that begins with these bytes; `None` if it is not UTF-16. Without a byte order mark, it is if
/// nearly all characters are ASCII, so that every second byte is 0.
pub(super) fn order(start: &[u8]) -> Option<Order> {
    match start {
        [0xff, 0xfe, 0, 0, ..] => return None,
        [0xff, 0xfe, ..] => return Some(Order::Little),
        [0xfe, 0xff, ..] => return Some(Order::Big),
        _ => {}
    }
    let pairs = start.len() / 2;
    let zeros = |from: usize| {
        let bytes = start.iter().skip(from).step_by(2);
        bytes.filter(|&&byte| byte == 0).count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    let most = |many: usize, few: usize| pairs >= 4 && many * 10 >= pairs * 7 && few * 20 <= pairs;
    match (most(odd, even), most(even, odd)) {
        (true, _) => Some(Order::Little),
        (_, true) => Some(Order::Big),
        _ => None,
    }
}

/// Reads UTF-16 and gives UTF-8; what is no character becomes U+FFFD.
pub(super) struct Utf16<R> {
    source: R,
    order: Order,
    raw: Vec<u8>,
    /// A byte or two halves of a pair that were not complete yet.
    rest: Vec<u8>,
    text: Vec<u8>,
    given: usize,
}

impl<R: Read> Utf16<R> {
    /// Reads from `source`.
    pub fn new(source: R, order: Order) -> Self {
        Self {
            source,
            order,
            raw: vec![0; BUFFER],
            rest: Vec::new(),
            text: Vec::new(),
            given: 0,
        }
    }

    /// Converts what was read; `at_end`: nothing more comes.
    fn convert(&mut self, read: usize, at_end: bool) {
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.extend_from_slice(self.raw.get(..read).unwrap_or_default());
        let (pairs, odd) = bytes.as_chunks::<2>();
        let mut units: Vec<u16> = pairs
            .iter()
            .map(|pair| match self.order {
                Order::Little => u16::from_le_bytes(*pair),
                Order::Big => u16::from_be_bytes(*pair),
            })
            .collect();
        if !at_end {
            // The first half of a pair waits for the second.
            if units
                .last()
                .is_some_and(|unit| (0xd800..0xdc00).contains(unit))
            {
                units.pop();
                self.rest.extend(pairs.last().into_iter().flatten());
            }
            self.rest.extend_from_slice(odd);
        }
        let text: String = char::decode_utf16(units)
            .map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        self.text = text.into_bytes();
        self.given = 0;
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let ready = self.text.get(self.given..).unwrap_or_default();
            if !ready.is_empty() {
                let size = ready.len().min(buffer.len());
                let (Some(to), Some(from)) = (buffer.get_mut(..size), ready.get(..size)) else {
                    return Ok(0);
                };
                to.copy_from_slice(from);
                self.given += size;
                return Ok(size);
            }
            match self.source.read(&mut self.raw) {
                Ok(0) => {
                    self.convert(0, true);
                    if self.text.is_empty() {
                        return Ok(0);
                    }
                }
                Ok(read) => self.convert(read, false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
