//! A site's own view of single events: how serious, what to do, and how many within which time.
//!
//! A policy changes how stored events are judged, never what is stored, so that a change of it takes effect on the events
//! of the past at once, and taking it back does, too.
//!
//! A checker whose state is made of [`Rule`]s has them changed ([`Policy::state`]). For all others the events that a
//! policy names are taken away from the checker's own judgement and judged by the policy alone ([`Policy::judge`],
//! [`Policy::lay_over`]), by the entry's verdict where the policy says nothing.

use gpud_sdk::history::{self, StoredEvent};
use gpud_sdk::incidents::{self, Incident, Rule, fact};
use gpud_sdk::{
    AccessError, CheckContext, Event, Health, HealthState, Recovery, Report, Subject,
    SuggestedActions,
};
use serde_json::Value;

use super::{Catalog, Entry, WINDOW_SECONDS};
use crate::coded::policy::{
    MARK, MAX_MISTAKES, POLICY, SEVERITIES, Weight, bare, quoted, read_actions, read_weight, shown,
};
use crate::coded::{Action, Severity, repair_action};

/// Keys of an entry.
const SEVERITY: &str = "severity";
const ACTIONS: &str = "actions";
const THRESHOLD: &str = "threshold";
const WINDOW: &str = "window_seconds";
const KEYS: [&str; 4] = [SEVERITY, ACTIONS, THRESHOLD, WINDOW];
/// Events of a checker that are judged; the newest.
const MAX_EVENTS: u32 = 1_000;

/// A site's settings for one event. The catalogue applies where a setting is missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct EventOverride {
    weight: Option<Weight>,
    actions: Option<Vec<Action>>,
    threshold: Option<u64>,
    window_seconds: Option<u64>,
}

/// A site's policy; nothing by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    device: &'static str,
    entries: Vec<(&'static Entry, EventOverride)>,
}

/// Reads a configuration document: its `policy`, and by `parse` what is left without it.
///
/// # Errors
/// In words, with the place; what is wrong with the policy first.
pub fn settings<C>(
    document: &str,
    catalog: &Catalog,
    parse: impl FnOnce(&str) -> Result<C, String>,
) -> Result<(C, Policy), String> {
    match cut(document) {
        None => Ok((parse(document)?, Policy::none(catalog))),
        Some((rest, policy)) => {
            let policy =
                serde_json::from_str(policy).map_err(|error| format!("configuration: {error}"))?;
            let policy = Policy::read(&policy, catalog)?;
            Ok((parse(&rest)?, policy))
        }
    }
}

/// The same for a checker that has no other configuration.
///
/// # Errors
/// As [`settings`].
pub fn alone(document: &str, catalog: &Catalog) -> Result<Policy, String> {
    settings(document, catalog, |_| Ok(())).map(|((), policy)| policy)
}

/// The document without its `policy`, and the text of that; nothing if it has none. By hand: what writes JSON of any kind
/// would be a good part of the guest. What is no JSON gives something that is none, either.
fn cut(document: &str) -> Option<(String, &str)> {
    if !document.contains(POLICY) || !document.trim_start().starts_with('{') {
        return None;
    }
    let (mut depth, mut in_text, mut escaped) = (0_u32, false, false);
    let (mut begin, mut members, mut end) = (0, Vec::new(), None);
    for (at, byte) in document.bytes().enumerate() {
        if in_text {
            in_text = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'{' | b'[' => {
                depth += 1;
                if depth == 1 {
                    begin = at + 1;
                }
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    members.push(document.get(begin..at)?);
                    end = Some(at);
                    break;
                }
            }
            b',' if depth == 1 => {
                members.push(document.get(begin..at)?);
                begin = at + 1;
            }
            _ => {}
        }
    }
    let after = document.get(end?..)?;
    let value = |member: &&str| -> Option<usize> {
        let rest = member.trim_start().strip_prefix('"')?;
        let rest = rest.strip_prefix(POLICY)?.strip_prefix('"')?.trim_start();
        let value = rest.strip_prefix(':')?;
        Some(member.len() - value.len())
    };
    let place = members.iter().position(|member| value(member).is_some())?;
    let member = members.remove(place);
    let policy = member.get(value(&member)?..)?;
    Some((format!("{{{}{after}", members.join(",")), policy))
}

