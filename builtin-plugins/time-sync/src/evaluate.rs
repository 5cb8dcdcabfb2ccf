//! The verdict.

use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::settings::Settings;
use gpud_sdk::{CheckContext, Event, EventType, Report};
use serde::{Deserialize, Serialize};

use crate::source::Source;

/// Gauge: synchronised.
pub const SYNCHRONISED: &str = "time_synchronised";
/// Gauge: how far off.
pub const OFFSET: &str = "time_offset_seconds";

/// JSON Schema of the configuration.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "max_offset_milliseconds": {
      "description": "How far the clock may be from that of its time servers (chrony only).",
      "type": "integer", "minimum": 1, "default": 100
    },
    "max_age_hours": {
      "description": "How long ago the clock may have been measured last (chrony only); eight intervals of the time service where that is longer.",
      "type": "integer", "minimum": 1, "maximum": 8784, "default": 6
    },
    "grace_seconds": {
      "description": "How long the clock may be without synchronisation before the state is Degraded.",
      "type": "integer", "minimum": 0, "default": 3600
    },
    "min_jump_seconds": {
      "description": "By how much the clock must have been set for it to be an event.",
      "type": "integer", "minimum": 2, "default": 2
    },
    "required": {
      "description": "Whether a machine without any time service is Degraded.",
      "type": "boolean", "default": false
    }
  }
}"#;

/// Intervals of chrony without a measurement that are nothing strange.
const INTERVALS: f64 = 8.0;
/// What the kernel still counts as synchronised, seconds (`NTP_PHASE_LIMIT`, `kernel/time/ntp.c`).
const MAX_DISTANCE: f64 = 16.0;

const ADVICE: &str =
    "Check the time service and its servers (chronyc sources, timedatectl timesync-status).";

/// The configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    max_offset_ms: u64,
    max_age: u64,
    grace: u64,
    min_jump: u64,
    required: bool,
}

impl Config {
    /// Reads the document.
    ///
    /// # Errors
    /// In words, when it is not JSON.
    pub fn parse(document: &str) -> Result<Self, String> {
        let settings = Settings::parse(document)?;
        Ok(Self {
            max_offset_ms: settings.number("max_offset_milliseconds", 100, 1..=u64::from(u32::MAX)),
            max_age: settings.number("max_age_hours", 6, 1..=8_784) * 3_600,
            grace: settings.number("grace_seconds", 3_600, 0..=u64::from(u32::MAX)),
            // The boot time has whole seconds, so a second is lost or won at every step.
            min_jump: settings.number("min_jump_seconds", 2, 2..=u64::from(u32::MAX)),
            required: settings.flag("required", false),
        })
    }

    /// Whether an answer is neither a finding nor the beginning of one, at a moment in Unix seconds.
    pub fn is_well(&self, source: &Source, now: u64) -> bool {
        match *source {
            Source::Chrony {
                synchronised,
                offset,
                ..
            } => synchronised && offset <= self.max_offset() && self.doubt(source, now).is_none(),
            Source::Systemd {
                synchronised,
                service,
            } => synchronised || !(service || self.required),
            Source::Unknown => !self.required,
        }
    }

    /// Why a clock that chrony calls synchronised is not: chrony says so until it is restarted.
    fn doubt(&self, source: &Source, now: u64) -> Option<UnsynchronisedReason> {
        let Source::Chrony {
            measured,
            interval,
            distance,
            ..
        } = *source
        else {
            return None;
        };
        #[expect(
            clippy::cast_precision_loss,
            reason = "ages of clocks are below 2^52 s"
        )]
        let is_old = |age: u64| age > self.max_age && age as f64 > interval * INTERVALS;
        let age = now.saturating_sub(measured);
        if measured > 0 && is_old(age) {
            return Some(UnsynchronisedReason::Unmeasured(age));
        }
        (distance > MAX_DISTANCE).then_some(UnsynchronisedReason::Far(distance))
    }

    /// In seconds.
    fn max_offset(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "at most 2^32")]
        let limit = self.max_offset_ms as f64 / 1e3;
        limit
    }
}

/// Why a clock is not synchronised although its service says so.
enum UnsynchronisedReason {
    /// It was not measured for so many seconds.
    Unmeasured(u64),
    /// By the service's own account it may be off by so many seconds.
    Far(f64),
}

/// The state that is retained from check to check, of one boot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SyncMemory {
    boot_id: String,
    /// Boot time at the last check, unix seconds.
    boot_time: Option<u64>,
    /// Since when the clock is not synchronised, seconds after boot: the clock itself cannot be trusted to count them.
    lost_at: Option<u64>,
}

