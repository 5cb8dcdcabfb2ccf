//! The verdict: plain inputs in, report out.

use gpud_sdk::{AccessError, CheckContext, HealthState, Report};

use crate::procfs::{Sample, Stat, parse_loadavg};

/// The result of one check.
#[derive(Debug, PartialEq)]
pub struct Verdict {
    /// For the host.
    pub report: Report,
    /// For the next check, as [`judge`] wants it back.
    pub sample: Option<String>,
}

/// Judges one reading of `/proc/stat` and `/proc/loadavg`. `previous` is the `sample` of an earlier verdict; without
/// one of this boot, use is that since boot. Load averages that cannot be read are left out, and `error` says why.
///
/// # Errors
/// `/proc/stat` cannot be read or understood: then nothing is known.
pub fn judge(
    context: &CheckContext,
    stat: Result<String, AccessError>,
    loadavg: Result<String, AccessError>,
    previous: Option<&str>,
) -> Result<Verdict, AccessError> {
    let stat = Stat::parse(&stat?).map_err(AccessError::Other)?;
    let earlier = previous
        .and_then(|text| decode(text, &context.boot_id))
        .unwrap_or_default();
    let percent = stat.sample.percent_since(earlier);
    let used = format!("{percent:.2}");
    let loads = loadavg
        .map_err(|error| error.text())
        .and_then(|text| parse_loadavg(&text));
    let (loads, trouble) = match loads {
        Ok(loads) => (Some(loads), None),
        Err(trouble) => (None, Some(trouble)),
    };
    let state = HealthState {
        error: trouble,
        ..HealthState::healthy(context, "ok").info("data", data(stat.online, &used, loads))
    };
    let mut report = Report::of(state).gauge("cpu_used_percent", percent);
    let durations = ["1m0s", "5m0s", "15m0s"];
    for (duration, load) in durations.into_iter().zip(loads.into_iter().flatten()) {
        report.add_gauge("cpu_load_average", &[("load_duration", duration)], load);
    }
    Ok(Verdict {
        report,
        sample: Some(encode(stat.sample, &context.boot_id)),
    })
}

/// The `data` document. Percentages and loads are strings there; they are empty when not known.
fn data(cores: u32, used: &str, loads: Option<[f64; 3]>) -> String {
    let [one, five, fifteen] = match loads {
        Some(loads) => loads.map(|load| format!("{load:.2}")),
        None => Default::default(),
    };
    format!(
        r#"{{"cores":{{"logical":{cores}}},"usage":{{"used_percent":"{used}","load_avg_1min":"{one}","load_avg_5min":"{five}","load_avg_15min":"{fifteen}"}}}}"#
    )
}

/// Counters start at zero with every boot, so a sample is only good together with its boot id.
fn encode(sample: Sample, boot_id: &str) -> String {
    format!("{boot_id} {} {}", sample.busy, sample.total)
}

fn decode(text: &str, boot_id: &str) -> Option<Sample> {
    let (busy, total) = text
        .strip_prefix(boot_id)?
        .strip_prefix(' ')?
        .split_once(' ')?;
    Some(Sample {
        busy: busy.parse().ok()?,
        total: total.parse().ok()?,
    })
}

#[cfg(test)]
mod tests;
