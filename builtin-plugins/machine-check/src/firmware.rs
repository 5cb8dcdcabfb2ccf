//! Error records that the firmware hands to the kernel (CPER): `drivers/acpi/apei/ghes.c` (`__ghes_print_estatus`,
//! lines marked `{n}`), `drivers/acpi/apei/bert.c` (`bert_print_all`, errors of the boot before this one, no mark), both
//! by `drivers/firmware/efi/cper.c` (`cper_estatus_print`, `cper_estatus_print_section`, `cper_print_mem`,
//! `cper_print_pcie`).
//!
//! ```text
//! {1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4
//! {1}[Hardware Error]: event severity: recoverable
//! {1}[Hardware Error]:  Error 0, type: recoverable
//! {1}[Hardware Error]:  fru_text: CPU 1 B1
//! {1}[Hardware Error]:   section_type: memory error
//! {1}[Hardware Error]:   error_type: 3, multi-bit ECC
//! {1}[Hardware Error]:   DIMM location: NODE 1 DIMM_B1
//! ```
//!
//! Each section is one event. The kernel log is handed over in batches that may cut a record: what is needed to go on
//! (mark, severity, unit) is kept, and a section is reported at the end of its batch with the details that it has by
//! then.

use gpud_sdk::incidents::clip;

/// A word that the record uses (`cper_severity_str`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordSeverity {
    /// Only reported.
    Info,
    /// The hardware corrected it.
    Corrected,
    /// Not corrected; the system can go on.
    Recoverable,
    /// The system cannot go on.
    Fatal,
}

impl RecordSeverity {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Corrected => "corrected",
            Self::Recoverable => "recoverable",
            Self::Fatal => "fatal",
        }
    }

    /// Parses a word; an unknown word is only reported.
    fn of(word: &str) -> Self {
        match word {
            "corrected" => Self::Corrected,
            "recoverable" => Self::Recoverable,
            "fatal" => Self::Fatal,
            _ => Self::Info,
        }
    }
}

/// One line of a record, without its mark. Texts are clipped: the unit is kept between batches, and the host refuses a
/// batch with more than it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirmwareLine<'a> {
    /// A record begins.
    Start,
    /// Severity of the record.
    Event(RecordSeverity),
    /// A section begins, with this severity.
    Error(RecordSeverity),
    /// The unit, in the firmware's words.
    Unit(&'a str),
    /// What the section is about.
    Section(&'a str),
    /// A fact of the section.
    Detail(&'a str),
}

impl<'a> FirmwareLine<'a> {
    /// The mark (`None`: a record of the previous boot) and the piece.
    pub fn parse(line: &'a str) -> Option<(Option<u32>, Self)> {
        let (mark, text) = match line.strip_prefix('{') {
            Some(rest) => {
                let (mark, text) = rest.split_once('}')?;
                let plain = !mark.is_empty() && mark.bytes().all(|byte| byte.is_ascii_digit());
                (Some(mark.parse().ok().filter(|_| plain)?), text)
            }
            None => (None, line),
        };
        let text = text.strip_prefix("[Hardware Error]: ")?;
        if mark.is_some()
            && text.starts_with("Hardware error from APEI Generic Hardware Error Source: ")
        {
            return Some((mark, Self::Start));
        }
        let text = text.trim_start_matches(' ');
        let piece = if let Some(word) = text.strip_prefix("event severity: ") {
            Self::Event(RecordSeverity::of(word))
        } else if let Some(unit) = text.strip_prefix("fru_text: ") {
            Self::Unit(clip(unit).trim_end())
        } else if let Some(kind) = text
            .strip_prefix("section_type: ")
            .or_else(|| text.strip_prefix("section type: "))
        {
            Self::Section(clip(kind))
        } else if let Some(rest) = text.strip_prefix("Error ") {
            let (number, word) = rest.split_once(", type: ")?;
            let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| Self::Error(RecordSeverity::of(word)))?
        } else if ["error_type: ", "DIMM location: ", "device_id: "]
            .iter()
            .any(|key| text.starts_with(key))
        {
            Self::Detail(clip(text).trim_end())
        } else {
            return None;
        };
        Some((mark, piece))
    }
}

/// One section of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// When, unix milliseconds, and kernel log record of its first line.
    pub time: u64,
    /// The kernel log record of its first line.
    pub sequence: u64,
    /// Reported by the firmware after a reset: an error of the boot before this one.
    pub of_previous_boot: bool,
    /// How serious.
    pub severity: RecordSeverity,
    /// What it is about, for example `memory error`.
    pub kind: String,
    /// The unit, in the firmware's words; may be empty.
    pub unit: String,
    /// Facts, as in the log.
    pub details: Vec<String>,
}

