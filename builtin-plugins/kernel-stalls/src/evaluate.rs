//! From lines to events, and from events to the state. Functions of their arguments.

use std::collections::BTreeSet;

use gpud_sdk::catalog::Entry;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::incidents::{self, Incident, Rule, Sighting};
use gpud_sdk::policy::Policy;
use gpud_sdk::{CheckContext, Event, Message, Report};

use crate::blocked::Blocked;
use crate::config::Config;
use crate::lines::{self, MatchedLine, RcuKind};
use crate::oops::Oops;
use crate::patterns;

/// How far back lockups and lost clocks count: 14 days.
pub const LOOK_BACK_MS: u64 = 14 * 24 * 60 * 60 * 1000;
/// The gauge of what is stuck lately.
pub const METRIC: &str = "kernel_stalls_recent";

/// Repeats within this time are counted. The kernel repeats an RCU stall about every minute, a lockup of a work queue
/// every 30 s.
const MERGE_SECONDS: u32 = 300;
/// Oopses within this time are counted.
const OOPS_MERGE_SECONDS: u32 = 60;
/// Time after a stall in which lines may still name its processors, milliseconds. They follow at once.
const DETAIL_MS: u64 = 1_000;
/// Processors that a fact lists.
const MAX_CPUS: usize = 64;
/// A stall that is younger is none: kernels that ask for expedited grace periods in milliseconds print them, too. Ten
/// seconds at 100 jiffies a second, one at 1,000.
const SHORT_JIFFIES: u64 = 1_000;

const RCU: &str = patterns::RCU_STALL.name;
const HARD_LOCKUP: &str = patterns::HARD_LOCKUP.name;
const WORKQUEUE: &str = patterns::WORKQUEUE_LOCKUP.name;
const BLOCKED: &str = patterns::TASK_BLOCKED_REPEATEDLY.name;
const CLOCK: &str = patterns::CLOCKSOURCE_UNSTABLE.name;
/// The label values of the gauge.
const KINDS: [&str; 4] = [RCU, HARD_LOCKUP, WORKQUEUE, BLOCKED];

/// Clocks that take about a microsecond to read, or only count ticks: what x86 falls back to.
const SLOW_CLOCKS: [&str; 5] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"];

/// The events of messages, oldest first. Lines that name a stall's processors add them to its event, and an oops is what
/// its first line says.
pub fn events(
    context: &CheckContext,
    config: &Config,
    messages: &[Message],
    blocked: &mut Blocked,
    oops: &mut Oops,
) -> Vec<Event> {
    let mut events = Vec::new();
    let mut stall: Option<(Sighting, &Message, BTreeSet<u32>)> = None;
    let finish = |stall: Option<(Sighting, &Message, BTreeSet<u32>)>, events: &mut Vec<Event>| {
        if let Some((sighting, message, cpus)) = stall {
            let cpus: Vec<String> = cpus.iter().take(MAX_CPUS).map(u32::to_string).collect();
            let sighting = sighting.fact("cpus", cpus.join(","));
            events.push(sighting.event(context, message, MERGE_SECONDS));
        }
    };
    for message in messages
        .iter()
        .filter(|message| incidents::is_driver_line(message))
    {
        if let Some(cpu) = lines::stalled_cpu(&message.text) {
            if let Some((_, first, cpus)) = &mut stall
                && message.time.saturating_sub(first.time) <= DETAIL_MS
            {
                cpus.insert(cpu);
            }
            continue;
        }
        match lines::find(&message.text) {
            None => {}
            Some(MatchedLine::Rcu {
                flavour,
                kind,
                cpus,
                jiffies,
            }) => {
                finish(stall.take(), &mut events);
                let sighting = rcu(flavour, kind, jiffies);
                stall = Some((sighting, message, cpus.into_iter().collect()));
            }
            Some(found) => {
                let window = match found {
                    MatchedLine::Oops { .. } => OOPS_MERGE_SECONDS,
                    _ => MERGE_SECONDS,
                };
                let sighting = sighting(found, message, config, blocked, oops);
                events.extend(sighting.map(|s| s.event(context, message, window)));
            }
        }
    }
    finish(stall, &mut events);
    events
}

fn rcu(flavour: &str, kind: RcuKind, jiffies: Option<u64>) -> Sighting {
    let short = jiffies.is_some_and(|jiffies| jiffies < SHORT_JIFFIES);
    let entry = if short {
        patterns::RCU_STALL_SHORT
    } else {
        patterns::RCU_STALL
    };
    let text = entry.say(&[("flavour", flavour)]);
    Sighting::new(entry.name, entry.event_type(), text)
        .of(flavour)
        .fact("kind", kind.word())
        .fact(
            "jiffies",
            jiffies.map_or_else(String::new, |jiffies| jiffies.to_string()),
        )
}

