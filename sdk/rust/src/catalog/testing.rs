//! Checks a data file for the rules of all of them: the tests of each checker with a data file call it.

#![expect(
    clippy::indexing_slicing,
    reason = "a test; a JSON value that is not there is null"
)]

use std::collections::{BTreeMap, BTreeSet};

use regex::{Regex, RegexSet};
use serde_json::{Value, json};

use super::{Catalog, Entry, EventVerdict, Severity, forged};
use crate::incidents::names_its_sender;
use crate::policy;
use crate::{CheckContext, Event, Message, Trigger};

const NOW: u64 = 1_800_000_000_000;

/// A line, and the name of the event and the device that are read of it.
pub type Case<'c> = (&'c str, Option<(&'c str, &'c str)>);

/// Holds what a checker reads of lines against names of events and devices.
///
/// # Panics
/// When something else is read; says of which line.
pub fn reads<'c>(cases: &[Case<'c>], find: impl Fn(&'c str) -> Option<(&'static Entry, &'c str)>) {
    for (line, expected) in cases.iter().copied() {
        let found = find(line).map(|(entry, device)| (entry.name, device));
        assert_eq!(found, expected, "{line}");
    }
}

/// Holds that the host delivers a line that a checker reads.
///
/// # Panics
/// When it does not, or a pattern is wrong.
#[expect(clippy::panic, reason = "a test")]
pub fn is_delivered(patterns: &[&str], line: &str) {
    match RegexSet::new(patterns) {
        Ok(patterns) => assert!(patterns.is_match(line), "{line}"),
        Err(error) => panic!("{error}"),
    }
}

/// Holds a data file (its text) against the constants made of it, and both against what the checker makes of lines:
///
/// - sources are named, names and ids are unique, every pattern is used;
/// - every example is delivered and becomes the event that it stands for, with its type; none does when it comes from a
///   service;
/// - no lookalike does, nor an example that stands within a line of another part of the kernel, where users choose names;
/// - every pattern begins with `^`, and has an example that it alone delivers;
/// - a policy can name every event, and the schema says so.
///
/// `events` is the checker's own way from a batch of messages to events.
///
/// # Panics
/// When something does not hold; says what.
#[expect(clippy::panic, reason = "a test")]
pub fn holds(
    file: &str,
    catalog: &Catalog,
    events: impl Fn(&CheckContext, &[Message]) -> Vec<Event>,
) {
    let data: Value = match serde_json::from_str(file) {
        Ok(data) => data,
        Err(error) => panic!("no JSON: {error}"),
    };
    constants(&data, catalog);
    let ids = patterns(&data, catalog);
    let set = match RegexSet::new(catalog.patterns) {
        Ok(set) => set,
        Err(error) => panic!("{error}"),
    };
    let delivers = |text: &str| -> Vec<usize> {
        let first = text.split('\n').next().unwrap_or("");
        set.matches(first).iter().collect()
    };
    let found = |lines: &[String], facility: u32| -> Vec<Event> {
        let delivered = lines.iter().filter(|line| !delivers(line).is_empty());
        let messages: Vec<Message> = (1..)
            .zip(delivered)
            .map(|(sequence, line)| message(sequence, facility, line))
            .collect();
        events(&context(), &messages)
    };
    let mut alone: BTreeSet<usize> = BTreeSet::new();
    for entry in list(&data["entries"]) {
        let name = text(&entry["name"]);
        let own: Vec<&str> = list(&entry["patterns"]).iter().map(text).collect();
        assert!(!own.is_empty(), "{name} has no pattern");
        let examples = list(&entry["examples"]);
        assert!(!examples.is_empty(), "{name} has no example");
        for example in examples {
            let (lines, kind) = match example {
                Value::Object(example) => (&example["lines"], text(&example["type"])),
                lines => (lines, text(&entry["type"])),
            };
            let lines = lines_of(lines);
            let by: Vec<Vec<usize>> = lines.iter().map(|line| delivers(line)).collect();
            assert!(
                by.iter()
                    .flatten()
                    .any(|at| ids.get(*at).is_some_and(|id| own.contains(&id.as_str()))),
                "{name}: its patterns do not deliver {lines:?}"
            );
            alone.extend(by.iter().filter_map(|by| match by.as_slice() {
                [one] => Some(*one),
                _ => None,
            }));
            becomes(name, kind, &lines, &found);
            no_forged_line_is_believed(&lines, |lines| found(lines, 0));
        }
        for lookalike in list(&entry["lookalikes"]) {
            let lines = lines_of(lookalike);
            let events = found(&lines, 0);
            let wrong = events.iter().any(|event| event.name == name);
            assert!(!wrong, "{name}: the lookalike {lines:?} gives {events:#?}");
        }
    }
    for pattern in catalog.patterns {
        assert!(pattern.starts_with('^'), "{pattern} is not anchored");
    }
    for (at, id) in ids.iter().enumerate() {
        assert!(
            alone.contains(&at),
            "pattern {id}: no example that it alone delivers"
        );
    }
    policies(catalog);
}

