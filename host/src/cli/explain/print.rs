//! What was found, as text and as JSON.

use std::{collections::BTreeSet, fmt::Write as _};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::known::Known;
use crate::{
    capture::{Capture, Clock},
    cli::{output, terminal::Terminal, terminal::printable},
    component::offline::{Judgement, Seen},
    model::UnixMillis,
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
    let mut told = BTreeSet::new();
    for Seen { event, count, last } in &judgement.events {
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
        facts(text, &event.extra_info);
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
    for problem in &judgement.problems {
        let _ = writeln!(text, "  error: {}", printable(problem));
    }
}

/// Facts of an error that has a number, with the heading that each has.
const FACTS: [(&str, &str); 8] = [
    ("gpu", "GPU"),
    ("process", "process"),
    ("pid", "pid"),
    ("link", "link"),
    ("row", "row"),
    ("address", "address"),
    ("recovery_action_label", "recovery action"),
    ("note", "note"),
];

/// What a line says of its device and process, and what both catalogues make of it.
fn facts(text: &mut String, extra_info: &[(String, String)]) {
    let fact = |key: &str| {
        let found = extra_info.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| printable(value))
    };
    let (Some(gpud), Some(nvidia)) = (fact("gpud_verdict"), fact("nvidia_verdict")) else {
        return;
    };
    for (key, heading) in FACTS {
        if let Some(value) = fact(key) {
            let _ = writeln!(text, "    {heading}: {value}");
        }
    }
    if let Some(code) = fact("caused_by") {
        let _ = writeln!(text, "    caused by: Xid {code}; look there");
    }
    if let Some(code) = fact("part_of") {
        let _ = writeln!(text, "    part of: Xid {code}");
    }
    if let Some(asked) = fact("recovery_action_of_154") {
        let _ = writeln!(text, "    Xid 154 of this GPU asks for: {asked}");
    }
    if let Some(count) = fact("gpus_of_same_process") {
        let _ = writeln!(
            text,
            "    the same process met it on {count} GPUs: the application is at fault, not the GPUs"
        );
    }
    if let Some(means) = fact("vendor_means") {
        let _ = writeln!(text, "    NVIDIA's present meaning: {means}");
    }
    let _ = writeln!(text, "    GPUd's view: {gpud}");
    let own = match (fact("vendor_action"), fact("vendor_action_words")) {
        (Some(word), Some(words)) => format!("{word}, {words} ({nvidia})"),
        _ => format!("no action named ({nvidia})"),
    };
    let _ = writeln!(text, "    NVIDIA's view: {own}");
    if let Some(next) = fact("vendor_investigates") {
        let _ = writeln!(text, "    NVIDIA's next step: {next}");
    }
    if fact("verdicts_differ").is_some() {
        let used = fact("xid_catalog").unwrap_or_default();
        let _ = writeln!(
            text,
            "    the two views differ; {used} is used (--xid-catalog)"
        );
    }
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
                .map(|Seen { event, count, last }| {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pairs: &[(&str, &str)]) -> String {
        let pairs = pairs.iter();
        let pairs: Vec<_> = pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        let mut text = String::new();
        facts(&mut text, &pairs);
        text
    }

    #[test]
    fn facts_of_an_error_with_a_number_are_shown_in_order() {
        let both = [
            ("gpud_verdict", "Fatal, REBOOT_SYSTEM"),
            ("nvidia_verdict", "Warning, CHECK_USER_APP_AND_GPU"),
        ];
        let mut all = vec![
            ("vendor_action", "RESTART_APP"),
            ("vendor_action_words", "restart the application"),
            ("xid_catalog", "gpud"),
            ("verdicts_differ", "true"),
            ("caused_by", "149"),
            ("pid", "7"),
            ("process", "python3"),
            ("gpu", "GPU 3, 0000:3b:00.0, GPU-a"),
        ];
        all.extend(both);
        assert_eq!(
            shown(&all),
            "    GPU: GPU 3, 0000:3b:00.0, GPU-a\n\
             \x20   process: python3\n\
             \x20   pid: 7\n\
             \x20   caused by: Xid 149; look there\n\
             \x20   GPUd's view: Fatal, REBOOT_SYSTEM\n\
             \x20   NVIDIA's view: RESTART_APP, restart the application (Warning, CHECK_USER_APP_AND_GPU)\n\
             \x20   the two views differ; gpud is used (--xid-catalog)\n"
        );
        assert!(shown(&both).contains("NVIDIA's view: no action named ("));
        // Events of other components have no two views.
        assert_eq!(shown(&[("gpu", "x"), ("pid", "7")]), "");
    }
}
