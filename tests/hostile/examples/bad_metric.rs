//! Gives readings that no metrics system takes: `bad-metric` a value, `bad-metric/name` a name.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report};

struct BadMetric;

impl Checker for BadMetric {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let report = Report::of(HealthState::healthy(context, "measured"));
        Ok(match context.component.as_str() {
            "bad-metric/name" => report.gauge("up{} 1\nforged", 1.0),
            _ => report
                .gauge("fine", 1.0)
                .gauge("temperature_celsius", f64::NAN),
        })
    }
}

gpud_sdk::export!(BadMetric: Descriptor::new("bad-metric", "Measures NaN")
    .and(Descriptor::new("bad-metric/name", "Measures something unspeakable")));
