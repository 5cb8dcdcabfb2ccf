//! The verdict: interfaces and their retained state in, report out.

use std::collections::BTreeMap;

use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::samples::Samples;
use gpud_sdk::{CheckContext, EventType, RepairAction, Report};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::config::Config;
use crate::interface::{Bond, Interface, ROOT};

const HOUR: u64 = 3_600;
const KIND: &str = "network-interface";
const UNKNOWN_SPEED: &str = "Expect a speed of 0 where none is reported (virtual machines).";
const LINK: &str = "Check the cable, the transceiver and the port of the switch.";

/// The state of one interface that is retained from check to check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceMemory {
    errors: Option<Samples>,
    losses: Option<Samples>,
    /// It had a link in this boot.
    was_up: bool,
    /// The highest speed in this boot, Mbit/s.
    speed: u64,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct History {
    /// Of this boot.
    pub boot_id: String,
    /// By interface.
    pub interfaces: BTreeMap<String, InterfaceMemory>,
}

/// Judges one reading and updates the retained state. `left_out`: interfaces that were too many to be looked at.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    interfaces: &[Interface],
    left_out: usize,
    history: &mut History,
    before: &Memory,
) -> (Report, Memory) {
    if history.boot_id != context.boot_id {
        *history = History {
            boot_id: context.boot_id.clone(),
            ..History::default()
        };
    }
    let mut found = Vec::new();
    for (name, speed) in &config.expected {
        let interface = interfaces.iter().find(|interface| interface.name == *name);
        found.extend(unmet(name, *speed, interface));
    }
    for interface in interfaces {
        if let Some(bond) = &interface.bond {
            found.extend(bonded(interface, bond, interfaces));
        }
        if interface.wired {
            found.extend(changed(context, config, interface, history));
        }
    }
    history
        .interfaces
        .retain(|name, _| interfaces.iter().any(|interface| interface.name == *name));

    let links = |up| {
        interfaces
            .iter()
            .filter(|one| one.carrier == Some(up))
            .count()
    };
    let mut healthy = if interfaces.is_empty() {
        "no network device on this machine".to_owned()
    } else {
        format!(
            "{} of {} network interfaces have a link, no trouble",
            links(true),
            interfaces.len()
        )
    };
    if left_out > 0 {
        healthy.push_str(&format!("; {left_out} more were not looked at"));
    }
    let (mut report, after) = findings::judge(context, &healthy, &found, before);
    report.supported = !interfaces.is_empty() || !config.expected.is_empty();
    for interface in interfaces {
        report = with_metrics(report, interface);
    }
    let shown: Vec<_> = interfaces
        .iter()
        .map(|one| {
            json!({
                "name": one.name, "enabled": one.enabled, "link": one.carrier, "speed_mbps": one.speed,
                "bond": one.bond.as_ref().map(|bond| json!({"mode": bond.mode, "members": bond.members})),
            })
        })
        .collect();
    (
        findings::with_data(report, &json!({ "interfaces": shown })),
        after,
    )
}

fn unmet(name: &str, least: f64, interface: Option<&Interface>) -> Option<Finding> {
    let key = format!("{name} expected");
    let found = match interface {
        None => Finding::unhealthy(
            key,
            "network_interface_missing",
            format!("{name} is missing"),
        ),
        Some(one) if one.carrier != Some(true) => {
            let why = if one.enabled {
                "has no link"
            } else {
                "is switched off"
            };
            Finding::unhealthy(key, "network_link_down", format!("{name} {why}"))
        }
        Some(_) if least <= 0.0 => return None,
        Some(Interface { speed: None, .. }) => {
            let text =
                format!("{name}: its driver does not report the speed, expected {least} Mbit/s");
            let found = Finding::degraded(key, "network_speed_unknown", text);
            return Some(found.advice(UNKNOWN_SPEED).about(KIND, name));
        }
        Some(Interface {
            speed: Some(speed), ..
        }) => {
            let speed = *speed;
            if gauge(speed) >= least {
                return None;
            }
            let text =
                format!("{name} runs at {speed} Mbit/s, less than the expected {least} Mbit/s");
            Finding::degraded(key, "network_speed_reduced", text)
        }
    };
    Some(
        found
            .action(RepairAction::HardwareInspection, LINK)
            .about(KIND, name),
    )
}

