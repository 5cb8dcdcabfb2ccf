//! The verdict: plain inputs in, report out.

use std::collections::BTreeMap;

use gpud_sdk::{
    AccessError, CheckContext, Event, EventType, Evidence, HealthState, Report, Subject,
};
use serde::{Serialize, Serializer};

use crate::connections::{Connection, NumbersError, ROOT, Values};
use crate::memory::{ExceededThresholds, Memory};
use crate::mounts::{self, Mount};

/// Gauge of [`Values::congested_percent`].
pub const CONGESTED_METRIC: &str = "fuse_connections_congested_percent_against_threshold";
/// Gauge of [`Values::max_background_percent`].
pub const BACKGROUND_METRIC: &str = "fuse_connections_max_background_percent_against_threshold";
/// Name of the events.
pub const EVENT_NAME: &str = "fuse_connections";

/// More than this share of the congestion threshold is an event.
const CONGESTED_PERCENT: f64 = 90.0;
/// More than this share of the background limit is an event.
const BACKGROUND_PERCENT: f64 = 80.0;
/// A queue that fills and empties all the time is one event with a count within this time.
const MERGE_SECONDS: u32 = 300;
/// Most connections whose trouble is reported.
const MAX_LISTED: usize = 5;
/// Bound of the host on one fact, with some room.
const MAX_DATA_BYTES: usize = 60 * 1024;
/// Longest name of a filesystem's source that is shown and becomes a label, bytes; the host takes 1 KiB.
const MAX_NAME_BYTES: usize = 256;

/// Longest mount point that the host takes as a subject, bytes (`PATH_MAX`, but bytes that are not UTF-8 became three).
const MAX_POINT_BYTES: usize = 4_096;

/// All that is judged.
#[derive(Debug)]
pub struct Inputs<'a> {
    /// The connections, or why they cannot be listed.
    pub connections: Result<Vec<Connection>, AccessError>,
    /// `/proc/‹pid›/mountinfo`; empty when it cannot be read.
    pub mountinfo: &'a str,
}

/// A connection as `data` shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    device: u32,
    fstype: String,
    device_name: String,
    congestion_threshold: i64,
    #[serde(serialize_with = "plain_number")]
    congested_percent: f64,
    max_background: i64,
    #[serde(serialize_with = "plain_number")]
    max_background_percent: f64,
    waiting: i64,
    #[serde(skip)]
    point: String,
}

#[derive(Serialize)]
struct Data<'a> {
    connection_infos: Option<&'a [Row]>,
}

/// Judges one reading. `before` is what was over its thresholds at the last check; what is now comes back.
pub fn judge(context: &CheckContext, inputs: Inputs<'_>, before: &Memory) -> (Report, Memory) {
    let connections = match inputs.connections {
        Ok(connections) => connections,
        Err(AccessError::NotFound(_)) => {
            let reason = "FUSE is not in use (the kernel has no list of connections)";
            let state = HealthState::healthy(context, reason).info("data", data(&mut []));
            return (Report::of(state), Memory::default());
        }
        Err(error) => {
            let state = with_evidence(HealthState::unjudged(context, &error));
            let state = state.info("data", data(&mut []));
            return (Report::of(state), before.clone());
        }
    };

    let mounts = mounts::by_device(inputs.mountinfo);
    let mut rows = Vec::new();
    let (mut denied, mut troubles) = (0, Vec::new());
    for connection in &connections {
        match &connection.values {
            Ok(values) => rows.push(Row::new(values, mounts.get(&values.device))),
            Err(NumbersError::Gone) => {}
            Err(NumbersError::Denied) => denied += 1,
            Err(NumbersError::Failed(text)) => troubles.push(text.as_str()),
        }
    }

    let mut after = Memory::default();
    let mut events = Vec::new();
    for row in &rows {
        let over = row.over();
        if over.any() {
            after.0.insert(row.device, over);
        }
        let known = before.0.get(&row.device).copied().unwrap_or_default();
        if over.is_news_after(known) {
            events.push(row.event(context, over));
        }
    }

    let mut state = state(context, connections.len(), denied, &troubles);
    let gauges = gauges(&rows);
    state = state.info("data", data(&mut rows));
    let mut report = Report::of(state);
    report.events = events;
    for (name, [congested, background]) in &gauges {
        let labels = [("device_name", name.as_str())];
        if let Some(percent) = congested {
            report.add_gauge(CONGESTED_METRIC, &labels, *percent);
        }
        if let Some(percent) = background {
            report.add_gauge(BACKGROUND_METRIC, &labels, *percent);
        }
    }
    (report, after)
}

