//! The history of rows: an event for each change, so that it can be seen later when a GPU began to fail.

use std::collections::BTreeMap;

use gpud_builtin_nvidia_common::{Gpu, GpuAnswer};
use gpud_sdk::{CheckContext, Event, EventType, Evidence};

use crate::evaluate::{READING, Reading, Rows};

/// A row could not be remapped.
pub const FAILED: &str = "row_remapping_failed";
/// A remapping waits for a reset of the GPU.
pub const PENDING: &str = "row_remapping_pending";
/// It waits no more: the GPU was reset.
pub const DONE: &str = "row_remapping_done";
/// There are more remapped rows than before.
pub const REMAPPED: &str = "rows_remapped";
/// Seconds within which equal events of a GPU are one, should what is remembered be lost.
const WINDOW: u32 = 3_600;

/// The last counts of each GPU, by UUID.
pub type LastRows = BTreeMap<String, Rows>;

/// The events since the last check, and what to remember. A GPU that says nothing now keeps what it said; one that is seen
/// for the first time has no past, but its trouble is reported.
pub fn since(
    context: &CheckContext,
    known: &LastRows,
    gpus: &[GpuAnswer<Reading>],
) -> (Vec<Event>, LastRows) {
    let mut events = Vec::new();
    let mut now = LastRows::new();
    for asked in gpus {
        let (gpu, before) = (&asked.gpu, known.get(&asked.gpu.uuid));
        let Ok(Reading::Rows(rows)) = &asked.answer else {
            now.extend(before.map(|before| (gpu.uuid.clone(), *before)));
            continue;
        };
        events.extend(of_gpu(context, gpu, before.copied(), *rows));
        now.insert(gpu.uuid.clone(), *rows);
    }
    (events, now)
}

fn of_gpu(context: &CheckContext, gpu: &Gpu, before: Option<Rows>, now: Rows) -> Vec<Event> {
    let was = before.unwrap_or(Rows {
        failed: false,
        pending: false,
        ..now
    });
    let name = gpu.label();
    let uncorrectable = now.uncorrectable.saturating_sub(was.uncorrectable);
    let correctable = now.correctable.saturating_sub(was.correctable);
    let mut events = Vec::new();
    let mut tell = |event, event_type, message| {
        events.push(event_of(context, gpu, now, event, event_type, message));
    };
    if uncorrectable > 0 || correctable > 0 {
        let message = format!(
            "GPU {name}: {correctable} row(s) remapped after corrected errors, {uncorrectable} after uncorrectable errors; {} and {} in all",
            now.correctable, now.uncorrectable
        );
        let event_type = match uncorrectable {
            0 => EventType::Info,
            _ => EventType::Warning,
        };
        tell(REMAPPED, event_type, message);
    }
    if now.failed && !was.failed {
        let message = format!("GPU {name}: a row could not be remapped");
        tell(FAILED, EventType::Critical, message);
    }
    match (was.pending, now.pending) {
        (false, true) => tell(
            PENDING,
            EventType::Warning,
            format!("GPU {name}: a row remapping waits for a reset"),
        ),
        (true, false) => tell(
            DONE,
            EventType::Info,
            format!("GPU {name}: no row remapping waits any more"),
        ),
        _ => {}
    }
    events
}

