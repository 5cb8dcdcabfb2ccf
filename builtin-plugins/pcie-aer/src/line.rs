//! Kernel lines about errors of PCIe links and devices. All begin with driver and PCI id of a device.
//!
//! | line | source |
//! |---|---|
//! | `nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)` | `drivers/pci/pcie/aer.c`, `aer_print_error`. Older kernels (5.2) begin with `AER: ` and say `Corrected` and `Uncorrected`; the newest may say `CXL Bus Error` |
//! | `nvidia 0000:3b:00.0:    [14] CmpltTO                (First)` | the same, `__aer_print_error` |
//! | `pcieport 0000:3a:00.0: AER: aer_status: 0x00000001, aer_mask: 0x00000000`, `aer_layer=…, aer_agent=…`, `aer_uncor_severity: 0x…` | the same, `cper_print_aer` (5.2), `pci_print_aer` (6.12): errors that the firmware hands over |
//! | `pcieport 0000:3a:00.0: AER: can't find device of ID3b00` (5.2), `found no error details for 0000:3b:00.0` (6.12) | the same, `find_source_device` |
//! | `pcieport 0000:3a:00.0: AER: Correctable error message received from 0000:3b:00.0 (no details found` | the same, `aer_print_source` (after 6.12; the bracket is not always closed) |
//! | `pcieport 0000:3a:00.0: AER: device recovery failed` | `drivers/pci/pcie/err.c`, `pcie_do_recovery` (older ones: `Device`) |
//! | `pcieport 0000:3a:00.0: DPC: containment event, status:0x1f01 source:0x0000` | `drivers/pci/pcie/dpc.c`, `dpc_process_error` |
//!
//! `… error received: …` and `… error message received from …` without an addition announce the lines of an error that
//! follow, and stand for nothing by themselves.

pub use crate::patterns::PATTERNS;

/// How serious an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The link corrected it.
    Corrected,
    /// A transaction is lost; the link goes on.
    NonFatal,
    /// The link cannot be trusted and is reset.
    Fatal,
}

impl Severity {
    /// From the kernel's words; `aer_error_severity_string`.
    fn of(words: &str) -> Option<Self> {
        Some(match words {
            "Corrected" | "Correctable" => Self::Corrected,
            "Uncorrected (Non-Fatal)" | "Uncorrectable (Non-Fatal)" => Self::NonFatal,
            "Uncorrected (Fatal)" | "Uncorrectable (Fatal)" => Self::Fatal,
            _ => return None,
        })
    }

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Corrected => "corrected",
            Self::NonFatal => "uncorrected (non-fatal)",
            Self::Fatal => "uncorrected (fatal)",
        }
    }
}

/// One kind of error: the kernel's name, and what it means (PCI Express Base Specification 6.0, sections 7.8.4.2 and
/// 7.8.4.5).
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// `aer_correctable_error_string`, `aer_uncorrectable_error_string`. No name is in both.
    pub name: &'static str,
    /// For people.
    pub meaning: &'static str,
    /// The link corrects these.
    pub correctable: bool,
}

const fn corrected(name: &'static str, meaning: &'static str) -> Kind {
    Kind {
        name,
        meaning,
        correctable: true,
    }
}

const fn lost(name: &'static str, meaning: &'static str) -> Kind {
    Kind {
        name,
        meaning,
        correctable: false,
    }
}

