//! Validates everything that a guest returns, before any other code uses it.

use super::limits::Limits;
use crate::model::{
    ComponentDescriptor, Event, Evidence, HealthState, Metric, Recovery, Report, Subject,
    SuggestedActions, UnixMillis,
};

/// Longest reason, error or message, bytes.
const MAX_TEXT: usize = 4096;
/// Longest value of `extra-info`, and of a merge key times four, bytes.
const MAX_INFO: usize = 64 * 1024;
/// Longest name, bytes.
const MAX_NAME: usize = 128;
/// Most pairs of `extra-info`, labels and evidence.
const MAX_PAIRS: usize = 64;
/// How far in the future an event may be.
const MAX_AHEAD: UnixMillis = 5 * 60 * 1000;
/// Shortest interval, milliseconds.
const MIN_INTERVAL_MS: u128 = 1000;

/// Why an answer cannot be used: which item, and which bound it breaks.
type Problem = String;

/// Validates a whole report.
pub fn report(report: &Report, limits: &Limits, now: UnixMillis) -> Result<(), Problem> {
    count("states", report.states.len(), limits.states)?;
    count("metrics", report.metrics.len(), limits.metrics)?;
    if report.supported && report.states.is_empty() {
        return Err("a report without a state".to_owned());
    }
    for (index, state) in report.states.iter().enumerate() {
        check_state(state, now).map_err(|problem| format!("state {index}: {problem}"))?;
    }
    for (index, metric) in report.metrics.iter().enumerate() {
        check_metric(metric).map_err(|problem| format!("metric {index}: {problem}"))?;
    }
    events(&report.events, limits, now)
}

/// Validates a list of events.
pub fn events(events: &[Event], limits: &Limits, now: UnixMillis) -> Result<(), Problem> {
    count("events", events.len(), limits.events)?;
    for (index, event) in events.iter().enumerate() {
        check_event(event, now).map_err(|problem| format!("event {index}: {problem}"))?;
    }
    Ok(())
}

/// Validates the descriptions of a plugin's components.
pub fn descriptor(components: &[ComponentDescriptor]) -> Result<(), Problem> {
    if components.is_empty() {
        return Err("no components".to_owned());
    }
    count("components", components.len(), 64)?;
    for (index, component) in components.iter().enumerate() {
        let name = &component.name;
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-._/".contains(&b);
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(fits) {
            return Err(format!(
                "component {index}: name {name:?} is not 1 to {MAX_NAME} of a-z 0-9 - . _ /"
            ));
        }
        let earlier = components.iter().take(index);
        if earlier.into_iter().any(|other| other.name == *name) {
            return Err(format!("component `{name}` appears twice"));
        }
        text("description", &component.description, MAX_TEXT)?;
        count("tags", component.tags.len(), 32)?;
        for tag in &component.tags {
            text("tag", tag, MAX_NAME)?;
        }
        count("metric descriptions", component.metrics.len(), 1024)?;
        for metric in &component.metrics {
            text("name of a metric", &metric.name, 2 * MAX_NAME)?;
            text("help of a metric", &metric.help, MAX_TEXT)?;
        }
        if component
            .interval
            .is_some_and(|interval| interval.as_millis() < MIN_INTERVAL_MS)
        {
            return Err(format!(
                "component `{name}`: interval below {MIN_INTERVAL_MS} ms"
            ));
        }
        text(
            "config schema",
            component.config_schema.as_deref().unwrap_or(""),
            MAX_INFO,
        )?;
    }
    Ok(())
}

/// Validates a plugin's kernel log patterns.
pub fn patterns(patterns: &[String]) -> Result<(), Problem> {
    count("patterns", patterns.len(), 64)?;
    patterns
        .iter()
        .try_for_each(|pattern| text("pattern", pattern, 1024))
}

fn check_state(state: &HealthState, now: UnixMillis) -> Result<(), Problem> {
    text("name", state.name.as_deref().unwrap_or(""), MAX_NAME)?;
    text("health", state.health.as_str(), MAX_NAME)?;
    text("reason", &state.reason, MAX_TEXT)?;
    text("error", state.error.as_deref().unwrap_or(""), MAX_TEXT)?;
    if let Some(SuggestedActions {
        description,
        repair_actions,
    }) = &state.suggested_actions
    {
        text("description", description, MAX_TEXT)?;
        count("repair actions", repair_actions.len(), 16)?;
        repair_actions
            .iter()
            .try_for_each(|action| text("action", action.as_str(), MAX_NAME))?;
    }
    count("recovery ways", state.recovery.len(), 16)?;
    for way in &state.recovery {
        if let Recovery::Other(word) = way {
            text("recovery way", word, MAX_NAME)?;
        }
    }
    check_subject(state.subject.as_ref())?;
    check_evidence(&state.evidence)?;
    not_ahead(state.time.unwrap_or(0), now)?;
    pairs("extra-info", &state.extra_info, MAX_INFO)
}

