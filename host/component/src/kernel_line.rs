//! Joins events to the kernel lines that they were drawn from.

use std::{collections::HashMap, sync::Arc};

use crate::{
    model::{Event, Evidence},
    node::kmsg::KernelMessage,
};

/// Longest part of a kernel line that is stored with an event.
const MAX_LINE: usize = 512;

/// Adds to each event the line of the first kernel record that it names as evidence, if that is among the messages.
pub(super) fn attach(events: &mut [Event], messages: &[Arc<KernelMessage>]) {
    let lines = messages
        .iter()
        .map(|message| (message.sequence, message.text.as_str()));
    let lines: HashMap<u64, &str> = lines.collect();
    for event in events {
        let sequence = event.evidence.iter().find_map(|evidence| match evidence {
            Evidence::Kmsg(sequence) => Some(sequence),
            _ => None,
        });
        let line = sequence.and_then(|sequence| lines.get(sequence));
        event.kernel_line = line.map(|line| {
            let end = line.floor_char_boundary(MAX_LINE);
            line.get(..end).unwrap_or_default().to_owned()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_the_line_of_its_first_record() {
        let message = |sequence, text: &str| {
            Arc::new(KernelMessage {
                sequence,
                time: 1,
                monotonic_micros: 1,
                level: 3,
                facility: 0,
                text: text.to_owned(),
                dictionary: Vec::new(),
                fragment: false,
            })
        };
        let long = format!("x{}", "é".repeat(MAX_LINE));
        let messages = [message(7, "NVRM: Xid"), message(8, &long)];
        let event = |evidence: Vec<Evidence>| Event {
            evidence,
            ..Event::default()
        };
        let file = || Evidence::File("/proc/x".to_owned());
        let mut events = [
            event(vec![file(), Evidence::Kmsg(7), Evidence::Kmsg(8)]),
            event(vec![Evidence::Kmsg(8)]),
            event(vec![Evidence::Kmsg(9)]),
            event(vec![file()]),
        ];
        attach(&mut events, &messages);
        let lines: Vec<Option<&str>> = events
            .iter()
            .map(|event| event.kernel_line.as_deref())
            .collect();
        assert_eq!(lines[0], Some("NVRM: Xid"));
        assert_eq!(lines[1].unwrap().len(), MAX_LINE - 1);
        assert_eq!(lines[2..], [None, None]);
    }
}