/// Holds that an example becomes its event, with its type, when the kernel or root writes it, and nothing when a service
/// does.
fn becomes(
    name: &str,
    kind: &str,
    lines: &[String],
    found: &impl Fn(&[String], u32) -> Vec<Event>,
) {
    let is_it = |event: &Event| {
        event.name == name
            && Severity::of(&event.event_type)
                .is_some_and(|severity| format!("{severity:?}") == kind)
    };
    let events = found(lines, 0);
    assert!(
        events.iter().any(is_it),
        "{name}, {kind}: {lines:?} gives {events:#?}"
    );
    let passed_on: Vec<String> = lines.iter().map(|line| forged::passed_on(line)).collect();
    for facility in [1, 5] {
        let by_root = !lines.iter().any(|line| names_its_sender(line));
        assert_eq!(
            found(lines, facility).iter().any(is_it),
            by_root,
            "{name}: facility {facility}"
        );
        if passed_on.iter().all(|line| names_its_sender(line)) {
            let events = found(&passed_on, facility);
            assert!(events.is_empty(), "{name}: a user is believed: {events:#?}");
        }
    }
    for facility in [3, 4, 9, 16] {
        let events = found(lines, facility);
        assert!(
            events.is_empty(),
            "{name}: a service is believed: {events:#?}"
        );
    }
}

/// Holds that lines of other parts of the kernel with these lines in them give no events: neither all of them in the same
/// way, nor a line about a process, a cgroup, a network device or a keyboard that is called as one of them.
///
/// # Panics
/// When one does; says which.
pub fn no_forged_line_is_believed(lines: &[String], events: impl Fn(&[String]) -> Vec<Event>) {
    let of_harmless = |template: &str, text: &str| vec![template.replace("{}", text)];
    for template in forged::LINES {
        // A line that the checker reads itself: the name in it is what it reports.
        if !events(&of_harmless(template, "x")).is_empty() {
            continue;
        }
        let forged = lines.iter().map(|line| template.replace("{}", line));
        let forged: Vec<String> = forged.collect();
        let events = events(&forged);
        assert!(events.is_empty(), "{forged:#?} gives {events:#?}");
    }
    for line in lines {
        for forged in forged::crashes(line)
            .into_iter()
            .chain(forged::of_processes(line))
            .chain(forged::of_cgroups(line))
            .chain(forged::of_network_devices(line))
            .chain(forged::of_keyboards(line))
        {
            let events = events(std::slice::from_ref(&forged));
            assert!(events.is_empty(), "{forged} gives {events:#?}");
        }
    }
}

/// Keys of an entry.
const KEYS: [&str; 13] = [
    "name",
    "type",
    "otherwise",
    "message",
    "means",
    "actions",
    "advice",
    "verdict",
    "patterns",
    "source",
    "kernels",
    "examples",
    "lookalikes",
];

fn constants(data: &Value, catalog: &Catalog) {
    assert_eq!(data["schema"], 1);
    assert_eq!(
        data["version"], catalog.version,
        "run builtin-plugins/shared/patterns.py"
    );
    let sources: Vec<&str> = list(&data["sources"]).iter().map(text).collect();
    assert!(!sources.is_empty() && sources.iter().all(|source| !source.is_empty()));
    let device = data.get("device").map_or("device", text);
    assert_eq!(device, catalog.device);
    let entries = list(&data["entries"]);
    assert_eq!(
        entries.len(),
        catalog.entries.len(),
        "run builtin-plugins/shared/patterns.py"
    );
    let names: BTreeSet<&str> = catalog.entries.iter().map(|entry| entry.name).collect();
    assert_eq!(names.len(), entries.len(), "a name stands twice");
    for (data, entry) in entries.iter().zip(catalog.entries) {
        for (key, _) in data.as_object().into_iter().flatten() {
            assert!(
                KEYS.contains(&key.as_str()),
                "{}: what is {key}?",
                entry.name
            );
        }
        let severity = |severity: Severity| format!("{severity:?}");
        assert_eq!(
            data["name"], entry.name,
            "run builtin-plugins/shared/patterns.py"
        );
        assert_eq!(data["type"], severity(entry.severity), "{}", entry.name);
        let other = &data["otherwise"];
        let kind = entry.otherwise.map(severity);
        assert_eq!(other["type"].as_str(), kind.as_deref(), "{}", entry.name);
        assert_eq!(
            text(&other["message"]),
            entry.other_message,
            "{}",
            entry.name
        );
        assert!(
            other.is_null() || !text(&other["when"]).is_empty(),
            "{}: when?",
            entry.name
        );
        assert_eq!(data["message"], entry.message);
        assert_eq!(data["advice"], entry.advice);
        let words: Vec<&str> = entry.actions.iter().map(|action| action.word()).collect();
        assert_eq!(data["actions"], json!(words), "{}", entry.name);
        assert_eq!(data["verdict"], verdict(entry), "{}", entry.name);
        for key in ["means", "source"] {
            assert!(!text(&data[key]).is_empty(), "{} has no {key}", entry.name);
        }
        let ended_by = entry.verdict.map_or(&[][..], |verdict| verdict.ended_by);
        assert!(
            ended_by.iter().all(|name| names.contains(name)),
            "{}",
            entry.name
        );
        let asks = entry.verdict.is_some_and(|verdict| verdict.unhealthy);
        assert!(
            !asks || !entry.actions.is_empty(),
            "{}: what is to be done?",
            entry.name
        );
    }
}

