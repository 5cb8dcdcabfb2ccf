//! What was found, as text and as JSON.

use std::{collections::BTreeSet, fmt::Write as _};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::known::{Entry, Known};
use crate::{
    capture::{Capture, Clock},
    cli::{output, terminal::Terminal, terminal::printable},
    component::offline::{Judgement, Seen},
    model::{Event, UnixMillis},
    wire::{ComponentHealthStates, HealthState, Origin},
};

const UNKNOWN: &str = "\
no checker makes anything of it
Some messages mean something only together with those around them: paste these too, or save the log and use --file.
";

/// For people.
pub fn text(log: &Capture, judgements: &[Judgement], terminal: Terminal) -> String {
    let mut text = String::new();
    if let Some(format) = log.format {
        let _ = writeln!(text, "{} messages ({})", log.messages.len(), format.name());
    }
    if let Some(first) = &log.first_unparsable {
        let _ = writeln!(
            text,
            "{} lines not understood, the first is line {}: {}",
            log.unparsable,
            first.line,
            printable(&first.text)
        );
    }
    for note in notes(log) {
        let _ = writeln!(text, "note: {note}");
    }
    if judgements.is_empty() {
        text.push_str(UNKNOWN);
    }
    for judgement in judgements {
        one(&mut text, judgement, terminal);
    }
    text
}

/// What should be known of the times shown.
fn notes(log: &Capture) -> Vec<&'static str> {
    let mut notes = Vec::new();
    match log.clock {
        Clock::Wall => {}
        Clock::SinceBoot => {
            notes.push("the log has times since boot only; its end is shown as now")
        }
        Clock::None => notes.push("the log has no times; all are shown as now"),
    }
    if log.years_guessed {
        notes.push("the log's times have no year; the latest that is not in the future is taken");
    }
    if log.zone_assumed {
        notes.push("the log's times have no zone; this machine's is taken");
    }
    notes
}

fn one(text: &mut String, judgement: &Judgement, terminal: Terminal) {
    let name = &judgement.component;
    if judgement.states.is_empty() {
        let count = judgement.events.len();
        let _ = writeln!(text, "{} {name}: {count} events", terminal.waiting());
    } else {
        let states: Vec<_> = states(judgement);
        text.push_str(&output::component(terminal, name, &states));
    }
    let known = Known::of(name);
    let mut explained = BTreeSet::new();
    let mut advised = BTreeSet::new();
    for seen in &judgement.events {
        let Seen { event, count, last } = seen;
        let _ = write!(
            text,
            "  {} {} {}: {}",
            moment(event.time),
            event.event_type.as_str(),
            printable(&event.name),
            printable(&event.message)
        );
        if *count > 1 {
            let _ = write!(text, " ({count} times, last {})", moment(*last));
        }
        text.push('\n');
        let Some(entry) = known.event(&event.name) else {
            continue;
        };
        // Once for all events of a name.
        if explained.insert(&event.name) {
            let _ = writeln!(text, "    means: {}", entry.means);
        }
        if let Some(end) = end_of(seen, entry, &judgement.events) {
            let (name, when) = (printable(&end.event.name), moment(end.last));
            let _ = writeln!(text, "    over: {name} at {when}, nothing to do");
            continue;
        }
        let to_do = entry.to_do();
        if !to_do.is_empty() && advised.insert(&event.name) {
            let _ = writeln!(text, "    to do: {to_do}");
        }
    }
    for problem in &judgement.problems {
        let _ = writeln!(text, "  error: {}", printable(problem));
    }
}

/// What ended an event, if anything did: a later event of the same device that its entry names.
fn end_of<'a>(seen: &Seen, entry: &Entry, all: &'a [Seen]) -> Option<&'a Seen> {
    let device = |event: &Event| {
        let mut facts = event.extra_info.iter();
        facts
            .find(|(key, _)| key == "device")
            .map(|(_, device)| device.clone())
    };
    let is_same = |other: &Event| match (&seen.event.subject, &other.subject) {
        (Some(one), Some(other)) => one == other,
        _ => device(&seen.event) == device(other),
    };
    all.iter().find(|other| {
        entry.is_ended_by(&other.event.name) && other.last >= seen.last && is_same(&other.event)
    })
}

/// One document.
pub fn json(log: &Capture, judgements: &[Judgement]) -> String {
    let components: Vec<Value> = judgements
        .iter()
        .map(|judgement| {
            let known = Known::of(&judgement.component);
            let events: Vec<Value> = judgement
                .events
                .iter()
                .map(|seen| {
                    let Seen { event, count, last } = seen;
                    let mut document = json!({
                        "time": moment(event.time),
                        "last_time": moment(*last),
                        "count": count,
                        "name": event.name,
                        "type": event.event_type.as_str(),
                        "message": event.message,
                        "extra_info": event.extra_info.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                    });
                    let entry = known.event(&event.name);
                    if let (Some(entry), Some(fields)) = (entry, document.as_object_mut()) {
                        fields.insert("means".to_owned(), json!(entry.means));
                        // What is over asks for nothing any more.
                        match end_of(seen, entry, &judgement.events) {
                            Some(end) => {
                                fields.insert("over_since".to_owned(), json!(moment(end.last)));
                                fields.insert("actions".to_owned(), json!([]));
                                fields.insert("advice".to_owned(), json!(""));
                            }
                            None => {
                                fields.insert("actions".to_owned(), json!(entry.actions));
                                fields.insert("advice".to_owned(), json!(entry.advice));
                            }
                        }
                    }
                    document
                })
                .collect();
            json!({
                "component": judgement.component,
                "states": states(judgement),
                "events": events,
                "problems": judgement.problems,
            })
        })
        .collect();
    let document = json!({
        "format": log.format.map(|format| format.name()),
        "messages": log.messages.len(),
        "boots": log.boots.len(),
        "skipped": log.skipped,
        "unparsable": log.unparsable,
        "notes": notes(log),
        "components": components,
    });
    format!("{document}\n")
}

/// The verdicts of a component.
pub fn component(judgement: &Judgement) -> ComponentHealthStates {
    ComponentHealthStates {
        component: judgement.component.clone(),
        states: Some(states(judgement)),
    }
}

fn states(judgement: &Judgement) -> Vec<HealthState> {
    let wire = |state| HealthState::from_model(&judgement.component, &Origin::default(), state);
    judgement.states.iter().cloned().map(wire).collect()
}

fn moment(time: UnixMillis) -> String {
    i64::try_from(time / 1000)
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .map_or_else(|| time.to_string(), |time| time.to_string())
}
