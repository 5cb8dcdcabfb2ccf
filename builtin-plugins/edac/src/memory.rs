//! The state of the counters that is retained from one check to the next.

use std::collections::BTreeMap;

use gpud_sdk::samples::Samples;
use gpud_sdk::{CheckContext, Trigger};
use serde::{Deserialize, Serialize};

use crate::counters::Dimm;

/// Of one DIMM. One whose counters were always 0 is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Tally {
    /// Corrected errors over time.
    corrected: Samples,
    /// Uncorrected errors that became events from the counter alone, or were cleared by an operator.
    #[serde(alias = "told")]
    reported: u64,
    /// Uncorrected errors up to which an operator set the component healthy.
    cleared: u64,
}

/// Of all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    boot: String,
    dimms: BTreeMap<String, Tally>,
}

/// The result of the counters of one DIMM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// Corrected errors within the window.
    pub corrected: u64,
    /// Uncorrected errors since the boot or the last set-healthy.
    pub uncorrected: u64,
    /// Of those, the errors that no event reports.
    pub unreported: u64,
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

    /// Takes the counters of one check. `logged` says how many uncorrected errors of a DIMM the log reported in this
    /// boot. `window` is in seconds. Gives one reading for each DIMM, and what to keep.
    pub fn take(
        before: Option<&Self>,
        context: &CheckContext,
        window: u64,
        dimms: &[Dimm],
        logged: impl Fn(&Dimm) -> u64,
    ) -> (Vec<Reading>, Self) {
        let mut after = Self {
            boot: context.boot_id.clone(),
            dimms: BTreeMap::new(),
        };
        let since = context.now.saturating_sub(window.saturating_mul(1000));
        let young = context.boot_time != 0 && context.boot_time >= since;
        let cleared = context.trigger == Trigger::SetHealthy;
        let mut readings = Vec::new();
        for dimm in dimms {
            let id = dimm.id();
            let known = before.and_then(|before| before.dimms.get(&id));
            let mut tally = known.cloned().unwrap_or_else(|| Tally {
                // A counter that was not kept stood at 0. Of one never seen before, only a machine that was booted
                // within the window tells when it counted.
                corrected: Samples::starting_at(if before.is_some() || young {
                    0
                } else {
                    dimm.corrected
                }),
                ..Tally::default()
            });
            if dimm.uncorrected < tally.cleared || dimm.uncorrected < tally.reported {
                (tally.cleared, tally.reported) = (0, 0); // counted from zero
            }
            if cleared {
                tally.corrected = Samples::starting_at(dimm.corrected);
                (tally.cleared, tally.reported) = (dimm.uncorrected, dimm.uncorrected);
            }
            let reported = tally.reported.saturating_add(logged(dimm));
            // What the log already holds when the daemon starts comes after the first check.
            let unreported = if context.trigger == Trigger::Startup {
                0
            } else {
                dimm.uncorrected.saturating_sub(reported)
            };
            readings.push(Reading {
                corrected: tally
                    .corrected
                    .add(context.now / 1000, window, dimm.corrected),
                uncorrected: dimm.uncorrected - tally.cleared,
                unreported,
            });
            tally.reported += unreported;
            if dimm.corrected != 0 || dimm.uncorrected != 0 {
                after.dimms.insert(id, tally);
            }
        }
        (readings, after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400;

    fn context(now: u64, boot_time: u64, trigger: Trigger) -> CheckContext {
        CheckContext {
            component: "memory-edac".into(),
            now: now * 1000,
            trigger,
            boot_id: "b".into(),
            boot_time: boot_time * 1000,
            previous_check: None,
            extra: Vec::new(),
        }
    }

    fn dimm(corrected: u64, uncorrected: u64) -> Vec<Dimm> {
        vec![Dimm {
            controller: "mc0".into(),
            slot: "dimm1".into(),
            corrected,
            uncorrected,
            ..Dimm::default()
        }]
    }

    /// One check after another: uptime in seconds, corrected, uncorrected, logged, set-healthy → reading.
    #[test]
    fn checks_in_a_row() {
        let start = 1_800_000_000;
        let mut kept: Option<String> = None;
        for (uptime, corrected, uncorrected, logged, clear, expected) in [
            (60, 0, 0, 0, false, (0, 0, 0)),
            (120, 5, 0, 0, false, (5, 0, 0)),
            (180, 5, 1, 1, false, (5, 1, 0)),
            (240, 5, 3, 1, false, (5, 3, 2)),
            (300, 5, 3, 1, false, (5, 3, 0)),
            (360, 6, 3, 0, true, (0, 0, 0)),
            (420, 7, 4, 1, false, (1, 1, 0)),
            (480, 7, 5, 1, false, (1, 2, 1)),
            // Counted from zero.
            (540, 2, 1, 1, false, (2, 1, 0)),
        ] {
            let trigger = if clear {
                Trigger::SetHealthy
            } else {
                Trigger::Scheduled
            };
            let context = context(start + uptime, start, trigger);
            let before = Memory::restore(kept.as_deref(), "b");
            let (readings, after) = Memory::take(
                before.as_ref(),
                &context,
                DAY,
                &dimm(corrected, uncorrected),
                |_| logged,
            );
            let (corrected, uncorrected, unreported) = expected;
            let expected = Reading {
                corrected,
                uncorrected,
                unreported,
            };
            assert_eq!(readings, [expected], "{uptime}");
            kept = Some(after.save().unwrap());
        }
    }

    #[test]
    fn what_was_counted_before_the_window_does_not_count() {
        let start = 1_800_000_000;
        let first = |uptime| {
            let context = context(start + uptime, start, Trigger::Scheduled);
            Memory::take(None, &context, DAY, &dimm(500, 1), |_| 0).0[0]
        };
        assert_eq!(
            first(DAY),
            Reading {
                corrected: 500,
                uncorrected: 1,
                unreported: 1
            }
        );
        assert_eq!(
            first(DAY + 1),
            Reading {
                corrected: 0,
                uncorrected: 1,
                unreported: 1
            }
        );
    }

    #[test]
    fn saved_state_belongs_to_a_boot_and_stays_small() {
        let context = context(1_800_000_000, 1, Trigger::Scheduled);
        let (_, empty) = Memory::take(None, &context, DAY, &dimm(0, 0), |_| 0);
        let text = empty.save().unwrap();
        assert_eq!(text, r#"{"boot":"b","dimms":{}}"#);
        assert_eq!(Memory::restore(Some(&text), "b"), Some(empty));
        for (saved, boot) in [(Some(text.as_str()), "c"), (Some("{"), "b"), (None, "b")] {
            assert_eq!(Memory::restore(saved, boot), None);
        }
        // 96 DIMMs that all err all the time fit one value of `state`.
        let mut kept: Option<Memory> = None;
        for check in 0..2_000 {
            let now = CheckContext {
                now: (1_800_000_000 + check * 60) * 1000,
                ..context.clone()
            };
            let dimms: Vec<Dimm> = (0..96)
                .map(|slot| Dimm {
                    slot: format!("dimm{slot}"),
                    ..dimm(check * 7, 3)[0].clone()
                })
                .collect();
            kept = Some(Memory::take(kept.as_ref(), &now, DAY, &dimms, |_| 0).1);
        }
        assert!(kept.unwrap().save().unwrap().len() < 64 * 1024);
    }
}
