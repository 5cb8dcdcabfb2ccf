//! A component that a script plugin judges.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use gpud_script::{CheckOutput, Script, Verdict};

use super::checker::CheckedReport;
use crate::{
    capability::Bill,
    model::{
        CheckContext, ComponentDescriptor, Health, HealthState, Metric, MetricDescription,
        MetricKind, Report, RunMode, SuggestedActions,
    },
    runtime::Finished,
    spec::Plugin,
    wire::Origin,
};

/// The wire's type of a component from a spec.
pub(super) const COMPONENT_TYPE: &str = "custom-plugin";
/// The name of every script plugin's state.
pub(super) const STATE_NAME: &str = "check";
/// Bytes of a script's output that are shown in its state.
const SHOWN_OUTPUT: usize = 4096;
/// An interval below this means one check.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// A script plugin as a component.
pub struct ScriptChecker {
    descriptor: ComponentDescriptor,
    script: Script,
    interval: Option<Duration>,
    gauges: [(Health, String); 3],
}

impl ScriptChecker {
    /// For a plugin of type `component` or `init`.
    pub fn new(plugin: &Plugin) -> Self {
        let spec = &plugin.spec;
        let interval = u64::try_from(spec.interval.0).unwrap_or(0);
        let interval = Duration::from_nanos(interval);
        let interval = (interval >= SHORTEST_INTERVAL).then_some(interval);
        let gauges = gauges(&plugin.component);
        let metrics = gauges.iter().map(|(health, name)| MetricDescription {
            name: name.clone(),
            help: format!("1 when the last check found it {}, else 0", health.as_str()),
            buckets: Vec::new(),
        });
        Self {
            descriptor: ComponentDescriptor {
                name: plugin.component.clone(),
                description: format!("script plugin {:?}", spec.plugin_name),
                tags: plugin.tags(),
                interval,
                run_mode: if plugin.is_manual() {
                    RunMode::Manual
                } else {
                    RunMode::Auto
                },
                metrics: metrics.collect(),
                ..ComponentDescriptor::default()
            },
            script: Script::new(spec),
            interval,
            gauges,
        }
    }

    /// Its description from the spec.
    pub fn descriptor(&self) -> &ComponentDescriptor {
        &self.descriptor
    }

    /// The interval of scheduled checks; `None` means one check.
    pub fn interval(&self) -> Option<Duration> {
        self.interval
    }

    pub(super) async fn check(
        &self,
        context: &CheckContext,
        stop: &CancellationToken,
    ) -> CheckedReport {
        let started = Instant::now();
        let CheckOutput {
            verdict, output, ..
        } = self.script.check(context.now, stop).await;
        CheckedReport {
            finished: Finished {
                answer: Ok(self.report(context, verdict)),
                bill: Bill {
                    time: started.elapsed(),
                    ..Bill::default()
                },
                state_writes: Default::default(),
                store_failure: None,
            },
            output,
        }
    }

    fn report(&self, context: &CheckContext, verdict: Verdict) -> Report {
        for mismatch in &verdict.mismatches {
            tracing::warn!(component = self.descriptor.name, "unexpected: {mismatch}");
        }
        let health = verdict.health();
        let metrics = self.gauges.iter().map(|(of, name)| Metric {
            name: name.clone(),
            value: f64::from(u8::from(*of == health)),
            kind: MetricKind::Gauge,
            ..Metric::default()
        });
        Report {
            supported: true,
            metrics: metrics.collect(),
            states: vec![HealthState {
                name: Some(STATE_NAME.to_owned()),
                time: Some(context.now),
                health,
                reason: verdict.reason,
                error: verdict.error,
                suggested_actions: verdict.suggested_actions.map(|actions| SuggestedActions {
                    description: actions.description,
                    repair_actions: actions
                        .repair_actions
                        .iter()
                        .map(|action| action.as_str().into())
                        .collect(),
                }),
                extra_info: verdict.extra_info.into_iter().collect(),
                ..HealthState::default()
            }],
            ..Report::default()
        }
    }
}

/// Returns the wire's facts about the components of a plugin.
pub(super) fn origin(plugin: &Plugin) -> Origin {
    Origin {
        component_type: COMPONENT_TYPE.to_owned(),
        run_mode: plugin.spec.run_mode.clone(),
        raw_output: String::new(),
    }
}

/// Returns the part of a script's output that a state shows.
pub(super) fn shown(output: &[u8]) -> String {
    let head = output.get(..SHOWN_OUTPUT).unwrap_or(output);
    String::from_utf8_lossy(head).into_owned()
}

/// GPUd's names, with `_` for every character that Prometheus does not take.
fn gauges(component: &str) -> [(Health, String); 3] {
    let mut base: String = component
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    if base.starts_with(|c: char| c.is_ascii_digit()) {
        base.insert(0, '_');
    }
    [
        (Health::Healthy, "healthy"),
        (Health::Unhealthy, "unhealthy"),
        (Health::Degraded, "degraded"),
    ]
    .map(|(health, word)| (health, format!("{base}_health_state_{word}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauges_have_names_that_prometheus_takes() {
        for (component, name) in [
            ("fan-tray", "fan_tray_health_state_healthy"),
            ("a.b/c_d", "a_b_c_d_health_state_healthy"),
            ("8 füße", "_8_f__e_health_state_healthy"),
        ] {
            assert_eq!(gauges(component)[0].1, name);
        }
    }

    #[test]
    fn output_is_cut_for_the_wire() {
        assert_eq!(shown(b"ab\xff"), "ab\u{fffd}");
        assert_eq!(shown(&[b'x'; 5000]).len(), 4096);
        let split = ["ä".repeat(2047).as_bytes(), b"x\xc3\xa4"].concat();
        assert!(shown(&split).ends_with("äx\u{fffd}"));
    }
}