fn event_of(
    context: &CheckContext,
    gpu: &Gpu,
    rows: Rows,
    name: &str,
    event_type: EventType,
    message: String,
) -> Event {
    let (correctable, uncorrectable) = (rows.correctable, rows.uncorrectable);
    let key = format!("{} {name} {correctable} {uncorrectable}", gpu.uuid);
    let mut event = Event::new(context.now, name, event_type, message).merged_by(key, WINDOW);
    event.subject = Some(gpu.subject());
    event.evidence = vec![Evidence::Nvml(format!("{READING} {}", gpu.uuid))];
    event.extra_info = vec![
        ("gpu_uuid".to_owned(), gpu.uuid.clone()),
        (
            "remapped_due_to_correctable_errors".to_owned(),
            correctable.to_string(),
        ),
        (
            "remapped_due_to_uncorrectable_errors".to_owned(),
            uncorrectable.to_string(),
        ),
    ];
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_builtin_nvidia_common::testing::{GPU_0, NOW, context, gpu, lost, seen};

    fn rows(correctable: u32, uncorrectable: u32, pending: bool, failed: bool) -> Rows {
        Rows {
            correctable,
            uncorrectable,
            pending,
            failed,
            banks: None,
        }
    }

    fn known(rows: Rows) -> LastRows {
        [(GPU_0.to_owned(), rows)].into()
    }

    #[test]
    fn an_event_is_a_change() {
        use EventType::{Critical, Info, Warning};
        let clean = rows(0, 0, false, false);
        for (before, now, expected) in [
            (None, clean, vec![]),
            // The past of a GPU that is new here is not news, its trouble is.
            (None, rows(7, 3, false, false), vec![]),
            (None, rows(7, 3, true, false), vec![(PENDING, Warning)]),
            (
                None,
                rows(7, 3, true, true),
                vec![(FAILED, Critical), (PENDING, Warning)],
            ),
            (Some(clean), clean, vec![]),
            (
                Some(clean),
                rows(1, 0, false, false),
                vec![(REMAPPED, Info)],
            ),
            (
                Some(clean),
                rows(0, 1, true, false),
                vec![(REMAPPED, Warning), (PENDING, Warning)],
            ),
            (
                Some(rows(0, 1, true, false)),
                rows(0, 1, true, false),
                vec![],
            ),
            (
                Some(rows(0, 1, true, false)),
                rows(0, 1, false, false),
                vec![(DONE, Info)],
            ),
            (
                Some(rows(0, 1, true, false)),
                rows(0, 1, false, true),
                vec![(FAILED, Critical), (DONE, Info)],
            ),
            // Another board under the same name, or a counter that went round.
            (Some(rows(9, 9, false, false)), clean, vec![]),
        ] {
            let before = before.map(known).unwrap_or_default();
            let machine = seen([Reading::Rows(now)]);
            let (events, after) = since(&context(), &before, &machine.gpus);
            let found: Vec<_> = events
                .iter()
                .map(|event| (event.name.as_str(), event.event_type.clone()))
                .collect();
            assert_eq!(found, expected, "{before:?} {now:?}");
            assert_eq!(after, known(now));
        }
    }

    #[test]
    fn the_event() {
        let machine = seen([Reading::Rows(rows(2, 5, false, false))]);
        let before = known(rows(2, 4, false, false));
        let (events, _) = since(&context(), &before, &machine.gpus);
        let event = &events[0];
        assert_eq!(event.time, NOW);
        assert_eq!(
            event.message,
            format!(
                "GPU {GPU_0} (0000:0f:00.0): 0 row(s) remapped after corrected errors, 1 after uncorrectable errors; 2 and 5 in all"
            )
        );
        assert_eq!(event.subject, Some(gpu(0).subject()));
        let fact = |key: &str| {
            let mut info = event.extra_info.iter();
            info.find(|(name, _)| name == key)
                .map(|(_, text)| text.as_str())
        };
        assert_eq!(fact("gpu_uuid"), Some(GPU_0));
        assert_eq!(fact("remapped_due_to_uncorrectable_errors"), Some("5"));
    }

    #[test]
    fn a_gpu_that_says_nothing_keeps_its_past() {
        let past = known(rows(0, 4, true, false));
        for silent in [
            lost(0),
            GpuAnswer {
                gpu: gpu(0),
                answer: Ok(Reading::Unsupported { mig: true }),
            },
        ] {
            let (events, after) = since(&context(), &past, &[silent]);
            assert_eq!((events.len(), after), (0, past.clone()));
        }
        let (_, after) = since(&context(), &past, &[]);
        assert_eq!(
            after,
            LastRows::new(),
            "one that is not listed is forgotten"
        );
    }

    #[test]
    fn saved_state_can_be_read_again() {
        let past = known(rows(1, 2, true, false));
        let text = serde_json::to_string(&past).unwrap();
        assert_eq!(serde_json::from_str::<LastRows>(&text).unwrap(), past);
    }
}