/// The JSON Schema of a configuration with that of a policy put into its `properties`.
pub fn schema(of: &str, catalog: &Catalog) -> String {
    const PROPERTIES: &str = "\"properties\":";
    let Some((before, after)) = of
        .split_once(PROPERTIES)
        .and_then(|(before, after)| Some((before, after.trim_start().strip_prefix('{')?)))
    else {
        return of.to_owned();
    };
    let names: Vec<&str> = catalog.entries.iter().map(|entry| entry.name).collect();
    let words = |words: &[&str]| format!("[\"{}\"]", words.join("\",\""));
    let between = if after.trim_start().starts_with('}') {
        ""
    } else {
        ","
    };
    [
        before,
        PROPERTIES,
        "{\"",
        POLICY,
        r#"":{"description":"The site's own view of single events, by name.","type":"object","patternProperties":{"^("#,
        &names.join("|"),
        r#")$":{"type":"object","minProperties":1,"properties":{"severity":{"enum":"#,
        &words(&SEVERITIES.map(|(word, _)| word)),
        r#"},"actions":{"type":"array","items":{"enum":"#,
        &words(&Action::ALL.map(Action::word)),
        r#"}},"threshold":{"type":"integer","minimum":1},"window_seconds":{"type":"integer","minimum":1,"maximum":1209600}},"additionalProperties":false}},"additionalProperties":false}"#,
        between,
        after,
    ]
    .concat()
}

/// The schema of a checker that has no other configuration.
pub const NOTHING_ELSE: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;

impl Policy {
    /// One that says nothing.
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
        if mistakes.is_empty() {
            return Ok(read);
        }
        let more = mistakes.len().saturating_sub(MAX_MISTAKES);
        mistakes.truncate(MAX_MISTAKES);
        if more > 0 {
            mistakes.push(format!("and {more} more"));
        }
        Err(format!("configuration: {}", mistakes.join("; ")))
    }

    /// True when it says nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether it says anything of an event.
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

    /// The state that results from rules with the policy applied to them; marked where it differs from the one without.
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

    /// The events that the policy leaves to the checker.
    pub fn left<'a>(&self, events: impl IntoIterator<Item = &'a StoredEvent>) -> Vec<StoredEvent> {
        let others = events.into_iter();
        others
            .filter(|stored| !self.names(&stored.event.name))
            .cloned()
            .collect()
    }

    /// The report of a checker whose state comes from its events (newest first, as `history` gives them): by `judge` of
    /// those that the policy leaves to it, and by the policy of the others. Metrics, new
    /// events and whether the component is there are those of all. `judge` is called with all events first.
    ///
    /// # Errors
    /// That of `past`, which is asked for when the machine booted only where the policy has anything to say.
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

    /// The same for a checker of which no event makes a state by itself: marks the first state of a report.
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

    /// Lays the fact that tells devices apart where incidents look for it.
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

/// The events and boots that a policy judges.
#[derive(Debug, Clone, Default)]
pub struct PolicyInput {
    /// Stored events, newest first.
    pub events: Vec<StoredEvent>,
    /// When the machine booted, newest first, unix milliseconds: see [`incidents::boots`].
    pub boots: Vec<u64>,
    /// Whether setting the component healthy makes it forget its events.
    pub set_healthy: bool,
}

impl PolicyInput {
    /// Asks the host, where the policy has anything to say and there is a history.
    ///
    /// # Errors
    /// As `history`.
    pub fn ask(
        context: &CheckContext,
        policy: &Policy,
        set_healthy: bool,
    ) -> Result<Option<Self>, AccessError> {
        if policy.is_empty() || !history::available() {
            return Ok(None);
        }
        let since = context.now.saturating_sub(WINDOW_SECONDS * 1000);
        let events = history::own_events(since, MAX_EVENTS)?;
        let boots = boots(context, since)?;
        Ok(Some(Self {
            events,
            boots,
            set_healthy,
        }))
    }
}

/// When the machine booted, since a time: [`incidents::boots`].
///
/// # Errors
/// As `history`.
pub fn boots(context: &CheckContext, since: u64) -> Result<Vec<u64>, AccessError> {
    let reboots = history::reboots(since)?;
    Ok(incidents::boots(
        context,
        reboots.iter().map(|reboot| reboot.time),
    ))
}

/// Says of a state that the policy made it.
pub fn mark(state: &mut HealthState) {
    if !state.reason.ends_with(MARK) {
        state.reason.push_str(MARK);
    }
}

