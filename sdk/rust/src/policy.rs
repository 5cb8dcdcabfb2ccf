//! A site's own view of single events: how serious, what to do, and how many within which time.
//!
//! A policy changes how stored events are judged, never what is stored, so that a change of it takes effect on the events
//! of the past at once, and taking it back does, too.
//!
//! [`Policy`] is for events that have names, [`codes::CodePolicy`] for errors that have numbers.
//!
//! A checker whose state is made of [`Rule`]s has them changed ([`Policy::state`]). For all others the events that a
//! policy names are taken away from the checker's own judgement and judged by the policy alone ([`Policy::judge`],
//! [`Policy::lay_over`]), by the entry's verdict where the policy says nothing.
//! A checker of kernel lines alone needs none of these: [`KernelLines`](crate::kernel_lines::KernelLines) applies the policy.
//!
//! ```
//! use gpud_sdk::catalog::{Action, Catalog, Entry, Severity};
//! use gpud_sdk::policy;
//! use gpud_sdk::settings::Settings;
//!
//! const LINK_LOST: Entry = Entry {
//!     name: "link_lost",
//!     severity: Severity::Fatal,
//!     otherwise: None,
//!     message: "the link was lost",
//!     other_message: "",
//!     actions: &[Action::Inspect],
//!     advice: "",
//!     verdict: None,
//! };
//! static CATALOG: Catalog = Catalog {
//!     version: 1,
//!     device: "port",
//!     patterns: &["^link lost"],
//!     entries: &[&LINK_LOST],
//! };
//!
//! let document = r#"{"most_errors": 5, "policy": {"link_lost": {"severity": "ignore"}}}"#;
//! let (settings, of_site) = policy::settings(document, &CATALOG, Settings::parse)?;
//! assert_eq!(settings.number("most_errors", 1, 1..=100), 5);
//! assert!(of_site.names("link_lost"));
//!
//! let wrong = r#"{"policy": {"link_lots": {"severity": "ignore"}}}"#;
//! assert_eq!(
//!     policy::alone(wrong, &CATALOG).unwrap_err(),
//!     "configuration: policy[\"link_lots\"] names no event of this component; there are: link_lost"
//! );
//! # Ok::<(), String>(())
//! ```

use serde_json::Value;

use crate::catalog::{Catalog, Entry};
use crate::history::StoredEvent;
use crate::incidents::{self, Incident, Rule, fact};
use crate::{AccessError, CheckContext, Event, HealthState, Recovery, Report, Subject};

pub mod codes;
mod document;
mod event_override;
mod input;
mod overlay;
mod words;

pub use document::{NOTHING_ELSE, alone, configured, configured_alone, schema, settings};
pub use input::{PolicyInput, boots};
pub use overlay::mark;
pub use words::{MARK, POLICY, Weight};

use event_override::EventOverride;
use overlay::{is_same, merge};
use words::{quoted, refuse};

/// A site's policy; nothing by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    device: &'static str,
    entries: Vec<(&'static Entry, EventOverride)>,
}

impl Policy {
    /// Returns a policy that says nothing.
    pub const fn none(catalog: &Catalog) -> Self {
        Self {
            device: catalog.device,
            entries: Vec::new(),
        }
    }

    /// Reads a policy: an object of entries by the names of events.
    ///
    /// # Errors
    /// The problem with it: places, and what is allowed there. Nothing of such a policy is used.
    pub fn read(policy: &Value, catalog: &Catalog) -> Result<Self, String> {
        let Some(given) = policy.as_object() else {
            return Err(format!("configuration: {POLICY} is no object of events"));
        };
        let mut mistakes = Vec::new();
        let mut read = Self::none(catalog);
        for (name, value) in given {
            let place = format!("{POLICY}[{}]", quoted(name));
            match catalog.entry(name) {
                Some(entry) => {
                    if let Some(said) = EventOverride::read(&place, value, &mut mistakes) {
                        read.entries.push((entry, said));
                    }
                }
                None => {
                    let names = catalog.entries.iter().map(|entry| entry.name);
                    mistakes.push(format!(
                        "{place} names no event of this component; there are: {}",
                        names.collect::<Vec<_>>().join(", ")
                    ));
                }
            }
        }
        refuse(mistakes)?;
        Ok(read)
    }

    /// True when it says nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// True when it says anything of an event.
    pub fn names(&self, event: &str) -> bool {
        self.entries.iter().any(|(entry, _)| entry.name == event)
    }

