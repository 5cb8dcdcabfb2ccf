//! The memory size of a record, by which queues are bounded.

use crate::{Finding, Record, Subject};

/// Bytes that the allocator takes for a text beside its letters: a header, and what is rounded up.
const TEXT: usize = 32;
/// Bytes of an entry of a map beside its texts: about half of the places in its nodes are used.
const ENTRY: usize = 4 * size_of::<String>();
/// Bytes of a record's counters of references, and of its place in a queue.
const PLACE: usize = 32;

impl Record {
    /// Returns about how many bytes of memory it takes, rather too many than too few.
    pub fn weight(&self) -> usize {
        let node = text(&self.node.hostname) + text(&self.node.machine_id);
        let subject = self.subject.as_ref().map_or(0, of_subject);
        size_of::<Self>() + PLACE + node + subject + of_finding(&self.finding)
    }
}

fn text(text: &str) -> usize {
    text.len() + TEXT
}

fn of_finding(finding: &Finding) -> usize {
    match finding {
        Finding::Health(change) => {
            let actions = change.suggested_actions.iter();
            let actions = actions.map(|action| text(action) + size_of::<String>());
            text(&change.component)
                + text(&change.name)
                + text(&change.reason)
                + text(change.from.as_str())
                + text(change.to.as_str())
                + actions.sum::<usize>()
        }
        Finding::Event(event) => {
            let extra = event.extra_info.iter();
            let extra = extra.map(|(key, value)| text(key) + text(value) + ENTRY);
            text(&event.component) + text(&event.name) + text(&event.message) + extra.sum::<usize>()
        }
    }
}

fn of_subject(subject: &Subject) -> usize {
    match subject {
        Subject::Node => 0,
        Subject::Gpu {
            uuid, serial, pci, ..
        } => {
            let known = [uuid, serial, pci].into_iter().flatten();
            known.map(|one| text(one)).sum()
        }
        Subject::Port { device: name, .. }
        | Subject::Disk { name }
        | Subject::Mount { path: name }
        | Subject::Unit { name } => text(name),
        Subject::Other { what, id } => text(what) + text(id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NodeEvent, Severity, worker::tests::record};

    #[test]
    fn many_small_facts_weigh_what_the_allocator_takes_for_them() {
        let mut with_facts = record(0);
        let facts = (0..16).map(|number| (format!("key-{number}"), "x".to_owned()));
        with_facts.finding = Finding::Event(NodeEvent {
            component: String::new(),
            name: String::new(),
            severity: Severity::Info,
            message: String::new(),
            extra_info: facts.collect(),
        });
        // Two texts of at least 32 bytes, and two places in a node that is half full.
        let least = 16 * (2 * 32 + 4 * size_of::<String>());
        assert!(with_facts.weight() >= size_of::<Record>() + least);
    }

    #[test]
    fn texts_of_the_subject_count() {
        let plain = record(0);
        let mut about_a_mount = plain.clone();
        about_a_mount.subject = Some(Subject::Mount {
            path: "x".repeat(4096),
        });
        assert!(about_a_mount.weight() >= plain.weight() + 4096);
    }
}
