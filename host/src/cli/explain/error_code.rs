//! The number of an error as an operator names it: `xid 79`, `sxid 12028`, `xid 149.4`.

use std::{fmt, ops::RangeInclusive};

use crate::server::canned_xid;

/// Xids that are distinguished by a sub-code.
const WITH_SUB_CODES: RangeInclusive<i64> = 144..=150;
/// The highest sub-code: a line has six bits for it.
const MAX_SUB_CODE: u8 = 63;

/// A family of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Errors of GPUs.
    Xid,
    /// Errors of NVSwitches.
    Sxid,
}

impl Family {
    /// Returns the family's name as NVIDIA writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xid => "Xid",
            Self::Sxid => "SXid",
        }
    }

    fn of(word: &str) -> Option<Self> {
        [Self::Xid, Self::Sxid]
            .into_iter()
            .find(|known| word.eq_ignore_ascii_case(known.name()))
    }
}

/// An error by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode {
    /// Of GPUs or of NVSwitches.
    pub family: Family,
    /// The Xid or SXid.
    pub number: i64,
    /// The sub-code of an NVLink error: bits 20 to 25 of the first word of its line.
    pub sub_code: Option<u8>,
}

impl ErrorCode {
    /// Reads two words; `None` if the first of them names no family.
    ///
    /// # Errors
    /// The second word is no number of that family.
    pub fn read(words: &[String]) -> Option<Result<Self, String>> {
        let [family, code] = words else {
            return None;
        };
        Some(Self::parse(Family::of(family)?, code))
    }

    fn parse(family: Family, code: &str) -> Result<Self, String> {
        let (number, sub_code) = match code.split_once('.') {
            Some((number, sub_code)) if family == Family::Xid => (number, Some(sub_code)),
            _ => (code, None),
        };
        let number = number.parse::<i64>().ok();
        let number = number
            .filter(|number| (1..=1_000_000).contains(number))
            .ok_or_else(|| format!("{code:?} is not the number of an error"))?;
        let sub_code = sub_code
            .map(|sub_code| {
                let sub_code = sub_code.parse::<u8>().ok();
                sub_code
                    .filter(|sub_code| {
                        *sub_code <= MAX_SUB_CODE && WITH_SUB_CODES.contains(&number)
                    })
                    .ok_or_else(|| {
                        format!(
                            "{code:?} is not the number of an error: only Xids {} to {} have sub-codes, 0 to {MAX_SUB_CODE}",
                            WITH_SUB_CODES.start(),
                            WITH_SUB_CODES.end()
                        )
                    })
            })
            .transpose()?;
        Ok(Self {
            family,
            number,
            sub_code,
        })
    }

    /// Returns a kernel line with the error.
    pub fn sample_line(self) -> String {
        let Self {
            family,
            number,
            sub_code,
        } = self;
        match (family, sub_code) {
            (Family::Xid, Some(sub_code)) => format!(
                "NVRM: Xid (PCI:0000:04:00): {number}, UNKNOWN Nonfatal XC0 i0 Link 00 \
                 (0x{:08x} 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
                u32::from(sub_code) << 20
            ),
            // The daemon's sample lines of these speak of one kind of GPU, which nobody has said.
            (Family::Xid, None) if matches!(number, 63 | 64) => {
                format!("NVRM: Xid (PCI:0000:04:00): {number}, unknown")
            }
            (Family::Xid, None) => canned_xid(number).1,
            (Family::Sxid, _) => format!(
                "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): {number}, Non-fatal, Link 00 unknown"
            ),
        }
    }
}

/// `Xid 149.4`.
impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.family.name(), self.number)?;
        match self.sub_code {
            Some(sub_code) => write!(f, ".{sub_code}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
