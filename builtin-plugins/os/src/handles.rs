//! Pids and file handles: how many there are, and of how many there can be.

use gpud_sdk::sysfs::EntryCount;
use gpud_sdk::{AccessError, Report};
use serde::{Serialize, Serializer};

/// Processes that count as 100 %.
const MAX_PIDS: u64 = 900_000;
/// Open files that count as 100 %, unless the kernel allows fewer.
const MAX_FILE_HANDLES: u64 = 10_000_000;

/// The first of exactly three numbers: allocated, free, most.
pub fn allocated_handles(text: &str) -> Option<u64> {
    let mut fields = text.split_ascii_whitespace();
    let first = fields.next()?.parse().ok()?;
    (fields.count() == 2).then_some(first)
}

/// Open files of all processes. Those of a process that may not be looked at are missing from the sum, which is
/// said; the sum is then a lower bound, and too much is too much all the same.
pub fn open_files(
    counted: &Result<Vec<EntryCount>, AccessError>,
    notes: &mut Option<String>,
) -> u64 {
    let counted = match counted {
        Ok(counted) => counted,
        Err(error) => {
            *notes = Some(format!("open files could not be counted: {}", error.text()));
            return 0;
        }
    };
    let all = counted.len();
    let (mut sum, mut failed, mut first) = (0u64, 0u32, None);
    for directory in counted {
        match &directory.count {
            Ok(count) => sum = sum.saturating_add(u64::from(*count)),
            // The process ended in the meantime.
            Err(AccessError::NotFound(_)) => {}
            Err(error) => {
                failed += 1;
                first.get_or_insert(error);
            }
        }
    }
    if let Some(error) = first {
        *notes = Some(format!(
            "open files of {failed} of {all} processes could not be counted: {}",
            error.text()
        ));
    }
    sum
}

/// Pids and file handles, in the order in which the `data` document shows them; percentages are strings there. What
/// could not be read is 0.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Handles {
    /// `file-nr`.
    pub allocated_file_handles: u64,
    /// Processes.
    pub running_pids: u64,
    /// Open files of all processes.
    pub usage: u64,
    /// `file-max`.
    pub limit: u64,
    /// Allocated handles of the limit.
    #[serde(serialize_with = "two_decimals")]
    pub allocated_file_handles_percent: f64,
    /// Open files of the limit.
    #[serde(serialize_with = "two_decimals")]
    pub used_percent: f64,
    /// Open files that count as 100 %.
    pub threshold_allocated_file_handles: u64,
    /// Open files of these.
    #[serde(serialize_with = "two_decimals")]
    pub threshold_allocated_file_handles_percent: f64,
    /// Processes that count as 100 %.
    pub threshold_running_pids: u64,
    /// Processes of these.
    #[serde(serialize_with = "two_decimals")]
    pub threshold_running_pids_percent: f64,
    /// Linux counts handles.
    pub file_handles_supported: bool,
    /// Linux has a limit.
    pub fd_limit_supported: bool,
}

impl Handles {
    /// From what was read. Without any open file known, the number of processes is used instead.
    pub fn new(allocated: u64, running: u64, usage: u64, limit: u64) -> Self {
        let threshold = if limit == 0 {
            MAX_FILE_HANDLES
        } else {
            MAX_FILE_HANDLES.min(limit)
        };
        Self {
            allocated_file_handles: allocated,
            running_pids: running,
            usage,
            limit,
            allocated_file_handles_percent: percent(allocated, limit),
            used_percent: percent(if usage == 0 { running } else { usage }, limit),
            threshold_allocated_file_handles: threshold,
            threshold_allocated_file_handles_percent: percent(usage, threshold),
            threshold_running_pids: MAX_PIDS,
            threshold_running_pids_percent: percent(running, MAX_PIDS),
            file_handles_supported: true,
            fd_limit_supported: true,
        }
    }

    /// Adds the metrics. Those of handles stay away where their files could not be read.
    pub fn metrics(&self, report: Report) -> Report {
        let pids = [
            ("os_running_pids", self.running_pids as f64),
            (
                "os_threshold_running_pids",
                self.threshold_running_pids as f64,
            ),
            (
                "os_threshold_running_pids_percent",
                self.threshold_running_pids_percent,
            ),
        ];
        let handles = [
            (
                "os_allocated_file_handles",
                self.allocated_file_handles as f64,
            ),
            ("os_limit", self.limit as f64),
            (
                "os_allocated_file_handles_percent",
                self.allocated_file_handles_percent,
            ),
            ("os_used_percent", self.used_percent),
            (
                "os_threshold_allocated_file_handles",
                self.threshold_allocated_file_handles as f64,
            ),
            (
                "os_threshold_allocated_file_handles_percent",
                self.threshold_allocated_file_handles_percent,
            ),
        ];
        let is_read = self.limit > 0 && self.allocated_file_handles > 0;
        let handles = handles.into_iter().filter(|_| is_read);
        pids.into_iter()
            .chain(handles)
            .fold(report, |report, (name, value)| report.gauge(name, value))
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64 * 100.0
    }
}

fn two_decimals<S: Serializer>(percent: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{percent:.2}"))
}
