//! The verdict.

use gpud_builtin_ipmi::log::Entry;
use gpud_builtin_shared::files::gauge;
use gpud_builtin_shared::settings::Settings;
use gpud_pack_common::{hold, names};
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::{CheckContext, Event, Evidence, RepairAction, Report, Trigger};

use crate::info::Info;
use crate::log_memory::LogMemory;

/// Gauge: how full the log is.
pub const USED: &str = "server_event_log_used_percent";
/// Gauge: entries.
pub const ENTRIES: &str = "server_event_log_entries";
/// Gauge: troubles that are not over.
pub const OPEN: &str = "server_event_log_open_troubles";

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "keep_hours": {
      "description": "How long a trouble counts whose end the controller does not log.",
      "type": "integer", "minimum": 1, "maximum": 8784, "default": 336
    },
    "full_percent": {
      "description": "How full the log may be; 0: not judged.",
      "type": "integer", "minimum": 0, "maximum": 100, "default": 90
    },
    "ignored": {
      "description": "Entries that are no trouble, as \"sensor what\"; * stands for any text: \"Drive Slot*\".",
      "type": "array", "maxItems": 256, "items": { "type": "string" }, "default": []
    }
  }
}"#;

const HOUR_MS: u64 = 3_600_000;
const CLEAR_IT: &str =
    "Save the log (`ipmitool sel save FILE`) and clear it (`ipmitool sel clear`).";
const CHECK: &str =
    "Check the part that the controller names; then clear its log, or set the component healthy.";

/// The configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    keep_ms: u64,
    full: u64,
    ignored: Vec<String>,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        Ok(Self {
            keep_ms: settings.number("keep_hours", 336, 1..=8_784) * HOUR_MS,
            full: settings.number("full_percent", 90, 0..=100),
            ignored: settings.words("ignored").unwrap_or_default(),
        })
    }
}

/// Judges one reading: the log and how full it is, or why they are not known.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    log: Result<&[Entry], &str>,
    info: Option<Info>,
    log_memory: &mut LogMemory,
    before: &Memory,
) -> (Report, Memory) {
    if context.trigger == Trigger::SetHealthy {
        log_memory.open.0.clear();
    }
    let mut found = Vec::new();
    let mut news = Vec::new();
    let mut healthy = String::new();
    match log {
        Ok(entries) => {
            news = log_memory.take(context.now, config.keep_ms, entries);
            healthy = format!(
                "{} entries of the event log read, no open trouble",
                entries.len()
            );
        }
        Err(why) => found.push(hold::unreadable(
            "log",
            "server_event_log_unreadable",
            "the controller's event log",
            why,
            &[],
        )),
    }
    log_memory
        .open
        .0
        .retain(|key, _| !names::any_fits(&config.ignored, key));
    found.extend(log_memory.open.0.iter().map(|(key, trouble)| {
        let event = match trouble.critical {
            true => "server_event_log_critical",
            false => "server_event_log_warning",
        };
        let text = format!("{key} ({} by the controller's clock)", trouble.when);
        Finding::degraded(key.clone(), event, text).action(RepairAction::HardwareInspection, CHECK)
    }));
    let info = info.unwrap_or_default();
    let full = info
        .used_percent
        .filter(|used| config.full > 0 && *used >= config.full);
    if info.overflow || full.is_some() {
        let text = match info.used_percent {
            _ if info.overflow => "the event log is full, and entries were lost".to_owned(),
            Some(used) => format!("the event log is {used} % full"),
            None => "the event log is full".to_owned(),
        };
        found.push(Finding::degraded("room", "server_event_log_full", text).advice(CLEAR_IT));
    }
    let (mut report, after) = findings::judge(context, &healthy, &found, before);
    // The entry itself is the event; that a trouble began says no more.
    report
        .events
        .retain(|event| !event.name.ends_with("_critical") && !event.name.ends_with("_warning"));
    report
        .events
        .extend(news.into_iter().map(|entry| event(context, entry)));
    for (metric, value) in [
        (USED, info.used_percent),
        (ENTRIES, info.entries),
        (OPEN, Some(log_memory.open.0.len() as u64)),
    ] {
        if let Some(value) = value {
            report = report.gauge(metric, gauge(value));
        }
    }
    (report, after)
}

