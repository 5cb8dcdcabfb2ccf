//! Prints the result as text and as JSON.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use serde_json::{Value, json};

use super::HostJudgement;
use crate::{
    capture::{Clock, MAX_LINE, Overview},
    cli::{ages::moment, output, terminal::Terminal, terminal::printable},
    component::{
        event_facts::{EventFact, EventFacts},
        offline::Judgement,
    },
    model::Event,
    store::StoredEvent,
    summary::{Fact, differing_catalog, error_facts},
    wire::{ComponentHealthStates, HealthState, Origin},
};

/// The message for a file without any kernel message.
pub const UNREAD: &str = "no kernel message was found, so nothing was judged";
const UNKNOWN: &str = "\
no checker makes anything of it
Some messages mean something only together with those around them: paste these too, or save the log and use --file.
";

/// For people.
pub fn text(log: &Overview, hosts: &[HostJudgement], terminal: Terminal) -> String {
    let mut text = String::new();
    if let Some(format) = log.format {
        let count = log.message_count();
        let _ = writeln!(text, "{count} messages ({})", format.name());
    }
    if log.skipped > 0 {
        let _ = writeln!(text, "{} lines of other programs", log.skipped);
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
        let _ = writeln!(text, "note: {}", printable(&note));
    }
    if is_unread(log) {
        let _ = writeln!(
            text,
            "{UNREAD}; save the log with dmesg or journalctl -k, as a user who may read it"
        );
    } else if hosts.iter().all(|host| host.judgements.is_empty()) {
        text.push_str(UNKNOWN);
    }
    for host in hosts.iter().filter(|host| !host.judgements.is_empty()) {
        let several = name_if_several(hosts, host);
        if let Some(name) = &several {
            let _ = writeln!(text, "\n{}", printable(name));
        }
        for judgement in &host.judgements {
            one(&mut text, judgement, several.as_deref(), terminal);
        }
    }
    text
}

/// Returns the name of a host where a file has several.
fn name_if_several(hosts: &[HostJudgement], host: &HostJudgement) -> Option<String> {
    (hosts.len() > 1).then(|| match &host.host {
        Some(name) => format!("host {name}"),
        None => "lines without a host".to_owned(),
    })
}

/// Returns notes about the times that are shown.
fn notes(log: &Overview) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    if log.logs.len() > 1 {
        let count = log.logs.iter().filter(|log| log.host.is_some()).count();
        notes.push(format!("lines of {count} hosts; each is judged by itself"));
    }
    let any = |clock| log.logs.iter().any(|log| log.clock == clock);
    if any(Clock::SinceBoot) {
        notes.push("the log has times since boot only; its end is shown as now".to_owned());
    }
    if any(Clock::None) {
        notes.push("the log has no times; all are shown as now".to_owned());
    }
    if log.years_guessed {
        notes.push(
            "the log's times have no year; the latest that is not in the future is taken"
                .to_owned(),
        );
    }
    if log.zone_assumed {
        notes.push("the log's times have no zone; this machine's is taken".to_owned());
    }
    if log.boots_merged {
        notes.push(
            "the log has more boots than are distinguished; the later ones are judged as one"
                .to_owned(),
        );
    }
    if log.cut > 0 {
        notes.push(format!(
            "{} lines longer than {MAX_LINE} bytes; the rest of each is left out",
            log.cut
        ));
    }
    if let Some(problem) = &log.damaged {
        notes.push(format!(
            "the compressed file is damaged or ends too early ({problem}); what was before it is judged"
        ));
    }
    notes
}

fn one(text: &mut String, judgement: &Judgement, host: Option<&str>, terminal: Terminal) {
    let name = &judgement.component;
    if judgement.states.is_empty() {
        let count = judgement.events.len();
        let of = host.map_or_else(String::new, |host| format!("{}: ", printable(host)));
        let _ = writeln!(text, "{} {name}: {of}{count} events", terminal.waiting());
    } else {
        let states: Vec<_> = states(judgement, host);
        text.push_str(&output::component(terminal, name, &states));
    }
    let event_facts = EventFacts::of(name);
    let mut explained = BTreeSet::new();
    let mut advised = BTreeSet::new();
    for seen in &judgement.events {
        let StoredEvent {
            event,
            count,
            last_time,
        } = seen;
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
        facts(text, &event.extra_info);
        let Some(entry) = event_facts.event(&event.name) else {
            continue;
        };
        // Once for all events of a name.
        if explained.insert(&event.name) {
            let _ = writeln!(text, "    means: {}", entry.means);
        }
        if let Some(end) = end_of(seen, entry, &judgement.events) {
            let (name, when) = (printable(&end.event.name), moment(end.last_time));
            let _ = writeln!(text, "    over: {name} at {when}, nothing to do");
            continue;
        }
        let to_do = entry.to_do();
        if !to_do.is_empty() && advised.insert(&event.name) {
            let _ = writeln!(text, "    to do: {to_do}");
        }
    }
    if let Some(left_out) = left_out(judgement) {
        let _ = writeln!(text, "  {left_out}");
    }
    for problem in &judgement.problems {
        let _ = writeln!(text, "  error: {}", printable(problem));
    }
}

