//! Kernel lines that need no other line for their meaning.
//!
//! | line | source |
//! |---|---|
//! | `mce: [Hardware Error]: CPU 5: Machine Check: 0 Bank 7: 8c00004000010090` | `arch/x86/kernel/cpu/mce/core.c`, `__print_mce` (with ` Exception` when the machine check interrupted the processor) |
//! | `mce: [Hardware Error]: Machine check: Processor context corrupt` | the same, `mce_panic` |
//! | `[Hardware Error]: CPU:0 (19:11:1) MC17_STATUS[Over\|CE\|…]: 0x9c2040000000011b` | `drivers/edac/mce_amd.c`, `amd_decode_mce` |
//! | `mce: CMCI storm detected: switching to poll mode` | `arch/x86/kernel/cpu/mce/intel.c`, `cmci_storm_detect` and `cmci_intel_adjust_timer` (older kernels) |
//! | `CPU3 BANK7 CMCI storm detected` | `arch/x86/kernel/cpu/mce/threshold.c`, `mce_track_storm` (newer ones) |
//! | `Memory failure: 0x17c08a: recovery action for dirty LRU page: Recovered` | `mm/memory-failure.c`, `action_result` |
//! | `RAS: Soft-offlining pfn: 0x17c08ac` | `drivers/ras/cec.c`, `cec_add_elem` |
//!
//! Records of the firmware take several lines: [`crate::firmware`].

pub use crate::patterns::PATTERNS;

/// The severity that a machine check has in its own record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The hardware corrected it.
    Corrected,
    /// AMD: data is bad and marked so, but was not used yet.
    Deferred,
    /// Data is lost; the processor itself can go on.
    Uncorrected,
    /// The processor's state is corrupt.
    Fatal,
}

impl Severity {
    /// The word in names and messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Corrected => "corrected",
            Self::Deferred => "deferred",
            Self::Uncorrected => "uncorrected",
            Self::Fatal => "fatal",
        }
    }
}

/// One machine check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    /// Logical processor.
    pub cpu: u32,
    /// Bank of machine-check registers.
    pub bank: u32,
    /// Its status register (`MCi_STATUS`).
    pub status: u64,
    /// The processor was interrupted, so the error is new; else it was found by polling.
    pub exception: bool,
    /// Decoded by AMD's driver: bit 44 then means a deferred error (Intel counts in it).
    pub amd: bool,
}

impl Check {
    /// From the status bits 61 (UC), 57 (PCC) and 44 (AMD: deferred); `arch/x86/include/asm/mce.h`.
    pub fn severity(&self) -> Severity {
        let bit = |number: u32| self.status >> number & 1 == 1;
        match (bit(61), bit(57)) {
            (true, true) => Severity::Fatal,
            (true, false) => Severity::Uncorrected,
            (false, _) if self.amd && bit(44) => Severity::Deferred,
            (false, _) => Severity::Corrected,
        }
    }

    /// What the error code (bits 0 to 15) says, in the groups of Intel's manual, volume 3, "Interpreting the MCA error
    /// codes"; AMD's codes of before SMCA fall into the same.
    pub fn kind(&self) -> &'static str {
        let code = self.status & 0xefff; // bit 12 only tells of filtering
        match code {
            0x0005 => "internal parity",
            0x0400 => "internal timer",
            _ if code & 0xe800 == 0x0800 => "bus or interconnect",
            _ if code & 0xef80 == 0x0080 => "memory controller",
            _ if code & 0xef00 == 0x0100 || code & 0xeffc == 0x000c => "cache",
            _ if code & 0xeff0 == 0x0010 => "TLB",
            _ => "internal or unclassified",
        }
    }
}

/// The content of a kernel line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding<'a> {
    /// A machine check.
    Check(Check),
    /// Why the kernel stops after a machine check.
    Panic(&'a str),
    /// Corrected errors come so fast that the kernel polls for them now, or no more so.
    Storm {
        /// CPU and bank; older kernels do not say.
        place: Option<(u32, u32)>,
        /// It is over.
        over: bool,
    },
    /// A page with lost data was dealt with.
    PoisonedPage {
        /// Page frame number, hexadecimal.
        frame: &'a str,
        /// What the page was.
        page: &'a str,
        /// `Recovered`, `Delayed`, `Ignored` or `Failed`.
        outcome: &'a str,
    },
    /// A page with many corrected errors is taken out of use.
    SoftOfflined {
        /// Page frame number, hexadecimal.
        frame: &'a str,
    },
}

