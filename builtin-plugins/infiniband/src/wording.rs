//! The problem with the ports, in words.

use std::collections::{BTreeMap, BTreeSet};

use crate::class::{Class, Port};
use crate::memory::{self, Memory, Name};
use crate::product::Expected;

/// Ports that one part of a reason names.
const MAX_NAMED: usize = 64;
/// Ports of which a reason says why they cannot be read.
const MAX_EXPLAINED: usize = 8;
/// Longest reason, bytes; the host takes 4 KiB.
const MAX_REASON: usize = 4_000;
/// GPUd's words for ports without a partner; its spelling is kept.
const POLLING: &str = " -- connecton lost from this card to other cards/switches";

/// Everything that the wording of one check's reason depends on.
#[derive(Debug, Clone, Copy)]
pub struct CheckView<'a> {
    /// The expected ports.
    pub expected: &'a Expected,
    /// The ports that were read.
    pub class: &'a Class,
    /// The state to retain after this check.
    pub memory: &'a Memory,
}

impl<'a> CheckView<'a> {
    /// Returns a view of these.
    pub fn new(expected: &'a Expected, class: &'a Class, memory: &'a Memory) -> Self {
        Self {
            expected,
            class,
            memory,
        }
    }
}

/// Parts of a reason and the ports that they name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReasonParts {
    /// Joined by `; ` in the reason.
    pub parts: Vec<String>,
    /// Each once.
    pub ports: BTreeSet<Name>,
}

impl ReasonParts {
    /// One part, that names no port.
    pub fn part(text: &str) -> Self {
        Self {
            parts: vec![text.to_owned()],
            ..Self::default()
        }
    }

    /// One part after the other.
    pub fn and(mut self, other: Self) -> Self {
        self.parts.extend(other.parts);
        self.ports.extend(other.ports);
        self
    }

    /// The reason.
    pub fn text(&self) -> String {
        let mut text = self.parts.join("; ");
        text.truncate(text.floor_char_boundary(MAX_REASON));
        text
    }
}

/// Ports under one heading, as they are named.
#[derive(Default)]
struct Group(Vec<String>);

impl Group {
    fn names(&self, most: usize) -> String {
        let mut text: Vec<&str> = self.0.iter().take(most).map(String::as_str).collect();
        let more = self.0.len().saturating_sub(most);
        let more = format!("and {more} more");
        if self.0.len() > most {
            text.push(&more);
        }
        text.join(", ")
    }
}

