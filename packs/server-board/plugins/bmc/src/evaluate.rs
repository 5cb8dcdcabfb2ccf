//! The verdict.

use std::collections::BTreeSet;

use gpud_builtin_ipmi::elist::ListedSensor;
use gpud_builtin_ipmi::sensors::Status;
use gpud_pack_common::{hold, names};
use gpud_sdk::files::gauge;
use gpud_sdk::findings::{self, Finding, Memory};
use gpud_sdk::{CheckContext, Health, Recovery, RepairAction, Report, Trigger};
use serde_json::json;

use crate::config::Config;
use crate::leak::{self, Says};
use crate::parts::{CHECK_SUPPLY, parts};

/// Gauge: a reading.
pub const READING: &str = "server_bmc_reading";
/// Gauge: leak sensors by what they say.
pub const LEAKS: &str = "server_bmc_leak_sensors";
/// Gauge: power supplies that are there.
pub const SUPPLIES: &str = "server_bmc_power_supplies";
/// Name of the state that reports a leak.
pub const LEAK_STATE: &str = "coolant-leak";

/// Entity of a power supply (IPMI 2.0, table 43-13).
pub(crate) const POWER_SUPPLY: u32 = 10;
const SUPPLY_THERE: &str = "Presence detected";

const STOP_COOLANT: &str = "Take work and power off the machine, close its coolant and have it looked at \
    before it is used again; then set the component healthy.";

const LEAK_EVENT: &str = "bmc_coolant_leak";
const SILENT_LEAK_EVENT: &str = "bmc_leak_sensor_silent";
const UNREADABLE: &str = "bmc_unreadable";

/// Leak sensors that gave a reading at some time, by name.
pub type KnownLeakSensors = BTreeSet<String>;

/// Most of them; the host takes 64 KiB of a value.
const MAX_KNOWN: usize = 512;

/// Judges one reading, or that there is none. `known` is kept from check to check.
pub fn judge(
    context: &CheckContext,
    config: &Config,
    sensors: Result<&[ListedSensor], &str>,
    known: &mut KnownLeakSensors,
    before: &Memory,
) -> (Report, Memory) {
    match sensors {
        Err(why) => unreadable(context, why, before),
        Ok(sensors) => judge_sensors(context, config, sensors, known, before),
    }
}

/// Judges that the controller's sensors cannot be read.
fn unreadable(context: &CheckContext, why: &str, before: &Memory) -> (Report, Memory) {
    let open = hold::open(before, &[], |_, name| name != UNREADABLE);
    let mut found = hold::unreadable(
        "controller",
        UNREADABLE,
        "the controller's sensors",
        why,
        &open,
    );
    let leaks = before.0.values().any(|name| name == LEAK_EVENT);
    if leaks {
        // It was leaking when it was last heard of.
        found.health = Health::Unhealthy;
    }
    let (mut report, mut after) = findings::judge(context, "", &[found], before);
    hold::keep(&mut report, &mut after, before, &open);
    (report, after)
}

fn judge_sensors(
    context: &CheckContext,
    config: &Config,
    sensors: &[ListedSensor],
    known: &mut KnownLeakSensors,
    before: &Memory,
) -> (Report, Memory) {
    if context.trigger == Trigger::SetHealthy {
        // The operator who removed a leak sensor has said so.
        known.clear();
    }
    let judged: Vec<&ListedSensor> = sensors
        .iter()
        .filter(|sensor| !config.ignores(&sensor.name))
        .collect();
    let leaks = leaks(config, &judged, known);
    let mut found: Vec<Finding> = judged
        .iter()
        .filter(|sensor| !names::any_fits(&config.leak, &sensor.name))
        .flat_map(|sensor| parts(config, sensor))
        .collect();
    let supplies = judged.iter().filter(|one| is_there(one)).count() as u64;
    if supplies < config.supply_count {
        let text = format!(
            "{supplies} power supplies are there, expected {}",
            config.supply_count
        );
        found.push(
            Finding::degraded("power supplies", "bmc_power_supply_missing", text)
                .action(RepairAction::HardwareInspection, CHECK_SUPPLY),
        );
    }
    found.extend(leaks.troubles);
    let mut healthy = format!("{} sensors, none critical", readable(sensors));
    if !known.is_empty() {
        healthy.push_str(&format!("; {} leak sensors are dry", leaks.dry));
    }
    let all = [found.as_slice(), &leaks.leaks].concat();
    let (mut report, after) = findings::judge(context, &healthy, &all, before);
    report.states = vec![findings::state(context, &healthy, &found)];
    report = findings::with_data(report, &shown(sensors));
    if !leaks.leaks.is_empty() {
        let mut state = findings::state(context, "", &leaks.leaks);
        state.name = Some(LEAK_STATE.to_owned());
        // Coolant dries up, and what it was on is no better for it: a person has to look.
        state.latch = true;
        state.recovery = vec![Recovery::SetHealthy];
        report.states.push(state);
    }
    report = metrics(report, sensors);
    report = report.gauge(SUPPLIES, gauge(supplies));
    for (says, count) in [
        ("dry", leaks.dry),
        ("leak", leaks.leaks.len() as u64),
        ("silent", leaks.silent),
    ] {
        if !known.is_empty() {
            report = report.gauge_with(LEAKS, &[("says", says)], gauge(count));
        }
    }
    (report, after)
}

