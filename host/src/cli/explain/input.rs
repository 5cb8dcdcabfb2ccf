//! Turns the words of `gpud explain` into a kernel message.

use jiff::tz::TimeZone;

use super::code::Family;
use crate::{capture, model::UnixMillis, node::kmsg::KernelMessage, server::canned_xid};

/// The log lines or the message to explain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExplainInput {
    /// Lines of a log, each with the prefix of that log's format.
    Log(String),
    /// A kernel message without a prefix.
    Message(KernelMessage),
}

/// Returns the line to explain: the sample line of a code, or a pasted line, with or without a log's prefix.
pub fn line(words: &[String], now: UnixMillis) -> Result<ExplainInput, String> {
    let text = match words {
        [] => {
            return Err(
                "say what: `xid 79`, `sxid 12028`, a pasted kernel line, or --file FILE".to_owned(),
            );
        }
        [family, code] if family.eq_ignore_ascii_case("xid") => xid_line(number(code)?),
        [family, code] if family.eq_ignore_ascii_case("sxid") => format!(
            "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): {}, Non-fatal, Link 00 unknown",
            number(code)?
        ),
        words => {
            let pasted = words.join(" ");
            let read = capture::read(pasted.as_bytes(), now, &TimeZone::system());
            match read {
                Ok(read) if !read.logs.is_empty() => return Ok(ExplainInput::Log(pasted)),
                _ => pasted,
            }
        }
    };
    Ok(ExplainInput::Message(KernelMessage {
        sequence: 1,
        time: now,
        monotonic_micros: 0,
        level: 3,
        facility: 0,
        text,
        dictionary: Vec::new(),
        fragment: false,
    }))
}

/// The daemon's sample line. Those of 63 and 64 speak of one kind of GPU, which nobody has said.
fn xid_line(code: i64) -> String {
    match code {
        63 | 64 => format!("NVRM: Xid (PCI:0000:04:00): {code}, unknown"),
        code => canned_xid(code).1,
    }
}

/// Returns family and number if the words name an error by its number.
pub fn code(words: &[String]) -> Option<(Family, i64)> {
    let [family, code] = words else {
        return None;
    };
    let family = [Family::Xid, Family::Sxid]
        .into_iter()
        .find(|known| family.eq_ignore_ascii_case(known.name()))?;
    Some((family, number(code).ok()?))
}

fn number(code: &str) -> Result<i64, String> {
    let parsed = code
        .parse()
        .ok()
        .filter(|code| (1..=1_000_000).contains(code));
    parsed.ok_or_else(|| format!("{code:?} is not the number of an error"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_family_and_a_number_are_a_code() {
        for (text, expected) in [
            ("xid 79", Some((Family::Xid, 79))),
            ("SXID 12028", Some((Family::Sxid, 12_028))),
            ("xid 9999", Some((Family::Xid, 9999))),
            ("xid many", None),
            ("xid 0", None),
            ("xid", None),
            ("nvme 1", None),
            ("xid 79 80", None),
        ] {
            assert_eq!(code(&words(text)), expected, "{text}");
        }
    }

    #[test]
    fn the_sample_of_a_row_remapping_names_no_kind_of_gpu() {
        for code in ["63", "64"] {
            let input = line(&words(&format!("xid {code}")), 1).unwrap();
            let ExplainInput::Message(KernelMessage { text, .. }) = input else {
                panic!("{input:?}");
            };
            assert!(text.contains(&format!("): {code}, ")), "{text}");
            assert!(!text.contains("Row Remapper"), "{text}");
        }
    }
}
