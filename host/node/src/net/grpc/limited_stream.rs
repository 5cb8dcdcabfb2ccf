//! A stream that ends with an error once the other side has sent too much.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream that lets a limited number of bytes be read.
pub struct LimitedStream<S> {
    stream: S,
    /// Bytes that may still be read.
    left: u64,
    /// Set when the other side sent more.
    spent: Arc<AtomicBool>,
}

impl<S> LimitedStream<S> {
    /// Lets `bound` bytes through.
    pub fn new(stream: S, bound: u64, spent: Arc<AtomicBool>) -> Self {
        Self {
            stream,
            left: bound,
            spent,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LimitedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = buffer.filled().len().saturating_sub(before) as u64;
        match self.left.checked_sub(read) {
            Some(left) => self.left = left,
            None => {
                self.spent.store(true, Ordering::Relaxed);
                return Poll::Ready(Err(io::Error::other("the other side sends too much")));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for LimitedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