fn is_same(one: &HealthState, other: &HealthState) -> bool {
    let words = |state: &HealthState| {
        let actions = state.suggested_actions.as_ref();
        actions.map(|actions| actions.repair_actions.clone())
    };
    one.health == other.health && one.reason == other.reason && words(one) == words(other)
}

fn merge(state: &mut HealthState, laid: HealthState) {
    let weight = |health: &Health| match health {
        Health::Unhealthy => 2,
        Health::Degraded => 1,
        _ => 0,
    };
    if state.health == Health::Healthy {
        state.reason = laid.reason;
        state.recovery = laid.recovery;
        state.subject = laid.subject;
    } else {
        state.reason = format!("{}; {}", state.reason, laid.reason);
        // What clears nothing but a state that is well is in nobody's way; else a way must clear both.
        if laid.health != Health::Healthy {
            state.recovery.retain(|way| laid.recovery.contains(way));
            state.subject = state
                .subject
                .take()
                .filter(|it| laid.subject.as_ref() == Some(it));
        }
    }
    if weight(&laid.health) > weight(&state.health) {
        state.health = laid.health;
    }
    state.evidence.extend(laid.evidence);
    state.suggested_actions = match (state.suggested_actions.take(), laid.suggested_actions) {
        (Some(own), Some(laid)) => Some(both(own, laid)),
        (own, laid) => own.or(laid),
    };
}

fn both(mut own: SuggestedActions, laid: SuggestedActions) -> SuggestedActions {
    for action in laid.repair_actions {
        if !own.repair_actions.contains(&action) {
            own.repair_actions.push(action);
        }
    }
    if own.description.is_empty() {
        own.description = laid.description;
    } else if !laid.description.is_empty() && own.description != laid.description {
        own.description = format!("{} {}", own.description, laid.description);
    }
    own
}

impl EventOverride {
    fn read(place: &str, value: &Value, mistakes: &mut Vec<String>) -> Option<Self> {
        let before = mistakes.len();
        let allowed = KEYS.join(", ");
        let Some(fields) = value.as_object() else {
            mistakes.push(format!("{place} is no object; allowed in it: {allowed}"));
            return None;
        };
        let mut said = Self::default();
        for (field, value) in fields {
            let read = match field.as_str() {
                SEVERITY => read_weight(value).map(|weight| said.weight = Some(weight)),
                ACTIONS => read_actions(value).map(|actions| said.actions = Some(actions)),
                THRESHOLD => read_number(value, u64::MAX).map(|least| said.threshold = Some(least)),
                WINDOW => read_number(value, WINDOW_SECONDS)
                    .map(|seconds| said.window_seconds = Some(seconds)),
                _ => Err(format!("is not known; allowed: {allowed}")),
            };
            if let Err(why) = read {
                mistakes.push(format!("{place}.{} {why}", bare(field)));
            }
        }
        if fields.is_empty() {
            mistakes.push(format!("{place} says nothing; allowed in it: {allowed}"));
        }
        (mistakes.len() == before).then_some(said)
    }

    /// A rule, with what is said of its event.
    fn over(&self, mut rule: Rule) -> Rule {
        match self.weight {
            None | Some(Weight::Ignored) => {}
            Some(Weight::Is(Severity::Fatal)) => rule.health = Health::Unhealthy,
            Some(Weight::Is(Severity::Critical)) => rule.health = Health::Degraded,
            Some(Weight::Is(Severity::Unknown | Severity::Info | Severity::Warning)) => {
                rule.health = Health::Healthy;
            }
        }
        if let Some(actions) = &self.actions {
            rule.action = actions.first().map(|action| repair_action(action.word()));
            // What the catalogue advises may be another thing.
            rule.advice = "";
        }
        rule.at_least = self.threshold.unwrap_or(rule.at_least);
        if let Some(seconds) = self.window_seconds {
            rule.remember_ms = seconds.saturating_mul(1000);
        }
        rule
    }
}

fn read_number(value: &Value, most: u64) -> Result<u64, String> {
    let number = value.as_u64().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| {
        let most = if most == u64::MAX {
            String::new()
        } else {
            format!(" to {most}")
        };
        format!("is {}, not a number from 1{most}", shown(value))
    })
}

#[cfg(test)]
mod tests;
