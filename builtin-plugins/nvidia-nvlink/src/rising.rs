//! Turns rising error counters into findings and events.

use gpud_builtin_nvidia_common::{Gpu, GpuFinding, text};
use gpud_sdk::{CheckContext, Event, EventType, RepairAction};

use crate::config::Config;
use crate::counters::Rise;

/// Name of the events.
pub const EVENT_NAME: &str = "nvlink_errors_rise";
/// Rises of one GPU within this time are one event with a count, seconds.
const MERGED_FOR_SECONDS: u32 = 3_600;
/// The calls that counters are read by.
const READ_FROM: &str = "nvmlDeviceGetNvLinkErrorCounter";
const INSPECT: &str = "have the NVLink's connectors, bridge or switch looked at";

/// How grave the rises of a link are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Not judged.
    None,
    /// The link works and should be watched.
    Warning,
    /// The link fails.
    Failure,
}

/// The rises of one GPU, and when they were last looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rises {
    /// The GPU.
    pub gpu: Gpu,
    /// The counters that rose; not empty.
    pub rises: Vec<Rise>,
    /// Time since the look before, milliseconds; `None` where it is not known.
    pub after_ms: Option<u64>,
}

impl Rises {
    /// Returns the weight of one of them.
    fn weight(&self, rise: &Rise, config: &Config) -> Weight {
        let grave = rise.kind.is_grave();
        let (judged, weight) = match grave {
            true => (config.judge_recoveries, Weight::Failure),
            false => (config.judge_checksums, Weight::Warning),
        };
        if !judged {
            return Weight::None;
        }
        // Counters move in one step where the look before is not long ago, so that a rate over less than a second says
        // nothing.
        let is_fast = self.after_ms.is_some_and(|after| {
            let limit = u128::from(config.fail_per_second) * u128::from(after.max(1_000));
            config.fail_per_second > 0 && u128::from(rise.by) * 1_000 >= limit
        });
        if is_fast { Weight::Failure } else { weight }
    }

    /// Returns the greatest weight among them.
    pub fn worst(&self, config: &Config) -> Weight {
        let weights = self.rises.iter().map(|rise| self.weight(rise, config));
        weights.max().unwrap_or(Weight::None)
    }

    fn words(&self, config: &Config) -> String {
        let judged = self.rises.iter();
        let judged = judged.filter(|rise| self.weight(rise, config) > Weight::None);
        let items = judged.map(|rise| {
            let (link, by, label) = (rise.link, rise.by, rise.kind.label());
            format!("link {link} +{by} {label}")
        });
        let since = match self.after_ms {
            Some(after) => format!("in {} s", (after + 500) / 1_000),
            None => "since the last check".to_owned(),
        };
        let label = self.gpu.label();
        format!("{label}: {} {since}", text::join(items, ", "))
    }
}

/// Returns the findings about all GPUs: one about links that fail, and one about links to watch.
pub fn findings(rises: &[Rises], config: &Config) -> Vec<GpuFinding> {
    let about = |weight: Weight| {
        let gpus = rises.iter().filter(|of_gpu| of_gpu.worst(config) == weight);
        let gpus: Vec<&Rises> = gpus.collect();
        let words = text::join(gpus.iter().map(|of_gpu| of_gpu.words(config)), "; ");
        let names: Vec<Gpu> = gpus.iter().map(|of_gpu| of_gpu.gpu.clone()).collect();
        (!names.is_empty()).then_some((names, words))
    };
    let mut findings = Vec::new();
    if let Some((gpus, words)) = about(Weight::Failure) {
        let finding = GpuFinding::unhealthy(format!("NVLink errors rise: {words}"))
            .action(RepairAction::HardwareInspection, INSPECT);
        findings.push(finding.about(gpus).read_from(READ_FROM));
    }
    if let Some((gpus, words)) = about(Weight::Warning) {
        let finding = GpuFinding::degraded(format!("NVLink checksum errors rise: {words}"));
        findings.push(finding.about(gpus).read_from(READ_FROM));
    }
    findings
}

/// Returns one event for each GPU whose rises are judged.
pub fn events(context: &CheckContext, rises: &[Rises], config: &Config) -> Vec<Event> {
    let event = |of_gpu: &Rises| {
        let weight = match of_gpu.worst(config) {
            Weight::None => return None,
            Weight::Warning => EventType::Warning,
            Weight::Failure => EventType::Critical,
        };
        let message = format!("NVLink errors rise: {}", of_gpu.words(config));
        let event = Event::new(context.now, EVENT_NAME, weight, message);
        let mut event = event.merged_by(of_gpu.gpu.uuid.as_str(), MERGED_FOR_SECONDS);
        event.subject = Some(of_gpu.gpu.subject());
        Some(event)
    };
    rises.iter().filter_map(event).collect()
}

