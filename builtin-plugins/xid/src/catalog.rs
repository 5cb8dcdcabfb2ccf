//! The known facts about each Xid: NVIDIA's name, a short text, how serious it is, and what to do.

pub use gpud_builtin_shared::vendor::VendorAction;
pub use gpud_sdk::catalog::{Action, Severity};
use gpud_sdk::error_codes::Key;

use crate::catalog_data::{CODES, GPUD, MNEMONICS, RULES, STATUSES, SUB_CODES, VENDOR};

/// Highest code that is taken for an Xid. NVIDIA has used up to 176 so far; what is far beyond is not one.
pub const MAX_CODE: u32 = 999;

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
    /// The known facts about it.
    pub entry: Entry,
}

/// NVIDIA's view of a code.
#[derive(Debug)]
pub struct Vendor {
    /// The Xid.
    pub code: u32,
    /// NVIDIA's present name; may be empty.
    pub mnemonic: &'static str,
    /// What the code means, where GPUd's text is an old one; usually empty.
    pub means: &'static str,
    /// What to do at once, where NVIDIA says so.
    pub immediate: Option<VendorAction>,
    /// NVIDIA's word for what to do next; may be empty.
    pub investigate: &'static str,
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
    /// NVIDIA's own action.
    pub vendor: VendorAction,
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

/// The known facts about a sub-code of an NVLink error.
#[derive(Debug)]
pub struct SubCodeEntry {
    /// The Xid.
    pub xid: u32,
    /// Sub-code.
    pub sub_code: u32,
    /// The known facts about it.
    pub entry: Entry,
}

/// The known facts about a sub-code of an NVLink error together with an error status.
#[derive(Debug)]
pub struct StatusEntry {
    /// The Xid.
    pub xid: u32,
    /// Sub-code.
    pub sub_code: u32,
    /// Error status.
    pub status: u32,
    /// The known facts about it.
    pub entry: Entry,
}

/// The entry of a code.
pub fn code(code: u32) -> Option<&'static Code> {
    CODES
        .binary_search_by_key(&code, |known| known.code)
        .ok()
        .and_then(|at| CODES.get(at))
}

/// NVIDIA's view of a code, where it lists the code.
pub fn vendor(code: u32) -> Option<&'static Vendor> {
    VENDOR
        .binary_search_by_key(&code, |known| known.code)
        .ok()
        .and_then(|at| VENDOR.get(at))
}

/// GPUd's verdict of a code in words, where the default is another.
pub fn gpud_verdict(code: u32) -> Option<&'static str> {
    let mut verdicts = GPUD.iter();
    verdicts
        .find(|(known, _)| *known == code)
        .map(|(_, words)| *words)
}

/// True for a code that GPUd or NVIDIA knows.
pub fn is_known(number: u32) -> bool {
    code(number).is_some() || vendor(number).is_some()
}

/// NVIDIA's action for an NVLink error without a rule, by unit, severity and error status.
pub fn nvlink_action(code: u32, unit: &str, fatal: bool, status: u32) -> VendorAction {
    let starts = |begin: &str| unit.starts_with(begin);
    match code {
        147 | 148 => VendorAction::Ignore,
        150 => VendorAction::ResetGpu,
        149 if starts("NETIR_BER_EVENT") => VendorAction::Ignore,
        149 if ["NETIR_INT", "NETIR_LINK_DOWN", "NETIR_MFDE"]
            .iter()
            .any(|unit| starts(unit)) =>
        {
            VendorAction::ResetGpu
        }
        145 if starts("RLW_REMAP") || (starts("RLW_SRC_TRACK") && matches!(status, 4 | 8)) => {
            VendorAction::Xid154
        }
        145 if fatal => VendorAction::ResetGpu,
        146 if status == 4 => VendorAction::ResetGpu,
        144 if matches!(status, 0x2 | 0x10) => VendorAction::ResetGpu,
        _ => VendorAction::WorkflowNvlink5,
    }
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

/// True for the codes whose errors are distinguished by sub-code and error status.
pub fn is_nvlink(code: u32) -> bool {
    (144..=150).contains(&code)
}

/// The known facts about (code, sub-code, status), whichever unit reported it: of all three, else of (code, sub-code),
/// else of (code, 0), else of the code.
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

/// Most that the sub-code's six bits can say.
const MAX_SUB_CODE: u32 = 0x3f;

/// The error as exactly as a policy can name it.
pub fn key(code: u32, sub_code: u32, status: u32) -> Key {
    if is_nvlink(code) {
        Key {
            code,
            sub_code: Some(sub_code),
            status: Some(status),
        }
    } else {
        Key::of(code)
    }
}

/// True for the errors that a line can have.
pub fn can_be(key: &Key) -> bool {
    let has_parts = key.sub_code.is_some() || key.status.is_some();
    (1..=MAX_CODE).contains(&key.code)
        && (!has_parts || is_nvlink(key.code))
        && key.sub_code.is_none_or(|sub_code| sub_code <= MAX_SUB_CODE)
}

/// True for the errors that the catalogue names.
pub fn lists(key: &Key) -> bool {
    let number = key.code;
    match (key.sub_code, key.status) {
        (None, None) => code(number).is_some() || mnemonic(number).is_some(),
        (Some(sub_code), None) => SUB_CODES
            .iter()
            .any(|e| e.xid == number && e.sub_code == sub_code),
        (sub_code, Some(status)) => STATUSES
            .iter()
            .any(|e| e.xid == number && Some(e.sub_code) == sub_code && e.status == status),
    }
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
