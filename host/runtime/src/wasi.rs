//! The WASI 0.2 world that a third-party guest gets: empty, but for output to the log.
//!
//! No preopened folders, no environment, no arguments, no network; clocks and random numbers work. Standard output
//! and error become log lines, at most [`MAX_LINES`] of a call.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use tokio::io::AsyncWrite;
use wasmtime_wasi::{
    WasiCtx, WasiCtxBuilder,
    cli::{IsTerminal, StdoutStream},
};

use crate::capability::{Identity, printable};

/// Most lines of one call.
const MAX_LINES: u32 = 64;
/// Longest line that is collected, bytes.
const MAX_LINE: usize = 4096;

/// An empty world whose output is logged as the plugin's.
pub fn context(identity: &Arc<Identity>) -> WasiCtx {
    let output = LogStream {
        shared: Arc::new(Mutex::new(PartialLine {
            identity: Arc::clone(identity),
            line: Vec::new(),
            lines_left: MAX_LINES,
        })),
    };
    WasiCtxBuilder::new()
        .stdout(output.clone())
        .stderr(output)
        .allow_tcp(false)
        .allow_udp(false)
        .max_random_size(1 << 20)
        .build()
}

#[derive(Clone)]
struct LogStream {
    shared: Arc<Mutex<PartialLine>>,
}

struct PartialLine {
    identity: Arc<Identity>,
    line: Vec<u8>,
    lines_left: u32,
}

impl PartialLine {
    fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' {
                self.end_line();
            } else if self.line.len() < MAX_LINE {
                self.line.push(byte);
            }
        }
    }

    fn end_line(&mut self) {
        if self.line.is_empty() {
            return;
        }
        if let Some(left) = self.lines_left.checked_sub(1) {
            self.lines_left = left;
            let line = printable(&String::from_utf8_lossy(&self.line));
            let Identity { plugin, component } = &*self.identity;
            tracing::info!(target: "plugin", plugin, component, "{line}");
        }
        self.line.clear();
    }
}

impl Drop for PartialLine {
    fn drop(&mut self) {
        self.end_line();
    }
}

impl AsyncWrite for LogStream {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.shared
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl IsTerminal for LogStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LogStream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}
