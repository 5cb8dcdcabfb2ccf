//! The daemon's series about itself: none has a component label, and none is stored.

use super::{MetricError, Registry};
use crate::node::kmsg::{KernelLog, SourceState};
use crate::store::{QueryCount, SqliteCounters};

/// A metric's name and help text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnMetric {
    /// Full Prometheus name.
    pub name: &'static str,
    /// Help text, with the unit.
    pub help: &'static str,
}

const fn metric(name: &'static str, help: &'static str) -> OwnMetric {
    OwnMetric { name, help }
}

/// Gauge: open file descriptors of the daemon.
pub const OPEN_FILES: OwnMetric = metric(
    "gpud_file_descriptor_usage_total",
    "open file descriptors of gpud",
);
/// Gauge: size of the database.
pub const DB_SIZE: OwnMetric = metric("gpud_sqlite_db_size_bytes", "size of the database in bytes");

/// Label that names the component in the `gpud_checker_*` series.
pub const CHECKER_LABEL: &str = "checker";
/// Counter by [`CHECKER_LABEL`]: time spent in a checker.
pub const CHECKER_SECONDS: OwnMetric = metric(
    "gpud_checker_seconds_total",
    "time spent in a checker in seconds",
);
/// Gauge by [`CHECKER_LABEL`]: most memory that one call of a checker had.
pub const CHECKER_MEMORY: OwnMetric = metric(
    "gpud_checker_memory_high_water_bytes",
    "most memory that one call of a checker had in bytes",
);
/// Counter by [`CHECKER_LABEL`]: calls of a checker to the host.
pub const CHECKER_HOST_CALLS: OwnMetric = metric(
    "gpud_checker_host_calls_total",
    "calls of a checker to the host",
);
/// Counter by [`CHECKER_LABEL`]: files and folders that a checker had opened or looked at.
pub const CHECKER_FILES: OwnMetric = metric(
    "gpud_checker_files_total",
    "files and folders that a checker had opened or looked at",
);
/// Counter by [`CHECKER_LABEL`]: bytes that passed between a checker and the host.
pub const CHECKER_BYTES: OwnMetric = metric(
    "gpud_checker_bytes_total",
    "bytes that passed between a checker and the host",
);
/// Counter by [`CHECKER_LABEL`]: calls of a checker that ended in a trap.
pub const CHECKER_TRAPS: OwnMetric = metric(
    "gpud_checker_traps_total",
    "calls of a checker that ended in a trap",
);
/// Counter by [`CHECKER_LABEL`]: calls of a checker that were stopped at their time limit.
pub const CHECKER_TIMEOUTS: OwnMetric = metric(
    "gpud_checker_timeouts_total",
    "calls of a checker that were stopped at their time limit",
);

/// What the daemon measured about itself; `None` where it could not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnReadings {
    /// Open file descriptors.
    pub open_files: Option<u64>,
    /// Size of the database in bytes.
    pub db_size_bytes: Option<u64>,
    /// The store's query counts.
    pub sqlite: SqliteCounters,
}

/// Puts the readings into the registry.
///
/// # Errors
/// A component has a metric of the same name and another kind; the readings before it were taken.
pub fn record(registry: &Registry, readings: &OwnReadings) -> Result<(), MetricError> {
    let gauges = [
        (OPEN_FILES, readings.open_files),
        (DB_SIZE, readings.db_size_bytes),
    ];
    for (gauge, value) in gauges {
        if let Some(value) = value {
            registry.set_gauge(gauge.name, gauge.help, &[], value as f64)?;
        }
    }
    let SqliteCounters {
        select,
        insert_update,
        delete,
        vacuum,
    } = readings.sqlite;
    let counters: [(&str, QueryCount); 4] = [
        ("select", select),
        ("insert_update", insert_update),
        ("delete", delete),
        ("vacuum", vacuum),
    ];
    for (query, read) in counters {
        let name = format!("gpud_sqlite_{query}_total");
        let help = format!("number of {query} queries");
        registry.set_counter(&name, &help, &[], read.count as f64)?;
        let name = format!("gpud_sqlite_{query}_seconds_total");
        let help = format!("time spent in {query} queries in seconds");
        registry.set_counter(&name, &help, &[], read.time.as_secs_f64())?;
    }
    Ok(())
}

/// Puts the kernel log's account into the registry: read = examined + unparsable + lost.
///
/// # Errors
/// As [`record`].
pub fn record_kernel_log(registry: &Registry, log: &KernelLog) -> Result<(), MetricError> {
    let counters = log.counters();
    let following = f64::from(u8::from(log.status().state == SourceState::Following));
    registry.set_gauge(
        "gpud_kmsg_following",
        "1 while the kernel log is being read",
        &[],
        following,
    )?;
    for (name, help, total) in [
        (
            "gpud_kmsg_records_total",
            "kernel log records read",
            counters.records_read,
        ),
        (
            "gpud_kmsg_unparsable_total",
            "kernel log records that could not be understood",
            counters.unparsable,
        ),
        (
            "gpud_kmsg_lost_overrun_total",
            "kernel log records overwritten before they were read",
            counters.lost_overrun,
        ),
        (
            "gpud_kmsg_lost_queue_total",
            "kernel log records dropped because the matcher was behind",
            counters.lost_queue,
        ),
    ] {
        registry.set_counter(name, help, &[], total as f64)?;
    }
    Ok(())
}
