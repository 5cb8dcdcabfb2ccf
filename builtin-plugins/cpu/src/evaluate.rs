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
mod tests {
    use super::*;
    use gpud_sdk::Trigger;

    fn context() -> CheckContext {
        CheckContext {
            component: "cpu".into(),
            now: 1_800_000_000_000,
            trigger: Trigger::Scheduled,
            boot_id: "b-1".into(),
            boot_time: 1_799_000_000_000,
            previous_check: None,
            extra: Vec::new(),
        }
    }

    fn read(text: &str) -> Result<String, AccessError> {
        Ok(text.to_owned())
    }

    const STAT: &str = "cpu  300 0 0 900 0 0 0 0\ncpu0 1\ncpu1 1\n";

    #[test]
    fn use_is_that_since_the_last_check_of_this_boot() {
        let cases = [
            (None, "25.00"),
            (Some("b-1 100 1000"), "100.00"),
            (Some("b-1 200 800"), "25.00"),
            (Some("b-1 299 1000"), "0.50"),
            (Some("b-0 299 1000"), "25.00"),
            (Some("b-1 garbage"), "25.00"),
            (Some("b-1 300 1000"), "0.00"),
        ];
        for (previous, percent) in cases {
            let loads = read("0.5 1 20.129 1/2 3");
            let verdict = judge(&context(), read(STAT), loads, previous).unwrap();
            let data = format!(
                r#"{{"cores":{{"logical":2}},"usage":{{"used_percent":"{percent}","load_avg_1min":"0.50","load_avg_5min":"1.00","load_avg_15min":"20.13"}}}}"#
            );
            let state = HealthState::healthy(&context(), "ok").info("data", data);
            assert_eq!(verdict.report.states, [state], "{previous:?}");
            assert_eq!(verdict.sample.as_deref(), Some("b-1 300 1200"));
        }
    }

    #[test]
    fn metrics_carry_their_labels() {
        let verdict = judge(&context(), read(STAT), read("0.5 1 20.129"), None).unwrap();
        let shown: Vec<_> = verdict
            .report
            .metrics
            .iter()
            .map(|metric| {
                let labels: Vec<_> = metric
                    .labels
                    .iter()
                    .map(|(k, v)| format!("{k}={v}"))
                    .collect();
                format!("{}{labels:?} {}", metric.name, metric.value)
            })
            .collect();
        assert_eq!(
            shown,
            [
                "cpu_used_percent[] 25",
                "cpu_load_average[\"load_duration=1m0s\"] 0.5",
                "cpu_load_average[\"load_duration=5m0s\"] 1",
                "cpu_load_average[\"load_duration=15m0s\"] 20.129",
            ]
        );
    }

    #[test]
    fn without_load_averages_the_rest_is_shown() {
        let data = r#"{"cores":{"logical":2},"usage":{"used_percent":"25.00","load_avg_1min":"","load_avg_5min":"","load_avg_15min":""}}"#;
        let denied = Err(AccessError::Denied("/proc/loadavg".into()));
        for (loadavg, error) in [
            (denied, "/proc/loadavg: permission denied"),
            (read("?"), "/proc/loadavg reads \"?\""),
        ] {
            let verdict = judge(&context(), read(STAT), loadavg, None).unwrap();
            let mut state = HealthState::healthy(&context(), "ok").info("data", data);
            state.error = Some(error.to_owned());
            assert_eq!(verdict.report.states, [state]);
            assert_eq!(verdict.report.metrics.len(), 1);
            assert!(verdict.sample.is_some());
        }
    }

    #[test]
    fn without_the_counters_nothing_is_known() {
        let denied = AccessError::Denied("/proc/stat".into());
        let wrong = AccessError::Other("/proc/stat begins with \"\"".into());
        for (stat, error) in [(Err(denied.clone()), denied), (read(""), wrong)] {
            assert_eq!(judge(&context(), stat, read("1 1 1"), None), Err(error));
        }
    }
}
