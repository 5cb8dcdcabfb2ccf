//! Counting every stored error once, for `accelerator_nvidia_xid_errors_total`.
//!
//! Only a report can carry metrics, and errors are stored between reports. So each report counts the stored errors that
//! come after a mark kept in `state`: the boot, the kernel log sequence number and the time of the last one counted.
//! Messages are delivered in the order of their sequence numbers, so within a boot the number alone says what is new;
//! errors of another boot than the mark's are new when they are later. The mark is kept together with the report, so a
//! restart neither repeats nor loses a count. Errors that name no kernel log record (rows of other versions) were
//! counted by the version that stored them.

use gpud_sdk::history::StoredEvent;
use gpud_sdk::{Metric, MetricKind};

use crate::row;

/// The metric.
pub const METRIC: &str = "accelerator_nvidia_xid_errors_total";

/// How far has been counted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark<'a> {
    sequence: u64,
    /// Unix milliseconds.
    time: u64,
    boot: &'a str,
}

impl<'a> Mark<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut parts = text.splitn(3, ' ');
        Some(Self {
            sequence: parts.next()?.parse().ok()?,
            time: parts.next()?.parse().ok()?,
            boot: parts.next()?,
        })
    }

    fn write(&self) -> String {
        format!("{} {} {}", self.sequence, self.time, self.boot)
    }

    fn is_before(&self, other: &Mark<'_>) -> bool {
        if self.boot == other.boot {
            self.sequence < other.sequence
        } else {
            self.time < other.time
        }
    }
}

/// Counts the errors after `mark` (`None`: all), given as stored events in any order. Gives one sample per GPU and code,
/// and the new mark if there is one.
pub fn count(events: &[StoredEvent], mark: Option<&str>) -> (Vec<Metric>, Option<String>) {
    let start = mark.and_then(Mark::read);
    let mut last = start.clone();
    let mut metrics: Vec<Metric> = Vec::new();
    for stored in events {
        let event = &stored.event;
        let Some((boot, sequence)) = row::source(&event.evidence) else {
            continue;
        };
        let at = Mark {
            sequence,
            time: event.time,
            boot,
        };
        if start.as_ref().is_some_and(|mark| !mark.is_before(&at)) {
            continue;
        }
        let Some(row) = row::read(stored) else {
            continue;
        };
        let labels = vec![
            ("uuid".to_owned(), row.uuid.unwrap_or_default().to_owned()),
            ("xid".to_owned(), row.code.to_string()),
        ];
        match metrics.iter_mut().find(|metric| metric.labels == labels) {
            Some(metric) => metric.value += 1.0,
            None => metrics.push(Metric {
                name: METRIC.to_owned(),
                labels,
                value: 1.0,
                kind: MetricKind::Counter,
            }),
        }
        if last.as_ref().is_none_or(|last| last.is_before(&at)) {
            last = Some(at);
        }
    }
    let moved = if last == start { None } else { last };
    (metrics, moved.map(|mark| mark.write()))
}

#[cfg(test)]
mod tests;