fn readable(sensors: &[ListedSensor]) -> usize {
    sensors.iter().filter(|one| one.status.is_some()).count()
}

fn is_there(sensor: &ListedSensor) -> bool {
    sensor.entity == POWER_SUPPLY && sensor.is_any(&[SUPPLY_THERE])
}

/// The result of the leak sensors.
#[derive(Default)]
struct Leaks {
    leaks: Vec<Finding>,
    troubles: Vec<Finding>,
    dry: u64,
    silent: u64,
}

fn leaks(config: &Config, sensors: &[&ListedSensor], known: &mut KnownLeakSensors) -> Leaks {
    let mut all = Leaks::default();
    let mut heard = BTreeSet::new();
    let is_leak_sensor = |sensor: &&&ListedSensor| names::any_fits(&config.leak, &sensor.name);
    for sensor in sensors.iter().filter(is_leak_sensor) {
        let name = &sensor.name;
        let says = leak::says(config, sensor);
        if says != Says::Nothing {
            heard.insert(name.clone());
        }
        let finding = match says {
            Says::Dry => {
                all.dry += 1;
                continue;
            }
            Says::Nothing => continue,
            Says::Leak => {
                let text = format!("{name} reports a leak of coolant{}", reading(sensor));
                all.leaks.push(
                    Finding::unhealthy(format!("leak {name}"), LEAK_EVENT, text)
                        .action(RepairAction::HardwareInspection, STOP_COOLANT)
                        .about("sensor", name),
                );
                continue;
            }
            Says::Drip => {
                let text = format!(
                    "{name} reports a little coolant, not critical yet{}",
                    reading(sensor)
                );
                Finding::degraded(format!("leak {name}"), "bmc_coolant_drip", text).action(
                    RepairAction::HardwareInspection,
                    "Have the liquid cooling looked at.",
                )
            }
            Says::Unclear(state) => {
                let text = format!(
                    "{name} says \"{state}\", which may or may not be a leak: name it under leak_states or dry_states"
                );
                Finding::degraded(format!("leak {name}"), "bmc_leak_sensor_unclear", text)
            }
        };
        all.troubles.push(finding.about("sensor", name));
    }
    let is_judged = |name: &&String| !config.ignores(name) && names::any_fits(&config.leak, name);
    for name in known.difference(&heard).filter(is_judged) {
        all.silent += 1;
        let text = format!("leak sensor {name} gives no reading any more");
        all.troubles.push(
            Finding::degraded(format!("leak {name}"), SILENT_LEAK_EVENT, text)
                .action(
                    RepairAction::HardwareInspection,
                    "Check the leak sensor and its cable.",
                )
                .about("sensor", name),
        );
    }
    let heard_count = heard.len() as u64;
    if heard_count < config.leak_count {
        let text = format!(
            "{heard_count} leak sensors give a reading, expected {}",
            config.leak_count
        );
        all.troubles.push(
            Finding::degraded("leak sensors", "bmc_leak_sensor_missing", text).action(
                RepairAction::HardwareInspection,
                "Check the leak sensors and their cables.",
            ),
        );
    }
    known.extend(heard);
    while known.len() > MAX_KNOWN {
        known.pop_last();
    }
    all
}

fn reading(sensor: &ListedSensor) -> String {
    match &sensor.value {
        Some((value, unit)) => format!(" ({value} {unit})"),
        None => String::new(),
    }
}

fn metrics(mut report: Report, sensors: &[ListedSensor]) -> Report {
    for sensor in sensors {
        if let Some((value, unit)) = &sensor.value {
            let labels = [("sensor", sensor.name.as_str()), ("unit", unit.as_str())];
            report = report.gauge_with(READING, &labels, *value);
        }
    }
    report
}

fn shown(sensors: &[ListedSensor]) -> serde_json::Value {
    let shown = sensors.iter().map(|sensor| {
        let value = sensor
            .value
            .iter()
            .map(|(value, unit)| format!("{value} {unit}"));
        let said: Vec<String> = value.chain(sensor.states.iter().cloned()).collect();
        let status = sensor.status.map_or("ns", Status::label);
        (
            sensor.name.clone(),
            json!(format!("{} ({status})", said.join(", "))),
        )
    });
    json!({ "sensors": serde_json::Map::from_iter(shown) })
}

#[cfg(test)]
mod tests;
