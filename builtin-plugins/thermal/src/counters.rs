//! Throttled time, from `/sys/devices/system/cpu/cpu‹n›/thermal_throttle/(core|package)_throttle_total_time_ms`
//! (Linux 5.6 and later, Intel; `drivers/thermal/intel/therm_throt.c`).
//!
//! The kernel adds a period when it ends: one that still goes on is not in the figures yet.

use std::collections::BTreeMap;

use gpud_sdk::CheckContext;

/// The levels that can be throttled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// One core.
    Core,
    /// All of a socket.
    Package,
}

impl Level {
    /// As a label and in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Package => "package",
        }
    }

    /// Where its counters are.
    pub fn files(self) -> &'static str {
        match self {
            Self::Core => {
                "/sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_total_time_ms"
            }
            Self::Package => {
                "/sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_total_time_ms"
            }
        }
    }
}

/// Processor and milliseconds of one counter. A processor that is offline has an empty one.
pub fn read(path: &str, content: &[u8]) -> Option<(u32, u64)> {
    let (number, _) = path
        .strip_prefix("/sys/devices/system/cpu/cpu")?
        .split_once('/')?;
    let text = std::str::from_utf8(content).ok()?;
    Some((number.parse().ok()?, text.trim().parse().ok()?))
}

/// All counters at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    boot_id: String,
    /// Unix milliseconds.
    time: u64,
    core: Vec<(u32, u64)>,
    package: Vec<(u32, u64)>,
}

/// Largest sample that is kept; some 4,000 processors.
const MAX_KEPT: usize = 60_000;

impl Sample {
    /// Counters of now.
    pub fn new(context: &CheckContext, core: Vec<(u32, u64)>, package: Vec<(u32, u64)>) -> Self {
        Self {
            boot_id: context.boot_id.clone(),
            time: context.now,
            core,
            package,
        }
    }

    fn of(&self, level: Level) -> &[(u32, u64)] {
        match level {
            Level::Core => &self.core,
            Level::Package => &self.package,
        }
    }

    /// Time since boot of the most throttled processor, milliseconds.
    pub fn most(&self, level: Level) -> Option<u64> {
        self.of(level).iter().map(|(_, time)| *time).max()
    }

    /// The most throttled processor since an earlier sample of this boot.
    pub fn since(&self, before: &Sample, level: Level) -> Option<Throttled> {
        let elapsed = self.time.checked_sub(before.time).filter(|ms| *ms > 0)?;
        if self.boot_id != before.boot_id {
            return None;
        }
        let earlier: BTreeMap<u32, u64> = before.of(level).iter().copied().collect();
        let grown = self.of(level).iter().filter_map(|(cpu, time)| {
            let throttled = time.checked_sub(*earlier.get(cpu)?)?;
            Some((*cpu, throttled))
        });
        let worst = grown.max_by_key(|(_, throttled)| *throttled);
        worst.map(|(cpu, throttled)| Throttled {
            cpu,
            percent: (throttled.saturating_mul(100) / elapsed).min(100),
            seconds: elapsed / 1000,
        })
    }

    /// As text: boot id, time, then per level a line of `‹cpu›:‹ms›` separated by blanks. Nothing if that is too long to
    /// keep.
    pub fn save(&self) -> Option<String> {
        let list = |of: &[(u32, u64)]| {
            let items: Vec<String> = of
                .iter()
                .map(|(cpu, time)| format!("{cpu}:{time}"))
                .collect();
            items.join(" ")
        };
        let text = format!(
            "{}\n{}\n{}\n{}",
            self.boot_id,
            self.time,
            list(&self.core),
            list(&self.package)
        );
        (text.len() <= MAX_KEPT).then_some(text)
    }

