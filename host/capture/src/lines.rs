//! The lines of a stream, of bounded length.
//!
//! Lines end with LF, CR LF or CR, mixed. What a crash leaves behind in a log, a run of NUL bytes, ends a line too and is
//! dropped.

use std::io::{self, ErrorKind, Read};

use super::MAX_LINE;

const BUFFER: usize = 64 << 10;
/// So many NUL bytes in a row are a hole in the file; fewer are a part of the line.
const HOLE: usize = 8;
const BOM: &[u8] = "\u{feff}".as_bytes();

/// One line without its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RawLine {
    /// Counted from 1.
    pub number: u64,
    /// Its first [`MAX_LINE`] bytes.
    pub text: Vec<u8>,
    /// It was longer.
    pub is_cut: bool,
}

/// Reads lines.
pub(super) struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    number: u64,
    after_return: bool,
    is_over: bool,
}

impl<R: Read> Lines<R> {
    /// Reads from `source`.
    pub fn new(source: R) -> Self {
        Self {
            source,
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            number: 1,
            after_return: false,
            is_over: false,
        }
    }

    /// Reads the next line into `line`; false at the end.
    ///
    /// # Errors
    /// The source's. What was read of a line before it is in `line`.
    pub fn next(&mut self, line: &mut RawLine) -> io::Result<bool> {
        line.text.clear();
        line.is_cut = false;
        line.number = self.number;
        let mut nuls = 0;
        loop {
            if self.start == self.end && !self.fill()? {
                let was_over = std::mem::replace(&mut self.is_over, true);
                finish(line);
                return Ok(!was_over && !line.text.is_empty());
            }
            let unread = self.buffer.get(self.start..self.end).unwrap_or_default();
            let at = unread
                .iter()
                .position(|&byte| matches!(byte, b'\n' | b'\r' | 0));
            let (run, special) = match at {
                Some(at) => (
                    unread.get(..at).unwrap_or_default(),
                    unread.get(at).copied(),
                ),
                None => (unread, None),
            };
            let zeros = unread.iter().skip(run.len());
            let zeros = zeros.take_while(|&&byte| byte == 0).count();
            self.start += run.len() + usize::from(special.is_some());
            if !run.is_empty() {
                nuls = 0;
                self.after_return = false;
                push(line, run);
            }
            match special {
                None => {}
                // The second byte of a line's end.
                Some(b'\n' | b'\r') if self.after_return && line.text.is_empty() => {
                    self.after_return = special == Some(b'\r');
                }
                Some(0) if line.text.is_empty() => {
                    // The first of them is taken already.
                    self.start += zeros.saturating_sub(1);
                }
                Some(0) => {
                    nuls += 1;
                    push(line, &[0]);
                    if nuls == HOLE {
                        finish(line);
                        return Ok(true);
                    }
                }
                Some(end) => {
                    self.after_return = end == b'\r';
                    self.number += 1;
                    finish(line);
                    return Ok(true);
                }
            }
        }
    }

    fn fill(&mut self) -> io::Result<bool> {
        loop {
            match self.source.read(&mut self.buffer) {
                Ok(read) => {
                    self.start = 0;
                    self.end = read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn push(line: &mut RawLine, run: &[u8]) {
    let room = MAX_LINE - line.text.len();
    line.is_cut |= run.len() > room;
    line.text.extend_from_slice(run.get(..room).unwrap_or(run));
}

/// Drops what belongs to no line: NUL bytes at its end, a byte order mark at its beginning.
fn finish(line: &mut RawLine) {
    while line.text.last() == Some(&0) {
        line.text.pop();
    }
    if line.text.starts_with(BOM) {
        line.text.drain(..BOM.len());
    }
}

#[cfg(test)]
mod tests;
