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
mod tests;
