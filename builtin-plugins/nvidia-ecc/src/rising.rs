//! Events about uncorrected errors that are new, and what is remembered for that from check to check.

use std::collections::BTreeMap;

use gpud_builtin_nvidia_common::{Gpu, GpuAnswer};
use gpud_sdk::{CheckContext, Event, EventType, Evidence};
use serde::{Deserialize, Serialize};

use crate::reading::{COUNTS, Reading, SRAM_STATUS};
use crate::sram;
use crate::uncorrected::Uncorrected;

/// Name of the events about new errors.
pub const ERRORS: &str = "ecc_uncorrected_errors";
/// Name of the events about the driver's threshold.
pub const THRESHOLD: &str = "ecc_sram_threshold_exceeded";
/// New errors of a GPU at the same places within this time are one event with a count, seconds.
const MERGED_FOR_SECONDS: u32 = 3_600;

/// The last reading of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LastReading {
    /// Its errors.
    pub errors: Uncorrected,
    /// Whether those of on-chip memory had passed the driver's threshold.
    pub exceeded: bool,
}

/// The last answers of all GPUs, by UUID. The counters are those of the boards, so they outlast a boot.
pub type Memory = BTreeMap<String, LastReading>;

/// Returns the events since the last check, and what to remember. A GPU that says nothing now keeps what it said. One that is
/// seen for the first time has no past, but a threshold that it has passed is reported.
pub fn since(
    context: &CheckContext,
    before: &Memory,
    gpus: &[GpuAnswer<Reading>],
) -> (Vec<Event>, Memory) {
    let mut events = Vec::new();
    let mut memory = Memory::new();
    for asked in gpus {
        let (gpu, known) = (&asked.gpu, before.get(&asked.gpu.uuid));
        let Ok(reading) = &asked.answer else {
            memory.extend(known.map(|known| (gpu.uuid.clone(), *known)));
            continue;
        };
        let errors = Uncorrected::of(reading);
        let was_exceeded = known.is_some_and(|known| known.exceeded);
        let exceeded = reading
            .sram
            .map_or(was_exceeded, |sram| sram.threshold_exceeded);
        if let Some(known) = known {
            let rises = errors.since(&known.errors);
            events.extend(new_errors(context, gpu, &rises));
        }
        if exceeded && !was_exceeded {
            events.push(threshold(context, gpu, &errors));
        }
        let errors = known.map_or(errors, |known| errors.or_before(&known.errors));
        memory.insert(gpu.uuid.clone(), LastReading { errors, exceeded });
    }
    (events, memory)
}

/// An error on the chip ends what computes there, and no spare memory takes its place. Of device memory, the driver replaces
/// the row.
fn new_errors(context: &CheckContext, gpu: &Gpu, rises: &Uncorrected) -> Option<Event> {
    if rises.sum() == 0 {
        return None;
    }
    let event_type = match rises.on_chip().sum() {
        0 => EventType::Warning,
        _ => EventType::Critical,
    };
    let message = format!(
        "uncorrected ECC errors rise: {}: {}",
        gpu.label(),
        rises.words("+")
    );
    let event = Event::new(context.now, ERRORS, event_type, message);
    let key = format!("{} {}", gpu.uuid, rises.names());
    Some(about(event, gpu, key, COUNTS))
}

fn threshold(context: &CheckContext, gpu: &Gpu, errors: &Uncorrected) -> Event {
    let message = sram::exceeded(gpu, errors);
    let event = Event::new(context.now, THRESHOLD, EventType::Critical, message);
    about(event, gpu, gpu.uuid.clone(), SRAM_STATUS)
}

