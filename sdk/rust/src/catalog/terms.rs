//! The words of catalogues: how serious something is, and what to do about it.

use crate::{EventType, RepairAction};

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

    /// Returns the word of the API.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ignore => "IGNORE_NO_ACTION_REQUIRED",
            Self::Reboot => "REBOOT_SYSTEM",
            Self::Inspect => "HARDWARE_INSPECTION",
            Self::CheckApp => "CHECK_USER_APP_AND_GPU",
        }
    }

    /// Returns the action of a word of the API.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.word() == word)
    }
}

/// Returns what a state suggests for a word of the API; a word of another version is passed on.
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
    /// Returns the event type.
    pub fn event_type(self) -> EventType {
        match self {
            Self::Unknown => EventType::Unknown,
            Self::Info => EventType::Info,
            Self::Warning => EventType::Warning,
            Self::Critical => EventType::Critical,
            Self::Fatal => EventType::Fatal,
        }
    }

    /// Returns the severity of a stored event; `None` when it has no type.
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
}