impl SyncMemory {
    /// From what [`SyncMemory::save`] gave in this boot.
    pub fn restore(saved: Option<&str>, boot_id: &str) -> Self {
        let saved: Option<Self> = saved.and_then(|saved| serde_json::from_str(saved).ok());
        saved
            .filter(|saved| saved.boot_id == boot_id)
            .unwrap_or_else(|| Self {
                boot_id: boot_id.to_owned(),
                ..Self::default()
            })
    }

    /// As text.
    pub fn save(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Judges one reading. `boot_time`: by the clock of now, unix seconds.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    source: &Source,
    boot_time: Option<u64>,
    kept: &mut SyncMemory,
    before: &Memory,
) -> (Report, Memory) {
    let jump = jump(context, config, boot_time, kept.boot_time);
    kept.boot_time = boot_time;

    let uptime = (context.now / 1000).saturating_sub(boot_time.unwrap_or(0));
    let mut found = Vec::new();
    let doubt = config.doubt(source, context.now / 1000);
    let synchronised = match *source {
        Source::Chrony { synchronised, .. } => Some(synchronised && doubt.is_none()),
        Source::Systemd {
            synchronised,
            service: true,
        } => Some(synchronised),
        // Someone else does (PTP, the hypervisor), or nobody is meant to.
        Source::Systemd {
            synchronised: true, ..
        } => Some(true),
        Source::Systemd { .. } | Source::Unknown => None,
    };
    if synchronised == Some(false) {
        let since = *kept.lost_at.get_or_insert(uptime);
        found.extend(unsynchronised(config, doubt, uptime.saturating_sub(since)));
    } else {
        kept.lost_at = None;
    }
    found.extend(offset(config, source));
    found.extend(missing(config, source));
    let healthy = match (source, synchronised) {
        (Source::Unknown, _) => {
            "no time service can be asked (neither chrony nor systemd); jumps are watched"
        }
        (_, None) => "no time service is switched on; jumps are watched",
        (_, Some(true)) => "the clock is synchronised",
        (_, Some(false)) => "the clock is not synchronised yet",
    };
    let (mut report, after) = findings::judge(context, healthy, &found, before);
    report.events.extend(jump);
    if let Some(synchronised) = synchronised {
        report = report.gauge(SYNCHRONISED, f64::from(u8::from(synchronised)));
    }
    if let Source::Chrony { offset, .. } = *source {
        report = report.gauge(OFFSET, offset);
    }
    (report, after)
}

/// That the clock is not synchronised, where chrony cannot be believed or it has been so for too long.
fn unsynchronised(
    config: &Config,
    doubt: Option<UnsynchronisedReason>,
    for_seconds: u64,
) -> Option<Finding> {
    let text = match doubt {
        Some(UnsynchronisedReason::Unmeasured(age)) => format!(
            "chrony has not measured the clock for {} h, so its verdict does not count",
            age / 3_600
        ),
        Some(UnsynchronisedReason::Far(distance)) => format!(
            "chrony cannot tell the time to more than {distance:.1} s, and the kernel counts as synchronised what is \
             within {MAX_DISTANCE} s"
        ),
        None if for_seconds >= config.grace => {
            let minutes = for_seconds / 60;
            format!("the clock has not been synchronised for {minutes} min")
        }
        None => return None,
    };
    Some(Finding::degraded("synchronisation", "clock_unsynchronised", text).advice(ADVICE))
}

/// That a synchronised clock is too far off.
fn offset(config: &Config, source: &Source) -> Option<Finding> {
    let Source::Chrony {
        synchronised: true,
        offset,
        ..
    } = *source
    else {
        return None;
    };
    let limit = config.max_offset();
    (offset > limit).then(|| {
        let text = format!("the clock is {offset:.3} s off, more than {limit} s");
        Finding::degraded("offset", "clock_offset", text).advice(ADVICE)
    })
}

/// That a time service is required and none is switched on.
fn missing(config: &Config, source: &Source) -> Option<Finding> {
    let nobody = matches!(
        source,
        Source::Systemd {
            synchronised: false,
            service: false
        }
    );
    (config.required && (nobody || *source == Source::Unknown)).then(|| {
        let text = "no time service synchronises the clock";
        Finding::degraded("service", "time_service_missing", text).advice(ADVICE)
    })
}

fn jump(
    context: &CheckContext,
    config: &Config,
    now: Option<u64>,
    before: Option<u64>,
) -> Option<Event> {
    let (now, before) = now.zip(before)?;
    let seconds = now.abs_diff(before);
    let direction = if now > before { "forward" } else { "back" };
    let text = format!("the clock was set {direction} by about {seconds} s");
    (seconds >= config.min_jump)
        .then(|| Event::new(context.now, "clock_jump", EventType::Warning, text))
}

#[cfg(test)]
mod tests;
