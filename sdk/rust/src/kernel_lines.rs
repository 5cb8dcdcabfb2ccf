//! Checkers that judge by kernel lines and nothing else: from lines to events, and from events to the state, by their
//! catalogue alone, with the site's policy.
//!
//! ```
//! use gpud_sdk::catalog::{Action, Catalog, Entry, EventVerdict, Severity};
//! use gpud_sdk::incidents;
//! use gpud_sdk::kernel_lines::{KernelLines, MatchedLine};
//! use gpud_sdk::{
//!     CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report, Scanner, policy,
//! };
//!
//! const STOPPED: Entry = Entry {
//!     name: "acme_firmware_stopped",
//!     severity: Severity::Fatal,
//!     otherwise: None,
//!     message: "the firmware of the card stopped",
//!     other_message: "",
//!     actions: &[Action::Reboot],
//!     advice: "Reboot the node.",
//!     // One line is enough. A day, a reboot or the event `acme_firmware_started` ends it.
//!     verdict: Some(EventVerdict {
//!         unhealthy: true,
//!         at_least: 1,
//!         window_seconds: 86_400,
//!         reboot_clears: true,
//!         ended_by: &["acme_firmware_started"],
//!     }),
//! };
//!
//! const STARTED: Entry = Entry {
//!     name: "acme_firmware_started",
//!     severity: Severity::Info,
//!     otherwise: None,
//!     message: "the firmware of the card started",
//!     other_message: "",
//!     actions: &[],
//!     advice: "",
//!     verdict: None,
//! };
//!
//! static CATALOG: Catalog = Catalog {
//!     version: 1,
//!     device: "device",
//!     patterns: &["^acme [0-9a-f:.]+: firmware (stopped|started)"],
//!     entries: &[&STOPPED, &STARTED],
//! };
//!
//! /// Reads `acme 0000:3b:00.0: firmware stopped`.
//! fn find(line: &str) -> Option<MatchedLine<'_>> {
//!     if incidents::begins_with_process(line) {
//!         return None; // any user can choose that name
//!     }
//!     let (card, text) = line.strip_prefix("acme ")?.split_once(": ")?;
//!     match text {
//!         "firmware stopped" => Some(MatchedLine::new(&STOPPED, card)),
//!         "firmware started" => Some(MatchedLine::new(&STARTED, card).ends(&[&STOPPED])),
//!         _ => None,
//!     }
//! }
//!
//! static LINES: KernelLines = KernelLines {
//!     catalog: &CATALOG,
//!     find,
//!     subject: "card",
//!     metric: "acme_events_recent",
//!     healthy: "no card failed",
//! };
//!
//! struct Acme;
//!
//! impl Checker for Acme {
//!     fn check(context: &CheckContext) -> Result<Report, Error> {
//!         LINES.check(context)
//!     }
//! }
//!
//! impl KmsgWatcher for Acme {
//!     fn patterns(_component: &str) -> Vec<String> {
//!         CATALOG.patterns.iter().map(|&pattern| pattern.to_owned()).collect()
//!     }
//!
//!     fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
//!         LINES.on_messages(context, &messages)
//!     }
//! }
//!
//! impl Scanner for Acme {
//!     fn scan(context: &CheckContext) -> Result<Report, Error> {
//!         LINES.scan(context)
//!     }
//! }
//!
//! gpud_sdk::export!(Acme + kmsg_watcher + scanner: Descriptor::new("acme", "Cards whose firmware stopped")
//!     .set_healthy_clears_events()
//!     .judged_by_kernel_log()
//!     .metric("acme_events_recent", "Lines about cards within the last hour, by kind (number)")
//!     .config_schema(&policy::schema(policy::NOTHING_ELSE, &CATALOG)));
//!
//! fn a_site_policy_changes_the_verdict() {
//!     use gpud_sdk::{Health, incidents::Repeats, testing};
//!     let context = testing::test_context("acme", 1_000_000);
//!     let line = testing::kernel_message(1_000_000, "acme 0000:3b:00.0: firmware stopped");
//!     let events = LINES.events(&context, &[line], &mut Repeats::default());
//!     let stored = incidents::as_stored(events);
//!     let health = |document: &str| {
//!         let policy = policy::alone(document, &CATALOG).unwrap();
//!         let report = LINES.judge(&context, &policy, &stored, &[]);
//!         report.states[0].health.clone()
//!     };
//!     assert_eq!(health("{}"), Health::Unhealthy);
//!     let policy = r#"{"policy": {"acme_firmware_stopped": {"severity": "critical"}}}"#;
//!     assert_eq!(health(policy), Health::Degraded);
//! }
//! # fn main() { a_site_policy_changes_the_verdict() }
//! ```

mod line;

pub use line::{INTERFACE, MatchedLine, without_state};

use crate::catalog::{Catalog, Entry};
use crate::history::StoredEvent;
use crate::incidents::{self, Incident, Repeats, Sighting};
use crate::policy::{self, Policy};
use crate::{CheckContext, Error, Event, Message, Report, Subject, history};

/// How far back events count: 14 days, as long as they are kept.
const LOOK_BACK_MS: u64 = 14 * 24 * 60 * 60 * 1000;
/// How far back the gauge counts.
const RECENT_MS: u64 = 60 * 60 * 1000;
/// Repeats of one kind and device within this time are counted.
const MERGE_SECONDS: u32 = 300;
const MAX_EVENTS: u32 = 2_000;