/// All kinds.
pub static KINDS: [Kind; 31] = [
    corrected("RxErr", "receiver error"),
    corrected("BadTLP", "bad packet"),
    corrected("BadDLLP", "bad link packet"),
    corrected("Rollover", "replay number rollover"),
    corrected("Timeout", "replay timer timeout"),
    corrected("NonFatalErr", "advisory non-fatal error"),
    corrected("CorrIntErr", "corrected internal error"),
    corrected("HeaderOF", "header log overflow"),
    lost("Undefined", "link training error"),
    lost("DLP", "data link protocol error"),
    lost("SDES", "surprise link down"),
    lost("TLP", "poisoned packet received"),
    lost("FCP", "flow control protocol error"),
    lost("CmpltTO", "completion timeout"),
    lost("CmpltAbrt", "completer abort"),
    lost("UnxCmplt", "unexpected completion"),
    lost("RxOF", "receiver overflow"),
    lost("MalfTLP", "malformed packet"),
    lost("ECRC", "end-to-end checksum error"),
    lost("UnsupReq", "unsupported request"),
    lost("ACSViol", "access control violation"),
    lost("UncorrIntErr", "uncorrectable internal error"),
    lost("BlockedTLP", "multicast packet blocked"),
    lost("AtomicOpBlocked", "atomic operation blocked"),
    lost("TLPBlockedErr", "packet prefix blocked"),
    lost("PoisonTLPBlocked", "poisoned packet blocked"),
    lost("DMWrReqBlocked", "deferrable write blocked"),
    lost("IDECheck", "encryption check failed"),
    lost("MisIDETLP", "misrouted encrypted packet"),
    lost("PCRC_CHECK", "partial checksum error"),
    lost("TLPXlatBlocked", "packet translation blocked"),
];

/// The content of a line about its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineContent<'a> {
    /// An error begins.
    Error {
        /// How serious.
        severity: Severity,
        /// `Physical Layer`, `Data Link Layer`, `Transaction Layer` or `Inaccessible`.
        layer: &'a str,
        /// `Receiver ID` and so on.
        agent: &'a str,
    },
    /// A kind of the error that was begun.
    Bit(&'static Kind),
    /// An error that the firmware hands over begins; bits of what happened.
    Status(u32),
    /// Where such an error was seen.
    Layer {
        /// As in [`LineContent::Error`].
        layer: &'a str,
        /// As in [`LineContent::Error`].
        agent: &'a str,
    },
    /// Such an error is uncorrectable; bits of what is fatal.
    FatalBits(u32),
    /// The device has no details of an error that it announced.
    NoDetails {
        /// How serious, where it is said.
        severity: Option<Severity>,
        /// The device that announced it, where it is said.
        source: Option<&'a str>,
    },
    /// What is below the device works again.
    Recovered,
    /// It does not.
    RecoveryFailed,
    /// The port switched its link off to keep an error from spreading.
    Contained,
}

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// PCI id, `0000:3b:00.0`.
    pub device: &'a str,
    /// What it says.
    pub said: LineContent<'a>,
}

impl<'a> Line<'a> {
    /// Reads a line, if it is one of ours.
    pub fn parse(line: &'a str) -> Option<Self> {
        let (driver, rest) = line.split_once(' ')?;
        let (device, rest) = rest.split_once(": ")?;
        // Other lines have no blank up to a name that a user chose: `oom-kill:constraint=…,task=pcieport 0000:3a:00.0 …`.
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if driver.is_empty() || !driver.bytes().all(fits) || !is_pci_id(device) {
            return None;
        }
        let said = match rest.strip_prefix("AER: ") {
            Some(rest) => of_aer(rest).or_else(|| of_any(rest)),
            None => of_any(rest).or_else(|| contained(rest)),
        };
        Some(Self {
            device,
            said: said?,
        })
    }
}