fn check_event(event: &Event, now: UnixMillis) -> Result<(), Problem> {
    if event.name.is_empty() {
        return Err("no name".to_owned());
    }
    text("name", &event.name, MAX_NAME)?;
    text("message", &event.message, MAX_TEXT)?;
    check_subject(event.subject.as_ref())?;
    check_evidence(&event.evidence)?;
    pairs("extra-info", &event.extra_info, MAX_INFO)?;
    if let Some(merge) = &event.merge {
        text("merge key", &merge.key, MAX_INFO / 4)?;
        if merge.window_seconds == 0 {
            return Err("merge window of 0 s".to_owned());
        }
    }
    not_ahead(event.time, now)
}

fn check_subject(subject: Option<&Subject>) -> Result<(), Problem> {
    let parts = match subject {
        None | Some(Subject::Node) => return Ok(()),
        Some(Subject::Gpu {
            uuid,
            serial,
            pci_id,
        }) => [uuid, serial, pci_id].map(|part| part.as_deref()),
        Some(Subject::Port { device: name, .. } | Subject::Unit(name)) => {
            [Some(name.as_str()), None, None]
        }
        Some(Subject::Mount(path)) => return text("subject", path, MAX_TEXT),
        Some(Subject::Other { kind, id }) => [Some(kind.as_str()), Some(id.as_str()), None],
    };
    parts
        .into_iter()
        .flatten()
        .try_for_each(|part| text("subject", part, MAX_NAME))
}

fn check_evidence(evidence: &[Evidence]) -> Result<(), Problem> {
    count("evidence", evidence.len(), MAX_PAIRS)?;
    evidence.iter().try_for_each(|one| match one {
        Evidence::Kmsg(_) => Ok(()),
        Evidence::File(what) | Evidence::Nvml(what) | Evidence::Other(what) => {
            text("evidence", what, MAX_TEXT)
        }
    })
}

fn check_metric(metric: &Metric) -> Result<(), Problem> {
    let mut bytes = metric.name.bytes();
    let starts = bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b':');
    if !starts || !bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b':') {
        return Err(format!(
            "name {:?} is not a Prometheus name",
            truncated(&metric.name)
        ));
    }
    text("name", &metric.name, 2 * MAX_NAME)?;
    count("labels", metric.labels.len(), 16)?;
    pairs("labels", &metric.labels, 1024)?;
    if !metric.value.is_finite() {
        return Err(format!(
            "{}: value {} is not finite",
            metric.name, metric.value
        ));
    }
    Ok(())
}

/// Returns the time of a message for a guest: its own, or `now` where an event of that time would be refused.
pub fn message_time(time: UnixMillis, now: UnixMillis) -> UnixMillis {
    match not_ahead(time, now) {
        Ok(()) => time,
        Err(_) => now,
    }
}

fn not_ahead(time: UnixMillis, now: UnixMillis) -> Result<(), Problem> {
    if time > now.saturating_add(MAX_AHEAD) {
        return Err(format!("time {time} is in the future (now is {now})"));
    }
    Ok(())
}

fn pairs(what: &str, pairs: &[(String, String)], max_value: usize) -> Result<(), Problem> {
    count(what, pairs.len(), MAX_PAIRS)?;
    for (index, (key, value)) in pairs.iter().enumerate() {
        text(what, key, MAX_NAME)?;
        text(what, value, max_value)?;
        if pairs.iter().take(index).any(|(other, _)| other == key) {
            return Err(format!("{what}: key {key:?} appears twice"));
        }
    }
    Ok(())
}

fn text(what: &str, text: &str, limit: usize) -> Result<(), Problem> {
    if text.len() > limit {
        return Err(format!("{what}: {} bytes, more than {limit}", text.len()));
    }
    Ok(())
}

fn count(what: &str, count: usize, limit: usize) -> Result<(), Problem> {
    if count > limit {
        return Err(format!("{count} {what}, more than {limit}"));
    }
    Ok(())
}