#[cfg(test)]
mod tests {
    use gpud_builtin_nvidia_common::state;
    use gpud_builtin_nvidia_common::testing::{context, gpu};
    use gpud_sdk::Health;

    use super::*;
    use crate::counters::Kind;

    fn rises(index: usize, after_ms: Option<u64>, rises: &[(u32, Kind, u64)]) -> Rises {
        let rises = rises.iter();
        Rises {
            gpu: gpu(index),
            rises: rises
                .map(|&(link, kind, by)| Rise { link, kind, by })
                .collect(),
            after_ms,
        }
    }

    fn judged(of: &[Rises], config: &Config) -> (Health, String) {
        let state = state(&context(), "well", findings(of, config));
        (state.health, state.reason)
    }

    #[test]
    fn any_replay_or_recovery_fails_and_checksum_errors_warn() {
        let config = Config::default();
        let minute = Some(60_000);
        for (kind, by, health) in [
            (Kind::Replay, 1, Health::Unhealthy),
            (Kind::Recovery, 1, Health::Unhealthy),
            (Kind::LinkRecovery, 1, Health::Unhealthy),
            (Kind::FailedRecovery, 1, Health::Unhealthy),
            (Kind::Crc, 1, Health::Degraded),
            (Kind::Crc, 5_999, Health::Degraded),
            (Kind::Crc, 6_000, Health::Unhealthy),
            (Kind::Integrity, 1, Health::Degraded),
            (Kind::Effective, 6_000, Health::Unhealthy),
        ] {
            let (found, reason) = judged(&[rises(0, minute, &[(5, kind, by)])], &config);
            assert_eq!(found, health, "{kind:?} {by}");
            let part = format!("link 5 +{by} {} in 60 s", kind.label());
            assert!(reason.contains(&part), "{reason}");
        }
        assert_eq!(judged(&[], &config).0, Health::Healthy);
    }

    #[test]
    fn without_a_look_before_there_is_no_rate() {
        let config = Config::default();
        let (health, reason) = judged(&[rises(0, None, &[(1, Kind::Crc, 1 << 40)])], &config);
        assert_eq!(health, Health::Degraded);
        assert!(reason.ends_with("since the last check"), "{reason}");
        // Nor is there one over a moment: 100 errors within 10 ms may be those of the last second.
        let moment = rises(0, Some(10), &[(1, Kind::Crc, 99)]);
        assert_eq!(judged(&[moment], &config).0, Health::Degraded);
    }

    #[test]
    fn each_gpu_and_link_is_named() {
        let config = Config::default();
        let both = [
            rises(0, Some(60_000), &[(1, Kind::Crc, 4), (2, Kind::Replay, 50)]),
            rises(3, Some(60_000), &[(7, Kind::Crc, 9)]),
        ];
        let (health, reason) = judged(&both, &config);
        assert_eq!(health, Health::Unhealthy);
        let (first, second) = (gpu(0).label(), gpu(3).label());
        assert_eq!(
            reason,
            format!(
                "NVLink errors rise: {first}: link 1 +4 CRC errors, link 2 +50 replay errors in 60 s; NVLink checksum errors rise: {second}: link 7 +9 CRC errors in 60 s"
            )
        );
        let events = events(&context(), &both, &config);
        let seen: Vec<_> = events
            .iter()
            .map(|event| (event.event_type.clone(), event.subject.clone()))
            .collect();
        let expected = [
            (EventType::Critical, Some(gpu(0).subject())),
            (EventType::Warning, Some(gpu(3).subject())),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn operators_choose_what_is_judged() {
        let all = [rises(
            0,
            Some(60_000),
            &[(1, Kind::Crc, 9_000), (2, Kind::Replay, 50)],
        )];
        let config = |judge_recoveries, judge_checksums, fail_per_second| Config {
            judge_recoveries,
            judge_checksums,
            fail_per_second,
            ..Config::default()
        };
        for (config, health, count) in [
            (config(false, false, 100), Health::Healthy, 0),
            (config(false, true, 0), Health::Degraded, 1),
            (config(false, true, 200), Health::Degraded, 1),
            (config(false, true, 150), Health::Unhealthy, 1),
            (config(true, false, 0), Health::Unhealthy, 1),
        ] {
            assert_eq!(judged(&all, &config).0, health, "{config:?}");
            assert_eq!(events(&context(), &all, &config).len(), count, "{config:?}");
        }
    }
}
