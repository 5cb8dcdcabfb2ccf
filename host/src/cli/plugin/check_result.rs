//! The result of one check as text.

use std::fmt::Write as _;

use gpud_author::check_result::{CheckResult, ReportedBill, ReportedEvent, ReportedMetric};

use crate::{
    cli::{
        output,
        sizes::iec,
        terminal::{Terminal, printable},
    },
    runtime::Limits,
};

/// Most events and metrics that the text lists; `--json` has all.
const SHOWN: usize = 50;

/// Returns the result as text. `limits` is what the check was allowed to use.
pub fn text(check_result: &CheckResult, limits: &Limits, terminal: Terminal) -> String {
    let mut text = output::component(terminal, &check_result.component, &check_result.states);
    if !check_result.supported {
        text.push_str("  there is nothing for it to watch on this machine\n");
    }
    for event in check_result.events.iter().take(SHOWN) {
        let _ = writeln!(text, "  event {}", event_line(event));
    }
    for metric in check_result.metrics.iter().take(SHOWN) {
        let _ = writeln!(text, "  metric {}", metric_line(metric));
    }
    for (what, count) in [
        ("events", check_result.events.len()),
        ("metrics", check_result.metrics.len()),
    ] {
        if count > SHOWN {
            let _ = writeln!(
                text,
                "  and {} more {what}: --json shows them",
                count - SHOWN
            );
        }
    }
    if !check_result.values_written.is_empty() {
        let keys = printable(&check_result.values_written.join(", "));
        let _ = writeln!(text, "  values written: {keys}");
    }
    text.push_str(&bill(&check_result.bill, limits));
    text
}

/// One line.
fn event_line(event: &ReportedEvent) -> String {
    let (name, message) = (printable(&event.name), printable(&event.message));
    format!("{name} ({}): {message}", event.event_type)
}

/// One line, as Prometheus writes it.
fn metric_line(metric: &ReportedMetric) -> String {
    let labels: Vec<_> = metric
        .labels
        .iter()
        .map(|(name, value)| format!("{}={:?}", printable(name), printable(value)))
        .collect();
    let labels = match labels.is_empty() {
        true => String::new(),
        false => format!("{{{}}}", labels.join(",")),
    };
    format!(
        "{}{labels} {} ({})",
        printable(&metric.name),
        metric.value,
        metric.kind
    )
}

fn bill(bill: &ReportedBill, limits: &Limits) -> String {
    format!(
        "  took {:.3} ms ({:.3} ms of it waiting for the machine), {} of {} memory, {} of {} host calls, {} of {} handed over\n",
        bill.seconds * 1000.0,
        bill.waiting_seconds * 1000.0,
        iec(bill.memory_high_water_bytes),
        iec(limits.memory_bytes),
        bill.host_calls,
        limits.host_calls,
        iec(bill.bytes),
        iec(limits.host_bytes),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::wire::HealthState;

    #[test]
    fn for_people() {
        let check_result = CheckResult {
            component: "fan-check".into(),
            supported: true,
            states: vec![HealthState {
                health: "Degraded".into(),
                reason: "fan2 stands still".into(),
                ..HealthState::default()
            }],
            events: vec![ReportedEvent {
                time: 5,
                name: "fan_stopped".into(),
                event_type: "Warning".into(),
                message: "fan2\n".into(),
            }],
            metrics: vec![ReportedMetric {
                name: "fan_rpm".into(),
                labels: BTreeMap::from([("fan".to_owned(), "fan1".to_owned())]),
                value: 1200.0,
                kind: "gauge",
            }],
            values_written: vec!["stopped".into()],
            error: None,
            bill: ReportedBill {
                seconds: 0.0021,
                waiting_seconds: 0.001,
                memory_high_water_bytes: 1_114_112,
                host_calls: 3,
                bytes: 40,
            },
        };
        insta::assert_snapshot!(text(&check_result, &Limits::default(), Terminal::PLAIN), @r#"
        ✘ fan-check: fan2 stands still
          event fan_stopped (Warning): fan2
          metric fan_rpm{fan="fan1"} 1200 (gauge)
          values written: stopped
          took 2.100 ms (1.000 ms of it waiting for the machine), 1.1 MiB of 64 MiB memory, 3 of 10000 host calls, 40 B of 32 MiB handed over
        "#);
    }
}