impl Section {
    /// PCIe errors are judged by the component `pcie-aer`.
    pub fn is_pcie(&self) -> bool {
        self.kind == "PCIe error"
    }

    /// Where it happened, as precisely as it is known.
    pub fn place(&self) -> String {
        let mut place = self.kind.clone();
        if !self.unit.is_empty() {
            place.push_str(&format!(" ({})", self.unit));
        }
        let named = |detail: &&String| !detail.starts_with("error_type: ");
        for detail in self.details.iter().filter(named) {
            place.push_str(&format!(", {detail}"));
        }
        place
    }
}

/// A record of which more lines may come.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Open {
    mark: Option<u32>,
    severity: RecordSeverity,
    unit: String,
    section: Option<Section>,
}

/// Puts records together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Assembler {
    open: Option<Open>,
}

impl Assembler {
    /// Goes on where [`Assembler::save`] left off, unless the machine was booted since.
    pub fn restore(saved: Option<&str>, boot_id: &str) -> Self {
        let open = saved.and_then(|saved| {
            let mut lines = saved.splitn(4, '\n');
            let (boot, mark) = (lines.next()?, lines.next()?);
            let (severity, unit) = (lines.next()?, lines.next()?);
            (boot == boot_id).then(|| Open {
                mark: mark.parse().ok(),
                severity: RecordSeverity::of(severity),
                unit: unit.to_owned(),
                section: None,
            })
        });
        Self { open }
    }

    /// What to keep until the next batch, after [`Assembler::end`].
    pub fn save(&self, boot_id: &str) -> Option<String> {
        self.open.as_ref().map(|open| {
            let mark = open.mark.map_or_else(String::new, |mark| mark.to_string());
            format!("{boot_id}\n{mark}\n{}\n{}", open.severity.word(), open.unit)
        })
    }

    /// Takes one piece; gives the section that it ends, if any.
    pub fn take(
        &mut self,
        mark: Option<u32>,
        piece: FirmwareLine<'_>,
        time: u64,
        sequence: u64,
    ) -> Option<Section> {
        let new = |severity| Open {
            mark,
            severity,
            unit: String::new(),
            section: None,
        };
        let same = self.open.as_ref().is_some_and(|open| open.mark == mark);
        match piece {
            FirmwareLine::Start => {
                let done = self.end();
                self.open = Some(new(RecordSeverity::Info));
                done
            }
            FirmwareLine::Event(severity) => {
                let done = self.end();
                self.open = Some(new(severity));
                done
            }
            FirmwareLine::Error(severity) => {
                let done = self.end();
                self.open = Some(new(severity));
                done
            }
            FirmwareLine::Unit(unit) => {
                if let Some(open) = self.open.as_mut().filter(|_| same) {
                    unit.clone_into(&mut open.unit);
                }
                None
            }
            FirmwareLine::Section(kind) => {
                let done = self.end();
                // A record whose beginning was lost says at least that there was an error.
                let open = match self.open.as_mut().filter(|_| same) {
                    Some(open) => open,
                    None => self.open.insert(new(RecordSeverity::Info)),
                };
                open.section = Some(Section {
                    time,
                    sequence,
                    of_previous_boot: mark.is_none(),
                    severity: open.severity,
                    kind: kind.to_owned(),
                    unit: open.unit.clone(),
                    details: Vec::new(),
                });
                done
            }
            FirmwareLine::Detail(detail) => {
                if let Some(section) = self
                    .open
                    .as_mut()
                    .filter(|_| same)
                    .and_then(|open| open.section.as_mut())
                    && section.details.len() < 8
                {
                    section.details.push(detail.to_owned());
                }
                None
            }
        }
    }

    /// The section that the batch ends in, if any.
    pub fn end(&mut self) -> Option<Section> {
        self.open.as_mut().and_then(|open| open.section.take())
    }
}

#[cfg(test)]
mod tests;
