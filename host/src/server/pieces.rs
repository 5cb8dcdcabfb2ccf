//! Answers put together from pieces that many answers share: neither many clients nor slow ones make the daemon hold,
//! encode or compress the same text twice.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use axum::{
    body::{Body, HttpBody},
    response::Response,
};
use bytes::Bytes;
use flate2::{Compress, Compression, Crc, FlushCompress};
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use hyper::body::{Frame, SizeHint};

use super::negotiation::JSON;

/// Text that is kept for further answers.
#[derive(Debug)]
pub(super) struct Piece {
    text: Bytes,
    packed: OnceLock<Packed>,
}

/// A run of whole deflate blocks that refers to nothing before it, and the checksum of what it stands for.
#[derive(Debug)]
struct Packed {
    deflated: Bytes,
    crc: Crc,
}

impl Piece {
    pub(super) fn new(text: impl Into<Bytes>) -> Arc<Self> {
        Arc::new(Self {
            text: text.into(),
            packed: OnceLock::new(),
        })
    }

    pub(super) fn text(&self) -> &Bytes {
        &self.text
    }

    /// The first caller does the work; others wait for it.
    fn packed(&self) -> &Packed {
        self.packed.get_or_init(|| {
            let mut crc = Crc::new();
            crc.update(&self.text);
            Packed {
                deflated: deflate(&self.text).into(),
                crc,
            }
        })
    }
}

#[derive(Debug, Clone)]
enum Part {
    /// Text of this answer only.
    Fresh(Bytes),
    Kept(Arc<Piece>),
}

/// An answer in parts, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Pieces {
    parts: Vec<Part>,
}

impl Pieces {
    /// Adds text that no other answer has, or has seldom.
    pub(super) fn push(&mut self, text: impl Into<Bytes>) {
        self.parts.push(Part::Fresh(text.into()));
    }

    /// Adds a shared piece.
    pub(super) fn share(&mut self, piece: &Arc<Piece>) {
        self.parts.push(Part::Kept(Arc::clone(piece)));
    }

    /// A JSON answer, whose body [`super::gzip`] makes of it.
    pub(super) fn into_response(self) -> Response {
        let mut response = Response::default();
        *response.status_mut() = StatusCode::OK;
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        response.extensions_mut().insert(self);
        response
    }

    /// The body as it is.
    pub(super) fn plain(self) -> Body {
        let parts = self.parts.into_iter().map(|part| match part {
            Part::Fresh(text) => text,
            Part::Kept(piece) => piece.text.clone(),
        });
        Body::new(Sent::new(parts.collect()))
    }

    /// The body as gzip; `None` if a thread for the work could not be had.
    pub(super) async fn gzip(self) -> Option<Body> {
        let ready = self.parts.iter().all(|part| match part {
            Part::Fresh(_) => true,
            Part::Kept(piece) => piece.packed.get().is_some(),
        });
        let parts = if ready {
            self.pack()
        } else {
            tokio::task::spawn_blocking(move || self.pack())
                .await
                .ok()?
        };
        Some(Body::new(Sent::new(parts)))
    }

    /// One gzip member (RFC 1952) whose deflate blocks (RFC 1951) come from different hands: shared pieces as they were
    /// packed, what is new as it is.
    fn pack(&self) -> VecDeque<Bytes> {
        const HEADER: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
        /// The last block, without content.
        const END: &[u8] = &[3, 0];
        let mut all = VecDeque::with_capacity(self.parts.len() + 2);
        let mut crc = Crc::new();
        all.push_back(Bytes::from_static(HEADER));
        for part in &self.parts {
            match part {
                Part::Fresh(text) => {
                    crc.update(text);
                    all.push_back(stored(text));
                }
                Part::Kept(piece) => {
                    let packed = piece.packed();
                    crc.combine(&packed.crc);
                    all.push_back(packed.deflated.clone());
                }
            }
        }
        let mut end = END.to_vec();
        end.extend(crc.sum().to_le_bytes());
        end.extend(crc.amount().to_le_bytes());
        all.push_back(end.into());
        all
    }
}

