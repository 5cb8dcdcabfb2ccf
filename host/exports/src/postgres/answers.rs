//! A connection whose server can neither fill the memory nor have the password in clear text.

use std::{
    io,
    pin::Pin,
    task::{Context as TaskContext, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsStream};

/// Most bytes that a server may send in answer to what was sent last. Answers to gpud's statements are a few KiB.
pub const MAX_ANSWERS: usize = 256 << 10;
/// Tag of the messages by which a server asks for proof of the client's role.
const AUTHENTICATION: u8 = b'R';
/// The code of an authentication request for a password in clear text.
const CLEAR_TEXT: u32 = 3;

/// Whether a server may ask for the password in clear text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClearText {
    /// The server is known, or no other user can read what is sent.
    Allowed,
    /// A program that holds the port would have the password.
    Refused,
}

/// A connection with limits on what the server sends.
#[derive(Debug)]
pub struct LimitedConnection<S> {
    stream: S,
    /// How many bytes it may send before something is sent to it.
    left: usize,
    clear_text: Option<ClearTextWatch>,
}

impl<S> LimitedConnection<S> {
    /// Limits a connection on which nothing was sent yet.
    pub fn new(stream: S, clear_text: ClearText) -> Self {
        Self {
            stream,
            left: MAX_ANSWERS,
            clear_text: match clear_text {
                ClearText::Allowed => None,
                ClearText::Refused => Some(ClearTextWatch::default()),
            },
        }
    }

    /// Counts and checks what was read.
    fn check(&mut self, read: &[u8]) -> io::Result<()> {
        self.left = self.left.checked_sub(read.len()).ok_or_else(|| {
            io::Error::other(format!(
                "the answer has more than {MAX_ANSWERS} bytes, which is none of a PostgreSQL server"
            ))
        })?;
        let watch = self.clear_text.as_mut();
        if watch.is_some_and(|watch| watch.sees_question(read)) {
            return Err(io::Error::other(
                "the server asks for the password in clear text on a connection without TLS; turn TLS on, or \
                 set password_encryption and pg_hba.conf to scram-sha-256",
            ));
        }
        Ok(())
    }
}

/// Looks for the question for a password in clear text among a server's messages. Each is a tag, its length without
/// the tag in 4 bytes, and what it says.
#[derive(Debug, Default)]
struct ClearTextWatch {
    /// The beginning of the present message.
    head: Vec<u8>,
    /// How many bytes of it are passed over.
    skip: usize,
}

impl ClearTextWatch {
    fn sees_question(&mut self, read: &[u8]) -> bool {
        for byte in read {
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            self.head.push(*byte);
            match *self.head.as_slice() {
                [tag, a, b, c, d] => {
                    let length = size(u32::from_be_bytes([a, b, c, d]));
                    if tag != AUTHENTICATION || length < 8 {
                        self.skip(length.saturating_sub(4));
                    }
                }
                [_, a, b, c, d, e, f, g, h] => {
                    if u32::from_be_bytes([e, f, g, h]) == CLEAR_TEXT {
                        return true;
                    }
                    self.skip(size(u32::from_be_bytes([a, b, c, d])).saturating_sub(8));
                }
                _ => {}
            }
        }
        false
    }

    fn skip(&mut self, count: usize) {
        self.head.clear();
        self.skip = count;
    }
}

fn size(length: u32) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for LimitedConnection<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for LimitedConnection<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut TaskContext<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.stream).poll_read(task, buffer))?;
        let read = buffer.filled().get(before..).unwrap_or_default();
        Poll::Ready(self.check(read))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for LimitedConnection<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        task: &mut TaskContext<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = std::task::ready!(Pin::new(&mut self.stream).poll_write(task, bytes))?;
        self.left = MAX_ANSWERS;
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(task)
    }
}

#[cfg(test)]
mod tests;
