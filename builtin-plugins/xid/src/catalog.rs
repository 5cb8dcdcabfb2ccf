//! What is known of each Xid: NVIDIA's name, a short text, how serious it is, and what to do.

use gpud_sdk::EventType;

use crate::catalog_data::{CODES, MNEMONICS, RULES, STATUSES, SUB_CODES};

/// What an operator should do, as a word of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Ignore,
    /// Reboot the machine.
    Reboot,
    /// Have the hardware looked at.
    Inspect,
    /// Check the user's application and the GPU that it used.
    CheckApp,
}

impl Action {
    /// The wire's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ignore => "IGNORE_NO_ACTION_REQUIRED",
            Self::Reboot => "REBOOT_SYSTEM",
            Self::Inspect => "HARDWARE_INSPECTION",
            Self::CheckApp => "CHECK_USER_APP_AND_GPU",
        }
    }
}

/// How serious an error is, least first. The catalogue has no `Critical`; rows stored by other versions may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Not known.
    Unknown,
    /// For the record.
    Info,
    /// Worth a look.
    Warning,
    /// Harms work.
    Critical,
    /// The GPU cannot go on.
    Fatal,
}

impl Severity {
    /// As an event type.
    pub fn event_type(self) -> EventType {
        match self {
            Self::Unknown => EventType::Unknown,
            Self::Info => EventType::Info,
            Self::Warning => EventType::Warning,
            Self::Critical => EventType::Critical,
            Self::Fatal => EventType::Fatal,
        }
    }

    /// Of a stored event; `None` when the row has no type.
    pub fn of(event_type: &EventType) -> Option<Self> {
        match event_type {
            EventType::Info => Some(Self::Info),
            EventType::Warning => Some(Self::Warning),
            EventType::Critical => Some(Self::Critical),
            EventType::Fatal => Some(Self::Fatal),
            EventType::Other(word) if word.is_empty() => None,
            EventType::Unknown | EventType::Other(_) => Some(Self::Unknown),
        }
    }
}

/// Text, severity and actions of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Short text; may be empty.
    pub label: &'static str,
    /// How serious.
    pub severity: Severity,
    /// What to do, most important first; may be empty.
    pub actions: &'static [Action],
}

/// One code.
#[derive(Debug)]
pub struct Code {
    /// The Xid.
    pub code: u32,
    /// NVIDIA's name, where one is known.
    pub mnemonic: Option<&'static str>,
    /// What is known of it.
    pub entry: Entry,
}

/// Bits of a word that must have given values.
#[derive(Debug)]
pub struct Bits {
    /// Which bits count.
    pub mask: u32,
    /// Their values.
    pub value: u32,
}

impl Bits {
    fn fit(&self, word: u32) -> bool {
        word & self.mask == self.value
    }
}

/// A rule for NVLink errors (codes 144 to 150): NVIDIA's table of Xids of NVLink 5.
#[derive(Debug)]
pub struct Rule {
    /// The Xid.
    pub xid: u32,
    /// Names of the unit that reports, any of them, in upper case without anything but letters, digits, underscores.
    pub units: &'static [&'static str],
    /// Error status, the log's second word.
    pub status: u32,
    /// Pattern of the log's first word up to driver generation 1.
    pub v1: Bits,
    /// Pattern of the log's first word from driver generation 2 on.
    pub v2: Bits,
    /// How serious.
    pub severity: Severity,
    /// What to do; one action.
    pub action: &'static [Action],
    /// NVIDIA's word for where to look; may be empty.
    pub hint: &'static str,
}

impl Rule {
    fn names(&self, unit: &str) -> bool {
        let spelled = || {
            unit.bytes()
                .filter(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        };
        self.units.iter().any(|name| name.bytes().eq(spelled()))
    }
}

/// What is known of a sub-code of an NVLink error.
#[derive(Debug)]
pub struct SubCodeEntry {
    /// The Xid.
    pub xid: u32,
    /// Sub-code.
    pub sub_code: u32,
    /// What is known of it.
    pub entry: Entry,
}

/// What is known of a sub-code of an NVLink error together with an error status.
#[derive(Debug)]
pub struct StatusEntry {
    /// The Xid.
    pub xid: u32,
    /// Sub-code.
    pub sub_code: u32,
    /// Error status.
    pub status: u32,
    /// What is known of it.
    pub entry: Entry,
}

/// The entry of a code.
pub fn code(code: u32) -> Option<&'static Code> {
    CODES
        .binary_search_by_key(&code, |known| known.code)
        .ok()
        .and_then(|at| CODES.get(at))
}

/// NVIDIA's name of a code, also of codes without an entry.
pub fn mnemonic(number: u32) -> Option<&'static str> {
    code(number).and_then(|known| known.mnemonic).or_else(|| {
        MNEMONICS
            .iter()
            .find(|(code, _)| *code == number)
            .map(|(_, mnemonic)| *mnemonic)
    })
}

/// True for the codes whose errors are told apart by sub-code and error status.
pub fn is_nvlink(code: u32) -> bool {
    (144..=150).contains(&code)
}

/// What is known of (code, sub-code, status), whichever unit reported it: of all three, else of (code, sub-code), else
/// of (code, 0), else of the code.
pub fn known(number: u32, sub_code: u32, status: u32) -> Option<Entry> {
    let by_status = || {
        STATUSES
            .iter()
            .find(|e| e.xid == number && e.sub_code == sub_code && e.status == status)
            .map(|e| e.entry)
    };
    let by_sub_code = |sub_code: u32| {
        SUB_CODES
            .iter()
            .find(|e| e.xid == number && e.sub_code == sub_code)
            .map(|e| e.entry)
    };
    let found = if is_nvlink(number) {
        by_status()
            .or_else(|| by_sub_code(sub_code))
            .or_else(|| by_sub_code(0))
    } else {
        None
    };
    found.or_else(|| code(number).map(|base| base.entry))
}

/// The first rule for an error as the log has it: `intrinfo` is its first word, `status` its second.
pub fn rule(xid: u32, unit: &str, intrinfo: u32, status: u32) -> Option<&'static Rule> {
    RULES.iter().find(|rule| {
        rule.xid == xid
            && rule.status == status
            && (rule.v2.fit(intrinfo) || rule.v1.fit(intrinfo))
            && rule.names(unit)
    })
}

#[cfg(test)]
mod tests;