fn verdict(entry: &Entry) -> Value {
    let Some(EventVerdict {
        unhealthy,
        at_least,
        window_seconds,
        reboot_clears,
        ended_by,
    }) = entry.verdict
    else {
        return Value::Null;
    };
    let health = if unhealthy { "Unhealthy" } else { "Degraded" };
    let mut verdict = json!({
        "health": health, "at_least": at_least, "window_seconds": window_seconds, "reboot_clears": reboot_clears,
    });
    if !ended_by.is_empty() {
        verdict["ended_by"] = json!(ended_by);
    }
    verdict
}

/// The ids, in the order of the constants.
fn patterns(data: &Value, catalog: &Catalog) -> Vec<String> {
    let given = list(&data["patterns"]);
    let texts: Vec<&str> = given
        .iter()
        .map(|pattern| text(&pattern["pattern"]))
        .collect();
    assert_eq!(
        texts, catalog.patterns,
        "run builtin-plugins/shared/patterns.py"
    );
    let ids: Vec<String> = given
        .iter()
        .map(|pattern| text(&pattern["id"]).to_owned())
        .collect();
    let mut uses: BTreeMap<&str, usize> = ids.iter().map(|id| (id.as_str(), 0)).collect();
    assert_eq!(uses.len(), ids.len(), "an id stands twice");
    for pattern in list(&data["entries"])
        .iter()
        .flat_map(|entry| list(&entry["patterns"]))
    {
        let count = uses.get_mut(text(pattern));
        assert!(count.is_some(), "there is no pattern {pattern}");
        count.into_iter().for_each(|count| *count += 1);
    }
    assert!(
        uses.values().all(|count| *count > 0),
        "a pattern of no event: {uses:?}"
    );
    for (id, pattern) in ids.iter().zip(texts) {
        assert!(Regex::new(pattern).is_ok(), "{id}: {pattern}");
    }
    ids
}

/// Names and words stand in regular expressions and JSON without escapes.
fn policies(catalog: &Catalog) {
    let schema = policy::schema(policy::NOTHING_ELSE, catalog);
    let schema: Value = serde_json::from_str(&schema).unwrap_or_default();
    let patterns = schema["properties"]["policy"]["patternProperties"].as_object();
    let pattern = patterns.and_then(|patterns| patterns.keys().next());
    let pattern = pattern.and_then(|pattern| Regex::new(pattern).ok());
    for entry in catalog.entries {
        assert!(
            pattern
                .as_ref()
                .is_some_and(|pattern| pattern.is_match(entry.name)),
            "{}",
            entry.name
        );
        let document = json!({ "policy": { entry.name: { "severity": "fatal" } } }).to_string();
        let read = policy::alone(&document, catalog);
        assert!(
            read.is_ok_and(|policy| policy.names(entry.name)),
            "{}",
            entry.name
        );
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn lines_of(value: &Value) -> Vec<String> {
    match value {
        Value::Array(lines) => lines.iter().map(|line| text(line).to_owned()).collect(),
        line => vec![text(line).to_owned()],
    }
}

fn context() -> CheckContext {
    CheckContext {
        component: "component".to_owned(),
        now: NOW,
        trigger: Trigger::Event,
        boot_id: "b-1".to_owned(),
        boot_time: NOW - 86_400_000,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn message(sequence: u64, facility: u32, text: &str) -> Message {
    Message {
        sequence,
        time: NOW - 60_000 + sequence,
        level: 3,
        facility,
        text: text.to_owned(),
        dictionary: None,
    }
}
