//! Kernel lines about devices that are lost, or never came.
//!
//! Per driver: [`mlx5`], [`nouveau`] and [`nvidia`]; of all network cards: [`netdev`]; of slots and IOMMUs: [`bus`]; here
//! what the driver core says of all:
//!
//! | line | source |
//! |---|---|
//! | `‹driver›: probe of ‹id› failed with error ‹n›` | `drivers/base/dd.c`, `really_probe`, later `call_driver_probe`; up to 6.9 |
//! | `‹driver› ‹id›: probe with driver ‹driver› failed with error ‹n›` | same, `call_driver_probe`, from 6.10 |
//!
//! All are matched from the beginning of the line. What else `amdgpu` says is `accelerator-amd-errors`' to read.

mod bus;
mod mlx5;
mod netdev;
mod nouveau;
mod nvidia;

pub use crate::patterns::PATTERNS;

/// A kernel line that the checker knows, with its facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedLine<'a> {
    /// What happened.
    pub kind: Kind,
    /// To which device: its PCI id in one spelling, or what else the driver calls it; may be empty.
    pub device: String,
    /// Facts by name.
    pub facts: Vec<(&'static str, &'a str)>,
}

impl<'a> MatchedLine<'a> {
    fn new(kind: Kind, device: impl Into<String>) -> Self {
        Self {
            kind,
            device: device.into(),
            facts: Vec::new(),
        }
    }

    fn fact(mut self, key: &'static str, value: &'a str) -> Self {
        self.facts.push((key, value));
        self
    }
}

/// The kinds of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A driver could not start a device.
    ProbeFailed,
    /// The firmware of a card does not answer.
    MlxCompromised,
    /// A card stopped for good, or until it is recovered.
    MlxFatal,
    /// The firmware reports trouble.
    MlxIssue,
    /// The firmware warns.
    MlxWarning,
    /// The card is too hot.
    MlxHot,
    /// The firmware reports something of lesser weight.
    MlxNotice,
    /// Recovery did not work.
    MlxRecoveryFailed,
    /// Recovery worked.
    MlxRecovered,
    /// A command to the firmware was not answered.
    MlxCommandTimeout,
    /// The NVIDIA driver could not bring a GPU up.
    NvidiaInitFailed,
    /// A GPU is not on the bus any more.
    NvidiaOffBus,
    /// The GPU's system processor (GSP) does not answer.
    NvidiaGspTimeout,
    /// The GPU's own firmware or its system processor did not start.
    NvidiaBootFailed,
    /// The driver's memory manager (UVM) stopped for good.
    NvidiaUvmFatal,
    /// The driver refuses work until the GPU is reset.
    NvidiaResetRequired,
    /// A GPU seems to be stuck.
    NvidiaLocked,
    /// User space speaks another version than the kernel module.
    NvidiaMismatch,
    /// Another driver has the GPU.
    NvidiaConflict,
    /// `nouveau` drives a GPU, and something of it went wrong.
    NouveauFault,
    /// A network card did not send what it was given.
    TxTimeout,
    /// A slot's link or card is gone.
    SlotLost,
    /// The power of a slot's card failed.
    SlotPower,
    /// A device did not come back after a reset or from a low-power state.
    Inaccessible,
    /// A device reached for memory that is not its own.
    IommuFault,
}

/// Reads a line.
pub fn find(line: &str) -> Option<MatchedLine<'_>> {
    if let Some(body) = line.strip_prefix("NVRM: ") {
        return nvidia::find(body);
    }
    probe(line)
        .or_else(|| mlx5::find(line))
        .or_else(|| nouveau::find(line))
        .or_else(|| netdev::find(line))
        .or_else(|| bus::find(line))
}

const DRIVERS: [&str; 3] = ["nvidia", "amdgpu", "mlx5_core"];

fn probe(line: &str) -> Option<MatchedLine<'_>> {
    let (driver, rest) = DRIVERS
        .iter()
        .find_map(|driver| Some((*driver, line.strip_prefix(driver)?)))?;
    let (device, error) = if let Some(rest) = rest.strip_prefix(": probe of ") {
        rest.split_once(" failed with error ")?
    } else {
        let (device, rest) = rest.strip_prefix(' ')?.split_once(": probe with driver ")?;
        let (named, error) = rest.split_once(" failed with error ")?;
        if named.is_empty() || named.contains(' ') {
            return None;
        }
        (device, error)
    };
    let device = bare_id(device)?;
    let found = MatchedLine::new(Kind::ProbeFailed, device);
    Some(
        found
            .fact("driver", driver)
            .fact("error", first_word(error)),
    )
}

/// The device and the rest of a line that begins `‹driver› ‹id›: `.
fn of_driver<'a>(line: &'a str, driver: &str) -> Option<(String, &'a str)> {
    let (device, rest) = line
        .strip_prefix(driver)?
        .strip_prefix(' ')?
        .split_once(": ")?;
    Some((bare_id(device)?, rest))
}

/// Whether a word can be the name of a driver, rather than the beginning of a line that has no blanks up to a name that a
/// user chose (`oom-kill:constraint=…,task=mlx5_core 0000:17:00.0 …`).
fn is_driver_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !text.is_empty() && text.bytes().all(fits)
}

/// A PCI id as these drivers write it, without `PCI:`.
fn bare_id(text: &str) -> Option<String> {
    pci_id(text).filter(|_| !text.starts_with("PCI:"))
}

/// A PCI id in one spelling, `0000:3b:00.0`: lower case, a domain of four digits (more where it needs them), with
/// function. Understands `PCI:` before it, a missing domain, domains of up to eight digits, and a missing function.
pub fn pci_id(text: &str) -> Option<String> {
    let id = text.strip_prefix("PCI:").unwrap_or(text);
    let (id, function) = id.split_once('.').unwrap_or((id, "0"));
    let mut parts = id.rsplit(':');
    let device = hexadecimal(parts.next()?, 2)?;
    let bus = hexadecimal(parts.next()?, 2)?;
    let domain = parts
        .next()
        .map_or(Some(0), |domain| hexadecimal(domain, 8))?;
    let function = hexadecimal(function, 1)?;
    if parts.next().is_some() {
        return None;
    }
    Some(format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}"))
}

fn hexadecimal(text: &str, most: usize) -> Option<u32> {
    let fits =
        (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if fits {
        u32::from_str_radix(text, 16).ok()
    } else {
        None
    }
}

fn first_word(text: &str) -> &str {
    text.split([' ', '\\']).next().unwrap_or("")
}

fn split_digits(text: &str) -> (&str, &str) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at_checked(digits).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests;