/// Lines that kernels write with and without `AER: `.
fn of_any(text: &str) -> Option<LineContent<'_>> {
    if text.starts_with(' ') {
        return bit(text.trim_start_matches(' '));
    }
    if let Some(rest) = text.strip_prefix("aer_status: ") {
        let (status, mask) = rest.split_once(", aer_mask: ")?;
        return bits(mask).and(bits(status)).map(LineContent::Status);
    }
    if let Some(rest) = text.strip_prefix("aer_uncor_severity: ") {
        return bits(rest).map(LineContent::FatalBits);
    }
    if let Some(rest) = text.strip_prefix("aer_layer=") {
        let mut borders = rest.match_indices(", aer_agent=");
        let (at, border) = borders.find(|(at, _)| *at > 0)?;
        let (layer, agent) = (rest.get(..at)?, rest.get(at + border.len()..)?);
        return (!agent.is_empty()).then_some(LineContent::Layer { layer, agent });
    }
    let bus = ["PCIe", "CXL"]
        .iter()
        .find_map(|bus| text.strip_prefix(bus))?;
    let rest = bus.strip_prefix(" Bus Error: severity=")?;
    let (severity, rest) = rest.split_once(", type=")?;
    let (layer, agent) = rest.split_once(", (")?;
    let agent = agent.strip_suffix(')')?;
    let fit = !layer.is_empty() && !agent.is_empty() && !agent.contains(['(', ')']);
    let severity = Severity::of(severity).filter(|_| fit)?;
    Some(LineContent::Error {
        severity,
        layer,
        agent,
    })
}

/// Lines that always have `AER: `.
fn of_aer(text: &str) -> Option<LineContent<'_>> {
    if let Some(id) = text.strip_prefix("found no error details for ") {
        return is_pci_id(id).then_some(LineContent::NoDetails {
            severity: None,
            source: Some(id),
        });
    }
    if let Some(id) = text.strip_prefix("can't find device of ID") {
        return (id.len() == 4 && id.bytes().all(is_hex)).then_some(LineContent::NoDetails {
            severity: None,
            source: None,
        });
    }
    if let Some(rest) = text
        .strip_prefix("device recovery ")
        .or_else(|| text.strip_prefix("Device recovery "))
    {
        return match rest {
            "successful" => Some(LineContent::Recovered),
            "failed" => Some(LineContent::RecoveryFailed),
            _ => None,
        };
    }
    let text = text.strip_prefix("Multiple ").unwrap_or(text);
    let (severity, rest) = text.split_once(" error message received from ")?;
    let (source, rest) = rest.split_once(' ')?;
    let fit = is_pci_id(source) && rest.starts_with("(no details found");
    Some(LineContent::NoDetails {
        severity: Some(Severity::of(severity).filter(|_| fit)?),
        source: Some(source),
    })
}

fn contained(text: &str) -> Option<LineContent<'_>> {
    let rest = text.strip_prefix("DPC: containment event, status:0x")?;
    rest.bytes()
        .next()
        .is_some_and(is_hex)
        .then_some(LineContent::Contained)
}

/// `[14] CmpltTO                (First)`
fn bit(text: &str) -> Option<LineContent<'_>> {
    let (number, rest) = text.strip_prefix('[')?.split_once("] ")?;
    let digits = number.strip_prefix(' ').unwrap_or(number);
    let plain = matches!(digits.len(), 1 | 2) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let name = rest.strip_suffix(" (First)").unwrap_or(rest);
    let name = name.trim_end_matches(' ');
    let kind = KINDS.iter().find(|kind| kind.name == name)?;
    plain.then_some(LineContent::Bit(kind))
}

/// `0x` and eight hexadecimal digits.
fn bits(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x")?;
    let whole = digits.len() == 8 && digits.bytes().all(is_hex);
    whole
        .then(|| u32::from_str_radix(digits, 16).ok())
        .flatten()
}

/// `0000:3b:00.0`: domains of more than four digits exist (Intel VMD: `10000:…`).
pub fn is_pci_id(text: &str) -> bool {
    let mut parts = text.split(':');
    let (Some(domain), Some(bus), Some(slot), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let Some((device, function)) = slot.split_once('.') else {
        return false;
    };
    let hex = |text: &str| text.bytes().all(is_hex);
    (4..=8).contains(&domain.len())
        && bus.len() == 2
        && device.len() == 2
        && hex(domain)
        && hex(bus)
        && hex(device)
        && matches!(function.as_bytes(), [b'0'..=b'7'])
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

#[cfg(test)]
mod tests;
