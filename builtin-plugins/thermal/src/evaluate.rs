//! From lines to events, and from events and counters to the state. Functions of their arguments.

use gpud_sdk::history::StoredEvent;
use gpud_sdk::incidents::{self, Incident, Rule, Sighting};
use gpud_sdk::policy::Policy;
use gpud_sdk::{CheckContext, Event, Health, HealthState, Message, Recovery, RepairAction, Report};

use crate::config::Config;
use crate::counters::{Level, Sample, Throttled};
use crate::lines::{self, MatchedLine};
use crate::patterns;

/// How far back shutdowns for heat are looked for: 14 days.
pub const LOOK_BACK_MS: u64 = 14 * 24 * 60 * 60 * 1000;
/// The gauge of the share of throttled time.
pub const PERCENT: &str = "cpu_thermal_throttled_percent";
/// The gauge of throttled time since boot.
pub const TOTAL: &str = "cpu_thermal_throttled_milliseconds";

/// Repeats within this time are counted: what the kernel waits before it repeats itself (`CHECK_INTERVAL`). Every processor
/// of a package prints lines of its own.
const MERGE_SECONDS: u32 = 300;
const LEVELS: [Level; 2] = [Level::Core, Level::Package];

const THROTTLED: &str = patterns::CPU_THERMAL_THROTTLED.name;

const CRITICAL: &str = patterns::CRITICAL_TEMPERATURE.name;

/// The events of messages, oldest first.
pub fn events(context: &CheckContext, messages: &[Message]) -> Vec<Event> {
    let genuine = messages
        .iter()
        .filter(|message| incidents::is_driver_line(message));
    genuine
        .filter_map(|message| {
            let sighting = sighting(lines::find(&message.text)?);
            Some(sighting.event(context, message, MERGE_SECONDS))
        })
        .collect()
}

fn sighting(found: MatchedLine<'_>) -> Sighting {
    match found {
        MatchedLine::Throttled { cpu, level, total } => {
            let entry = patterns::CPU_THERMAL_THROTTLED;
            let text = entry.say(&[("level", level.word())]);
            Sighting::new(entry.name, entry.event_type(), text)
                .of(level.word())
                .fact("cpu", cpu)
                .fact("total_events", total)
        }
        MatchedLine::Normal { cpu, level } => {
            let entry = patterns::CPU_THERMAL_NORMAL;
            let text = entry.say(&[("level", level.word())]);
            Sighting::new(entry.name, entry.event_type(), text)
                .of(level.word())
                .fact("cpu", cpu)
        }
        MatchedLine::Critical { zone, degrees } => {
            let entry = patterns::CRITICAL_TEMPERATURE;
            Sighting::new(entry.name, entry.event_type(), entry.message)
                .fact("zone", zone)
                .fact("celsius", degrees)
        }
    }
}

fn rules(config: &Config) -> [Rule; 2] {
    [
        // A reboot follows it and does not repair it.
        Rule {
            remember_ms: config.shutdown_window_seconds * 1000,
            ..patterns::CRITICAL_TEMPERATURE.rule()
        },
        Rule {
            at_least: config.line_threshold,
            ..patterns::CPU_THERMAL_THROTTLED.rule()
        },
    ]
}

/// The readings of the counters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Readings {
    /// Now; nothing where the machine has no such counters.
    pub sample: Option<Sample>,
    /// At the last check.
    pub before: Option<Sample>,
}

impl Readings {
    fn since(&self, level: Level) -> Option<Throttled> {
        self.sample.as_ref()?.since(self.before.as_ref()?, level)
    }
}

/// The state.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    policy: &Policy,
    events: &[StoredEvent],
    boots: &[u64],
    readings: &Readings,
) -> Report {
    let describe = |incident: &Incident<'_>| match incident.rule.event {
        CRITICAL => {
            let fact = |key| incidents::fact(&incident.newest.event, key);
            let mut text = "the machine shut down at critical temperature".to_owned();
            if let Some(zone) = fact("zone") {
                text.push_str(&format!(" ({zone})"));
            }
            text
        }
        THROTTLED => format!(
            "CPU {} throttled for heat ({} lines)",
            incident.device, incident.count
        ),
        _ => incident.newest.event.message.clone(),
    };
    let healthy = match (&readings.sample, events.is_empty()) {
        (None, true) => "no counters of thermal throttling on this machine",
        _ => "processors are not throttled for heat",
    };
    let mut state = policy.state(&rules(config), |rules| {
        let open = incidents::open(rules, events, boots, context.now);
        incidents::state(context, healthy, &open, describe)
    });
    for level in LEVELS {
        let limit = config.max_throttled_percent;
        if let Some(throttled) = readings.since(level).filter(|found| found.percent >= limit) {
            state = with_throttled(state, level, throttled);
        }
    }
    let mut report = Report {
        supported: readings.sample.is_some() || !events.is_empty(),
        ..Report::of(state)
    };
    for level in LEVELS {
        let labels = [("level", level.word())];
        #[expect(
            clippy::cast_precision_loss,
            reason = "years of milliseconds stay below 2^53"
        )]
        let gauge = |value: u64| value as f64;
        if let Some(throttled) = readings.since(level) {
            report.add_gauge(PERCENT, &labels, gauge(throttled.percent));
        }
        if let Some(total) = readings
            .sample
            .as_ref()
            .and_then(|sample| sample.most(level))
        {
            report.add_gauge(TOTAL, &labels, gauge(total));
        }
    }
    report
}

fn with_throttled(mut state: HealthState, level: Level, found: Throttled) -> HealthState {
    let Throttled {
        cpu,
        percent,
        seconds,
    } = found;
    let words = format!(
        "CPU {cpu}: {} throttled for heat for {percent} % of the last {seconds} s",
        level.word()
    );
    if state.health == Health::Healthy {
        state.health = Health::Degraded;
        state.reason = words;
        // Other ways belong to what has been found before.
        return state
            .action(
                RepairAction::HardwareInspection,
                patterns::CPU_THERMAL_THROTTLED.advice,
            )
            .clears_by(Recovery::NextGoodReading);
    }
    state.reason.push_str("; ");
    state.reason.push_str(&words);
    state
}

#[cfg(test)]
mod tests;
