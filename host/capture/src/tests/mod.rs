mod files;
mod forms;
mod hosts;
mod lines;
mod prefixes;
mod properties;
mod refusals;
mod select;
mod times;

use jiff::tz::TimeZone;

use super::*;

/// 2026-11-21T04:25:00Z.
const NOW: UnixMillis = 1_795_235_100_000;

fn capture(text: impl AsRef<[u8]>) -> Capture {
    read(text.as_ref(), NOW, &TimeZone::UTC).unwrap()
}

impl Capture {
    /// The only log; an empty one if there is none.
    fn log(&self) -> &HostLog {
        static NONE: HostLog = HostLog {
            host: None,
            messages: Vec::new(),
            clock: Clock::None,
            boots: Vec::new(),
        };
        assert!(self.logs.len() <= 1, "several hosts: {self:?}");
        self.logs.first().unwrap_or(&NONE)
    }
}

fn texts(capture: &Capture) -> Vec<&str> {
    let messages = capture.log().messages.iter();
    messages.map(|message| message.text.as_str()).collect()
}

fn times(capture: &Capture) -> Vec<UnixMillis> {
    capture
        .log()
        .messages
        .iter()
        .map(|message| message.time)
        .collect()
}

fn at(text: &str) -> UnixMillis {
    let at: jiff::Timestamp = text.parse().unwrap();
    u64::try_from(at.as_millisecond()).unwrap()
}
