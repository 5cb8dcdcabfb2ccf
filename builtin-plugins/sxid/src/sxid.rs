//! The meaning of a line: its facts joined with the catalogue's entry.

use gpud_builtin_shared::vendor::{CodeVerdict, ErrorView};
use gpud_sdk::error_codes::Key;

use crate::catalog::{self, Code, POSSIBLE, Severity};
use crate::line;

/// One error of a switch.
#[derive(Debug, Clone, Copy)]
pub struct Sxid<'a> {
    /// Which switch, as [`line::Line::device`].
    pub device: &'a str,
    /// The SXid.
    pub code: u32,
    /// The known facts about it. Nothing for a code of a switch or driver newer than this program: not judged, but not
    /// hidden.
    pub known: Option<&'static Code>,
}

impl Sxid<'_> {
    /// Which error, as a policy names it.
    pub fn key(&self) -> Key {
        Key::of(self.code)
    }

    /// The verdict of a catalogue.
    pub fn verdict(&self, catalog: ErrorView) -> CodeVerdict {
        self.known
            .map_or((Severity::Warning, &[]), |known| known.verdict(catalog))
    }
}

/// Reads a line of the kernel log; `facility` 0 is the kernel itself. `None` when it is no SXid line.
pub fn decode(text: &str, facility: u32) -> Option<Sxid<'_>> {
    let line = line::parse(text, facility == 0)?;
    let code = u32::try_from(line.code).ok()?;
    let known = catalog::code(code);
    // A code that is not listed counts only where there is no doubt that it is one.
    if known.is_none() && !(line.by_driver && POSSIBLE.contains(&code)) {
        return None;
    }
    Some(Sxid {
        device: line.device,
        code,
        known,
    })
}

/// The text of events and reasons.
pub fn message(code: u32, known: Option<&Code>, device: &str) -> String {
    match known {
        Some(known) => format!("SXID {code}({}) detected on {device}", known.name),
        None => format!("SXID {code} detected on {device}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_codes_in_any_form_others_in_the_driver_s() {
        for (text, facility, expected) in [
            (
                "nvidia-nvswitch5: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 11 LTSSM Fault Up",
                0,
                Some((20_034, true)),
            ),
            ("SXid: 20034, x", 5, Some((20_034, true))),
            ("SXid: 20034, x", 0, None),
            // The table decides, not the line's word.
            (
                "SXid (PCI:0:1): 12028, Non-fatal, Link 14",
                0,
                Some((12_028, true)),
            ),
            // Not listed.
            ("SXid (PCI:0:1): 28006, x", 0, Some((28_006, false))),
            ("SXid (PCI:0:1): 28006, x", 5, Some((28_006, false))),
            ("SXid (PCI:0:1) x: 28006, x", 5, None),
            ("SXid: 28006, x", 5, None),
            ("SXid (PCI:0:1): 0, x", 0, None),
            ("SXid (PCI:0:1): 9999, x", 0, None),
            ("SXid (PCI:0:1): 100000, x", 0, None),
            ("SXid (PCI:0:1): 4294987330, x", 0, None), // 20034 + 2³²
            ("NVRM: Xid (PCI:0000:01:00): 13, SXid 1: 00000013,", 0, None),
            ("eth0: link up", 0, None),
        ] {
            let found = decode(text, facility).map(|sxid| (sxid.code, sxid.known.is_some()));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn texts() {
        let of = |code| message(code, catalog::code(code), "PCI:0000:c4:00.0");
        assert_eq!(
            of(20_034),
            "SXID 20034(LTSSM Fault Up) detected on PCI:0000:c4:00.0"
        );
        assert_eq!(of(28_006), "SXID 28006 detected on PCI:0000:c4:00.0");
    }
}
