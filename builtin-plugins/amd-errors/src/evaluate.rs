//! From lines to events, and from events to the state. Functions of their arguments.

use gpud_builtin_amd_common::card::subject;
use gpud_builtin_amd_common::pci::is_id;
use gpud_sdk::files::gauge;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::incidents::{self, Incident, Sighting};
use gpud_sdk::{CheckContext, Event, Message, Report};

use crate::config::Config;
use crate::kinds::{KINDS, KindFacts};
use crate::lines::{self, MatchedLine};
use crate::rules;

/// How far back errors count: 14 days.
pub const LOOK_BACK_MS: u64 = 14 * 24 * 60 * 60 * 1000;
/// The gauge of what happened lately.
pub const METRIC: &str = "accelerator_amd_errors_recent";

/// Repeats of one kind and GPU within this time are counted.
const MERGE_SECONDS: u32 = 300;

/// The events of messages, oldest first.
pub fn events(context: &CheckContext, messages: &[Message]) -> Vec<Event> {
    let genuine = messages
        .iter()
        .filter(|message| incidents::is_driver_line(message));
    genuine
        .filter_map(|message| {
            let found = lines::find(&message.text)?;
            let kind_facts = KINDS
                .iter()
                .find(|kind_facts| kind_facts.kind == found.kind)?;
            Some(sighting(&found, kind_facts).event(context, message, MERGE_SECONDS))
        })
        .collect()
}

fn sighting(found: &MatchedLine<'_>, kind_facts: &KindFacts) -> Sighting {
    let text = format!("{} ({})", kind_facts.text, found.device);
    let mut sighting =
        Sighting::new(kind_facts.event, kind_facts.event_type.clone(), text).of(found.device);
    for (key, value) in &found.facts {
        sighting = sighting.fact(key, *value);
    }
    sighting.subject = is_id(found.device).then(|| subject(found.device));
    sighting
}

/// The state. `gpus` is how many GPUs the driver has.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    events: &[StoredEvent],
    boots: &[u64],
    gpus: usize,
) -> Report {
    let rules = rules::rules(config);
    let open = incidents::open(&rules, events, boots, context.now);
    let healthy = match gpus {
        0 => "no GPU of the amdgpu driver on this machine".to_owned(),
        gpus => format!("no errors of {gpus} AMD GPU(s) in the kernel log that need attention"),
    };
    let mut report = Report {
        supported: gpus > 0 || !events.is_empty(),
        ..Report::of(incidents::state(context, &healthy, &open, describe))
    };
    if !report.supported {
        return report;
    }
    let since = context.now.saturating_sub(config.window_ms());
    for kind_facts in &KINDS {
        let of_kind = events
            .iter()
            .filter(|row| row.event.name == kind_facts.event && row.last_time >= since);
        let count = of_kind.map(|row| row.count).fold(0, u64::saturating_add);
        report.add_gauge(METRIC, &[("kind", kind_facts.event)], gauge(count));
    }
    report
}

fn describe(incident: &Incident<'_>) -> String {
    let event = &incident.newest.event;
    let mut words = event.message.clone();
    if incident.count > 1 {
        words.push_str(&format!(", {} times", incident.count));
    }
    let fact = |key| incidents::fact(event, key);
    if let Some(cause) = fact("cause")
        .or_else(|| fact("block"))
        .or_else(|| fact("ring"))
    {
        words.push_str(&format!(": {cause}"));
    }
    words
}

#[cfg(test)]
mod tests;