const MARK: &str = "[Hardware Error]: ";

/// What a line tells, if it is one of ours.
pub fn find(line: &str) -> Option<Finding<'_>> {
    if let Some(rest) = line.strip_prefix("Memory failure: ") {
        return poisoned_page(rest);
    }
    if let Some(frame) = line.strip_prefix("RAS: Soft-offlining pfn: ") {
        return is_hex(frame.strip_prefix("0x")?).then_some(Finding::SoftOfflined { frame });
    }
    let line = line.strip_prefix("mce: ").unwrap_or(line);
    let Some(rest) = line.strip_prefix(MARK) else {
        return storm(line);
    };
    if let Some(why) = rest.strip_prefix("Machine check: ") {
        return (!why.is_empty()).then_some(Finding::Panic(why));
    }
    check(rest).or_else(|| amd_check(rest)).map(Finding::Check)
}

/// `CPU 5: Machine Check Exception: 5 Bank 4: b200000000070005`
fn check(text: &str) -> Option<Check> {
    let (cpu, rest) = number(text.strip_prefix("CPU ")?)?;
    let rest = rest.strip_prefix(": Machine Check")?;
    let after = rest.strip_prefix(" Exception");
    let exception = after.is_some();
    let (global, rest) = after.unwrap_or(rest).strip_prefix(": ")?.split_once(' ')?;
    let (bank, rest) = number(rest.strip_prefix("Bank ")?)?;
    let status = register(rest.strip_prefix(": ")?)?;
    is_hex(global).then_some(Check {
        cpu,
        bank,
        status,
        exception,
        amd: false,
    })
}

/// `CPU:0 (19:11:1) MC17_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]: 0x9c2040000000011b`
fn amd_check(text: &str) -> Option<Check> {
    let (cpu, rest) = number(text.strip_prefix("CPU:")?)?;
    let (model, rest) = rest.strip_prefix(" (")?.split_once(") MC")?;
    let (bank, rest) = number(rest)?;
    let (flags, status) = rest.strip_prefix("_STATUS[")?.split_once("]: 0x")?;
    let status = register(status)?;
    let is_model = model.split(':').count() == 3 && model.split(':').all(is_hex);
    // The line does not tell whether the processor was interrupted.
    (is_model && !flags.contains(']')).then_some(Check {
        cpu,
        bank,
        status,
        exception: false,
        amd: true,
    })
}

fn storm(text: &str) -> Option<Finding<'_>> {
    let over = |word: &str| match word {
        "detected" => Some(false),
        "subsided" => Some(true),
        _ => None,
    };
    if let Some(rest) = text.strip_prefix("CMCI storm ") {
        let (word, rest) = rest.split_once(": switching to ")?;
        let over = over(word)?;
        let mode = if over { "interrupt mode" } else { "poll mode" };
        return (rest == mode).then_some(Finding::Storm { place: None, over });
    }
    let (cpu, rest) = number(text.strip_prefix("CPU")?)?;
    let (bank, rest) = number(rest.strip_prefix(" BANK")?)?;
    let over = over(rest.strip_prefix(" CMCI storm ")?)?;
    let place = Some((cpu, bank));
    Some(Finding::Storm { place, over })
}

fn poisoned_page(text: &str) -> Option<Finding<'_>> {
    // Before 6.x in these words, later as `recovery action for already poisoned page: Failed`.
    if let Some(frame) = text.strip_suffix(": already hardware poisoned") {
        return frame
            .strip_prefix("0x")
            .is_some_and(is_hex)
            .then_some(Finding::PoisonedPage {
                frame,
                page: "already poisoned page",
                outcome: "Failed",
            });
    }
    let (frame, rest) = text.split_once(": recovery action for ")?;
    let (page, outcome) = rest.rsplit_once(": ")?;
    let known = ["Recovered", "Delayed", "Ignored", "Failed"].contains(&outcome);
    let is_frame = frame.strip_prefix("0x").is_some_and(is_hex);
    (known && is_frame && !page.is_empty()).then_some(Finding::PoisonedPage {
        frame,
        page,
        outcome,
    })
}

/// A decimal number that fits, and what follows it.
fn number(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, rest))
}

/// A register of 64 bits: exactly 16 hexadecimal digits.
fn register(text: &str) -> Option<u64> {
    let whole = text.len() == 16 && is_hex(text);
    whole.then(|| u64::from_str_radix(text, 16).ok()).flatten()
}

fn is_hex(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}

#[cfg(test)]
mod tests;
