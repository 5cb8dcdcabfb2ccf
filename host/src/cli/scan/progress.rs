//! Which check runs, on a terminal: a line of standard error that is written over and taken away at the end.

use std::io::{self, Write as _};

use crate::cli::terminal::Terminal;

/// Back to the beginning of the line, and clears it.
const CLEAR: &str = "\r\u{1b}[K";

/// The line.
#[derive(Debug)]
pub(super) struct Progress {
    shown: bool,
    all: usize,
    done: usize,
}

impl Progress {
    /// Makes a progress line for so many checks; it is shown on a terminal only.
    pub fn new(stderr: Terminal, all: usize) -> Self {
        Self {
            shown: stderr.has_signs(),
            all,
            done: 0,
        }
    }

    /// The next check begins.
    pub fn next(&mut self, name: &str) {
        self.done += 1;
        let line = format!("{CLEAR}checking {} of {}: {name}", self.done, self.all);
        self.print(&line);
    }

    /// Takes the line away, so that something else can be printed.
    pub fn clear(&mut self) {
        self.print(CLEAR);
    }

    fn print(&self, text: &str) {
        if self.shown {
            // Nobody is worse off without it.
            let mut stderr = io::stderr();
            let _ = stderr
                .write_all(text.as_bytes())
                .and_then(|()| stderr.flush());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.done > 0 {
            self.clear();
        }
    }
}
