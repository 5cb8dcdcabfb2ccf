//! The recovery action that the driver requests in Xid 154: `GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)`.
//!
//! The words differ between drivers, the numbers are those of `nvmlDeviceGpuRecoveryAction_t`.

use gpud_builtin_shared::vendor::CodeVerdict;

use crate::catalog::{Action, Severity};

/// A recovery action as a line names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovery<'a> {
    /// NVML's number.
    pub number: u32,
    /// The driver's words; may be empty.
    pub label: &'a str,
}

impl Recovery<'_> {
    /// True when nothing needs to be done any more.
    pub fn is_none(&self) -> bool {
        self.number == 0
    }

    /// How serious it is and what to do. `None` for a number of a later driver.
    pub fn verdict(&self) -> Option<CodeVerdict> {
        Some(match self.number {
            0 => (Severity::Info, &[Action::Ignore]),
            // Reset, reboot, bus reset, system reboot.
            1 | 2 | 6 | 7 => (Severity::Fatal, &[Action::Reboot]),
            // Peer-to-peer work or the IMEX domain: the jobs end.
            3 | 5 => (Severity::Critical, &[Action::CheckApp]),
            // Work that runs may end first.
            4 => (Severity::Critical, &[Action::Reboot]),
            _ => return None,
        })
    }
}

/// Reads both actions of a line: before and after.
pub fn read(line: &str) -> Option<(Recovery<'_>, Recovery<'_>)> {
    let (_, rest) = line.split_once("GPU recovery action changed from ")?;
    let (from, to) = rest.split_once(" to ")?;
    Some((one(from)?, one(to)?))
}

/// Reads `0x1 (GPU Reset Required)`; the words may be missing.
fn one(text: &str) -> Option<Recovery<'_>> {
    let digits = text.trim_ascii().strip_prefix("0x")?;
    let end = digits.bytes().take_while(u8::is_ascii_hexdigit).count();
    let (digits, rest) = digits.split_at_checked(end)?;
    let label = rest
        .trim_ascii_start()
        .strip_prefix('(')
        .and_then(|label| label.split_once(')'));
    Some(Recovery {
        number: u32::from_str_radix(digits, 16).ok()?,
        label: label.map_or("", |(label, _)| label),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_drivers() {
        for (to, number, label, action) in [
            (
                "0x1 (GPU Reset Required)",
                1,
                "GPU Reset Required",
                Some(Action::Reboot),
            ),
            ("0x1 (PF FLR)", 1, "PF FLR", Some(Action::Reboot)),
            ("0x2 (OS Reboot)", 2, "OS Reboot", Some(Action::Reboot)),
            ("0x3 (Drain P2P)", 3, "Drain P2P", Some(Action::CheckApp)),
            (
                "0x4 (Drain and Reset)",
                4,
                "Drain and Reset",
                Some(Action::Reboot),
            ),
            ("0x0 (None)", 0, "None", Some(Action::Ignore)),
            ("0x1f", 31, "", None),
        ] {
            let line = format!("154, GPU recovery action changed from 0x0 (None) to {to}");
            let (from, found) = read(&line).unwrap();
            assert!(from.is_none());
            assert_eq!((found.number, found.label), (number, label));
            let first = found.verdict().and_then(|(_, actions)| actions.first());
            assert_eq!(first, action.as_ref(), "{to}");
        }
        for other in [
            "",
            "154, GPU recovery action changed",
            "GPU recovery action changed from x to 0x1",
            "GPU recovery action changed from 0x0 (None) to 0x123456789",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
