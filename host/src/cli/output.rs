//! The output of `gpud scan` as JSON and with `--classic`, a line and tables for each component, and the exit status.

use std::fmt::Write as _;

use serde::Serialize;

use super::{
    details,
    options::FailOn,
    terminal::{Terminal, printable},
};
use crate::{
    model::Health,
    summary::Summary,
    wire::{ComponentHealthStates, HealthState, MachineInfo},
};

/// The key of `extra_info` under which built-in checks give their document.
pub(super) const DATA: &str = "data";

/// The text above the results.
pub fn begin(terminal: Terminal) -> String {
    format!(
        "\n\n{} scanning the host (GOOS linux)\n\n",
        terminal.waiting()
    )
}

/// The text below the results.
pub fn end(terminal: Terminal) -> String {
    format!("\n\n{} scan complete\n\n", terminal.good())
}

/// The verdicts of one component, and under each what it was drawn from.
pub fn component(terminal: Terminal, name: &str, states: &[HealthState]) -> String {
    let mut text = String::new();
    for state in states {
        let health = Health::from(state.health.as_str());
        let sign = match &health {
            Health::Healthy => terminal.good(),
            Health::Initializing => terminal.waiting(),
            _ => terminal.bad(),
        };
        let reason = match state.reason.as_str() {
            "" => health.as_str().to_lowercase(),
            reason => printable(reason),
        };
        let _ = writeln!(text, "{sign} {}: {reason}", printable(name));
        if !state.error.is_empty() {
            let _ = writeln!(text, "  error: {}", printable(&state.error));
        }
        if let Some(actions) = &state.suggested_actions {
            let mut parts = actions.repair_actions.join(", ");
            if !actions.description.is_empty() {
                let _ = write!(parts, " ({})", actions.description);
            }
            let _ = writeln!(text, "  suggested: {}", printable(&parts));
        }
        if let Some(document) = state.extra_info.get(DATA) {
            text.push_str(&details::tables(name, document, terminal.width()));
        }
    }
    text
}

/// Everything that a scan found, as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct ScanReport {
    /// The inventory.
    pub machine_info: MachineInfo,
    /// The worst health of all components.
    pub health: String,
    /// Every component's verdicts, the worst first.
    pub components: Vec<ComponentHealthStates>,
    /// The summary of all states; not with `--classic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
}

impl ScanReport {
    /// With the worst health worked out.
    pub fn new(machine_info: MachineInfo, components: Vec<ComponentHealthStates>) -> Self {
        Self {
            machine_info,
            health: worst(&components).as_str().to_owned(),
            components,
            summary: None,
        }
    }

    /// One line of JSON, newline included.
    ///
    /// # Errors
    /// Never with these types; serde wants it said.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string(self)? + "\n")
    }
}

/// The worst health among all verdicts; healthy without any.
pub fn worst(components: &[ComponentHealthStates]) -> Health {
    components
        .iter()
        .flat_map(|component| component.states.iter().flatten())
        .map(|state| Health::from(state.health.as_str()))
        .max_by_key(Health::rank)
        .unwrap_or_default()
}

/// Why a scan fails that was asked to by `--fail-on`.
pub fn why_it_fails(fail_on: FailOn, summary: &Summary) -> String {
    let word = word_of(fail_on);
    let sentence = printable(&summary.sentence);
    let verdict = summary.verdict.as_str();
    format!("status 1, as --fail-on {word} asks: the machine is {verdict}: {sentence}")
}

/// A value of `--fail-on` as it is typed.
pub fn word_of(fail_on: FailOn) -> &'static str {
    match fail_on {
        FailOn::Degraded => "degraded",
        FailOn::Unhealthy => "unhealthy",
    }
}

/// Whether the worst is as bad as `fail_on` or worse. A component that could not be judged yet fails nothing.
pub fn fails(fail_on: Option<FailOn>, worst: &Health) -> bool {
    fail_on.is_some_and(|fail_on| {
        let limit = match fail_on {
            FailOn::Degraded => Health::Degraded,
            FailOn::Unhealthy => Health::Unhealthy,
        };
        worst.rank() >= limit.rank()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SuggestedActions;

    fn state(health: &str, reason: &str) -> HealthState {
        HealthState {
            health: health.into(),
            reason: reason.into(),
            ..HealthState::default()
        }
    }

    #[test]
    fn components_as_text() {
        let cpu = HealthState {
            extra_info: [(
                DATA.to_owned(),
                r#"{"cores":{"logical":8},"usage":{"used_percent":"7.10"}}"#.to_owned(),
            )]
            .into(),
            ..state("Healthy", "ok")
        };
        let disk = HealthState {
            error: "statvfs /data:\n no answer".into(),
            suggested_actions: Some(SuggestedActions {
                description: "drain first".into(),
                repair_actions: vec!["REBOOT_SYSTEM".into(), "HARDWARE_INSPECTION".into()],
            }),
            ..state("Unhealthy", "\u{1b}[2Jdead mount")
        };
        let terminal = Terminal::PLAIN;
        let text = [
            begin(terminal),
            component(terminal, "cpu", &[cpu]),
            component(terminal, "disk", &[disk, state("Degraded", "")]),
            component(terminal, "os", &[state("Initializing", "")]),
            end(terminal),
        ];
        insta::assert_snapshot!(text.concat(), @r"


        ⌛ scanning the host (GOOS linux)

        ✔ cpu: ok
        +---------------+------+
        | Logical Cores |  8   |
        |    Used %     | 7.10 |
        +---------------+------+
        ✘ disk: \u{1b}[2Jdead mount
          error: statvfs /data:  no answer
          suggested: REBOOT_SYSTEM, HARDWARE_INSPECTION (drain first)
        ✘ disk: degraded
        ⌛ os: initializing


        ✔ scan complete
        ");
    }

    #[test]
    fn the_worst_decides() {
        for (states, expected, degraded, unhealthy) in [
            (&[][..], "Healthy", false, false),
            (&["Healthy", "Initializing"], "Initializing", false, false),
            (&["Degraded", "Healthy"], "Degraded", true, false),
            (&["Unhealthy", "Degraded"], "Unhealthy", true, true),
            (&["Healthy", "Odd"], "Odd", true, true),
        ] {
            let components: Vec<_> = states
                .iter()
                .map(|health| ComponentHealthStates {
                    component: "c".into(),
                    states: Some(vec![state(health, "")]),
                })
                .collect();
            let worst = worst(&components);
            assert_eq!(worst.as_str(), expected);
            for (fail_on, expected) in [
                (None, false),
                (Some(FailOn::Degraded), degraded),
                (Some(FailOn::Unhealthy), unhealthy),
            ] {
                assert_eq!(fails(fail_on, &worst), expected, "{states:?} {fail_on:?}");
            }
        }
    }

    #[test]
    fn as_json() {
        let report = ScanReport::new(
            MachineInfo::default(),
            vec![ComponentHealthStates {
                component: "cpu".into(),
                states: Some(vec![state("Degraded", "a < b")]),
            }],
        );
        assert_eq!(
            report.to_json().unwrap(),
            "{\"machine_info\":{\"uptime\":null},\"health\":\"Degraded\",\"components\":[{\"component\":\"cpu\",\
             \"states\":[{\"time\":null,\"health\":\"Degraded\",\"reason\":\"a < b\"}]}]}\n"
        );
    }
}
