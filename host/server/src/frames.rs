//! Cuts HTTP/2 connections that send control frames without end: each costs work, and none is a request.
//!
//! The frames are counted as they come in. What carries requests is not counted: `HEADERS`, `CONTINUATION` and `DATA`,
//! unless it is nearly empty. Everything else uses up an allowance that refills with time and with what the client reads,
//! since a client that reads much sends many window updates.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Instant,
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Control frames that may come at once.
const BURST: f64 = 1000.0;
/// Control frames a second, in the long run.
const RATE: f64 = 100.0;
/// Bytes that a client reads for each further control frame. Clients answer 4 KiB with two window updates or fewer.
const BYTES_READ_PER_FRAME: f64 = 1024.0;
/// The largest allowance, after the client has read much.
const MOST: f64 = 100_000.0;
/// The client's greeting, before its first frame.
const PREFACE: usize = 24;
/// Length, type, flags and stream of a frame.
const HEAD: usize = 9;
/// Smaller `DATA` frames count as control frames.
const SMALL_DATA: usize = 64;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

/// Counts the frames that come in over a connection, and ends it when they are too many.
pub(super) struct FrameGuard<S> {
    stream: S,
    /// `None` for HTTP/1.1, which has no frames.
    counter: Option<Counter>,
}

/// Follows the frames of one direction.
struct Counter {
    /// Bytes until the next frame's head.
    skip: usize,
    head: Vec<u8>,
    left: f64,
    at: Instant,
}

impl Counter {
    fn new() -> Self {
        Self {
            skip: PREFACE,
            head: Vec::with_capacity(HEAD),
            left: BURST,
            at: Instant::now(),
        }
    }

    /// Takes bytes that came in; false if there were too many control frames.
    fn take(&mut self, mut bytes: &[u8], now: Instant) -> bool {
        while !bytes.is_empty() {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = bytes.get(skipped..).unwrap_or_default();
            let missing = HEAD.saturating_sub(self.head.len()).min(bytes.len());
            if self.skip == 0 && missing > 0 {
                let (head, rest) = bytes.split_at_checked(missing).unwrap_or_default();
                self.head.extend_from_slice(head);
                bytes = rest;
            }
            if let [a, b, c, kind, ..] = *self.head
                && self.head.len() == HEAD
            {
                self.skip = (usize::from(a) << 16) | (usize::from(b) << 8) | usize::from(c);
                self.head.clear();
                if is_control(kind, self.skip) {
                    self.left -= 1.0;
                }
            }
        }
        if self.left < 0.0 {
            self.refill(now);
        }
        self.left >= 0.0
    }

    fn refill(&mut self, now: Instant) {
        self.left += now.duration_since(self.at).as_secs_f64() * RATE;
        self.left = self.left.min(BURST);
        self.at = now;
    }

    /// The client has taken so many bytes.
    fn read_by_client(&mut self, bytes: usize) {
        self.left = (self.left + bytes as f64 / BYTES_READ_PER_FRAME).min(MOST);
    }
}

fn is_control(kind: u8, length: usize) -> bool {
    match kind {
        DATA => length < SMALL_DATA,
        HEADERS | CONTINUATION => false,
        _ => true,
    }
}

impl<S> FrameGuard<S> {
    /// Around a connection that speaks HTTP/2, or not.
    pub(super) fn new(stream: S, http2: bool) -> Self {
        Self {
            stream,
            counter: http2.then(Counter::new),
        }
    }

    fn written(&mut self, result: &io::Result<usize>) {
        if let (Some(counter), Ok(bytes)) = (&mut self.counter, result) {
            counter.read_by_client(*bytes);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FrameGuard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let new = buf.filled().get(before..).unwrap_or_default();
        let flood = self
            .counter
            .as_mut()
            .is_some_and(|counter| !counter.take(new, Instant::now()));
        Poll::Ready(match flood {
            false => Ok(()),
            true => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the client sends too many HTTP/2 control frames",
            )),
        })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FrameGuard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes));
        self.written(&result);
        Poll::Ready(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, bytes));
        self.written(&result);
        Poll::Ready(result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