    /// Rules as the policy has them. An event that a threshold or a severity is given for has one rule, made from the one
    /// that needs the fewest events; one that has none gets that of its entry.
    fn rules(&self, rules: &[Rule]) -> Vec<Rule> {
        let mut changed: Vec<Rule> = rules
            .iter()
            .filter(|rule| !self.names(rule.event))
            .cloned()
            .collect();
        for (entry, said) in &self.entries {
            if said.weight == Some(Weight::Ignored) {
                continue;
            }
            let own = || rules.iter().filter(|rule| rule.event == entry.name);
            let one = said.weight.is_some() || said.threshold.is_some();
            match own().min_by_key(|rule| rule.at_least) {
                None => changed.push(said.over(entry.rule())),
                Some(mildest) if one => changed.push(said.over(mildest.clone())),
                Some(_) => changed.extend(own().cloned().map(|rule| said.over(rule))),
            }
        }
        changed
    }

    /// Returns the state that results from rules with the policy applied to them; marked where it differs from the one without.
    /// `state` makes a state of rules, and is called with the rules as they are first.
    pub fn state(&self, rules: &[Rule], state: impl Fn(&[Rule]) -> HealthState) -> HealthState {
        let plain = state(rules);
        if self.is_empty() {
            return plain;
        }
        let mut ruled = state(&self.rules(rules));
        if !is_same(&plain, &ruled) {
            mark(&mut ruled);
        }
        ruled
    }

    /// Returns the events that the policy leaves to the checker.
    pub fn left<'a>(&self, events: impl IntoIterator<Item = &'a StoredEvent>) -> Vec<StoredEvent> {
        let others = events.into_iter();
        others
            .filter(|stored| !self.names(&stored.event.name))
            .cloned()
            .collect()
    }

    /// Returns the report of a checker whose state comes from its events (newest first, as `history` gives them): by `judge`
    /// of those that the policy leaves to it, and by the policy of the others. Metrics, new
    /// events and whether the component is there are those of all. `judge` is called with all events first.
    ///
    /// # Errors
    /// That of `boots`, which is called only where the policy has anything to say.
    pub fn judge(
        &self,
        context: &CheckContext,
        events: &[StoredEvent],
        boots: impl FnOnce() -> Result<Vec<u64>, AccessError>,
        mut judge: impl FnMut(&[StoredEvent]) -> Report,
    ) -> Result<Report, AccessError> {
        let plain = judge(events);
        if !events.iter().any(|stored| self.names(&stored.event.name)) {
            return Ok(plain);
        }
        let mut report = judge(&self.left(events));
        report.supported |= plain.supported;
        report.metrics = plain.metrics;
        report.events = plain.events;
        if let Some(state) = report.states.first_mut() {
            let past = PolicyInput {
                events: events.to_vec(),
                boots: boots()?,
                set_healthy: true,
            };
            self.lay_over(context, &past, state);
            if plain
                .states
                .first()
                .is_none_or(|plain| !is_same(plain, state))
            {
                mark(state);
            }
        }
        Ok(report)
    }

    /// Adds the result of the events under the policy to a state that was judged without them. True if there is any
    /// result.
    pub fn lay_over(
        &self,
        context: &CheckContext,
        past: &PolicyInput,
        state: &mut HealthState,
    ) -> bool {
        let mut events = past.events.clone();
        for stored in &mut events {
            self.name_device(&mut stored.event);
        }
        let rules = self.rules(&[]);
        let open = incidents::open(&rules, &events, &past.boots, context.now);
        if open.is_empty() {
            return false;
        }
        let describe = |incident: &Incident<'_>| match incident.count {
            1 => incident.newest.event.message.clone(),
            count => format!("{} ({count} times)", incident.newest.event.message),
        };
        let mut laid = incidents::state(context, "", &open, describe);
        if !past.set_healthy {
            laid.recovery.retain(|way| *way != Recovery::SetHealthy);
        }
        merge(state, laid);
        true
    }

    /// Adds the same to the report of a checker of which no event makes a state by itself, and marks its first state.
    pub fn add(
        &self,
        context: &CheckContext,
        past: Option<&PolicyInput>,
        mut report: Report,
    ) -> Report {
        if let (Some(past), Some(state)) = (past, report.states.first_mut())
            && self.lay_over(context, past, state)
        {
            mark(state);
            report.supported = true;
        }
        report
    }

    /// Copies the fact that tells devices apart to where incidents look for it.
    fn name_device(&self, event: &mut Event) {
        let device = match fact(event, self.device) {
            Some(device) => device.to_owned(),
            None => match &event.subject {
                Some(Subject::Other((_, id))) => id.clone(),
                _ => return,
            },
        };
        event.extra_info.retain(|(key, _)| key != incidents::DEVICE);
        event
            .extra_info
            .push((incidents::DEVICE.to_owned(), device));
    }
}

#[cfg(test)]
mod tests;