/// A checker of kernel lines.
#[derive(Debug, Clone, Copy)]
pub struct KernelLines {
    /// Its patterns and events.
    pub catalog: &'static Catalog,
    /// Reads a line, from its beginning; none that begins with the name of a process
    /// ([`begins_with_process`](incidents::begins_with_process)).
    pub find: fn(&str) -> Option<MatchedLine<'_>>,
    /// What its devices are called as subjects: `nic`, for example.
    pub subject: &'static str,
    /// The gauge of what happened within the last hour, by name of the event.
    pub metric: &'static str,
    /// The reason of a healthy state.
    pub healthy: &'static str,
}

impl KernelLines {
    /// Makes events of messages, oldest first. `repeats` are those of the component, or none for a look at the moment.
    pub fn events(
        &self,
        context: &CheckContext,
        messages: &[Message],
        repeats: &mut Repeats,
    ) -> Vec<Event> {
        let genuine = messages
            .iter()
            .filter(|message| incidents::is_kernel_line(message));
        genuine
            .filter_map(|message| {
                let found = (self.find)(&message.text)?;
                let remembers =
                    |ended: &&'static Entry| repeats.remembers(ended.name, &found.device);
                if !found.ends.is_empty() && !found.ends.iter().any(remembers) {
                    return None;
                }
                Some(repeats.event(self.sighting(found), context, message, MERGE_SECONDS))
            })
            .collect()
    }

    fn sighting(&self, found: MatchedLine<'_>) -> Sighting {
        let entry = found.entry;
        let mut text = entry.message.to_owned();
        let interface = found.facts.iter().find(|(key, _)| *key == INTERFACE);
        let interface = interface
            .map(|(_, name)| *name)
            .filter(|name| !name.is_empty());
        match interface {
            Some(name) => text.push_str(&format!(" ({}, {name})", found.device)),
            None if found.device.is_empty() => {}
            None => text.push_str(&format!(" ({})", found.device)),
        }
        let mut sighting =
            Sighting::new(entry.name, entry.event_type(), text).of(found.device.clone());
        for (key, value) in found.facts {
            sighting = sighting.fact(key, value);
        }
        let is_short = (1..=128).contains(&found.device.len());
        sighting.subject =
            is_short.then(|| Subject::Other((self.subject.to_owned(), found.device)));
        sighting
    }

    /// Judges the state from events (newest first). The component is hidden until there are any.
    pub fn judge(
        &self,
        context: &CheckContext,
        policy: &Policy,
        events: &[StoredEvent],
        boots: &[u64],
    ) -> Report {
        let with_verdict = self
            .catalog
            .entries
            .iter()
            .filter(|entry| entry.verdict.is_some());
        let rules: Vec<_> = with_verdict.map(|entry| entry.rule()).collect();
        let mut report = Report {
            supported: !events.is_empty(),
            ..Report::of(policy.state(&rules, |rules| {
                let open = incidents::open(rules, events, boots, context.now);
                incidents::state(context, self.healthy, &open, describe)
            }))
        };
        if !report.supported {
            return report;
        }
        let since = context.now.saturating_sub(RECENT_MS);
        for entry in self.catalog.entries {
            let of_kind = events
                .iter()
                .filter(|row| row.event.name == entry.name && row.last_time >= since);
            let count: u64 = of_kind.map(|row| row.count).sum();
            #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
            let value = count as f64;
            report.add_gauge(self.metric, &[("kind", entry.name)], value);
        }
        report
    }

    /// Judges a daemon's check: from the history.
    ///
    /// # Errors
    /// A wrong configuration, or a store that does not answer.
    pub fn check(&self, context: &CheckContext) -> Result<Report, Error> {
        let policy = self.policy()?;
        let since = context.now.saturating_sub(LOOK_BACK_MS);
        let events = history::own_events(since, MAX_EVENTS)?;
        let reboots = if events.is_empty() {
            Vec::new()
        } else {
            history::reboots(since)?
        };
        let boots = incidents::boots(context, reboots.iter().map(|reboot| reboot.time));
        Ok(self.judge(context, &policy, &events, &boots))
    }

    /// Judges a scan: from the history where there is one, else from the present kernel log.
    ///
    /// # Errors
    /// As [`Self::check`], or a log that cannot be read.
    pub fn scan(&self, context: &CheckContext) -> Result<Report, Error> {
        if history::available() {
            return self.check(context);
        }
        let policy = self.policy()?;
        // The host says so where the log cannot be read.
        let messages = incidents::read_log(self.catalog.patterns)?.unwrap_or_default();
        let events = self.events(context, &messages, &mut Repeats::default());
        let boots = incidents::boots(context, []);
        Ok(self.judge(context, &policy, &incidents::as_stored(events), &boots))
    }

    /// Turns new lines into events.
    ///
    /// # Errors
    /// A store that does not answer.
    pub fn on_messages(
        &self,
        context: &CheckContext,
        messages: &[Message],
    ) -> Result<Vec<Event>, Error> {
        let mut repeats = Repeats::load(context)?;
        let events = self.events(context, messages, &mut repeats);
        repeats.save()?;
        Ok(events)
    }

    fn policy(&self) -> Result<Policy, Error> {
        policy::configured_alone(self.catalog)
    }
}

fn describe(incident: &Incident<'_>) -> String {
    let event = &incident.newest.event;
    let mut words = event.message.clone();
    if incident.count > 1 {
        words.push_str(&format!(", {} times", incident.count));
    }
    if let Some(cause) = incidents::fact(event, "cause") {
        words.push_str(&format!(": {cause}"));
    }
    words
}
