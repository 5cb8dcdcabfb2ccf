//! Xids that are delivered together: each event says which other one it belongs to, and repeats add what the first line
//! did not say. Verdicts do not depend on it ([`crate::related`]); it is for people and programs that read events.

use gpud_sdk::error_codes::repeats::fold;
use gpud_sdk::incidents::fact;
use gpud_sdk::{Event, Message};

use crate::facts::{CAUSED_BY, RECOVERY, RECOVERY_LABEL};
use crate::gpu;
use crate::xid::Xid;

/// Milliseconds within which Xids belong together.
const WINDOW_MS: u64 = 30_000;
/// Most Xids on either side that are looked at.
const MAX_NEIGHBOURS: usize = 64;
/// Keys whose values differ between repeats of one error.
const OF_ONE_LINE: [&str; 8] = [
    "pid",
    "process",
    "channel",
    "link",
    "row",
    "address",
    "partition",
    "subpartition",
];
/// Key of the number of GPUs on which one process made the same error.
const SAME_PROCESS: &str = "gpus_of_same_process";
/// Key of the Xid that tells the same story.
const PART_OF: &str = "part_of";
/// Key of what the driver asked for in an Xid 154 of the same GPU.
const ASKED_FOR: &str = "recovery_action_of_154";

/// The fields of an Xid that are compared.
struct ComparedXid {
    code: u32,
    time: u64,
    gpu: String,
    pid: Option<String>,
    recovery: Option<String>,
}

/// Adds to each event what follows from the others. `found` has the Xid of each event, in their order.
pub fn relate(events: &mut [Event], found: &[(&Message, Xid<'_>)]) {
    if events.len() < 2 {
        return;
    }
    let seen: Vec<ComparedXid> = events
        .iter()
        .zip(found)
        .map(|(event, (_, xid))| ComparedXid {
            code: xid.code,
            time: event.time,
            gpu: gpu::pci_id(&xid.device).unwrap_or_else(|| xid.device.to_string()),
            pid: fact(event, "pid").map(str::to_owned),
            recovery: fact(event, RECOVERY_LABEL)
                .filter(|label| !label.is_empty())
                .or_else(|| fact(event, RECOVERY))
                .map(str::to_owned),
        })
        .collect();
    for (at, event) in events.iter_mut().enumerate() {
        let Some(own) = seen.get(at) else {
            continue;
        };
        if let Some((key, value)) = relation(&seen, at, own)
            && fact(event, key).is_none()
        {
            event.extra_info.push((key.to_owned(), value));
        }
        if own.code != 154
            && let Some(asked) = near(&seen, at, own)
                .filter(|other| other.gpu == own.gpu)
                .filter_map(|other| other.recovery.clone())
                .last()
        {
            event.extra_info.push((ASKED_FOR.to_owned(), asked));
        }
    }
    fold(events, &OF_ONE_LINE);
}

/// Those within the window, the later ones last.
fn near<'s>(
    seen: &'s [ComparedXid],
    at: usize,
    own: &'s ComparedXid,
) -> impl Iterator<Item = &'s ComparedXid> {
    seen.iter()
        .enumerate()
        .skip(at.saturating_sub(MAX_NEIGHBOURS))
        .take(2 * MAX_NEIGHBOURS)
        .filter(move |(other, seen)| *other != at && seen.time.abs_diff(own.time) <= WINDOW_MS)
        .map(|(_, seen)| seen)
}

fn relation(seen: &[ComparedXid], at: usize, own: &ComparedXid) -> Option<(&'static str, String)> {
    match own.code {
        45 => {
            let cause = near(seen, at, own).find(|other| {
                let same_process = own.pid.is_some() && own.pid == other.pid;
                !matches!(other.code, 45 | 154) && (other.gpu == own.gpu || same_process)
            })?;
            Some((CAUSED_BY, cause.code.to_string()))
        }
        63 | 64 => near(seen, at, own)
            .any(|other| other.code == 48 && other.gpu == own.gpu)
            .then(|| (PART_OF, "48".to_owned())),
        13 | 31 if own.pid.is_some() => {
            let mut gpus: Vec<&str> = near(seen, at, own)
                .filter(|other| other.code == own.code && other.pid == own.pid)
                .map(|other| other.gpu.as_str())
                .chain([own.gpu.as_str()])
                .collect();
            gpus.sort_unstable();
            gpus.dedup();
            (gpus.len() > 1).then(|| (SAME_PROCESS, gpus.len().to_string()))
        }
        _ => None,
    }
}
