//! Collecting what a process writes: all of it is read, the first part is kept.

use std::{
    io::{self, Write as _},
    os::fd::OwnedFd,
};

use rustix::io::Errno;
use tokio::net::unix::pipe;

use crate::error::SourceError;

/// Read at a time: the usual size of a pipe.
const CHUNK: usize = 64 * 1024;
/// Most that is still read after the main process ended: the largest pipe that ordinary users may have.
const MAX_LEFTOVER: usize = 1 << 20;

/// One stream of a running process.
pub struct OutputStream {
    pipe: Option<pipe::Receiver>,
    kept: Vec<u8>,
    truncated: bool,
    limit: usize,
    echo: bool,
}

impl OutputStream {
    /// Reads from `pipe` and keeps `limit` bytes; `echo`: writes them to gpud's standard error as well. Must be called
    /// inside a tokio runtime.
    pub fn new(pipe: impl Into<OwnedFd>, limit: usize, echo: bool) -> io::Result<Self> {
        Ok(Self {
            pipe: Some(pipe::Receiver::from_owned_fd(pipe.into())?),
            limit,
            echo,
            ..Self::absent()
        })
    }

    /// A stream that is not connected and stays empty.
    pub fn absent() -> Self {
        Self {
            pipe: None,
            kept: Vec::new(),
            truncated: false,
            limit: 0,
            echo: false,
        }
    }

    /// Reads until every writer is gone. May be dropped at any await and called again.
    pub async fn pump(&mut self) {
        while let Some(pipe) = &self.pipe {
            let mut piece = Vec::with_capacity(CHUNK);
            let read = match pipe.readable().await {
                Ok(()) => pipe.try_read_buf(&mut piece),
                Err(error) => Err(error),
            };
            match read {
                Ok(read) if read > 0 => self.keep(&piece),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(_) | Err(_) => self.pipe = None,
            }
        }
    }

    /// Reads what is in the pipe now. After the writers were killed that is all there will be, except from a process
    /// that got away: its pipe is closed here, and it is not waited for.
    pub fn finish(mut self) -> (Vec<u8>, bool) {
        // The kernel is asked directly: the runtime may not know yet that there is something to read.
        let pipe = self
            .pipe
            .take()
            .and_then(|pipe| pipe.into_nonblocking_fd().ok());
        if let Some(pipe) = pipe {
            let mut left = MAX_LEFTOVER;
            let mut piece = Vec::with_capacity(CHUNK);
            while left > 0 {
                piece.clear();
                match rustix::io::read(&pipe, rustix::buffer::spare_capacity(&mut piece)) {
                    Ok(0) => break,
                    Ok(read) => left = left.saturating_sub(read),
                    Err(Errno::INTR) => continue,
                    Err(_) => break,
                }
                self.keep(&piece);
            }
        }
        (self.kept, self.truncated)
    }

    fn keep(&mut self, piece: &[u8]) {
        if self.echo {
            // A reader that is gone is no reason to end what runs.
            let _ = io::stderr().write_all(piece);
        }
        let room = self.limit - self.kept.len();
        self.kept.extend(piece.iter().take(room));
        self.truncated |= piece.len() > room;
    }
}

/// The pipes of a process: the reading ends, and what the child gets.
pub struct Pipes {
    /// Standard output.
    pub stdout: io::PipeReader,
    /// Standard error; `None` when it goes into stdout's pipe.
    pub stderr: Option<io::PipeReader>,
}

impl Pipes {
    /// Starts collecting.
    pub fn collect(
        self,
        what: &str,
        limit: usize,
        echo: bool,
    ) -> Result<(OutputStream, OutputStream), SourceError> {
        let open = |pipe| {
            let stream = OutputStream::new(pipe, limit, echo);
            stream.map_err(|error| super::io_error(what, "its output", &error))
        };
        let stdout = open(self.stdout)?;
        let stderr = self
            .stderr
            .map_or_else(|| Ok(OutputStream::absent()), open)?;
        Ok((stdout, stderr))
    }
}
