//! Facts about the events of built-in components: what happened, and what to do about it. They are read from the
//! data files that the checkers are made from (`builtin-plugins/*/catalog/patterns.json`).

use serde::Deserialize;

use crate::builtin;

/// Facts about one component's events.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct EventFacts {
    entries: Vec<EventFact>,
}

/// Facts about one event.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct EventFact {
    name: String,
    /// What happened.
    pub means: String,
    /// What to do, most important first.
    pub actions: Vec<String>,
    /// The same in words; may be empty.
    pub advice: String,
    verdict: Option<EventVerdict>,
}

/// The part of an entry's verdict that is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
struct EventVerdict {
    /// Names of events that end it.
    #[serde(default)]
    ended_by: Vec<String>,
}

impl EventFacts {
    /// Returns the facts of a component by its name; empty if it has no such file.
    pub fn of(component: &str) -> Self {
        let builtins = builtin::all();
        let found = builtins.iter().find(|known| known.component == component);
        found
            .and_then(|builtin| serde_json::from_str(builtin.known).ok())
            .unwrap_or_default()
    }

    /// Returns the facts of an event by its name.
    pub fn event(&self, name: &str) -> Option<&EventFact> {
        self.entries.iter().find(|entry| entry.name == name)
    }
}

impl EventFact {
    /// Whether an event of this name ends one of the entry's.
    pub fn is_ended_by(&self, event: &str) -> bool {
        let mut names = self.verdict.iter().flat_map(|verdict| &verdict.ended_by);
        names.any(|name| name == event)
    }

    /// Actions and advice on one line; empty where there is nothing to do.
    pub fn to_do(&self) -> String {
        let actions = self.actions.join(", ");
        match (actions.as_str(), self.advice.as_str()) {
            ("", advice) => advice.to_owned(),
            (actions, "") => actions.to_owned(),
            (actions, advice) => format!("{actions} ({advice})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_can_be_read() {
        let mut count = 0;
        for builtin in builtin::all()
            .iter()
            .filter(|builtin| !builtin.known.is_empty())
        {
            let known = EventFacts::of(builtin.component);
            assert!(!known.entries.is_empty(), "{}", builtin.folder);
            assert!(
                known.entries.iter().all(|entry| !entry.means.is_empty()),
                "{}",
                builtin.folder
            );
            count += 1;
        }
        assert!(count >= 15, "{count} files");
    }

    #[test]
    fn an_event_is_looked_up_by_component_and_name() {
        let known = EventFacts::of("block-io");
        let entry = known.event("disk_offline").unwrap();
        assert_eq!(
            entry.to_do(),
            "REBOOT_SYSTEM (The kernel does not use the disk any more: reboot; if it is lost again, have it looked at.)"
        );
        assert_eq!(known.event("scsi_command_failed").unwrap().to_do(), "");
        assert_eq!(known.event("disk"), None);
        assert_eq!(EventFacts::of("no-such-component"), EventFacts::default());
    }
}
