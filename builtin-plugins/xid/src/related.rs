//! The meaning of several Xids together, by NVIDIA's rules:
//!
//! - 45 with another Xid of the same GPU or process is that one's echo.
//! - 63 with 48 of the same GPU is one story: the rows of the double bit error are remapped.
//! - 154 says what to do about the other Xids of its GPU.
//!
//! What a site's policy names is judged by the policy alone.

use gpud_builtin_shared::vendor::ErrorView;
use gpud_sdk::error_codes::timeline::Fault;
use gpud_sdk::policy::codes::Ruling;

use crate::catalog::{Action, Severity};
use crate::config::Config;
use crate::gpu;
use crate::recovery::Recovery;
use crate::row::Row;

/// Seconds within which Xids belong together.
const WINDOW: u64 = 30;
/// Seconds between the first and the last of errors that are stored as one.
const MERGED: u64 = 60;
/// Most Xids on either side that are looked at.
const MAX_NEIGHBOURS: usize = 256;

/// The Xids by the catalogue of the configuration, without those that are part of another. `rows` are oldest first, each
/// with the caller's index.
pub fn faults<'a>(rows: &[(usize, Row<'a>)], config: &Config) -> Vec<Fault<'a>> {
    let gpus: Vec<String> = rows.iter().map(|(_, row)| gpu_of(row)).collect();
    let judged = rows.iter().enumerate().filter_map(|(at, (index, row))| {
        let mut fault = row.fault(*index, config.catalog());
        if config.policy().ruling(row.key()) != Ruling::default() {
            return Some(fault);
        }
        let neighbours = Neighbours {
            rows,
            gpus: &gpus,
            at,
        };
        if neighbours.is_part_of_another(row, config.catalog()) {
            return None;
        }
        if let Some(recovery) = neighbours.recovery(row) {
            apply(recovery, &mut fault, config.catalog());
        }
        Some(fault)
    });
    judged.collect()
}

fn gpu_of(row: &Row<'_>) -> String {
    gpu::pci_id(&row.device).unwrap_or_else(|| row.device.to_string())
}

/// The Xids before and after one of them.
struct Neighbours<'r, 'a> {
    rows: &'r [(usize, Row<'a>)],
    gpus: &'r [String],
    at: usize,
}

impl<'r, 'a> Neighbours<'r, 'a> {
    /// The Xids within the window, with whether they are of the same GPU.
    fn others(&self, row: &'r Row<'a>) -> impl Iterator<Item = (&'r Row<'a>, bool)> {
        let (rows, gpus) = (self.rows, self.gpus);
        let all = move || rows.iter().map(|(_, row)| row).zip(gpus);
        let gpu = gpus.get(self.at);
        let before = all()
            .take(self.at)
            .rev()
            .take_while(move |(other, _)| other.second + MERGED + WINDOW >= row.second)
            .take(MAX_NEIGHBOURS);
        let after = all()
            .skip(self.at + 1)
            .take_while(move |(other, _)| other.second <= row.last + WINDOW)
            .take(MAX_NEIGHBOURS);
        before
            .chain(after)
            .filter(move |(other, _)| {
                other.second <= row.last + WINDOW && row.second <= other.last + WINDOW
            })
            .map(move |(other, of)| (other, Some(of) == gpu))
    }

    fn is_part_of_another(&self, row: &'r Row<'a>, catalog: ErrorView) -> bool {
        match row.code {
            45 => self.others(row).any(|(other, same_gpu)| {
                let is_cause = !matches!(other.code, 45 | 154);
                let is_named = row.caused_by.is_none_or(|code| code == other.code);
                is_cause && is_named && (same_gpu || is_of_same_process(row, other))
            }),
            63 => self
                .others(row)
                .any(|(other, same_gpu)| other.code == 48 && same_gpu),
            // For NVIDIA it informs about the others, and is a fault only where they are none.
            154 if catalog == ErrorView::Nvidia => {
                let own = row.fault(0, catalog).severity;
                self.others(row).any(|(other, same_gpu)| {
                    let is_fault = !matches!(other.code, 45 | 154);
                    is_fault && same_gpu && other.fault(0, catalog).severity >= own
                })
            }
            _ => false,
        }
    }

    /// What the newest Xid 154 of the GPU asks for. That nothing is needed counts only after the error.
    fn recovery(&self, row: &'r Row<'a>) -> Option<Recovery<'a>> {
        if row.code == 154 {
            return None;
        }
        self.others(row)
            .filter(|(_, same_gpu)| *same_gpu)
            .filter_map(|(other, _)| Some((other.second, other.recovery?)))
            .filter(|(second, recovery)| !recovery.is_none() || *second >= row.second)
            .max_by_key(|(second, _)| *second)
            .map(|(_, recovery)| recovery)
    }
}

/// Whether two rows share a process. A row that counts repeats has those of all.
fn is_of_same_process(one: &Row<'_>, other: &Row<'_>) -> bool {
    let (Some(one), Some(other)) = (one.pid, other.pid) else {
        return false;
    };
    let mut pids = one.split(", ");
    pids.any(|pid| other.split(", ").any(|known| known == pid))
}

/// In NVIDIA's view the action of Xid 154 takes the place of any other. GPUd's verdict is only made harder.
fn apply(recovery: Recovery<'_>, fault: &mut Fault<'_>, catalog: ErrorView) {
    let Some((_, actions)) = recovery.verdict() else {
        return;
    };
    let Some(action) = actions.first() else {
        return;
    };
    match catalog {
        ErrorView::Nvidia => {
            if recovery.is_none() {
                fault.severity = fault.severity.min(Severity::Warning);
            }
            fault.action = Some(action.word().into());
        }
        ErrorView::Gpud if recovery.is_none() => {}
        ErrorView::Gpud => {
            let current = fault.action.as_deref().and_then(Action::of);
            if rank(Some(*action)) > rank(current) {
                fault.action = Some(action.word().into());
            }
        }
    }
}

/// How much an action asks for.
fn rank(action: Option<Action>) -> u8 {
    match action {
        None => 0,
        Some(Action::Ignore) => 1,
        Some(Action::CheckApp) => 2,
        Some(Action::Reboot) => 3,
        Some(Action::Inspect) => 4,
    }
}

#[cfg(test)]
mod tests;
