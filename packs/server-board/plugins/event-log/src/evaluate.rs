//! The verdict.

use gpud_builtin_ipmi::log::Entry;
use gpud_pack_common::{hold, names};
use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::settings::Settings;
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
    },
    "lifecycle_log": {
      "description": "Whether racadm is also asked for Dell's Lifecycle log, for which it attaches a USB partition for a moment.",
      "type": "boolean", "default": false
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
    /// Whether Dell's Lifecycle log is read as well.
    pub lifecycle_log: bool,
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
            lifecycle_log: settings.flag("lifecycle_log", false),
        })
    }
}

/// What the controller's logs say, or why that is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The newest entries of the event log.
    pub log: Result<Vec<Entry>, String>,
    /// Those of Dell's Lifecycle log, where it was asked for.
    pub lifecycle: Option<Result<Vec<Entry>, String>>,
    /// How full the event log is.
    pub info: Option<Info>,
}

impl Reading {
    /// Of the event log alone.
    pub fn of(log: Result<Vec<Entry>, String>) -> Self {
        Self {
            log,
            lifecycle: None,
            info: None,
        }
    }
}

/// Judges one reading.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    reading: &Reading,
    log_memory: &mut LogMemory,
    before: &Memory,
) -> (Report, Memory) {
    if context.trigger == Trigger::SetHealthy {
        log_memory.open.0.clear();
    }
    let mut found = Vec::new();
    let mut news = Vec::new();
    let mut healthy = String::new();
    match &reading.log {
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
    match &reading.lifecycle {
        Some(Ok(entries)) => {
            news.extend(log_memory.take_lifecycle(context.now, config.keep_ms, entries));
        }
        Some(Err(why)) => found.push(hold::unreadable(
            "lifecycle log",
            "server_event_log_unreadable",
            "Dell's Lifecycle log",
            why,
            &[],
        )),
        None => {}
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
        let what = trouble.text.as_ref().unwrap_or(key);
        let text = format!("{what} ({} by the controller's clock)", trouble.when);
        Finding::degraded(key.clone(), event, text).action(RepairAction::HardwareInspection, CHECK)
    }));
    let info = reading.info.unwrap_or_default();
    found.extend(room(config, &info));
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

/// Judges how full the log is.
fn room(config: &Config, info: &Info) -> Option<Finding> {
    let full = info
        .used_percent
        .filter(|used| config.full > 0 && *used >= config.full);
    if !info.overflow && full.is_none() {
        return None;
    }
    let text = match info.used_percent {
        _ if info.overflow => "the event log is full, and entries were lost".to_owned(),
        Some(used) => format!("the event log is {used} % full"),
        None => "the event log is full".to_owned(),
    };
    Some(Finding::degraded("room", "server_event_log_full", text).advice(CLEAR_IT))
}

fn event(context: &CheckContext, entry: &Entry) -> Event {
    let over = if entry.asserted { "" } else { " (over)" };
    let what = match &entry.sentence {
        Some(sentence) => sentence.text.clone(),
        None => format!("{}: {}{over}", entry.sensor, entry.what),
    };
    let text = format!("{what}, {} by the controller's clock", entry.when);
    let key = format!("{} {}", entry.key(), entry.asserted);
    let mut event =
        Event::new(context.now, "server_event_log", entry.event_type(), text).merged_by(key, 300);
    event
        .evidence
        .push(Evidence::Other(format!("SEL {}", entry.id)));
    event
}

#[cfg(test)]
mod tests;
