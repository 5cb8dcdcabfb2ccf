//! The daemon's series about itself: none has a component label, and none is stored.

use super::{MetricError, Registry};
use crate::node::kmsg::{KernelLog, SourceState};
use crate::node::system::OwnUsage;
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

/// Label that names the component in [`HEALTH`] and [`LAST_CHECK`].
pub const COMPONENT_LABEL: &str = super::families::COMPONENT_LABEL;
/// Label that names the health in [`HEALTH`].
pub const HEALTH_LABEL: &str = "health";
/// Gauge by [`COMPONENT_LABEL`] and [`HEALTH_LABEL`]: 1 for the health that the component has, 0 for the others.
pub const HEALTH: OwnMetric = metric(
    "gpud_component_health",
    "1 for the health that a component has, 0 for the others",
);
/// Gauge by [`COMPONENT_LABEL`]: when a component was last checked.
pub const LAST_CHECK: OwnMetric = metric(
    "gpud_component_last_check_timestamp_seconds",
    "when a component was last checked, in seconds since 1970",
);
/// Gauge: always 1; its label `version` says what runs.
pub const BUILD_INFO: OwnMetric = metric(
    "gpud_build_info",
    "always 1; the labels say what build of gpud runs",
);

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

/// Label that names the export in the `gpud_export_*` series.
pub const EXPORT_LABEL: &str = "export";
/// Counter by [`EXPORT_LABEL`] and `outcome`: records of an export.
pub const EXPORT_RECORDS: OwnMetric = metric(
    "gpud_export_records_total",
    "records of an export by outcome: delivered, refused by the engine, or dropped because the queue or the spool was full",
);
/// Counter by [`EXPORT_LABEL`] and `outcome`: points of metrics of an export.
pub const EXPORT_POINTS: OwnMetric = metric(
    "gpud_export_metric_points_total",
    "points of metrics of an export by outcome: delivered, or refused by the engine",
);
/// Counter by [`EXPORT_LABEL`]: pushes of metrics that failed.
pub const EXPORT_PUSH_FAILURES: OwnMetric = metric(
    "gpud_export_metric_failures_total",
    "pushes of metrics of an export that failed",
);
/// Counter by [`EXPORT_LABEL`]: records that an export dropped.
pub const EXPORT_DROPPED: OwnMetric = metric(
    "gpud_export_dropped_total",
    "records that an export dropped because its queue or spool was full",
);
/// Counter by [`EXPORT_LABEL`]: deliveries that failed.
pub const EXPORT_FAILURES: OwnMetric = metric(
    "gpud_export_failures_total",
    "deliveries of an export that failed and were tried again",
);
/// Gauge by [`EXPORT_LABEL`]: how long the oldest record waits.
pub const EXPORT_LAG: OwnMetric = metric(
    "gpud_export_lag_seconds",
    "how long the oldest record that waits for an export has been waiting in seconds",
);
/// Gauge by [`EXPORT_LABEL`]: records that wait.
pub const EXPORT_QUEUE: OwnMetric = metric(
    "gpud_export_queue_records",
    "records that wait for an export in memory and on disk",
);

/// Counter by `exporter_type`, `node` and `pod`: exports of the inventory, under gpuid's name.
pub const INVENTORY_SUCCESSES: OwnMetric = metric(
    "gpuid_export_success_total",
    "exports of the inventory that succeeded",
);
/// Counter by `exporter_type`, `node`, `pod` and `error_type`: exports of the inventory that failed, under gpuid's name.
pub const INVENTORY_FAILURES: OwnMetric = metric(
    "gpuid_export_failure_total",
    "exports of the inventory that failed and were tried again",
);

/// The daemon's readings of itself; `None` where a reading failed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OwnReadings {
    /// Open file descriptors.
    pub open_files: Option<u64>,
    /// Size of the database in bytes.
    pub db_size_bytes: Option<u64>,
    /// The store's query counts.
    pub sqlite: SqliteCounters,
    /// What the process uses.
    pub usage: Option<OwnUsage>,
    /// When the machine booted, Unix seconds; 0 if unknown.
    pub boot_time_seconds: f64,
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
    let version = ("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    registry.set_gauge(BUILD_INFO.name, BUILD_INFO.help, &[version], 1.0)?;
    if let Some(usage) = &readings.usage {
        record_usage(registry, usage, readings)?;
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

/// Puts what the process uses into the registry, under the names that Prometheus' client libraries give.
fn record_usage(
    registry: &Registry,
    usage: &OwnUsage,
    readings: &OwnReadings,
) -> Result<(), MetricError> {
    registry.set_counter(
        "process_cpu_seconds_total",
        "processor time of gpud, user and system, in seconds",
        &[],
        usage.cpu_seconds,
    )?;
    let started = readings.boot_time_seconds + usage.started_after_boot_seconds;
    let gauges = [
        (
            "process_resident_memory_bytes",
            "resident memory of gpud in bytes",
            Some(usage.resident_bytes as f64),
        ),
        (
            "process_virtual_memory_bytes",
            "address space of gpud in bytes",
            Some(usage.virtual_bytes as f64),
        ),
        (
            "process_threads",
            "threads of gpud",
            Some(usage.threads as f64),
        ),
        (
            "process_open_fds",
            "open file descriptors of gpud",
            readings.open_files.map(|count| count as f64),
        ),
        (
            "process_start_time_seconds",
            "when gpud was started, in seconds since 1970",
            (readings.boot_time_seconds > 0.0).then_some(started),
        ),
    ];
    for (name, help, value) in gauges {
        if let Some(value) = value {
            registry.set_gauge(name, help, &[], value)?;
        }
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