/// Says how many events were left out.
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

/// Whether there is no kernel message in a log.
pub fn is_unread(log: &Overview) -> bool {
    log.message_count() == 0
}

/// Says what was not judged: all of a log without messages, what a damaged file lacks, what components could not keep.
/// `None` if everything was.
pub fn incomplete(log: &Overview, hosts: &[HostJudgement]) -> Option<String> {
    if is_unread(log) {
        return Some(UNREAD.to_owned());
    }
    if let Some(problem) = &log.damaged {
        return Some(format!(
            "the compressed file is damaged or ends too early ({problem})"
        ));
    }
    let judgements = hosts.iter().flat_map(|host| &host.judgements);
    let incomplete = judgements.filter(|judgement| !judgement.is_complete());
    let names: BTreeSet<&str> = incomplete
        .map(|judgement| judgement.component.as_str())
        .collect();
    let names: Vec<&str> = names.into_iter().collect();
    (!names.is_empty()).then(|| {
        format!(
            "not everything in the log could be judged, see {}",
            names.join(", ")
        )
    })
}

/// Writes the facts of a line about its device and process, and those of both catalogues.
pub fn facts(text: &mut String, extra_info: &[(String, String)]) {
    for Fact { name, value } in error_facts(extra_info) {
        let _ = writeln!(text, "    {name}: {}", printable(&value));
    }
    if let Some(used) = differing_catalog(extra_info) {
        let used = printable(used);
        let _ = writeln!(
            text,
            "    the two views differ; {used} is used (--xid-catalog)"
        );
    }
}

/// Returns the event that ended another one, if there is one: a later event of the same device that its entry names.
pub fn end_of<'a>(
    seen: &StoredEvent,
    entry: &EventFact,
    all: &'a [StoredEvent],
) -> Option<&'a StoredEvent> {
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
        entry.is_ended_by(&other.event.name)
            && other.last_time >= seen.last_time
            && is_same(&other.event)
    })
}

/// One document.
pub fn json(log: &Overview, hosts: &[HostJudgement]) -> String {
    let judgements = hosts.iter().flat_map(|host| {
        let of_host = move |judgement| (host, judgement);
        host.judgements.iter().map(of_host)
    });
    let components: Vec<Value> = judgements
        .map(|(host, judgement)| {
            let several = name_if_several(hosts, host);
            let event_facts = EventFacts::of(&judgement.component);
            let seen = judgement.events.iter();
            let events = seen.map(|seen| event_json(seen, &event_facts, &judgement.events));
            let events: Vec<Value> = events.collect();
            json!({
                "component": judgement.component,
                "host": host.host,
                "states": states(judgement, several.as_deref()),
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
        "messages": log.message_count(),
        "complete": incomplete(log, hosts).is_none(),
        "boots": log.logs.iter().map(|log| log.boots).sum::<usize>(),
        "hosts": log.logs.iter().map(|log| json!({
            "host": log.host,
            "messages": log.messages,
            "boots": log.boots,
        })).collect::<Vec<_>>(),
        "skipped": log.skipped,
        "unparsable": log.unparsable,
        "first_unparsable": log.first_unparsable.as_ref().map(|first| json!({
            "line": first.line,
            "text": first.text,
        })),
        "cut": log.cut,
        "notes": notes(log),
        "components": components,
    });
    format!("{document}\n")
}

/// An event in a document, with what is known of it.
fn event_json(seen: &StoredEvent, event_facts: &EventFacts, all: &[StoredEvent]) -> Value {
    let StoredEvent {
        event,
        count,
        last_time,
    } = seen;
    let mut document = json!({
        "time": moment(event.time),
        "last_time": moment(*last_time),
        "count": count,
        "name": event.name,
        "type": event.event_type.as_str(),
        "message": event.message,
        "extra_info": event.extra_info.iter().cloned().collect::<BTreeMap<_, _>>(),
    });
    let entry = event_facts.event(&event.name);
    if let (Some(entry), Some(fields)) = (entry, document.as_object_mut()) {
        fields.insert("means".to_owned(), json!(entry.means));
        // What is over asks for nothing any more.
        match end_of(seen, entry, all) {
            Some(end) => {
                fields.insert("over_since".to_owned(), json!(moment(end.last_time)));
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
}

/// The verdicts of a component.
pub fn component(judgement: &Judgement) -> ComponentHealthStates {
    ComponentHealthStates {
        component: judgement.component.clone(),
        states: Some(states(judgement, None)),
    }
}

/// The verdicts; where a file has several hosts, each names its own.
fn states(judgement: &Judgement, host: Option<&str>) -> Vec<HealthState> {
    let wire = |state| HealthState::from_model(&judgement.component, &Origin::default(), state);
    let mut states: Vec<_> = judgement.states.iter().cloned().map(wire).collect();
    if let Some(host) = host {
        for state in &mut states {
            state.reason = match state.reason.as_str() {
                "" => host.to_owned(),
                reason => format!("{host}: {reason}"),
            };
        }
    }
    states
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
