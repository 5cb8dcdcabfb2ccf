//! What was found, as text and as JSON.

use std::{collections::BTreeSet, fmt::Write as _};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::known::Known;
use crate::{
    capture::{Capture, Clock},
    cli::{output, terminal::Terminal, terminal::printable},
    component::offline::Judgement,
    model::UnixMillis,
    store::StoredEvent,
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
        let _ = writeln!(text, "{} messages ({})", log.count, format.name());
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
    let mut told = BTreeSet::new();
    for stored in &judgement.events {
        let StoredEvent {
            event,
            count,
            last_time,
        } = stored;
        let _ = write!(
            text,
            "  {} {} {}: {}",
            moment(event.time),
            event.event_type.as_str(),
            printable(&event.name),
            printable(&event.message)
        );
        if *count > 1 {
            let (first, last) = (moment(event.time), moment(*last_time));
            let _ = write!(text, " ({count} times between {first} and {last})");
        }
        text.push('\n');
        // Once for all events of a name.
        if let Some(entry) = known
            .event(&event.name)
            .filter(|_| told.insert(&event.name))
        {
            let _ = writeln!(text, "    means: {}", entry.means);
            let to_do = entry.to_do();
            if !to_do.is_empty() {
                let _ = writeln!(text, "    to do: {to_do}");
            }
        }
    }
    if let Some(left_out) = left_out(judgement) {
        let _ = writeln!(text, "  {left_out}");
    }
    for problem in &judgement.problems {
        let _ = writeln!(text, "  error: {}", printable(problem));
    }
}

/// What there was no room for, in words.
fn left_out(judgement: &Judgement) -> Option<String> {
    let left_out = &judgement.left_out;
    (left_out.events > 0).then(|| {
        format!(
            "{} further events are left out, {} at worst: the log has more different ones than are kept; the worst and \
             the newest are shown",
            left_out.events,
            left_out.worst.as_str()
        )
    })
}

/// Says which components could not keep or judge everything; `None` if all could.
pub fn incomplete(judgements: &[Judgement]) -> Option<String> {
    let incomplete = judgements
        .iter()
        .filter(|judgement| !judgement.is_complete());
    let names: Vec<&str> = incomplete
        .map(|judgement| judgement.component.as_str())
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "not everything in the log could be judged, see {}",
            names.join(", ")
        )
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
                .map(|stored| {
                    let StoredEvent {
                        event,
                        count,
                        last_time,
                    } = stored;
                    let mut document = json!({
                        "time": moment(event.time),
                        "last_time": moment(*last_time),
                        "count": count,
                        "name": event.name,
                        "type": event.event_type.as_str(),
                        "message": event.message,
                        "extra_info": event.extra_info.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                    });
                    let entry = known.event(&event.name);
                    if let (Some(entry), Some(fields)) = (entry, document.as_object_mut()) {
                        fields.insert("means".to_owned(), json!(entry.means));
                        fields.insert("actions".to_owned(), json!(entry.actions));
                        fields.insert("advice".to_owned(), json!(entry.advice));
                    }
                    document
                })
                .collect();
            json!({
                "component": judgement.component,
                "states": states(judgement),
                "events": events,
                "left_out": {
                    "events": judgement.left_out.events,
                    "worst": judgement.left_out.worst.as_str(),
                },
                "problems": judgement.problems,
            })
        })
        .collect();
    let document = json!({
        "format": log.format.map(|format| format.name()),
        "messages": log.count,
        "boots": log.boots.len(),
        "skipped": log.skipped,
        "unparsable": log.unparsable,
        "notes": notes(log),
        "complete": incomplete(judgements).is_none(),
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
