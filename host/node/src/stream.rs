//! A client's connection, TCP or Unix, that can be asked whether it still exists while another task reads and writes.

use std::{
    io::{self, IoSlice},
    net::SocketAddr,
    os::fd::{AsFd, BorrowedFd},
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll, ready},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::{Shutdown, shutdown},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
};

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

/// An accepted connection. It is closed when its last owner drops it; a [`WeakStream`] does not own it.
#[derive(Debug)]
pub struct Stream(Arc<Socket>);

/// A handle that says whether a connection still exists, without holding it open.
#[derive(Debug, Clone, Default)]
pub struct WeakStream(Weak<Socket>);

impl WeakStream {
    /// Returns whether both directions of the connection are open, according to the kernel. A client that was reset, has
    /// closed its end, or has finished sending counts as gone, also while what it sent waits to be read.
    pub fn is_open(&self) -> bool {
        self.0.upgrade().is_some_and(|socket| is_open(socket.fd()))
    }
}

impl Stream {
    /// Takes an accepted TCP connection.
    pub fn tcp(stream: TcpStream) -> Self {
        Self(Arc::new(Socket::Tcp(stream)))
    }

    /// Takes an accepted Unix connection.
    pub fn unix(stream: UnixStream) -> Self {
        Self(Arc::new(Socket::Unix(stream)))
    }

    /// Returns a handle that says whether the connection still exists.
    pub fn downgrade(&self) -> WeakStream {
        WeakStream(Arc::downgrade(&self.0))
    }

    /// Returns our address and the client's; `None` for a Unix connection, and for one that is closed already.
    pub fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        match self.0.as_ref() {
            Socket::Tcp(socket) => socket.local_addr().ok().zip(socket.peer_addr().ok()),
            Socket::Unix(_) => None,
        }
    }

    /// Returns the user at the other end of a Unix connection; `None` for TCP.
    pub fn unix_user(&self) -> Option<u32> {
        match self.0.as_ref() {
            Socket::Tcp(_) => None,
            Socket::Unix(socket) => Some(socket.peer_cred().ok()?.uid()),
        }
    }

    /// Sends what is written at once. Answers are written whole; waiting for more to send only delays them.
    pub fn send_at_once(&self) {
        if let Socket::Tcp(socket) = self.0.as_ref() {
            // A connection that is closed already needs no setting.
            let _ = socket.set_nodelay(true);
        }
    }

    /// Waits for the first byte and returns it without taking it; `None` when the client closes before.
    pub async fn peek(&self) -> Option<u8> {
        let mut first = [0];
        match self.0.as_ref() {
            Socket::Tcp(socket) => (socket.peek(&mut first).await.ok()? == 1).then_some(first[0]),
            Socket::Unix(_) => None,
        }
    }
}

/// Asks the kernel about this very socket, so that no other connection with the same addresses can be meant.
fn is_open(socket: BorrowedFd<'_>) -> bool {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut asked = [PollFd::from_borrowed_fd(socket, PollFlags::RDHUP)];
    let answer = poll(&mut asked, Some(&at_once));
    // Errors and hang-ups are reported without being asked for.
    answer == Ok(0)
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let space = buf.initialize_unfilled();
            let read = match self.0.as_ref() {
                Socket::Tcp(socket) => {
                    ready!(socket.poll_read_ready(cx))?;
                    socket.try_read(space)
                }
                Socket::Unix(socket) => {
                    ready!(socket.poll_read_ready(cx))?;
                    socket.try_read(space)
                }
            };
            match read {
                Ok(bytes) => {
                    buf.advance(bytes);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            let written = match self.0.as_ref() {
                Socket::Tcp(socket) => {
                    ready!(socket.poll_write_ready(cx))?;
                    socket.try_write_vectored(bytes)
                }
                Socket::Unix(socket) => {
                    ready!(socket.poll_write_ready(cx))?;
                    socket.try_write_vectored(bytes)
                }
            };
            match written {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(shutdown(self.0.fd(), Shutdown::Write).map_err(io::Error::from))
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::{TcpListener, TcpSocket},
    };

    use super::*;

    async fn pair() -> (TcpStream, Stream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_zero_linger().unwrap();
        let connecting = socket.connect(listener.local_addr().unwrap());
        let (client, accepted) = tokio::join!(connecting, listener.accept());
        (client.unwrap(), Stream::tcp(accepted.unwrap().0))
    }

    async fn gone(weak: &WeakStream) {
        // The loopback is quick, not instant.
        while weak.is_open() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn bytes_pass_in_both_directions() {
        let (client, server) = UnixStream::pair().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        assert_eq!(Stream::unix(server).unix_user(), Some(uid));
        drop(client);
        let (mut client, mut server) = pair().await;
        assert_eq!(server.unix_user(), None);
        let (local, remote) = server.ends().unwrap();
        assert_eq!(local, client.peer_addr().unwrap());
        assert_eq!(remote, client.local_addr().unwrap());
        client.write_all(b"ask").await.unwrap();
        assert_eq!(server.peek().await, Some(b'a'));
        let mut asked = [0; 3];
        server.read_exact(&mut asked).await.unwrap();
        assert_eq!(&asked, b"ask");
        let long = vec![7; 1 << 20];
        let mut got = vec![0; 1 << 20];
        let (written, read) = tokio::join!(server.write_all(&long), client.read_exact(&mut got));
        written.unwrap();
        read.unwrap();
        assert_eq!(got, long);
        server.shutdown().await.unwrap();
        assert_eq!(client.read(&mut got).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_client_that_is_gone_is_noticed_while_its_bytes_wait() {
        // Reset.
        let (mut client, server) = pair().await;
        let weak = server.downgrade();
        client.write_all(b"queued").await.unwrap();
        assert!(weak.is_open());
        drop(client);
        gone(&weak).await;
        // Finished sending.
        let (mut client, server) = pair().await;
        let weak = server.downgrade();
        client.write_all(b"queued").await.unwrap();
        client.shutdown().await.unwrap();
        gone(&weak).await;
        // Closed here.
        let (_client, server) = pair().await;
        let weak = server.downgrade();
        drop(server);
        assert!(!weak.is_open());
    }
}