fn about(event: Event, gpu: &Gpu, key: String, reading: &str) -> Event {
    let mut event = event.merged_by(key, MERGED_FOR_SECONDS);
    event.subject = Some(gpu.subject());
    event.evidence = vec![Evidence::Nvml(format!("{reading} {}", gpu.uuid))];
    event.extra_info = vec![("gpu_uuid".to_owned(), gpu.uuid.clone())];
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{Counters, PLACE_COUNT, Pair};
    use crate::testing::{NO_SRAM_ERRORS, SEVEN_SRAM_ERRORS};
    use gpud_builtin_nvidia_common::testing::{GPU_0, context, gpu, lost, seen};
    use gpud_sdk::nvml::SramEccStatus;

    fn reading(dram: u64, sram: Option<SramEccStatus>) -> Reading {
        let mut places = [Pair::default(); PLACE_COUNT];
        places[2].uncorrected = Some(dram);
        Reading {
            aggregate: Counters {
                places,
                ..Counters::default()
            },
            sram,
            ..Reading::default()
        }
    }

    fn events(before: &Memory, now: &[GpuAnswer<Reading>]) -> (Vec<(String, EventType)>, Memory) {
        let (events, memory) = since(&context(), before, now);
        for event in &events {
            assert_eq!(event.subject, Some(gpu(0).subject()));
            assert!(event.message.contains(&gpu(0).label()), "{event:?}");
        }
        let events = events.into_iter();
        let events = events.map(|event| (event.message, event.event_type));
        (events.collect(), memory)
    }

    #[test]
    fn new_errors_are_events_with_gpu_and_place() {
        let label = gpu(0).label();
        let rise = |words: &str| format!("uncorrected ECC errors rise: {label}: {words}");
        let flag = "uncorrectable errors of on-chip memory passed the driver's threshold";
        let passed = |words: &str| format!("{label}: {flag} ({words})");
        let seven = "SRAM 7 (parity 2, SEC-DED 5; L2 cache 4, SM 3)";
        let more = SramEccStatus {
            aggregate_uncorrectable_sec_ded: 6,
            aggregate_uncorrectable_other: 1,
            ..SEVEN_SRAM_ERRORS
        };
        let well = Some(NO_SRAM_ERRORS);
        let bad = Some(SEVEN_SRAM_ERRORS);
        for (before, now, expected) in [
            (None, reading(5, well), vec![]),
            (
                None,
                reading(5, bad),
                vec![(passed(seven), EventType::Critical)],
            ),
            (Some(reading(5, well)), reading(5, well), vec![]),
            (
                Some(reading(5, well)),
                reading(7, well),
                vec![(rise("DRAM +2"), EventType::Warning)],
            ),
            (
                Some(reading(0, well)),
                reading(0, bad),
                vec![
                    (
                        rise("SRAM +7 (parity +2, SEC-DED +5; L2 cache +4, SM +3)"),
                        EventType::Critical,
                    ),
                    (passed(seven), EventType::Critical),
                ],
            ),
            (
                Some(reading(0, bad)),
                reading(1, Some(more)),
                vec![(
                    rise("DRAM +1, SRAM +1 (SEC-DED +1; other unit +1)"),
                    EventType::Critical,
                )],
            ),
            // The driver says nothing of on-chip memory now.
            (Some(reading(0, bad)), reading(0, None), vec![]),
        ] {
            let before = before.map_or_else(Memory::new, |before| {
                events(&Memory::new(), &seen([before]).gpus).1
            });
            let (found, memory) = events(&before, &seen([now.clone()]).gpus);
            assert_eq!(found, expected);
            let again = events(&memory, &seen([now]).gpus);
            assert_eq!(again, (vec![], memory), "said before");
        }
    }

    #[test]
    fn what_is_silent_keeps_its_past_and_what_is_gone_is_forgotten() {
        let bad = [reading(3, Some(SEVEN_SRAM_ERRORS))];
        let (_, memory) = events(&Memory::new(), &seen(bad).gpus);
        assert_eq!(events(&memory, &[lost(0)]), (vec![], memory.clone()));
        let (_, quiet) = events(&memory, &seen([reading(3, None)]).gpus);
        assert_eq!(quiet, memory);
        assert!(memory.contains_key(GPU_0));
        assert_eq!(events(&memory, &[]), (vec![], Memory::new()));
    }

    #[test]
    fn seventy_two_gpus_fit_what_a_checker_may_store() {
        let mut status = SEVEN_SRAM_ERRORS;
        status.aggregate_uncorrectable_other = u64::MAX;
        let gpus = (0..72).map(|_| reading(u64::MAX, Some(status)));
        let (_, memory) = since(&context(), &Memory::new(), &seen(gpus).gpus);
        let stored = serde_json::to_string(&memory).unwrap();
        assert!(stored.len() < 64 << 10, "{}", stored.len());
        assert_eq!(serde_json::from_str::<Memory>(&stored).unwrap(), memory);
    }
}
