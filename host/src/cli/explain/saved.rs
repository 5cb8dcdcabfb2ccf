//! The messages to be judged: pasted lines in memory, or a saved log that is read from its file.

use std::path::PathBuf;

use jiff::tz::TimeZone;

use super::now;
use crate::{
    capture::{self, Capture, Outline, Source},
    model::UnixMillis,
    node::{kmsg::KernelMessage, local_file},
};

/// A log.
pub enum Log {
    /// All messages are in memory.
    Messages(Capture),
    /// They are in a file, which may be larger than memory.
    File(Box<SavedLog>),
}

/// A log in a file.
pub struct SavedLog {
    path: PathBuf,
    source: Box<dyn Source>,
    outline: Outline,
    /// When and where it was read first.
    read: (UnixMillis, TimeZone),
}

impl Log {
    /// Of messages in memory.
    pub fn of_messages(capture: Capture) -> Self {
        Self::Messages(capture)
    }

    /// Opens a saved log and looks at all of it.
    ///
    /// # Errors
    /// In words: it cannot be read.
    pub async fn open(path: PathBuf) -> Result<Self, String> {
        let reading = tokio::task::spawn_blocking(move || {
            let file = local_file::open(&path);
            let mut source: Box<dyn Source> =
                Box::new(file.map_err(|error| local_file::open_error(&path, &error))?);
            let read = (now(), TimeZone::system());
            let outline = capture::outline(&mut *source, read.0, &read.1)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            Ok(Self::File(Box::new(SavedLog {
                path,
                source,
                outline,
                read,
            })))
        });
        reading.await.map_err(|error| error.to_string())?
    }

    /// The time of the latest message.
    pub fn end(&self) -> Option<UnixMillis> {
        match self {
            Self::Messages(capture) => {
                let times = capture.messages.iter().map(|message| message.time);
                times.max()
            }
            Self::File(log) => log.outline.end(),
        }
    }

    /// The time of each boot's first message.
    pub fn boot_times(&self) -> Vec<UnixMillis> {
        match self {
            Self::Messages(capture) => {
                let first = |first: &usize| capture.messages.get(*first);
                let boots = capture.boots.iter().filter_map(first);
                boots.map(|message| message.time).collect()
            }
            Self::File(log) => log.outline.boot_times(),
        }
    }

    /// Hands all messages over, in the order of the log, and says what the log was. Blocks.
    ///
    /// # Errors
    /// In words: the file cannot be read any more.
    pub fn messages(self, mut take: impl FnMut(KernelMessage)) -> Result<Capture, String> {
        match self {
            Self::Messages(mut capture) => {
                std::mem::take(&mut capture.messages)
                    .into_iter()
                    .for_each(take);
                Ok(capture)
            }
            Self::File(log) => {
                let SavedLog {
                    path,
                    mut source,
                    outline,
                    read: (at, zone),
                } = *log;
                capture::replay(&mut *source, &outline, (at, &zone), &mut take)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                Ok(outline.capture)
            }
        }
    }
}
