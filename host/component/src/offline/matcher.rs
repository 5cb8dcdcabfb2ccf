//! Selects the messages of a log that components watch, and recognises those that repeat others.

use super::{Component, Services, shape::LineShapes};
use crate::{
    capture::{Select, Selection},
    node::kmsg::{KernelMessage, Prefilter, WatcherId},
};

/// Messages of one shape that are handed over one by one: more than any checker's threshold.
const SINGLES: u32 = 32;
/// The same for messages that mean something only together with others.
const SINGLES_OF_SEQUENCES: u32 = 2048;
/// Components that draw one event from several messages.
const SEQUENCES: [&str; 4] = ["kernel-stalls", "machine-check", "memory", "os"];

/// The components whose patterns match a message, by their indices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedComponents(Box<[u16]>);

impl MatchedComponents {
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|place| usize::from(*place))
    }
}

/// Matches messages against the patterns of all components.
#[derive(Debug)]
pub struct Matcher {
    prefilter: Prefilter,
    shapes: LineShapes,
    found: Vec<WatcherId>,
    /// By the component's place: whether it draws events from sequences, and what went wrong.
    components: Vec<(bool, Vec<String>)>,
}

impl Matcher {
    /// Asks every component that watches the kernel log for its patterns.
    pub async fn new(services: &Services, components: &[Component]) -> Self {
        let mut patterns = Vec::new();
        let mut known = Vec::with_capacity(components.len());
        for (place, component) in components.iter().enumerate() {
            let mut problems = Vec::new();
            if let Some(checker) = component.kmsg_watcher() {
                match checker.patterns(services).await.answer {
                    Ok(wanted) => patterns.push((place, wanted)),
                    Err(error) => problems.push(format!("no kernel log patterns: it {error}")),
                }
            }
            known.push((SEQUENCES.contains(&component.name()), problems));
        }
        let (prefilter, refused) = Prefilter::new(&patterns);
        for refused in refused {
            if let Some((_, problems)) = known.get_mut(refused.watcher()) {
                problems.push(refused.to_string());
            }
        }
        Self {
            prefilter,
            shapes: LineShapes::default(),
            found: Vec::new(),
            components: known,
        }
    }

    /// Returns why a component gets no messages or not all of them.
    pub(super) fn problems(&self, place: usize) -> Vec<String> {
        let known = self.components.get(place);
        known
            .map(|(_, problems)| problems.clone())
            .unwrap_or_default()
    }
}

impl Select for Matcher {
    type Tag = MatchedComponents;

    fn select(&mut self, message: &KernelMessage) -> Option<Selection<MatchedComponents>> {
        if message.fragment {
            return None;
        }
        self.prefilter
            .watchers_for_bytes(message.text.as_bytes(), &mut self.found);
        if self.found.is_empty() {
            return None;
        }
        let of_sequences = |place: &WatcherId| {
            let known = self.components.get(*place);
            known.is_some_and(|(sequences, _)| *sequences)
        };
        let singles = match self.found.iter().any(of_sequences) {
            true => SINGLES_OF_SEQUENCES,
            false => SINGLES,
        };
        let places = self
            .found
            .iter()
            .filter_map(|place| u16::try_from(*place).ok());
        Some(Selection {
            tag: MatchedComponents(places.collect()),
            shape: self.shapes.of(&message.text),
            singles,
        })
    }
}
