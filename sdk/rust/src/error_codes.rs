//! Errors that a driver reports with a number (Xids of GPUs, SXids of NVSwitches): how serious, what to do, and the
//! verdict on a history of them ([`timeline`]), by the catalogue and by the site's own policy ([`codes`](crate::policy::codes)).

pub mod config;
pub mod repeats;
pub mod timeline;
pub mod vendor;

use std::fmt::{self, Display};

use gpud_sdk::{EventType, RepairAction};

/// An operator's action, as a word of a catalogue.
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
    /// All.
    pub const ALL: [Self; 4] = [Self::Ignore, Self::Reboot, Self::Inspect, Self::CheckApp];

    /// The wire's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ignore => "IGNORE_NO_ACTION_REQUIRED",
            Self::Reboot => "REBOOT_SYSTEM",
            Self::Inspect => "HARDWARE_INSPECTION",
            Self::CheckApp => "CHECK_USER_APP_AND_GPU",
        }
    }

    /// From the wire's word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.word() == word)
    }
}

/// From the wire's word to what a state suggests; a word of another version is passed on.
pub fn repair_action(word: &str) -> RepairAction {
    match Action::of(word) {
        Some(Action::Ignore) => RepairAction::IgnoreNoActionRequired,
        Some(Action::Reboot) => RepairAction::RebootSystem,
        Some(Action::Inspect) => RepairAction::HardwareInspection,
        Some(Action::CheckApp) => RepairAction::CheckUserAppAndGpu,
        None => RepairAction::Other(word.to_owned()),
    }
}

/// How serious an error is, least first. GPUd's catalogues have no `Critical`; the vendor's view, rows of other versions and
/// policies may.
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
    /// The device cannot go on.
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

/// Which error, as exactly as a catalogue tells them apart. The order is that of a list for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Its number.
    pub code: u32,
    /// Its sub-code, where the code has such.
    pub sub_code: Option<u32>,
    /// Its error status, where the code has such.
    pub status: Option<u32>,
}

impl Key {
    /// A code that has no parts, or all of its parts.
    pub const fn of(code: u32) -> Self {
        Self {
            code,
            sub_code: None,
            status: None,
        }
    }

    /// Itself and what it is a part of, the most exact first.
    pub fn widening(self) -> impl Iterator<Item = Self> {
        let Self { code, sub_code, .. } = self;
        let without_status = Self {
            status: None,
            ..self
        };
        [
            self.status.map(|_| self),
            sub_code.map(|_| without_status),
            Some(Self::of(code)),
        ]
        .into_iter()
        .flatten()
    }
}

/// As reasons have it: `79`, `145.3`, `145.3 (err status 0x00000004)`.
impl Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if let Some(sub_code) = self.sub_code {
            write!(f, ".{sub_code}")?;
        }
        if let Some(status) = self.status {
            write!(f, " (err status 0x{status:08x})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_actions() {
        for action in Action::ALL {
            assert_eq!(Action::of(action.word()), Some(action));
        }
        assert_eq!(Action::of("reboot_system"), None);
        for (word, action) in [
            (
                "IGNORE_NO_ACTION_REQUIRED",
                RepairAction::IgnoreNoActionRequired,
            ),
            ("REBOOT_SYSTEM", RepairAction::RebootSystem),
            ("HARDWARE_INSPECTION", RepairAction::HardwareInspection),
            ("CHECK_USER_APP_AND_GPU", RepairAction::CheckUserAppAndGpu),
            ("X", RepairAction::Other("X".into())),
        ] {
            assert_eq!(repair_action(word), action);
        }
    }

    #[test]
    fn severities_and_event_types() {
        for severity in [
            Severity::Unknown,
            Severity::Info,
            Severity::Warning,
            Severity::Critical,
            Severity::Fatal,
        ] {
            assert_eq!(Severity::of(&severity.event_type()), Some(severity));
        }
        let other = |word: &str| Severity::of(&EventType::Other(word.into()));
        assert_eq!((other(""), other("Odd")), (None, Some(Severity::Unknown)));
    }

    #[test]
    fn keys_from_the_most_to_the_least_exact() {
        let exact = Key {
            code: 145,
            sub_code: Some(3),
            status: Some(4),
        };
        let texts = |key: Key| {
            key.widening()
                .map(|key| key.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            texts(exact),
            ["145.3 (err status 0x00000004)", "145.3", "145"]
        );
        assert_eq!(texts(Key::of(79)), ["79"]);
    }
}