impl CheckView<'_> {
    /// Ports that are up at the wanted rate.
    pub fn good(&self) -> u64 {
        let good = self
            .infiniband()
            .filter(|port| port.is_good(self.expected.rate));
        good.count() as u64
    }

    /// Whether too few ports are up.
    pub fn is_failing(&self) -> bool {
        self.good() < self.expected.ports
    }

    fn infiniband(&self) -> impl Iterator<Item = &Port> {
        self.class.ports.iter().filter(|port| port.is_infiniband())
    }

    /// Whether a port is one too many: never up, while it is known which ports are needed.
    pub fn is_spare(&self, device: &str, number: u32) -> bool {
        let past = self.memory.of(device, number);
        past.is_none_or(|past| past.best_rate.is_none()) && self.memory.knows_enough(self.expected)
    }

    /// Whether a port once had the wanted rate, or may be meant to have it.
    fn should_be_fast(&self, port: &Port) -> bool {
        let best = self
            .memory
            .of(&port.device, port.number)
            .and_then(|past| past.best_rate);
        best.is_some_and(|rate| rate >= self.expected.rate)
            || !self.memory.knows_enough(self.expected)
    }

    /// Why too few ports are up: GPUd's words, then what it does not say.
    pub fn shortage(&self) -> ReasonParts {
        let Expected { ports, rate } = self.expected;
        let good = self.good();
        let head =
            format!("only {good} port(s) are active and >={rate} Gb/s, expect >={ports} port(s)");
        let mut said = ReasonParts::part(&head)
            .and(self.down())
            .and(self.slow())
            .and(self.missing());
        if self.class.is_empty {
            said.parts.push("no InfiniBand device is there".to_owned());
        }
        said
    }

    /// Ports without a link, by physical state.
    fn down(&self) -> ReasonParts {
        let mut said = ReasonParts::default();
        let mut groups: BTreeMap<&str, Group> = BTreeMap::new();
        for port in self.infiniband() {
            let Ok(link) = &port.link else { continue };
            if port.link_rate().is_none() && !self.is_spare(&port.device, port.number) {
                let group = groups.entry(&link.phys_state).or_default();
                group.0.push(self.label(&port.device, port.number));
                said.ports.insert((port.device.clone(), port.number));
            }
        }
        for (state, group) in groups {
            let (count, names) = (group.0.len(), group.names(MAX_NAMED));
            let more = if state == "Polling" { POLLING } else { "" };
            let part = format!("{count} device(s) physical state {state} ({names}){more}");
            said.parts.push(part);
        }
        // As text, so that ten come before two.
        said.parts.sort_unstable();
        said
    }

    /// Ports that are up, but not as fast as they should be.
    fn slow(&self) -> ReasonParts {
        let rate = self.expected.rate;
        let mut said = ReasonParts::default();
        let mut group = Group::default();
        for port in self.infiniband() {
            if let Some(link) = port.link_rate().filter(|link| *link < rate)
                && self.should_be_fast(port)
            {
                let label = self.label(&port.device, port.number);
                group.0.push(format!("{label}: {link} Gb/s"));
                said.ports.insert((port.device.clone(), port.number));
            }
        }
        if !group.0.is_empty() {
            let (count, names) = (group.0.len(), group.names(MAX_NAMED));
            said.parts
                .push(format!("{count} device(s) below {rate} Gb/s ({names})"));
        }
        said
    }

    /// Ports that were up and are not there.
    pub fn missing(&self) -> ReasonParts {
        let mut said = ReasonParts::default();
        let mut group = Group::default();
        for (key, past) in &self.memory.ports {
            let Some((device, number)) = memory::name(key) else {
                continue;
            };
            let unreadable = self
                .class
                .unreadable
                .iter()
                .any(|(name, _)| *name == device);
            if past.best_rate.is_none() || unreadable {
                continue;
            }
            let port = self
                .class
                .ports
                .iter()
                .find(|port| port.device == device && port.number == number);
            let now = match port {
                Some(port) if port.is_infiniband() || port.link_layer.is_empty() => continue,
                Some(port) => format!(": now {}", port.link_layer),
                None => String::new(),
            };
            let label = self.label(&device, number);
            group.0.push(format!("{label}{now}"));
            said.ports.insert((device, number));
        }
        if !group.0.is_empty() {
            let (count, names) = (group.0.len(), group.names(MAX_NAMED));
            said.parts
                .push(format!("{count} device(s) missing ({names})"));
        }
        said
    }

    /// Ports that could not be read; what they are like is not known.
    pub fn unreadable(&self) -> ReasonParts {
        let mut said = ReasonParts::default();
        let mut group = Group::default();
        for port in &self.class.ports {
            let judged = port.is_infiniband() || port.link_layer.is_empty();
            if let Err(why) = &port.link
                && judged
            {
                let label = self.label(&port.device, port.number);
                group.0.push(format!("{label}: {}", cut(why)));
                said.ports.insert((port.device.clone(), port.number));
            }
        }
        for (device, why) in &self.class.unreadable {
            group.0.push(format!("{device}: {}", cut(why)));
        }
        if !group.0.is_empty() {
            let (count, names) = (group.0.len(), group.names(MAX_EXPLAINED));
            said.parts
                .push(format!("{count} device(s) cannot be read ({names})"));
        }
        said
    }

    /// Ports that were down for too long, now or a short time ago.
    pub fn drops(&self) -> ReasonParts {
        self.incidents("device(s) down too long", |past, spare| {
            past.drop.is_some() && !spare
        })
    }

    /// Ports that flap.
    pub fn flaps(&self) -> ReasonParts {
        self.incidents("device(s) flapping between ACTIVE<>DOWN", |past, _| {
            past.flap.is_some()
        })
    }

    fn incidents(
        &self,
        what: &str,
        is_one: impl Fn(&memory::PortHistory, bool) -> bool,
    ) -> ReasonParts {
        let mut said = ReasonParts::default();
        let mut group = Group::default();
        for (key, past) in &self.memory.ports {
            if let Some((device, number)) = memory::name(key)
                && is_one(past, self.is_spare(&device, number))
            {
                group.0.push(self.label(&device, number));
                said.ports.insert((device, number));
            }
        }
        group.0.sort_unstable();
        if !group.0.is_empty() {
            said.parts
                .push(format!("{what}: {}", group.names(MAX_NAMED)));
        }
        said
    }

    /// How a port is called: by its device, as in GPUd, and by its number where the device has several.
    fn label(&self, device: &str, number: u32) -> String {
        let known = self.memory.ports.keys().filter_map(|key| memory::name(key));
        let read = self.class.ports.iter();
        let is_other = |name: &str, other: u32| name == device && other != number;
        let several = read
            .map(|port| (port.device.as_str(), port.number))
            .any(|(name, other)| is_other(name, other))
            || known
                .into_iter()
                .any(|(name, other)| is_other(&name, other));
        if several {
            format!("{device} port {number}")
        } else {
            device.to_owned()
        }
    }
}

fn cut(why: &str) -> &str {
    const MAX_WHY: usize = 160;
    why.get(..why.floor_char_boundary(MAX_WHY)).unwrap_or(why)
}
