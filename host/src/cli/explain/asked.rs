//! From the words of `gpud explain` to a kernel message.

use jiff::tz::TimeZone;

use crate::{
    capture::{self, Capture, Clock},
    model::UnixMillis,
    node::kmsg::KernelMessage,
    server::canned_xid,
};

/// The line that is meant: that of a code, or a pasted one, with or without what a log puts before it.
pub fn line(words: &[String], now: UnixMillis) -> Result<Capture, String> {
    let text = match words {
        [] => {
            return Err(
                "say what: `xid 79`, `sxid 12028`, a pasted kernel line, or --file FILE".to_owned(),
            );
        }
        [family, code] if family.eq_ignore_ascii_case("xid") => canned_xid(number(code)?).1,
        [family, code] if family.eq_ignore_ascii_case("sxid") => format!(
            "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): {}, Non-fatal, Link 00 unknown",
            number(code)?
        ),
        words => {
            let pasted = words.join(" ");
            let read = capture::read(pasted.as_bytes(), now, &TimeZone::system());
            match read {
                Ok(read) if !read.messages.is_empty() => return Ok(read),
                _ => pasted,
            }
        }
    };
    let message = KernelMessage {
        sequence: 1,
        time: now,
        monotonic_micros: 0,
        level: 3,
        facility: 0,
        text,
        dictionary: Vec::new(),
        fragment: false,
    };
    Ok(Capture {
        format: None,
        messages: vec![message],
        count: 1,
        clock: Clock::Wall,
        boots: vec![0],
        skipped: 0,
        unparsable: 0,
        first_unparsable: None,
        years_guessed: false,
        zone_assumed: false,
    })
}

fn number(code: &str) -> Result<i64, String> {
    let parsed = code
        .parse()
        .ok()
        .filter(|code| (1..=1_000_000).contains(code));
    parsed.ok_or_else(|| format!("{code:?} is not the number of an error"))
}
