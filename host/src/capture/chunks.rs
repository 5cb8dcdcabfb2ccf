//! A large file in pieces of whole lines.

use std::io::{self, Read};

use super::MAX_LINE;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;

/// Reads pieces that end where a line does. Holds one piece and the beginning of a line.
pub(super) struct Chunks<'s> {
    source: &'s mut dyn Read,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were given out.
    used: usize,
    /// The rest of an overlong line is being passed over.
    skipping: bool,
    ended: bool,
}

impl<'s> Chunks<'s> {
    /// Reads a source from where it stands.
    pub fn new(source: &'s mut dyn Read) -> Self {
        Self {
            source,
            buffer: Vec::with_capacity(CHUNK + MAX_LINE),
            used: 0,
            skipping: false,
            ended: false,
        }
    }

    /// The next lines without the last line's end; `None` after the last piece. A line that is far too long is cut.
    pub fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.buffer.drain(..self.used);
        self.used = 0;
        while !self.ended {
            let read = (&mut *self.source)
                .take(CHUNK as u64)
                .read_to_end(&mut self.buffer)?;
            self.ended = read == 0;
            self.pass_over();
            if let Some(end) = self.buffer.iter().rposition(|&byte| byte == b'\n') {
                self.used = end + 1;
                return Ok(self.buffer.get(..end));
            }
            if self.buffer.len() > MAX_LINE {
                break;
            }
        }
        if self.buffer.is_empty() {
            return Ok(None);
        }
        self.skipping = !self.ended;
        self.used = self.buffer.len();
        Ok(Some(&self.buffer))
    }

    /// Drops what is left of an overlong line.
    fn pass_over(&mut self) {
        if self.skipping {
            let end = self.buffer.iter().position(|&byte| byte == b'\n');
            self.buffer
                .drain(..end.map_or(self.buffer.len(), |end| end + 1));
            self.skipping = end.is_none();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &[u8]) -> Vec<Vec<u8>> {
        let mut source = text;
        let mut chunks = Chunks::new(&mut source);
        let mut pieces = Vec::new();
        while let Some(piece) = chunks.next().unwrap() {
            pieces.push(piece.to_vec());
        }
        pieces
    }

    #[test]
    fn lines_are_whole_and_nothing_is_missing() {
        assert_eq!(pieces(b""), Vec::<Vec<u8>>::new());
        assert_eq!(pieces(b"a\nb"), [b"a".to_vec(), b"b".to_vec()]);
        let line = [[b'x'; 999].as_slice(), b"\n"].concat();
        let text = line.repeat(5000);
        let pieces = pieces(&text);
        assert!(pieces.len() > 3);
        let joined = pieces.join(&b'\n');
        assert_eq!(joined, text[..text.len() - 1]);
        assert!(pieces.iter().all(|piece| piece.len() % 1000 == 999));
    }

    #[test]
    fn a_line_without_end_is_cut_and_the_next_one_is_whole() {
        let mut text = vec![b'x'; 5 * CHUNK];
        text.extend_from_slice(b"\nnext\n");
        let pieces = pieces(&text);
        assert_eq!(pieces.len(), 2);
        assert!(pieces[0].len() > MAX_LINE && pieces[0].len() <= 2 * CHUNK);
        assert_eq!(pieces[1], b"next");
    }
}
