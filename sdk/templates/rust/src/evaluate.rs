//! The decision: pure functions of what was read.

use gpud_sdk::{CheckContext, HealthState, RepairAction, Report};
use serde::Deserialize;

/// What an operator can configure, as JSON schema. gpud refuses what does not fit.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "properties": { "min_rpm": { "type": "integer", "minimum": 0 } },
  "additionalProperties": false
}"#;

/// The configuration.
#[derive(Debug, Deserialize)]
#[serde(default)]
pub struct Config {
    /// A fan below this is too slow, revolutions per minute.
    pub min_rpm: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { min_rpm: 300 }
    }
}

/// A fan, and its speed or why it could not be read.
#[derive(Debug)]
pub struct Fan {
    /// Its file.
    pub path: String,
    /// Revolutions per minute.
    pub rpm: Result<u64, String>,
}

/// The number in a file of hwmon.
pub fn rpm(bytes: &[u8]) -> Result<u64, String> {
    let text = String::from_utf8_lossy(bytes);
    text.trim().parse().map_err(|_| format!("{:?} is no speed", text.trim()))
}

/// The verdict.
pub fn report(context: &CheckContext, config: &Config, fans: &[Fan]) -> Report {
    if fans.is_empty() {
        // `Report::unsupported` would hide the component here.
        return Report::of(HealthState::healthy(context, "this machine shows no fans"));
    }
    let mut slow = Vec::new();
    let mut unread = Vec::new();
    for fan in fans {
        match &fan.rpm {
            Ok(rpm) if *rpm < config.min_rpm => slow.push(format!("{} at {rpm} rpm", fan.path)),
            Ok(_) => {}
            Err(why) => unread.push(format!("{}: {why}", fan.path)),
        }
    }
    let state = if !slow.is_empty() {
        let reason = format!("{} of {} fans are too slow: {}", slow.len(), fans.len(), slow.join(", "));
        HealthState::degraded(context, reason).action(RepairAction::HardwareInspection, "look at these fans")
    } else if unread.len() == fans.len() {
        HealthState::degraded(context, "no fan can be read").error(unread.join("; "))
    } else {
        HealthState::healthy(context, format!("{} fans turn", fans.len() - unread.len()))
    };
    fans.iter().fold(Report::of(state), |report, fan| match fan.rpm {
        Ok(rpm) => report.gauge_with("fan_rpm", &[("fan", &fan.path)], rpm as f64),
        Err(_) => report,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_sdk::{Health, Trigger};

    fn judged(rpms: &[Result<u64, &str>]) -> Report {
        let context = CheckContext {
            component: "{{name}}".into(),
            now: 0,
            trigger: Trigger::Scheduled,
            boot_id: String::new(),
            boot_time: 0,
            previous_check: None,
            extra: Vec::new(),
        };
        let fan = |(at, rpm): (usize, &Result<u64, &str>)| Fan {
            path: format!("fan{at}"),
            rpm: rpm.map_err(str::to_owned),
        };
        let fans: Vec<_> = rpms.iter().enumerate().map(fan).collect();
        report(&context, &Config::default(), &fans)
    }

    #[test]
    fn slow_fans_are_named() {
        for (rpms, health, reason) in [
            (&[][..], Health::Healthy, "this machine shows no fans"),
            (&[Ok(900), Ok(1200)], Health::Healthy, "2 fans turn"),
            (&[Ok(900), Ok(299)], Health::Degraded, "1 of 2 fans are too slow: fan1 at 299 rpm"),
            (&[Ok(900), Err("gone")], Health::Healthy, "1 fans turn"),
            (&[Err("gone")], Health::Degraded, "no fan can be read"),
        ] {
            let report = judged(rpms);
            assert_eq!((&report.states[0].health, report.states[0].reason.as_str()), (&health, reason));
        }
        assert!(judged(&[]).supported);
        assert_eq!(judged(&[Ok(1), Err("x")]).metrics.len(), 1);
    }

    #[test]
    fn only_numbers_are_speeds() {
        assert_eq!(rpm(b"1200\n"), Ok(1200));
        for bad in [&b""[..], b"-1", b"fast", b"\xff"] {
            assert!(rpm(bad).is_err());
        }
    }
}
