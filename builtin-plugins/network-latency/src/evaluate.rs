//! The measurement and the verdict.

use std::fmt::Write as _;

use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::{AccessError, CheckContext, Error, Report};
use serde::Serialize;

use crate::config::{Config, Endpoint};

/// Gauge: latency.
pub const LATENCY: &str = "network_latency_edge_in_milliseconds";

/// What GPUd calls the owner of a region's server; here it is the owner that the configuration names.
const PROVIDER: &str = "configured";
/// All connections of a check together, milliseconds; a check has 30 s.
const BUDGET_MS: u64 = 25_000;
/// Waited beyond the threshold, so that a slow connection can be distinguished from none.
const MARGIN_MS: u64 = 1_000;

/// The outcome for an endpoint.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Connected within so many microseconds.
    Connected(u64),
    /// Not connected.
    Failed(AccessError),
    /// The others took all the time.
    NoTime,
}

/// Connects to one endpoint after another. `connect` gives microseconds.
pub fn measure(
    config: &Config,
    mut connect: impl FnMut(&Endpoint, u32) -> Result<u64, AccessError>,
) -> Vec<(Endpoint, Outcome)> {
    let mut left_ms = BUDGET_MS;
    let mut measured = Vec::new();
    for endpoint in &config.endpoints {
        let timeout = (config.threshold_ms + MARGIN_MS).min(left_ms);
        let outcome = if timeout == 0 {
            Outcome::NoTime
        } else {
            match connect(endpoint, u32::try_from(timeout).unwrap_or(u32::MAX)) {
                Ok(micros) => Outcome::Connected(micros),
                Err(error) => Outcome::Failed(error),
            }
        };
        // Names are looked up besides; the host ends a check that takes too long for that.
        let spent = match &outcome {
            Outcome::Connected(micros) => micros / 1_000,
            Outcome::Failed(AccessError::TimedOut(info)) => info.after_ms,
            _ => 0,
        };
        left_ms = left_ms.saturating_sub(spent);
        measured.push((endpoint.clone(), outcome));
    }
    measured
}

#[derive(Serialize)]
struct Document<'a> {
    egress_latencies: Vec<Measured<'a>>,
}

#[derive(Serialize)]
struct Measured<'a> {
    provider: &'static str,
    region_name: &'a str,
    region_code: &'a str,
    latency: String,
    latency_milliseconds: u64,
}

/// Judges what was measured.
///
/// # Errors
/// When the operator's grants do not let an endpoint be asked.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    measured: &[(Endpoint, Outcome)],
    before: &Memory,
) -> Result<(Report, Memory), Error> {
    if measured.is_empty() {
        let reason = "no endpoints are configured, so no latency is measured";
        return Ok(findings::judge(context, reason, &[], before));
    }
    let mut found = Vec::new();
    let mut reached = Vec::new();
    let mut errors = Vec::new();
    let mut unmeasured = 0_usize;
    for (endpoint, outcome) in measured {
        let name = &endpoint.name;
        match outcome {
            Outcome::Connected(micros) => {
                reached.push((name.as_str(), *micros));
                if *micros > config.threshold_ms * 1_000 {
                    let text = format!(
                        "latency to {name} edge server is {} (exceeded threshold {}ms)",
                        go_duration(*micros),
                        config.threshold_ms
                    );
                    let finding = Finding::degraded(name, "network_latency_high", text);
                    found.push(finding.about("endpoint", name));
                }
            }
            Outcome::Failed(error) => {
                if is_ours(error) {
                    return Err(error.clone().into());
                }
                let text = format!("{name} cannot be reached ({})", error.text());
                errors.push(error.text());
                let finding = Finding::degraded(name, "network_endpoint_unreachable", text);
                found.push(finding.about("endpoint", name));
            }
            Outcome::NoTime => unmeasured += 1,
        }
    }
    if reached.is_empty() {
        let text = "error measuring egress latencies";
        found = vec![Finding::unhealthy("all", "network_unreachable", text)];
    }
    let mut healthy = "checked egress latencies and no issue found".to_owned();
    if unmeasured > 0 {
        let _ = write!(healthy, " ({unmeasured} not measured: no time)");
    }
    let (mut report, after) = findings::judge(context, &healthy, &found, before);
    if let (true, Some(state)) = (reached.is_empty(), report.states.first_mut()) {
        let errors = errors.join("; ");
        state.error = Some(gpud_sdk::incidents::clip(&errors).to_owned());
    }
    reached.sort_by_key(|(_, micros)| *micros);
    for (name, micros) in &reached {
        let region = format!("{name} ({PROVIDER})");
        report.add_gauge(LATENCY, &[("region", &region)], gauge(*micros) / 1_000.0);
    }
    Ok((with_data(report, &reached)?, after))
}

/// Not granted, or this call's own trouble: says nothing about the network.
fn is_ours(error: &AccessError) -> bool {
    matches!(
        error,
        AccessError::Denied(text) if text.contains("not granted")
    ) || matches!(
        error,
        AccessError::OverBudget(_) | AccessError::InvalidArgument(_)
    )
}

fn with_data(mut report: Report, reached: &[(&str, u64)]) -> Result<Report, Error> {
    if reached.is_empty() {
        return Ok(report);
    }
    let measured = reached.iter().map(|(name, micros)| Measured {
        provider: PROVIDER,
        region_name: name,
        region_code: "",
        latency: go_duration(*micros),
        latency_milliseconds: micros / 1_000,
    });
    let document = Document {
        egress_latencies: measured.collect(),
    };
    let text = serde_json::to_string(&document).map_err(Error::failed)?;
    let states = std::mem::take(&mut report.states);
    report.states = states
        .into_iter()
        .map(|state| state.info("data", &text))
        .collect();
    Ok(report)
}

/// Microseconds as Go prints a duration: `12.3ms`, `450µs`, `7.5s`. Less than a minute here.
fn go_duration(micros: u64) -> String {
    let (unit, per) = match micros {
        0 => return "0s".to_owned(),
        1..1_000 => return format!("{micros}µs"),
        1_000..1_000_000 => ("ms", 1_000),
        _ => ("s", 1_000_000),
    };
    let (whole, part) = (micros / per, micros % per);
    let width = if per == 1_000 { 3 } else { 6 };
    let fraction = format!("{part:0width$}");
    match fraction.trim_end_matches('0') {
        "" => format!("{whole}{unit}"),
        digits => format!("{whole}.{digits}{unit}"),
    }
}

#[cfg(test)]
mod tests;