/// Blocks without compression, which start and end at whole bytes.
fn stored(text: &[u8]) -> Bytes {
    let mut blocks = Vec::with_capacity(text.len() + 5 * (text.len() / 0xffff + 1));
    for chunk in text.chunks(0xffff) {
        let length = u16::try_from(chunk.len()).unwrap_or(u16::MAX);
        blocks.push(0);
        blocks.extend(length.to_le_bytes());
        blocks.extend((!length).to_le_bytes());
        blocks.extend(chunk);
    }
    blocks.into()
}

/// Compressed blocks that end at a whole byte and have no last one.
fn deflate(text: &[u8]) -> Vec<u8> {
    let mut packer = Compress::new(Compression::default(), false);
    let mut out = Vec::with_capacity(text.len() / 4 + 64);
    loop {
        let taken = usize::try_from(packer.total_in()).unwrap_or(usize::MAX);
        let rest = text.get(taken..).unwrap_or_default();
        // It cannot fail: the state is its own, and there is room.
        let _ = packer.compress_vec(rest, &mut out, FlushCompress::Full);
        let all_in = packer.total_in() >= text.len() as u64;
        // Room that is left says that nothing waits to be written.
        if all_in && out.len() < out.capacity() {
            out.shrink_to_fit();
            return out;
        }
        out.reserve(out.len() / 2 + 4096);
    }
}

/// A body of parts whose length is known.
struct Sent {
    parts: VecDeque<Bytes>,
    left: u64,
}

impl Sent {
    fn new(parts: VecDeque<Bytes>) -> Self {
        let left = parts.iter().map(|part| part.len() as u64).sum();
        Self { parts, left }
    }
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let part = self.parts.pop_front();
        self.left -= part.as_ref().map_or(0, |part| part.len() as u64);
        Poll::Ready(part.map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.parts.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use proptest::prelude::*;

    use super::*;

    fn joined(parts: VecDeque<Bytes>) -> Vec<u8> {
        parts.into_iter().flatten().collect()
    }

    fn unpacked(packed: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        let mut decoder = flate2::bufread::GzDecoder::new(packed);
        decoder.read_to_end(&mut text).unwrap();
        assert!(
            decoder.into_inner().is_empty(),
            "one member and nothing else"
        );
        text
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(
            parts in prop::collection::vec((any::<bool>(), "[a-d]{0,300}", 0_usize..300), 0..12)
        ) {
            let mut pieces = Pieces::default();
            let mut all = String::new();
            for (kept, text, times) in parts {
                let text = text.repeat(times);
                all.push_str(&text);
                match kept {
                    true => pieces.share(&Piece::new(text)),
                    false => pieces.push(text),
                }
            }
            let packed = joined(pieces.pack());
            prop_assert_eq!(unpacked(&packed), all.as_bytes());
            prop_assert_eq!(joined(pieces.pack()), packed, "and the second time");
        }
    }

    #[test]
    fn text_that_cannot_be_compressed_comes_back() {
        let mut state = 1_u64;
        let noise: Vec<u8> = (0..300_000)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        let mut pieces = Pieces::default();
        pieces.share(&Piece::new(noise.clone()));
        pieces.push(noise.clone());
        assert_eq!(
            unpacked(&joined(pieces.pack())),
            [noise.clone(), noise].concat()
        );
    }

    #[tokio::test]
    async fn the_length_is_known() {
        let mut pieces = Pieces::default();
        pieces.push("[");
        pieces.share(&Piece::new("1,2"));
        pieces.push("]");
        let body = pieces.clone().plain();
        assert_eq!(body.size_hint().exact(), Some(5));
        let body = axum::body::to_bytes(body, 10).await.unwrap();
        assert_eq!(body, "[1,2]");
        let packed = pieces.gzip().await.unwrap();
        let length = packed.size_hint().exact().unwrap();
        let packed = axum::body::to_bytes(packed, 100).await.unwrap();
        assert_eq!(
            (packed.len() as u64, unpacked(&packed)),
            (length, b"[1,2]".to_vec())
        );
    }
}
