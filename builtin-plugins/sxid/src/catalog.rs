//! What is known of each SXid: a short text, how serious it is, and what to do.

use gpud_sdk::EventType;

use crate::catalog_data::CODES;

/// What an operator should do, as a word of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Reboot the machine.
    Reboot,
    /// Have the hardware looked at.
    Inspect,
}

impl Action {
    /// The wire's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reboot => "REBOOT_SYSTEM",
            Self::Inspect => "HARDWARE_INSPECTION",
        }
    }
}

/// How serious an error is. The catalogue alone decides: the driver's own word (`Fatal`, `Non-fatal`) says what it means
/// for one link, not for the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Worth a look.
    Warning,
    /// The switch cannot go on.
    Fatal,
}

impl Severity {
    /// As an event type.
    pub fn event_type(self) -> EventType {
        match self {
            Self::Warning => EventType::Warning,
            Self::Fatal => EventType::Fatal,
        }
    }
}

/// One code.
#[derive(Debug)]
pub struct Code {
    /// The SXid.
    pub code: u32,
    /// Short text; several codes share one.
    pub name: &'static str,
    /// How serious.
    pub severity: Severity,
    /// What to do, most important first; may be empty.
    pub actions: &'static [Action],
}

/// The entry of a code.
pub fn code(code: u32) -> Option<&'static Code> {
    CODES
        .binary_search_by_key(&code, |known| known.code)
        .ok()
        .and_then(|at| CODES.get(at))
}

#[cfg(test)]
mod tests;
