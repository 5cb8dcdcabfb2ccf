//! The verdict.

use gpud_builtin_amd_common::card::subject;
use gpud_builtin_amd_common::check::{NO_GPU, nothing};
use gpud_builtin_amd_common::round::{UNREADABLE, UNREADABLE_CHECKS};
use gpud_builtin_amd_common::{RetainedState, Round};
use gpud_sdk::files::gauge;
use gpud_sdk::findings::{Finding, with_data};
use gpud_sdk::{CheckContext, RepairAction, Report};
use serde_json::{Value, json};

use crate::bus::{Bus, Gpu};
use crate::config::Config;

/// Metric of the GPUs that the driver has.
pub const FOUND: &str = "accelerator_amd_gpu_counts_found";
/// Metric of the GPUs on the bus.
pub const ON_BUS: &str = "accelerator_amd_gpu_counts_on_bus";

/// A driver is given a device some time after it was found.
const UNDRIVEN_CHECKS: u32 = 2;
const COUNT_ADVICE: &str = "Reboot; if the count is still wrong, have the machine looked at.";
const UNDRIVEN_ADVICE: &str =
    "The driver has others of the same kind: look for its lines in the kernel log, then reboot.";

/// The report, and what to keep.
pub fn evaluate(
    context: &CheckContext,
    config: &Config,
    bus: &Bus,
    before: &RetainedState,
) -> (Report, RetainedState) {
    let on_bus = &bus.gpus;
    if on_bus.is_empty()
        && config.count.is_none()
        && bus.unreadable.is_none()
        && let Some(nothing) = nothing(context, &[], NO_GPU)
    {
        return nothing;
    }
    let counted: Vec<&Gpu> = on_bus
        .iter()
        .filter(|gpu| config.counts(&gpu.device_id))
        .collect();
    let found = counted.iter().filter(|gpu| gpu.is_driven()).count() as u64;
    let mut round = Round::begin(&[], before);
    let without: Vec<&&Gpu> = counted.iter().filter(|gpu| gpu.driver.is_none()).collect();
    if let Some(trouble) = &bus.unreadable {
        // What cannot be read may be what is missing.
        let text = format!("a device of the PCI bus cannot be read: {trouble}");
        let finding = Finding::degraded("unreadable", UNREADABLE, text);
        round.add_after(UNREADABLE_CHECKS, finding);
    } else if let Some(expected) = config.count.filter(|expected| *expected != found) {
        let mut text = format!("{found} AMD GPUs found, expected {expected}");
        if !without.is_empty() {
            let ids: Vec<&str> = without.iter().map(|gpu| gpu.id.as_str()).take(8).collect();
            text.push_str(&format!(
                ", on the PCI bus without a driver: {}",
                ids.join(", ")
            ));
        }
        let finding = Finding::unhealthy("count", "amd_gpu_count_mismatch", text);
        round.add(finding.action(RepairAction::RebootSystem, COUNT_ADVICE));
    } else {
        for gpu in without {
            // One that no driver has may be meant so. Where the driver has its equals, it is not.
            let has_equals = on_bus
                .iter()
                .any(|other| other.is_driven() && other.device_id == gpu.device_id);
            if has_equals {
                round.add_after(UNDRIVEN_CHECKS, undriven(gpu));
            }
        }
    }
    let healthy = match config.count {
        Some(count) => format!("{count} AMD GPUs found, as expected"),
        None => format!("{found} GPU(s) found, no count is expected"),
    };
    let (report, after) = round.end(context, &healthy);
    let gpus: Vec<Value> = on_bus
        .iter()
        .map(|gpu| {
            json!({
                "bus_id": gpu.id,
                "device_id": gpu.device_id.to_ascii_lowercase(),
                "driver": gpu.driver,
                "counts": config.counts(&gpu.device_id),
            })
        })
        .collect();
    let data = json!({ "found": found, "expected": config.count, "gpus": gpus });
    let report = with_data(report, &data)
        .gauge(FOUND, gauge(found))
        .gauge(ON_BUS, gauge(counted.len() as u64));
    (report, after)
}