fn bonded(interface: &Interface, bond: &Bond, all: &[Interface]) -> Vec<Finding> {
    let name = &interface.name;
    let mut found = Vec::new();
    if !interface.enabled || bond.members.is_empty() {
        return found;
    }
    let down: Vec<&str> = all
        .iter()
        .filter(|one| bond.members.contains(&one.name) && one.member_up == Some(false))
        .map(|one| one.name.as_str())
        .collect();
    if !down.is_empty() {
        let (count, members) = (down.len(), bond.members.len());
        let text = format!(
            "bond {name}: {count} of {members} links are down ({})",
            down.join(", ")
        );
        let key = format!("{name} members");
        found.push(if count == members {
            Finding::unhealthy(key, "network_bond_down", text)
        } else {
            Finding::degraded(key, "network_bond_degraded", text)
        });
    }
    if bond.mode == "802.3ad" && bond.no_partner && down.len() < bond.members.len() {
        let text = format!("bond {name}: the switch does not speak LACP");
        found.push(Finding::degraded(
            format!("{name} partner"),
            "network_bond_no_partner",
            text,
        ));
    }
    found
        .into_iter()
        .map(|one| {
            one.action(RepairAction::HardwareInspection, LINK)
                .about(KIND, name)
        })
        .collect()
}

/// Returns the differences from the former check.
fn changed(
    context: &CheckContext,
    config: &Config,
    interface: &Interface,
    history: &mut History,
) -> Vec<Finding> {
    let name = &interface.name;
    let kept = history
        .interfaces
        .entry(name.clone())
        .or_insert_with(|| InterfaceMemory {
            errors: None,
            losses: None,
            was_up: false,
            speed: 0,
        });
    let now = context.now / 1000;
    // What happened before the first reading is not known to be news; and a counter that cannot be read once has not
    // restarted.
    let grown = |samples: &mut Option<Samples>, count: Option<u64>| {
        count.map_or(0, |count| {
            let samples = samples.get_or_insert_with(|| Samples::starting_at(count));
            samples.add(now, HOUR, count)
        })
    };
    let errors = grown(&mut kept.errors, interface.all_errors());
    let losses = grown(&mut kept.losses, interface.losses);
    let mut found = Vec::new();
    if errors >= config.max_errors {
        let text = format!("{name}: {errors} receive and transmit errors within an hour");
        found.push(
            Finding::degraded(format!("{name} errors"), "network_errors", text)
                .action(RepairAction::HardwareInspection, LINK)
                .from_file(format!("{ROOT}/{name}/statistics/rx_errors")),
        );
    }
    if losses >= config.max_losses {
        let text = format!("{name} lost its link {losses} times within an hour");
        found.push(
            Finding::degraded(format!("{name} flaps"), "network_link_flapping", text)
                .action(RepairAction::HardwareInspection, LINK)
                .from_file(format!("{ROOT}/{name}/carrier_down_count")),
        );
    }
    let up = interface.carrier == Some(true);
    // Cables of laptops are pulled: only an expected interface must have a link.
    if kept.was_up && !up && interface.enabled {
        let mut note = Finding::note(
            format!("{name} link"),
            "network_link_down",
            format!("{name} lost its link"),
        );
        note.event_type = EventType::Warning;
        found.push(note);
    }
    let speed = interface.speed.filter(|_| up).unwrap_or(0);
    if speed > 0 && speed < kept.speed {
        let text = format!(
            "{name} runs at {speed} Mbit/s, and ran at {} Mbit/s before",
            kept.speed
        );
        found.push(Finding::note(
            format!("{name} speed"),
            "network_speed_reduced",
            text,
        ));
    }
    kept.was_up |= up;
    kept.speed = kept.speed.max(speed);
    found.into_iter().map(|one| one.about(KIND, name)).collect()
}

fn with_metrics(mut report: Report, interface: &Interface) -> Report {
    let labels = [("interface", interface.name.as_str())];
    let rows = [
        (crate::UP, interface.carrier.map(u64::from)),
        (crate::SPEED, interface.speed),
        (crate::LOSSES, interface.losses),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            report.add_gauge(name, &labels, gauge(value));
        }
    }
    for (name, counters) in [
        (crate::ERRORS, interface.errors),
        (crate::DROPPED, interface.dropped),
    ] {
        for (direction, value) in ["receive", "transmit"].into_iter().zip(counters) {
            let Some(value) = value else { continue };
            let labels = [
                ("interface", interface.name.as_str()),
                ("direction", direction),
            ];
            report.add_gauge(name, &labels, gauge(value));
        }
    }
    report
}

#[cfg(test)]
mod tests;
