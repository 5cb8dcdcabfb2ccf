//! The problem with a sensor that is no leak sensor: a state that the catalogue calls a trouble, or a reading beyond a
//! limit.

use gpud_builtin_ipmi::elist::ListedSensor;
use gpud_builtin_ipmi::sensors::Status;
use gpud_builtin_ipmi::states::{Class, State, Weight};
use gpud_pack_common::names;
use gpud_sdk::RepairAction;
use gpud_sdk::files::gauge;
use gpud_sdk::findings::Finding;

use crate::config::Config;
use crate::evaluate::POWER_SUPPLY;

/// Entities of IPMI 2.0, table 43-13.
const FAN: u32 = 29;
const COOLING: u32 = 30;
const AIR_INLETS: [u32; 2] = [55, 64];

/// What to do about a power supply.
pub const CHECK_SUPPLY: &str = "Check the power supply, its cable and the feed.";
const CHECK_COOLING: &str = "Check fans, filters, air flow and the temperature of the room.";
const CHECK_PART: &str = "Check the part; the controller's own pages tell more.";
const CHECK_REDUNDANCY: &str = "Check power supplies and fans, and their feeds.";
const CHECK_DRIVE: &str = "Have the drive replaced.";
const CHECK_MEMORY: &str = "Have the memory module tested or replaced.";

/// The findings of one sensor.
pub fn parts(config: &Config, sensor: &ListedSensor) -> Vec<Finding> {
    let mut found = states(sensor);
    if found.is_empty() {
        found.extend(unknown(sensor));
    }
    found.extend(reading(config, sensor));
    found
        .into_iter()
        .map(|one| one.about("sensor", &sensor.name))
        .collect()
}

/// Of its states: one finding for redundancy, one for all others.
fn states(sensor: &ListedSensor) -> Vec<Finding> {
    let (redundancy, others): (Vec<_>, Vec<_>) = sensor
        .troubles()
        .partition(|(state, _)| state.is_redundancy());
    let name = &sensor.name;
    let mut found = Vec::new();
    for troubles in [redundancy, others] {
        let gravest = troubles
            .iter()
            .max_by_key(|(state, _)| (state.weight, !is_ailing(state)));
        let Some((worst, _)) = gravest else { continue };
        let words: Vec<&str> = troubles.iter().map(|(_, words)| *words).collect();
        let text = format!("{name}: {}", words.join(", "));
        let (kind, event, advice) = event(sensor, worst);
        let key = format!("{kind} {name}");
        let finding = match worst.weight {
            Weight::Fatal => Finding::unhealthy(key, event, text),
            _ => Finding::degraded(key, event, text),
        };
        found.push(finding.action(RepairAction::HardwareInspection, advice));
    }
    found
}

/// Whether a supply will fail, or is the wrong one, and still gives power.
fn is_ailing(state: &State) -> bool {
    state.class == Class::Specific(0x08) && matches!(state.offset, 2 | 6)
}

/// Of words that the catalogue does not have, and that the program itself calls critical, as FreeIPMI does.
fn unknown(sensor: &ListedSensor) -> Option<Finding> {
    let is_critical = sensor
        .status
        .is_some_and(|status| status >= Status::Critical);
    if !is_critical || sensor.value.is_some() || sensor.states.is_empty() {
        return None;
    }
    let name = &sensor.name;
    let text = format!("{name}: {} is critical", sensor.states.join(", "));
    Some(
        Finding::degraded(format!("state {name}"), "bmc_sensor_state", text)
            .action(RepairAction::HardwareInspection, CHECK_PART),
    )
}

/// What begins the finding's key, the name of its event, and what to do.
fn event(sensor: &ListedSensor, worst: &State) -> (&'static str, &'static str, &'static str) {
    match (worst.class, sensor.entity) {
        _ if worst.is_redundancy() && worst.weight == Weight::Fatal => (
            "redundancy",
            "bmc_redundancy_insufficient",
            CHECK_REDUNDANCY,
        ),
        _ if worst.is_redundancy() => ("redundancy", "bmc_redundancy_lost", CHECK_REDUNDANCY),
        _ if is_ailing(worst) => ("supply", "bmc_power_supply_ailing", CHECK_SUPPLY),
        (Class::Specific(0x08 | 0x09), _) | (_, POWER_SUPPLY) => {
            ("supply", "bmc_power_supply_failed", CHECK_SUPPLY)
        }
        (Class::Specific(0x0d), _) | (_, 4 | 26) => ("drive", "bmc_drive", CHECK_DRIVE),
        (Class::Specific(0x0c), _) | (_, 8 | 32) => ("memory", "bmc_memory", CHECK_MEMORY),
        (_, FAN | COOLING) => ("fan", "bmc_fan", CHECK_COOLING),
        (Class::Specific(0x29), _) | (_, 40) => ("battery", "bmc_battery", CHECK_PART),
        (Class::Specific(0x07), _) | (_, 3) => ("processor", "bmc_processor", CHECK_PART),
        _ => ("state", "bmc_sensor_state", CHECK_PART),
    }
}

/// Of its reading.
fn reading(config: &Config, sensor: &ListedSensor) -> Option<Finding> {
    let ListedSensor { name, entity, .. } = sensor;
    let (value, unit) = sensor.value.as_ref()?;
    let is_inlet = unit == "degrees C"
        && (AIR_INLETS.contains(entity) || names::any_fits(&config.inlet, name));
    let (event, advice) = match unit.as_str() {
        _ if is_inlet => ("bmc_inlet_temperature", CHECK_COOLING),
        "degrees C" => ("bmc_temperature", CHECK_COOLING),
        "RPM" => ("bmc_fan", CHECK_COOLING),
        _ if *entity == FAN => ("bmc_fan", CHECK_COOLING),
        "Volts" => ("bmc_voltage", CHECK_PART),
        _ => ("bmc_sensor", CHECK_PART),
    };
    let finding = match sensor.status {
        Some(Status::Critical) => {
            let text = format!("{name}: {value} {unit} is critical");
            Finding::degraded(name.clone(), event, text)
        }
        Some(Status::NonRecoverable) => {
            let text = format!("{name}: {value} {unit} is beyond what the hardware stands");
            let mut finding = Finding::unhealthy(name.clone(), event, text);
            finding.event = "bmc_non_recoverable";
            finding
        }
        _ if is_inlet && config.inlet_max > 0 && *value > gauge(config.inlet_max) => {
            let text = format!(
                "{name}: the air that comes in has {value} °C, more than {} °C",
                config.inlet_max
            );
            Finding::degraded(name.clone(), event, text)
        }
        _ => return None,
    };
    Some(finding.action(RepairAction::HardwareInspection, advice))
}