fn undriven(gpu: &Gpu) -> Finding {
    let text = format!(
        "GPU {} ({}) has no driver",
        gpu.id,
        gpu.device_id.to_ascii_lowercase()
    );
    let key = format!("{} no driver", gpu.id);
    Finding::degraded(key, "amd_gpu_without_driver", text)
        .action(RepairAction::RebootSystem, UNDRIVEN_ADVICE)
        .subject(subject(&gpu.id))
        .from_file(format!("/sys/bus/pci/devices/{}/uevent", gpu.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_builtin_amd_common::testing::{actions, context, data, only_state};
    use gpud_sdk::Health;

    const MI300: &str = "1002:74A1";
    const INTEGRATED: &str = "1002:164E";

    fn gpu(n: usize, device_id: &str, driver: &str) -> Gpu {
        Gpu {
            id: format!("0000:{n:02x}:00.0"),
            device_id: device_id.into(),
            driver: Some(driver.to_owned()).filter(|driver| !driver.is_empty()),
        }
    }

    fn look(config: &str, gpus: &[Gpu], before: &RetainedState) -> (Report, RetainedState) {
        let bus = Bus {
            gpus: gpus.to_vec(),
            unreadable: None,
        };
        look_at(config, &bus, before)
    }

    fn look_at(config: &str, bus: &Bus, before: &RetainedState) -> (Report, RetainedState) {
        let config = Config::parse(config).unwrap();
        evaluate(&context("accelerator-amd-gpu-counts"), &config, bus, before)
    }

    #[test]
    fn counts() {
        let eight: Vec<Gpu> = (1..9).map(|n| gpu(n, MI300, "amdgpu")).collect();
        let mut one_lost = eight.clone();
        one_lost[3].driver = None;
        let mut with_integrated = eight.clone();
        with_integrated.push(gpu(9, INTEGRATED, "amdgpu"));
        let mut passed_on = eight.clone();
        passed_on[0].driver = Some("vfio-pci".into());
        let only_mi300 = r#"{"count":8,"device_ids":["1002:74a1"]}"#;
        for (config, gpus, health, reason) in [
            (
                r#"{"count":8}"#,
                eight.clone(),
                Health::Healthy,
                "8 AMD GPUs found, as expected",
            ),
            (
                "{}",
                eight.clone(),
                Health::Healthy,
                "8 GPU(s) found, no count is expected",
            ),
            (
                "{}",
                passed_on,
                Health::Healthy,
                "7 GPU(s) found, no count is expected",
            ),
            (
                r#"{"count":8}"#,
                one_lost,
                Health::Unhealthy,
                "7 AMD GPUs found, expected 8, on the PCI bus without a driver: 0000:04:00.0",
            ),
            (
                r#"{"count":8}"#,
                vec![],
                Health::Unhealthy,
                "0 AMD GPUs found, expected 8",
            ),
            (
                r#"{"count":8}"#,
                with_integrated.clone(),
                Health::Unhealthy,
                "9 AMD GPUs found, expected 8",
            ),
            (
                only_mi300,
                with_integrated,
                Health::Healthy,
                "8 AMD GPUs found, as expected",
            ),
        ] {
            let (report, _) = look(config, &gpus, &RetainedState::default());
            let state = only_state(&report);
            assert_eq!((&state.health, state.reason.as_str()), (&health, reason));
            let expected: &[_] = match health {
                Health::Healthy => &[],
                _ => &[RepairAction::RebootSystem],
            };
            assert_eq!(actions(&report), expected);
            assert!(report.supported);
        }
    }

    #[test]
    fn a_gpu_without_a_driver_is_reported_where_its_equals_have_one() {
        let gpus = [gpu(1, MI300, "amdgpu"), gpu(2, MI300, "")];
        let (report, past) = look("{}", &gpus, &RetainedState::default());
        assert_eq!(only_state(&report).health, Health::Healthy);
        let (report, _) = look("{}", &gpus, &past);
        let state = only_state(&report);
        assert_eq!(state.health, Health::Degraded);
        assert_eq!(state.reason, "GPU 0000:02:00.0 (1002:74a1) has no driver");
        assert_eq!(report.events[0].name, "amd_gpu_without_driver");
        // A laptop whose second GPU was switched off by its owner.
        let gpus = [gpu(1, INTEGRATED, "amdgpu"), gpu(2, "1002:73FF", "")];
        let (_, past) = look("{}", &gpus, &RetainedState::default());
        assert_eq!(
            only_state(&look("{}", &gpus, &past).0).health,
            Health::Healthy
        );
    }

    #[test]
    fn a_bus_that_cannot_be_read_has_no_count() {
        let bus = Bus {
            gpus: vec![gpu(1, MI300, "amdgpu")],
            unreadable: Some("uevent: permission denied".into()),
        };
        let (_, past) = look_at(r#"{"count":8}"#, &bus, &RetainedState::default());
        let (report, _) = look_at(r#"{"count":8}"#, &bus, &past);
        let state = only_state(&report);
        assert_eq!(state.health, Health::Degraded);
        assert_eq!(
            state.reason,
            "a device of the PCI bus cannot be read: uevent: permission denied"
        );
        assert_eq!(actions(&report), []);
    }

    #[test]
    fn ordinary_machines() {
        let (report, _) = look("{}", &[], &RetainedState::default());
        assert!(!report.supported);
        let (report, _) = look(
            "{}",
            &[gpu(1, INTEGRATED, "amdgpu")],
            &RetainedState::default(),
        );
        assert_eq!(only_state(&report).health, Health::Healthy);
        let document: Value = serde_json::from_str(data(&report)).unwrap();
        assert_eq!(document["gpus"][0]["device_id"], "1002:164e");
    }
}
