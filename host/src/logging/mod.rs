//! The log: JSON lines for the daemon, short plain lines for the other commands.
//!
//! A JSON line has `level`, `ts` (ISO 8601, UTC), `caller` (file and line), `msg` and the event's fields. The daemon's
//! lines are written by a thread of their own, so that a full disk or a reader that hangs holds up no check; lines that
//! do not fit the queue are counted and reported. Lines of plugins have the target `plugin`.

mod line;
mod rotating_file;
mod writer;

use std::{io, path::PathBuf};

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    Layer,
    filter::{LevelFilter, Targets},
    layer::{Context, SubscriberExt as _},
    util::SubscriberInitExt as _,
};

use crate::node::slow_files;

use self::{
    rotating_file::RotatingFile,
    writer::{Sink, Writer},
};

/// The target of lines that plugins write.
pub const PLUGIN_TARGET: &str = "plugin";

/// Libraries that read what clients send. Each of their warnings is about a client that breaks a protocol, which any user can
/// do a thousand times a second until the log holds nothing else.
const PROTOCOLS: [&str; 3] = ["h2", "hyper", "rustls"];

/// The least level that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Everything.
    Debug,
    /// What a person may want to know.
    Info,
    /// What may be wrong.
    Warn,
    /// The problem.
    Error,
    /// Nothing: gpud has no messages of the levels `dpanic`, `panic` and `fatal`.
    Off,
}

/// A level that does not exist. The words are GPUd's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unrecognized level: {0:?}")]
pub struct UnknownLevel(String);

impl LogLevel {
    /// Reads a level's name, in lower or upper case; `None` for an empty one.
    ///
    /// # Errors
    /// Another word.
    pub fn parse(name: &str) -> Result<Option<Self>, UnknownLevel> {
        Ok(Some(match name.to_ascii_lowercase().as_str() {
            "" => return Ok(None),
            "debug" => Self::Debug,
            "info" => Self::Info,
            "warn" => Self::Warn,
            "error" => Self::Error,
            "dpanic" | "panic" | "fatal" => Self::Off,
            _ => return Err(UnknownLevel(name.to_owned())),
        }))
    }

    /// The same for tracing. Libraries are heard from `warn` on only, those of protocols from `error` on.
    fn filter(self) -> Targets {
        let own = match self {
            Self::Debug => LevelFilter::DEBUG,
            Self::Info => LevelFilter::INFO,
            Self::Warn => LevelFilter::WARN,
            Self::Error => LevelFilter::ERROR,
            Self::Off => LevelFilter::OFF,
        };
        Targets::new()
            .with_target(env!("CARGO_CRATE_NAME"), own)
            .with_target(PLUGIN_TARGET, own)
            .with_targets(PROTOCOLS.map(|library| (library, own.min(LevelFilter::ERROR))))
            .with_default(own.min(LevelFilter::WARN))
    }
}

/// The options of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogOptions {
    /// The least level.
    pub level: LogLevel,
    /// JSON lines rather than plain ones.
    pub json: bool,
    /// This file rather than standard error: 128 MB at most, and five older ones beside it (`‹file›.1` the newest).
    pub file: Option<PathBuf>,
}

/// Logging cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The log file cannot be opened.
    #[error("cannot open the log file {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No thread for it.
    #[error("cannot start the log's thread: {0}")]
    Thread(io::Error),
    /// Something logs already.
    #[error("logging was set up before")]
    Twice,
}

/// Keeps the log going; dropped, it waits a moment until what was logged is written.
#[derive(Debug)]
#[must_use = "dropping it ends the log"]
pub struct LogGuard {
    _writer: Option<Writer>,
    reopener: Reopener,
}

impl LogGuard {
    /// For the caller that requests reopening of the log file.
    pub fn reopener(&self) -> Reopener {
        self.reopener.clone()
    }
}

/// Reopens the log file after it was moved away. The default has no file and does nothing.
#[derive(Clone, Default)]
pub struct Reopener {
    file: Option<(PathBuf, Sink)>,
}

impl Reopener {
    /// Opens the file of that name, and has everything from now on written there. Blocks.
    ///
    /// # Errors
    /// It cannot be opened; the log goes on in the former file.
    pub fn reopen(&self) -> io::Result<()> {
        match &self.file {
            Some((path, sink)) => sink.replace(Box::new(RotatingFile::open(path)?)),
            None => Ok(()),
        }
    }
}

impl std::fmt::Debug for Reopener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.file.as_ref().map(|(path, _)| path);
        f.debug_struct("Reopener").field("file", &path).finish()
    }
}

/// Sets up logging for the whole process.
///
/// # Errors
/// The file cannot be opened, or this is the second call.
pub fn init(options: &LogOptions) -> Result<LogGuard, LogError> {
    let writer = match &options.file {
        Some(path) => {
            let named = path.clone();
            let opened = slow_files::in_time_blocking(path, move || RotatingFile::open(&named));
            let opened = opened
                .map_err(|late| io::Error::new(io::ErrorKind::TimedOut, late))
                .flatten();
            let file = opened.map_err(|source| LogError::File {
                path: path.clone(),
                source,
            })?;
            Some(Writer::start(Box::new(file)).map_err(LogError::Thread)?)
        }
        None if options.json => {
            Some(Writer::start(Box::new(io::stderr())).map_err(LogError::Thread)?)
        }
        None => None,
    };
    let lines = Lines {
        json: options.json,
        sink: writer.as_ref().map(Writer::sink),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(options.level.filter()))
        .try_init()
        .map_err(|_| LogError::Twice)?;
    let sink = writer.as_ref().map(Writer::sink);
    Ok(LogGuard {
        reopener: Reopener {
            file: options.file.clone().zip(sink),
        },
        _writer: writer,
    })
}

/// Turns events into lines and hands them on.
struct Lines {
    json: bool,
    /// `None` writes to standard error at once.
    sink: Option<Sink>,
}

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let line = if self.json {
            line::json(event, jiff::Timestamp::now())
        } else {
            line::plain(event)
        };
        match &self.sink {
            Some(sink) => sink.send(line),
            // There is nobody to report a failure to.
            None => drop(io::Write::write_all(&mut io::stderr(), line.as_bytes())),
        }
    }
}

/// The level as the log spells it.
fn word(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG | Level::TRACE => "debug",
    }
}

#[cfg(test)]
mod tests;
