//! The state of the counters that is retained from one check to the next.

use std::collections::BTreeMap;

use gpud_sdk::samples::Samples;
use gpud_sdk::{CheckContext, Trigger};
use serde::{Deserialize, Serialize};

use crate::counters::{Counters, Totals};

/// Devices that are kept: those that fit one value of `state` even if all err all the time.
const MAX_DEVICES: usize = 48;

/// Of one device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Tally {
    corrected: Samples,
    uncorrected: Samples,
}

/// Of all devices that counted anything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    boot: String,
    devices: BTreeMap<String, Tally>,
}

/// Errors of one device within the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// Corrected.
    pub corrected: u64,
    /// Non-fatal and fatal.
    pub uncorrected: u64,
}

impl Memory {
    /// Restores the values of an earlier check of this boot; `None` when there was none.
    pub fn restore(saved: Option<&str>, boot_id: &str) -> Option<Self> {
        let memory: Self = serde_json::from_str(saved?).ok()?;
        (memory.boot == boot_id).then_some(memory)
    }

    /// The text to keep.
    ///
    /// # Errors
    /// When it cannot be written, which its types rule out.
    pub fn save(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Takes the counters of one check. `window` is in seconds. Gives the readings by PCI id, and what to keep.
    pub fn take<'a>(
        before: Option<&Self>,
        context: &CheckContext,
        window: u64,
        counters: &'a Counters,
    ) -> (BTreeMap<&'a str, Reading>, Self) {
        let mut after = Self {
            boot: context.boot_id.clone(),
            devices: BTreeMap::new(),
        };
        let since = context.now.saturating_sub(window.saturating_mul(1000));
        // A counter that was not kept stood at 0. Of one never seen before, only a machine that was booted within the
        // window tells when it counted.
        let from_zero = before.is_some() || (context.boot_time != 0 && context.boot_time >= since);
        let mut readings = BTreeMap::new();
        for (id, totals) in worst(counters) {
            let known = before.and_then(|before| before.devices.get(id));
            let start = |value| Samples::starting_at(if from_zero { 0 } else { value });
            let mut tally = known.cloned().unwrap_or_else(|| Tally {
                corrected: start(totals.corrected),
                uncorrected: start(totals.uncorrected()),
            });
            if context.trigger == Trigger::SetHealthy {
                tally.corrected = Samples::starting_at(totals.corrected);
                tally.uncorrected = Samples::starting_at(totals.uncorrected());
            }
            let now = context.now / 1000;
            let reading = Reading {
                corrected: tally.corrected.add(now, window, totals.corrected),
                uncorrected: tally.uncorrected.add(now, window, totals.uncorrected()),
            };
            readings.insert(id, reading);
            after.devices.insert(id.to_owned(), tally);
        }
        (readings, after)
    }
}

/// The devices that are looked at: all, or those with the most errors.
fn worst(counters: &Counters) -> Vec<(&str, &Totals)> {
    let mut devices: Vec<(&str, &Totals)> = counters
        .devices
        .iter()
        .map(|(id, totals)| (id.as_str(), totals))
        .collect();
    if devices.len() > MAX_DEVICES {
        let weight = |totals: &Totals| (totals.uncorrected(), totals.corrected);
        devices.sort_by_key(|(_, totals)| std::cmp::Reverse(weight(totals)));
        devices.truncate(MAX_DEVICES);
    }
    devices
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400;
    const START: u64 = 1_800_000_000;

    fn context(uptime: u64, trigger: Trigger) -> CheckContext {
        CheckContext {
            component: "pcie-aer".into(),
            now: (START + uptime) * 1000,
            trigger,
            boot_id: "b".into(),
            boot_time: START * 1000,
            previous_check: None,
            extra: Vec::new(),
        }
    }

    fn counters(corrected: u64, nonfatal: u64, fatal: u64) -> Counters {
        let totals = Totals {
            corrected,
            nonfatal,
            fatal,
        };
        let devices = if totals == Totals::default() {
            BTreeMap::new()
        } else {
            BTreeMap::from([("d".to_owned(), totals)])
        };
        Counters {
            exist: true,
            devices,
        }
    }

    #[test]
    fn checks_in_a_row() {
        let mut kept: Option<String> = None;
        for (uptime, totals, clear, expected) in [
            (2 * DAY, (0, 0, 0), false, None),
            (2 * DAY + 60, (500, 1, 1), false, Some((500, 2))),
            (2 * DAY + 120, (700, 3, 1), false, Some((700, 4))),
            (2 * DAY + 180, (700, 3, 1), true, Some((0, 0))),
            (2 * DAY + 240, (701, 3, 2), false, Some((1, 1))),
            (5 * DAY, (701, 3, 2), false, Some((0, 0))),
        ] {
            let trigger = if clear {
                Trigger::SetHealthy
            } else {
                Trigger::Scheduled
            };
            let before = Memory::restore(kept.as_deref(), "b");
            let counters = counters(totals.0, totals.1, totals.2);
            let (readings, after) =
                Memory::take(before.as_ref(), &context(uptime, trigger), DAY, &counters);
            let expected = expected.map(|(corrected, uncorrected)| Reading {
                corrected,
                uncorrected,
            });
            assert_eq!(readings.get("d").copied(), expected, "{uptime}");
            kept = Some(after.save().unwrap());
        }
    }

    #[test]
    fn what_was_counted_before_the_window_does_not_count() {
        let first = |uptime| {
            let counters = counters(500, 1, 0);
            let (readings, _) =
                Memory::take(None, &context(uptime, Trigger::Startup), DAY, &counters);
            readings["d"]
        };
        assert_eq!(
            first(DAY),
            Reading {
                corrected: 500,
                uncorrected: 1
            }
        );
        assert_eq!(first(DAY + 1), Reading::default());
    }

    #[test]
    fn saved_state_belongs_to_a_boot_and_stays_small() {
        assert_eq!(
            Memory::restore(Some(r#"{"boot":"b","devices":{}}"#), "c"),
            None
        );
        assert_eq!(Memory::restore(Some("{"), "b"), None);
        let mut kept: Option<Memory> = None;
        for check in 0..600u64 {
            let devices = (0..500u64).map(|n| {
                let totals = Totals {
                    corrected: check * 1_000_000 + n,
                    nonfatal: check * 900_000,
                    fatal: check,
                };
                (format!("0000:{:02x}:{:02x}.0", n / 32, n % 32), totals)
            });
            let counters = Counters {
                exist: true,
                devices: devices.collect(),
            };
            kept = Some(
                Memory::take(
                    kept.as_ref(),
                    &context(check * 300, Trigger::Scheduled),
                    DAY,
                    &counters,
                )
                .1,
            );
        }
        let kept = kept.unwrap();
        assert!(kept.devices.len() == MAX_DEVICES && kept.devices.contains_key("0000:0f:13.0"));
        assert!(kept.save().unwrap().len() < 64 * 1024);
    }
}
