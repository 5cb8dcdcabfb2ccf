//! What an event means and what to do about it, as `gpud explain` says it of a kernel line.

use serde::{Deserialize, Serialize};

use super::{
    Fact, actions, causes, error_facts,
    facts::{differing_catalog, value},
    xids::Code,
};
use crate::model::{Event, RepairAction};

/// What the catalogue of a component says of an event by its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CatalogEntry {
    /// What happened.
    pub means: String,
    /// Words of the API for what to do, most important first.
    pub actions: Vec<String>,
    /// The same in words; may be empty.
    pub advice: String,
}

/// What is known of an event beyond its message. What is not known is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Explanation {
    /// The line of the kernel log that it was drawn from.
    pub kernel_line: String,
    /// What it means.
    pub meaning: String,
    /// Likely causes.
    pub likely_causes: Vec<String>,
    /// What to do, most important first, as a person would say it.
    pub actions: Vec<String>,
    /// What to do, in more words.
    pub advice: String,
    /// What else is known: device, process, both catalogues' views.
    pub facts: Vec<Fact>,
    /// Where it is described.
    pub reference: String,
}

impl Explanation {
    /// Explains an event of a component by its own facts and by the component's catalogue.
    pub fn of(component: &str, event: &Event, known: Option<CatalogEntry>) -> Self {
        let mut explained = Self {
            kernel_line: event.kernel_line.clone().unwrap_or_default(),
            facts: error_facts(&event.extra_info),
            ..Self::default()
        };
        if let Some(used) = differing_catalog(&event.extra_info) {
            explained.facts.push(Fact {
                name: "the two views differ".to_owned(),
                value: format!("{used} is used"),
            });
        }
        if matches!(component, causes::XID | causes::SXID)
            && let Some(code) = Code::read(&event.message)
        {
            let number = i64::from(code.number());
            let causes = causes::of(component, number).into_iter();
            explained.likely_causes = causes.map(str::to_owned).collect();
            explained.actions = in_words(action(event).into_iter());
            causes::reference(component).clone_into(&mut explained.reference);
            explained.meaning = match value(&event.extra_info, "vendor_means") {
                Some(means) => means.to_owned(),
                None => code.phrase(),
            };
        }
        if let Some(known) = known {
            explained.meaning = known.means;
            explained.actions = in_words(known.actions.iter().map(String::as_str));
            explained.advice = known.advice;
        }
        explained
    }
}

/// The action of the catalogue that is used for an error with a number.
fn action(event: &Event) -> Option<&str> {
    let verdict = match value(&event.extra_info, "xid_catalog") {
        Some("nvidia") => value(&event.extra_info, "nvidia_verdict"),
        _ => value(&event.extra_info, "gpud_verdict"),
    };
    let (_, action) = verdict?.split_once(", ")?;
    (action != "no action").then_some(action)
}

fn in_words<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    words
        .filter_map(|word| actions::phrase(&RepairAction::from(word)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xid(pairs: &[(&str, &str)]) -> Event {
        let pairs = pairs.iter();
        Event {
            name: "error_xid".to_owned(),
            message: "XID 79 ROBUST_X GPU has fallen off the bus detected on GPU PCI:0000:4b:00"
                .to_owned(),
            kernel_line: Some("NVRM: Xid (PCI:0000:4b:00): 79, x".to_owned()),
            extra_info: pairs
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            ..Event::default()
        }
    }

    #[test]
    fn an_error_with_a_number_has_causes_and_an_action() {
        let views = [
            ("xid_catalog", "gpud"),
            ("gpud_verdict", "Fatal, REBOOT_SYSTEM"),
            ("nvidia_verdict", "Warning, no action"),
            ("verdicts_differ", "true"),
        ];
        let found = Explanation::of(causes::XID, &xid(&views), None);
        assert_eq!(found.kernel_line, "NVRM: Xid (PCI:0000:4b:00): 79, x");
        assert_eq!(found.meaning, "fell off the bus: Xid 79");
        assert_eq!(found.likely_causes.len(), 5);
        assert_eq!(found.actions, ["Reboot the node"]);
        assert!(found.reference.starts_with("https://docs.nvidia.com/"));
        let last = found.facts.last().map(|fact| fact.value.as_str());
        assert_eq!(last, Some("gpud is used"));
        let nvidia = [
            &views[1..3],
            &[("xid_catalog", "nvidia"), ("vendor_means", "gone")],
        ]
        .concat();
        let found = Explanation::of(causes::XID, &xid(&nvidia), None);
        assert_eq!(found.meaning, "gone");
        assert!(found.actions.is_empty());
        // Another component that quotes the line has no catalogue of codes.
        let found = Explanation::of("my-plugin", &xid(&[]), None);
        assert!(found.meaning.is_empty() && found.likely_causes.is_empty());
    }

    #[test]
    fn other_events_are_explained_by_their_catalogue() {
        let known = CatalogEntry {
            means: "the disk is gone".to_owned(),
            actions: vec!["REBOOT_SYSTEM".to_owned(), "REPLACE_DISK".to_owned()],
            advice: "Reboot; if it is lost again, replace it.".to_owned(),
        };
        let event = Event {
            name: "disk_offline".to_owned(),
            ..Event::default()
        };
        let found = Explanation::of("block-io", &event, Some(known));
        assert_eq!(found.meaning, "the disk is gone");
        assert_eq!(found.actions, ["Reboot the node", "Replace disk"]);
        assert_eq!(found.advice, "Reboot; if it is lost again, replace it.");
        assert!(found.kernel_line.is_empty() && found.facts.is_empty());
        assert_eq!(
            Explanation::of("block-io", &event, None),
            Explanation::default()
        );
    }
}