fn state(context: &CheckContext, all: usize, denied: usize, troubles: &[&str]) -> HealthState {
    if !troubles.is_empty() {
        let listed: Vec<&str> = troubles.iter().copied().take(MAX_LISTED).collect();
        let mut text = listed.join("; ");
        if troubles.len() > listed.len() {
            text.push_str(&format!("; and {} more", troubles.len() - listed.len()));
        }
        let reason = "error listing fuse connections";
        return with_evidence(HealthState::unhealthy(context, reason).error(text));
    }
    let reason = "successfully fuse connection(s)";
    if denied == 0 {
        return HealthState::healthy(context, reason);
    }
    let note = format!("{denied} of {all} cannot be read without root");
    HealthState::healthy(context, format!("{reason}; {note}"))
        .error(format!("{ROOT}: permission denied"))
}

fn with_evidence(mut state: HealthState) -> HealthState {
    state.evidence.push(Evidence::File(ROOT.to_owned()));
    state
}

impl Row {
    fn new(values: &Values, mount: Option<&Mount>) -> Self {
        let mount = mount.cloned().unwrap_or_default();
        // Mounted in a container only, or by none but still open.
        let mut device_name = if mount.source.is_empty() {
            format!("fuse:{}", values.device)
        } else {
            mount.source
        };
        device_name.truncate(device_name.floor_char_boundary(MAX_NAME_BYTES));
        Self {
            device: values.device,
            fstype: mount.fstype,
            device_name,
            congestion_threshold: values.congestion_threshold,
            congested_percent: values.congested_percent(),
            max_background: values.max_background,
            max_background_percent: values.max_background_percent(),
            waiting: values.waiting,
            point: mount.point,
        }
    }

    fn over(&self) -> ExceededThresholds {
        ExceededThresholds {
            congested: self.congested_percent > CONGESTED_PERCENT,
            background: self.max_background_percent > BACKGROUND_PERCENT,
        }
    }

    fn event(&self, context: &CheckContext, over: ExceededThresholds) -> Event {
        let mut parts = Vec::new();
        if over.congested {
            parts.push(format!(
                "congested percent {:.2}% exceeds threshold {CONGESTED_PERCENT:.2}%",
                self.congested_percent
            ));
        }
        if over.background {
            parts.push(format!(
                "max background percent {:.2}% exceeds threshold {BACKGROUND_PERCENT:.2}%",
                self.max_background_percent
            ));
        }
        let message = format!("{}: {}", self.device_name, parts.join(", "));
        let key = format!("{} {} {over:?}", context.boot_id, self.device);
        let mut event = Event::new(context.now, EVENT_NAME, EventType::Critical, message)
            .merged_by(key, MERGE_SECONDS);
        event
            .evidence
            .push(Evidence::File(format!("{ROOT}/{}/waiting", self.device)));
        if (1..=MAX_POINT_BYTES).contains(&self.point.len()) {
            event.subject = Some(Subject::Mount(self.point.clone()));
        }
        let row = serde_json::to_string(self).unwrap_or_default();
        event.extra_info.push(("data".to_owned(), row));
        event
    }
}

/// Both percentages by name. Filesystems can share a name (a hundred containers with the same bucket): the worst one
/// counts. Where the kernel has no limit, there is no percentage.
fn gauges(rows: &[Row]) -> BTreeMap<String, [Option<f64>; 2]> {
    let mut gauges: BTreeMap<String, [Option<f64>; 2]> = BTreeMap::new();
    for row in rows {
        let percents = [
            (row.congestion_threshold > 0).then_some(row.congested_percent),
            (row.max_background > 0).then_some(row.max_background_percent),
        ];
        let known = gauges.entry(row.device_name.clone()).or_default();
        for (known, percent) in known.iter_mut().zip(percents) {
            *known = match (*known, percent) {
                (Some(known), Some(percent)) => Some(known.max(percent)),
                (known, percent) => known.or(percent),
            };
        }
    }
    gauges
}

/// The `data` document. When there are too many connections for it, those with the fewest waiting requests are left out.
fn data(rows: &mut [Row]) -> String {
    let document = |rows: &[Row]| {
        let connection_infos = (!rows.is_empty()).then_some(rows);
        serde_json::to_string(&Data { connection_infos }).unwrap_or_default()
    };
    let mut text = document(rows);
    let mut kept = rows.len();
    if text.len() > MAX_DATA_BYTES {
        rows.sort_by_key(|row| std::cmp::Reverse(row.waiting));
    }
    while text.len() > MAX_DATA_BYTES && kept > 1 {
        kept /= 2;
        text = document(rows.get(..kept).unwrap_or_default());
    }
    text
}

/// Whole numbers without `.0`, as other JSON writers give them.
fn plain_number<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        return serializer.serialize_i64(*number as i64);
    }
    serializer.serialize_f64(*number)
}

#[cfg(test)]
mod tests;
