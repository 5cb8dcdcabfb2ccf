//! The thread that writes log lines, and the queue in front of it.

use std::{
    fmt,
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

/// Lines that may wait. A burst beyond is counted, not kept.
const QUEUE: usize = 4096;
/// How long the end of the process may wait for the last lines.
const FLUSH_WITHIN: Duration = Duration::from_secs(2);

enum Message {
    Line(String),
    /// Answered when everything before is written.
    Flush(SyncSender<()>),
    /// Later messages are written here.
    Replace(Box<dyn Write + Send>),
}

/// The thread. Dropped, it waits a moment until the queue is empty.
pub struct Writer {
    queue: SyncSender<Message>,
    lost: Arc<AtomicU64>,
}

/// The way into the queue.
#[derive(Clone)]
pub struct Sink {
    queue: SyncSender<Message>,
    lost: Arc<AtomicU64>,
}

impl Writer {
    /// Starts a thread that writes whole lines to `out`. A line that cannot be written is lost and counted.
    pub fn start(out: Box<dyn Write + Send>) -> io::Result<Self> {
        let (queue, lines) = sync_channel(QUEUE);
        let lost = Arc::default();
        let counter = Arc::clone(&lost);
        thread::Builder::new()
            .name("gpud-log".to_owned())
            .spawn(move || write_all(out, &lines, &counter))?;
        Ok(Self { queue, lost })
    }

    /// Returns the sender for lines.
    pub fn sink(&self) -> Sink {
        Sink {
            queue: self.queue.clone(),
            lost: Arc::clone(&self.lost),
        }
    }
}

impl Sink {
    /// Queues a line, newline included. Never waits.
    pub fn send(&self, line: String) {
        if self.queue.try_send(Message::Line(line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes everything that comes after this to `out`. Never waits.
    ///
    /// # Errors
    /// The queue is full, or the thread has ended.
    pub fn replace(&self, out: Box<dyn Write + Send>) -> io::Result<()> {
        let sent = self.queue.try_send(Message::Replace(out));
        sent.map_err(|_| io::Error::other("the log's queue is full"))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let (done, finished) = sync_channel(1);
        let deadline = Instant::now() + FLUSH_WITHIN;
        let mut message = Message::Flush(done);
        while let Err(TrySendError::Full(back)) = self.queue.try_send(message) {
            if Instant::now() >= deadline {
                return;
            }
            message = back;
            thread::sleep(Duration::from_millis(5));
        }
        let _ = finished.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

fn write_all(mut out: Box<dyn Write + Send>, lines: &Receiver<Message>, lost: &AtomicU64) {
    for message in lines {
        match message {
            Message::Line(line) => {
                write_loss(&mut out, lost);
                if out.write_all(line.as_bytes()).is_err() {
                    lost.fetch_add(1, Ordering::Relaxed);
                }
            }
            Message::Flush(done) => {
                write_loss(&mut out, lost);
                let _ = out.flush();
                let _ = done.try_send(());
            }
            Message::Replace(next) => {
                let _ = out.flush();
                out = next;
            }
        }
    }
}

fn write_loss(out: &mut impl Write, lost: &AtomicU64) {
    let lines = lost.swap(0, Ordering::Relaxed);
    if lines > 0 && out.write_all(loss(lines).as_bytes()).is_err() {
        lost.fetch_add(lines, Ordering::Relaxed);
    }
}

fn loss(lines: u64) -> String {
    let ts = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ");
    let line = json!({
        "level": "warn",
        "ts": ts.to_string(),
        "msg": "log lines were lost: they came too fast, or could not be written",
        "lines": lines,
    });
    format!("{line}\n")
}

#[cfg(test)]
mod tests;