    /// From kept text.
    pub fn restore(text: &str) -> Option<Self> {
        let mut lines = text.split('\n');
        let (boot_id, time) = (lines.next()?, lines.next()?);
        let mut list = || -> Option<Vec<(u32, u64)>> {
            let items = lines.next()?.split_whitespace();
            items
                .map(|item| {
                    let (cpu, time) = item.split_once(':')?;
                    Some((cpu.parse().ok()?, time.parse().ok()?))
                })
                .collect()
        };
        let (core, package) = (list()?, list()?);
        Some(Self {
            boot_id: boot_id.to_owned(),
            time: time.parse().ok()?,
            core,
            package,
        })
    }
}

/// How much the most throttled processor was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Throttled {
    /// Which.
    pub cpu: u32,
    /// Share of the time, percent; at most 100.
    pub percent: u64,
    /// Time that was looked at, seconds.
    pub seconds: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_sdk::Trigger;
    use proptest::prelude::*;

    fn sample(boot: &str, time: u64, core: &[(u32, u64)]) -> Sample {
        let context = CheckContext {
            component: String::new(),
            now: time,
            trigger: Trigger::Scheduled,
            boot_id: boot.into(),
            boot_time: 0,
            previous_check: None,
            extra: vec![],
        };
        Sample::new(&context, core.to_vec(), vec![(0, 7)])
    }

    #[test]
    fn reads_counters() {
        let file = |cpu: &str| {
            format!("/sys/devices/system/cpu/{cpu}/thermal_throttle/core_throttle_total_time_ms")
        };
        assert_eq!(read(&file("cpu12"), b"345\n"), Some((12, 345)));
        assert_eq!(read(&file("cpu12"), b""), None);
        assert_eq!(read(&file("cpufreq"), b"1\n"), None);
        assert_eq!(read("/etc/passwd", b"1\n"), None);
    }

    #[test]
    fn finds_the_most_throttled() {
        let before = sample("b", 10_000, &[(0, 100), (10, 0), (2, 500)]);
        let since = |now: Sample| now.since(&before, Level::Core);
        let throttled = |cpu, percent, seconds| {
            Some(Throttled {
                cpu,
                percent,
                seconds,
            })
        };
        assert_eq!(
            since(sample("b", 70_000, &[(0, 100), (10, 6_000), (2, 600)])),
            throttled(10, 10, 60)
        );
        // A processor that came or went, a counter that restarted.
        assert_eq!(
            since(sample("b", 20_000, &[(1, 9_000), (2, 0), (0, 5_100)])),
            throttled(0, 50, 10)
        );
        // A long period that ended just now.
        assert_eq!(
            since(sample("b", 20_000, &[(0, 90_000)])),
            throttled(0, 100, 10)
        );
        assert_eq!(since(sample("c", 20_000, &[(0, 90_000)])), None);
        assert_eq!(since(sample("b", 10_000, &[(0, 90_000)])), None);
        assert_eq!(since(sample("b", 9_000, &[(0, 90_000)])), None);
        assert_eq!(since(sample("b", 20_000, &[])), None);
        assert_eq!(before.most(Level::Core), Some(500));
        assert_eq!(before.most(Level::Package), Some(7));
    }

    #[test]
    fn is_kept() {
        let kept = sample("b", 10_000, &[(0, 100), (2, 500)]);
        assert_eq!(kept.save().as_deref(), Some("b\n10000\n0:100 2:500\n0:7"));
        assert_eq!(Sample::restore(&kept.save().unwrap()), Some(kept));
        let large: Vec<_> = (0..8_192).map(|cpu| (cpu, 1_000_000)).collect();
        assert_eq!(sample("b", 1, &large).save(), None);
    }

    proptest! {
        #[test]
        fn restores_anything(text in "[b0-9: \n]{0,60}") {
            if let Some(kept) = Sample::restore(&text) {
                let _ = kept.since(&sample("b", u64::MAX, &[(0, u64::MAX)]), Level::Core);
                let _ = sample("b", u64::MAX, &[(0, u64::MAX)]).since(&kept, Level::Core);
            }
        }
    }
}
