//! Readers for `/proc/stat` and `/proc/loadavg` (kernel: `Documentation/filesystems/proc.rst`).

use gpud_sdk::incidents::clip;

/// Time of all processors together since boot, in clock ticks of whatever length: only ratios are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// Not idle and not waiting for I/O.
    pub busy: u64,
    /// All.
    pub total: u64,
}

impl Sample {
    /// Share of busy time between an earlier sample and this one, 0 to 100.
    ///
    /// The counters are not strictly monotonic (`iowait` may go back, processors come and go), hence the two odd
    /// cases: no more busy time than before is 0, busy time without any time is 100.
    pub fn percent_since(self, earlier: Self) -> f64 {
        if self.busy <= earlier.busy {
            return 0.0;
        }
        if self.total <= earlier.total {
            return 100.0;
        }
        let busy = (self.busy - earlier.busy) as f64;
        let total = (self.total - earlier.total) as f64;
        (busy / total * 100.0).clamp(0.0, 100.0)
    }
}

/// The used part of `/proc/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// The `cpu` line.
    pub sample: Sample,
    /// Number of `cpu‹n›` lines, that is, of processors online.
    pub online: u32,
}

impl Stat {
    /// Reads the leading `cpu` lines; what follows them is not looked at.
    ///
    /// # Errors
    /// In words, what is wrong with the first line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or("");
        let sample = parse_times(first)
            .ok_or_else(|| format!("/proc/stat begins with {:?}", clip(first)))?;
        let online = lines.take_while(|line| is_processor(line)).count();
        Ok(Self {
            sample,
            online: u32::try_from(online).unwrap_or(u32::MAX),
        })
    }
}

/// `cpu user nice system idle iowait irq softirq [steal [guest [guest_nice]]]`. The guest times are part of `user`
/// and `nice` already.
fn parse_times(line: &str) -> Option<Sample> {
    let mut fields = line.strip_prefix("cpu ")?.split_ascii_whitespace();
    let mut next = || fields.next()?.parse::<u64>().ok();
    let [user, nice, system, idle, iowait, irq, softirq] = [
        next()?,
        next()?,
        next()?,
        next()?,
        next()?,
        next()?,
        next()?,
    ];
    let steal = next().unwrap_or(0);
    let sum = |times: &[u64]| {
        times
            .iter()
            .fold(0u64, |sum, &time| sum.saturating_add(time))
    };
    let busy = sum(&[user, nice, system, irq, softirq, steal]);
    Some(Sample {
        busy,
        total: sum(&[busy, idle, iowait]),
    })
}

fn is_processor(line: &str) -> bool {
    line.strip_prefix("cpu")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Load averages over 1, 5 and 15 minutes.
///
/// # Errors
/// In words, what was found instead.
pub fn parse_loadavg(text: &str) -> Result<[f64; 3], String> {
    let mut fields = text.split_ascii_whitespace();
    let mut next = || {
        fields
            .next()?
            .parse::<f64>()
            .ok()
            .filter(|load| load.is_finite())
    };
    let mut all = || Some([next()?, next()?, next()?]);
    all().ok_or_else(|| format!("/proc/loadavg reads {:?}", clip(text.trim_end())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stat_is_read() {
        let text = "cpu  100 10 50 800 40 3 7 5 99 9\ncpu0 50 5 25 400 20 1 3 2 0 0\ncpu1 1\nintr 7 8\ncpu9 1\n";
        let expected = Stat {
            sample: Sample {
                busy: 175,
                total: 1015,
            },
            online: 2,
        };
        assert_eq!(Stat::parse(text), Ok(expected));
        let without_steal = Stat::parse("cpu 1 1 1 1 1 1 1").unwrap().sample;
        assert_eq!(without_steal, Sample { busy: 5, total: 7 });
    }

    #[test]
    fn what_is_not_a_cpu_line_is_named() {
        for text in [
            "",
            "cpu 1 2 3 4 5 6\n",
            "cpu0 1 2 3 4 5 6 7\n",
            "cpu 1 2 x 4 5 6 7\n",
        ] {
            let error = Stat::parse(text).unwrap_err();
            assert!(
                error.starts_with("/proc/stat begins with "),
                "{text:?}: {error}"
            );
        }
    }

    #[test]
    fn percent_is_of_the_time_between() {
        let sample = |busy, total| Sample { busy, total };
        let cases = [
            (sample(100, 1000), sample(150, 1200), 25.0),
            (sample(0, 0), sample(1, 3), 100.0 / 3.0),
            (sample(100, 1000), sample(100, 1200), 0.0),
            (sample(100, 1000), sample(90, 1200), 0.0),
            (sample(100, 1000), sample(101, 1000), 100.0),
            (sample(100, 1000), sample(300, 1001), 100.0),
        ];
        for (earlier, later, expected) in cases {
            assert!(
                (later.percent_since(earlier) - expected).abs() < 1e-9,
                "{earlier:?} {later:?}"
            );
        }
    }

    #[test]
    fn loadavg_is_read() {
        assert_eq!(
            parse_loadavg("0.52 1.58 12.00 1/834 9401\n"),
            Ok([0.52, 1.58, 12.0])
        );
        for text in ["", "0.1 0.2", "a b c", "nan 1 1"] {
            assert!(parse_loadavg(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in ".*") {
            let _ = (Stat::parse(&text), parse_loadavg(&text));
        }

        #[test]
        fn percent_stays_in_range(a: u64, b: u64, c: u64, d: u64) {
            let percent = Sample { busy: a, total: b }.percent_since(Sample { busy: c, total: d });
            prop_assert!((0.0..=100.0).contains(&percent));
        }
    }
}