fn sighting(
    found: MatchedLine<'_>,
    message: &Message,
    config: &Config,
    blocked: &mut Blocked,
    oops: &mut Oops,
) -> Option<Sighting> {
    Some(match found {
        MatchedLine::Rcu {
            flavour,
            kind,
            jiffies,
            ..
        } => rcu(flavour, kind, jiffies),
        MatchedLine::HardLockup { cpus } => {
            let entry = patterns::HARD_LOCKUP;
            let text = entry.say(&[("cpus", cpus)]);
            Sighting::new(entry.name, entry.event_type(), text).of(format!("CPU {cpus}"))
        }
        MatchedLine::Workqueue { cpus, seconds } => {
            let pool = cpus.map_or_else(|| "unbound".to_owned(), |cpus| format!("CPU {cpus}"));
            let entry = patterns::WORKQUEUE_LOCKUP;
            let text = entry.say(&[("pool", &pool)]);
            let seconds = seconds.map_or_else(String::new, |seconds| seconds.to_string());
            Sighting::new(entry.name, entry.event_type(), text)
                .of(pool)
                .fact("seconds", seconds)
        }
        MatchedLine::HungTask { name, pid, seconds } => {
            // Workers are named for where they run; which of them waits says nothing.
            let name = if name.starts_with("kworker/") {
                "kworker"
            } else {
                name
            };
            let count = blocked.report(name, message.time, config.window_ms());
            if count < config.blocked_threshold {
                return None;
            }
            let entry = patterns::TASK_BLOCKED_REPEATEDLY;
            let text = entry.say(&[
                ("name", name),
                ("count", &count.to_string()),
                ("seconds", &config.stall_window_seconds.to_string()),
            ]);
            Sighting::new(entry.name, entry.event_type(), text)
                .of(name)
                .fact("pid", pid)
                .fact("seconds", seconds.to_string())
        }
        MatchedLine::Oops { what, number } => {
            if !oops.is_first(number.is_some(), message.time) {
                return None;
            }
            let entry = patterns::KERNEL_OOPS;
            let text = entry.say(&[("what", what.trim_end())]);
            Sighting::new(entry.name, entry.event_type(), text)
                .fact("number", number.unwrap_or_default())
        }
        MatchedLine::Clock { name, why } => {
            let named = if name.is_empty() { "in use" } else { name };
            let entry = patterns::CLOCKSOURCE_UNSTABLE;
            let text = entry.say(&[("name", named)]);
            Sighting::new(entry.name, entry.event_type(), text)
                .of(name)
                .fact("why", why)
        }
    })
}

fn rules(config: &Config, slow_clock: bool) -> Vec<Rule> {
    let stall = |entry: &Entry| Rule {
        at_least: config.stall_threshold,
        remember_ms: config.window_ms(),
        ..entry.rule()
    };
    let mut rules = vec![
        patterns::HARD_LOCKUP.rule(),
        patterns::KERNEL_OOPS.rule(),
        stall(&patterns::RCU_STALL),
        stall(&patterns::WORKQUEUE_LOCKUP),
        Rule {
            at_least: 1,
            ..stall(&patterns::TASK_BLOCKED_REPEATEDLY)
        },
    ];
    if slow_clock {
        rules.push(patterns::CLOCKSOURCE_UNSTABLE.rule());
    }
    rules
}

/// The state. `current_clock` reads what the kernel tells the time by; it is asked only after a clock was given up.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    policy: &Policy,
    events: &[StoredEvent],
    boots: &[u64],
    current_clock: impl FnOnce() -> Option<String>,
) -> Report {
    let lost_clock = events.iter().any(|stored| stored.event.name == CLOCK);
    let clock = if lost_clock { current_clock() } else { None };
    let clock = clock.as_deref().map(str::trim).unwrap_or_default();
    let rules = rules(config, SLOW_CLOCKS.contains(&clock));
    let window = config.stall_window_seconds;
    let within = |incident: &Incident<'_>| incident.rule.remember_ms / 1000;
    let describe = |incident: &Incident<'_>| {
        let device = incident.device;
        match incident.rule.event {
            HARD_LOCKUP => format!("hard lockup on {device}"),
            RCU => format!(
                "{} RCU stalls ({device}) within {} s",
                incident.count,
                within(incident)
            ),
            WORKQUEUE => format!(
                "{} work queue lockups ({device}) within {} s",
                incident.count,
                within(incident)
            ),
            BLOCKED => format!("task {device} is blocked again and again"),
            CLOCK if !clock.is_empty() => {
                format!("clocksource {device} was given up, now {clock}")
            }
            _ => incident.newest.event.message.clone(),
        }
    };
    let recent = |kind: &str| -> u64 {
        let since = context.now.saturating_sub(config.window_ms());
        let of_kind = events
            .iter()
            .filter(|row| row.event.name == kind && row.last_time >= since);
        of_kind.map(|row| row.count).sum()
    };
    let few: u64 = [RCU, WORKQUEUE].iter().map(|kind| recent(kind)).sum();
    let healthy = match few {
        0 => "nothing is stuck".to_owned(),
        1 => format!("1 stall within {window} s, below the threshold"),
        few => format!("{few} stalls within {window} s, below the threshold"),
    };
    let mut report = Report::of(policy.state(&rules, |rules| {
        let open = incidents::open(rules, events, boots, context.now);
        incidents::state(context, &healthy, &open, describe)
    }));
    for kind in KINDS {
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        let value = recent(kind) as f64;
        report.add_gauge(METRIC, &[("kind", kind)], value);
    }
    report
}

#[cfg(test)]
mod tests;