fn event(context: &CheckContext, entry: &Entry) -> Event {
    let over = if entry.asserted { "" } else { " (over)" };
    let text = format!(
        "{}: {}{over}, {} by the controller's clock",
        entry.sensor, entry.what, entry.when
    );
    let key = format!("{} {}", entry.key(), entry.asserted);
    let mut event =
        Event::new(context.now, "server_event_log", entry.event_type(), text).merged_by(key, 300);
    event
        .evidence
        .push(Evidence::Other(format!("SEL {}", entry.id)));
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info;
    use gpud_builtin_ipmi::log;
    use gpud_sdk::Health;
    use gpud_sdk::testing::test_context;

    const ECC: &str = "2,04/12/2024,10:21:30,Memory #0x01,Uncorrectable ECC,Asserted\n";

    /// Checks with log and info, one after another.
    fn run(
        config: &str,
        checks: &[(Result<&str, &str>, &str, Trigger)],
    ) -> (Health, String, Vec<String>) {
        let mut context = test_context("server-event-log", 1_000);
        let config = Config::parse(config).unwrap();
        let (mut log_memory, mut memory) = (LogMemory::default(), Memory::default());
        let mut answer = (Health::Healthy, String::new(), Vec::new());
        for (text, info, trigger) in checks {
            context.now += 60_000;
            context.trigger = trigger.clone();
            let entries = text.map(log::parse);
            let log = entries.as_ref().map(Vec::as_slice).map_err(|why| *why);
            let (report, after) = judge(
                &context,
                &config,
                log,
                Some(info::parse(info)),
                &mut log_memory,
                &memory,
            );
            memory = after;
            answer.0 = report.states[0].health.clone();
            answer.1.clone_from(&report.states[0].reason);
            answer
                .2
                .extend(report.events.into_iter().map(|event| event.name));
        }
        answer
    }

    #[test]
    fn troubles_last_until_someone_looks() {
        use Trigger::{Scheduled, SetHealthy};
        let ecc = "Memory #0x01 Uncorrectable ECC (04/12/2024 10:21:30 by the controller's clock)";
        let fine = "1 entries of the event log read, no open trouble";
        for (config, checks, health, reason, events) in [
            (
                "{}",
                vec![(Ok(ECC), "", Scheduled)],
                Health::Healthy,
                fine,
                0,
            ),
            (
                "{}",
                vec![
                    (Ok(""), "", Scheduled),
                    (Ok(ECC), "", Scheduled),
                    (Ok(ECC), "", Scheduled),
                ],
                Health::Degraded,
                ecc,
                1,
            ),
            (
                "{}",
                vec![
                    (Ok(""), "", Scheduled),
                    (Ok(ECC), "", Scheduled),
                    (Ok(ECC), "", SetHealthy),
                ],
                Health::Healthy,
                fine,
                2,
            ),
            (
                r#"{"ignored":["memory*"]}"#,
                vec![(Ok(""), "", Scheduled), (Ok(ECC), "", Scheduled)],
                Health::Healthy,
                fine,
                1,
            ),
            (
                "{}",
                vec![
                    (Ok(""), "", Scheduled),
                    (Ok(ECC), "", Scheduled),
                    (Err("busy"), "", Scheduled),
                ],
                Health::Degraded,
                &format!("the controller's event log cannot be read (busy); {ecc}"),
                2,
            ),
            (
                "{}",
                vec![(Ok(""), "Percent Used : 95%", Scheduled)],
                Health::Degraded,
                &format!("the event log is 95 % full. {CLEAR_IT}"),
                1,
            ),
            (
                "{}",
                vec![(Ok(""), "Percent Used : 95%\nOverflow : true", Scheduled)],
                Health::Degraded,
                &format!("the event log is full, and entries were lost. {CLEAR_IT}"),
                1,
            ),
            (
                r#"{"full_percent":0}"#,
                vec![(Ok(ECC), "Percent Used : 95%", Scheduled)],
                Health::Healthy,
                fine,
                0,
            ),
        ] {
            let (found, said, told) = run(config, &checks);
            assert_eq!(
                (found, said.as_str(), told.len()),
                (health, reason, events),
                "{told:?}"
            );
        }
    }

    #[test]
    fn the_schema_says_the_same() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let default = |key: &str| schema["properties"][key]["default"].clone();
        let config = serde_json::json!({
            "keep_hours": default("keep_hours"), "full_percent": default("full_percent"), "ignored": default("ignored"),
        });
        assert_eq!(Config::parse(&config.to_string()), Config::parse("{}"));
        assert!(Config::parse("{").is_err());
    }
}