fn truncated(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Health, Merge, MetricDescription};

    const NOW: UnixMillis = 1_700_000_000_000;

    fn fine() -> Report {
        Report {
            supported: true,
            states: vec![HealthState {
                reason: "ok".into(),
                ..HealthState::default()
            }],
            events: vec![Event {
                time: NOW,
                name: "e".into(),
                ..Event::default()
            }],
            metrics: vec![Metric {
                name: "m".into(),
                value: 1.0,
                ..Metric::default()
            }],
        }
    }

    #[test]
    fn a_message_of_the_future_is_dated_now() {
        for (time, expected) in [
            (0, 0),
            (NOW, NOW),
            (NOW + MAX_AHEAD, NOW + MAX_AHEAD),
            (NOW + MAX_AHEAD + 1, NOW),
            (u64::MAX, NOW),
        ] {
            assert_eq!(message_time(time, NOW), expected, "{time}");
        }
    }

    #[test]
    fn a_plain_report_passes() {
        assert_eq!(report(&fine(), &Limits::default(), NOW), Ok(()));
        let hidden = Report {
            supported: false,
            ..Report::default()
        };
        assert_eq!(report(&hidden, &Limits::default(), NOW), Ok(()));
    }

    #[test]
    fn each_bound_is_named() {
        type Spoil = fn(&mut Report);
        let cases: &[(Spoil, &str)] = &[
            (|r| r.states.clear(), "without a state"),
            (
                |r| r.states = vec![HealthState::default(); 257],
                "257 states, more than 256",
            ),
            (
                |r| r.states[0].reason = "x".repeat(5000),
                "state 0: reason: 5000 bytes",
            ),
            (
                |r| r.states[0].health = Health::Other("x".repeat(200)),
                "state 0: health: 200 bytes",
            ),
            (
                |r| r.states[0].time = Some(NOW + 600_000),
                "is in the future",
            ),
            (
                |r| r.states[0].extra_info = vec![("a".into(), "1".into()); 2],
                "appears twice",
            ),
            (
                |r| r.states[0].subject = Some(Subject::Unit("x".repeat(200))),
                "state 0: subject: 200 bytes",
            ),
            (
                |r| r.states[0].recovery = vec![Recovery::Other("x".repeat(200))],
                "state 0: recovery way: 200 bytes",
            ),
            (
                |r| r.events[0].evidence = vec![Evidence::File("x".repeat(5000))],
                "event 0: evidence: 5000 bytes",
            ),
            (|r| r.events[0].name.clear(), "event 0: no name"),
            (|r| r.events[0].time = NOW + 600_000, "is in the future"),
            (
                |r| {
                    r.events[0].merge = Some(Merge {
                        key: "k".into(),
                        window_seconds: 0,
                    })
                },
                "merge window of 0 s",
            ),
            (|r| r.events = vec![Event::default(); 2000], "2000 events"),
            (
                |r| r.metrics[0].value = f64::NAN,
                "metric 0: m: value NaN is not finite",
            ),
            (
                |r| r.metrics[0].name = "a b".into(),
                "is not a Prometheus name",
            ),
            (
                |r| r.metrics[0].labels = vec![("l".into(), "v".repeat(2000))],
                "labels: 2000 bytes",
            ),
        ];
        for (spoil, expected) in cases {
            let mut spoiled = fine();
            spoil(&mut spoiled);
            let problem = report(&spoiled, &Limits::default(), NOW).unwrap_err();
            assert!(problem.contains(expected), "{problem} / {expected}");
        }
    }

    #[test]
    fn descriptors_need_usable_unique_names() {
        let named = |name: &str| ComponentDescriptor {
            name: name.into(),
            ..Default::default()
        };
        assert_eq!(descriptor(&[named("a-b.c/d_1")]), Ok(()));
        for (components, expected) in [
            (vec![], "no components"),
            (vec![named("Cpu")], "is not 1 to 128"),
            (vec![named("")], "is not 1 to 128"),
            (vec![named("a"), named("a")], "appears twice"),
            (
                vec![ComponentDescriptor {
                    tags: vec!["t".repeat(200)],
                    ..named("a")
                }],
                "tag: 200 bytes",
            ),
            (
                vec![ComponentDescriptor {
                    metrics: vec![MetricDescription {
                        help: "h".repeat(5000),
                        ..Default::default()
                    }],
                    ..named("a")
                }],
                "help of a metric: 5000 bytes",
            ),
        ] {
            assert!(descriptor(&components).unwrap_err().contains(expected));
        }
    }
}
