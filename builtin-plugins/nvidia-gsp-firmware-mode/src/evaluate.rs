//! The verdict. Both modes are sound: a site turns the firmware off (`NVreg_EnableGpuFirmware=0`) or on for its own
//! reasons, so only what the configuration demands is judged.
//!
//! The facts come with a GPU's identity: `gsp-mode` and `gsp-default-mode` (`enabled`, `disabled`,
//! `nvmlDeviceGetGspFirmwareMode`) and `gsp-firmware` (`nvmlDeviceGetGspFirmwareVersion`). GPUs before Turing have
//! none.

use gpud_builtin_nvidia_common::Gpu;
use gpud_sdk::findings::{self, Finding, Memory, with_data};
use gpud_sdk::nvml::Identity;
use gpud_sdk::{CheckContext, RepairAction, Report};
use serde_json::{Value, json};

use crate::config::Config;

/// Metric of the mode.
pub const ENABLED: &str = "accelerator_nvidia_gsp_firmware_mode_enabled";
/// Name of the event.
pub const EVENT: &str = "nvidia_gsp_firmware_mode_unexpected";
const ADVICE: &str = "Set NVreg_EnableGpuFirmware of the module nvidia as wanted, and load the driver again or reboot.";

fn mode(identity: &Identity, fact: &str) -> Option<bool> {
    match identity.fact(fact)? {
        "enabled" => Some(true),
        "disabled" => Some(false),
        _ => None,
    }
}

/// The report, and what to keep.
pub fn evaluate(
    context: &CheckContext,
    config: Config,
    gpus: &[Identity],
    before: &Memory,
) -> (Report, Memory) {
    let modes: Vec<(&Identity, Option<bool>)> = gpus
        .iter()
        .map(|identity| (identity, mode(identity, "gsp-mode")))
        .collect();
    let count = |wanted| modes.iter().filter(|(_, mode)| *mode == wanted).count();
    let healthy = format!(
        "{} GPU(s) were checked: GSP firmware enabled on {}, disabled on {}, unknown on {}",
        gpus.len(),
        count(Some(true)),
        count(Some(false)),
        count(None)
    );
    let word = |on: bool| if on { "enabled" } else { "disabled" };
    let mut found = Vec::new();
    for (identity, mode) in &modes {
        if let (Some(wanted), Some(now)) = (config.expected, *mode)
            && wanted != now
        {
            let gpu = Gpu::from((*identity).clone());
            let text = format!(
                "GPU {}: GSP firmware is {}, expected {}",
                gpu.label(),
                word(now),
                word(wanted)
            );
            let finding = Finding::degraded(gpu.uuid.clone(), EVENT, text);
            let finding = finding.action(RepairAction::RebootSystem, ADVICE);
            found.push(finding.subject(gpu.subject()));
        }
    }
    let (report, after) = findings::judge(context, &healthy, &found, before);
    let rows: Vec<Value> = modes
        .iter()
        .map(|(identity, mode)| {
            json!({
                "uuid": identity.uuid,
                "bus_id": identity.bus_id,
                "enabled": mode.unwrap_or(false),
                "supported": mode.is_some(),
                "default_enabled": self::mode(identity, "gsp-default-mode"),
                "version": identity.fact("gsp-firmware"),
            })
        })
        .collect();
    let mut report = with_data(report, &json!({ "gsp_firmware_modes": rows }));
    for (identity, mode) in &modes {
        if let Some(on) = mode {
            let labels = [("uuid", identity.uuid.as_str())];
            report.add_gauge(ENABLED, &labels, f64::from(u8::from(*on)));
        }
    }
    (report, after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_builtin_nvidia_common::testing::{
        GPU_0, GPU_1, actions, context, data, gpu, metrics, only_state,
    };
    use gpud_sdk::Health;

    fn identity(index: usize, mode: &str) -> Identity {
        let known = gpu(index);
        let facts = [
            ("gsp-mode", mode),
            ("gsp-default-mode", "enabled"),
            ("gsp-firmware", "570.133.20"),
        ];
        let facts = facts.iter().filter(|_| !mode.is_empty());
        Identity {
            index: 0,
            uuid: known.uuid,
            name: known.name,
            bus_id: known.bus_id,
            brand: 0,
            compute_capability: (9, 0),
            serial: None,
            minor_number: None,
            board_id: None,
            extra: facts
                .map(|&(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        }
    }

    fn look(config: &str, modes: &[&str]) -> Report {
        let gpus: Vec<_> = modes
            .iter()
            .enumerate()
            .map(|(n, mode)| identity(n, mode))
            .collect();
        let config = Config::parse(config).unwrap();
        evaluate(&context(), config, &gpus, &Memory::default()).0
    }

    #[test]
    fn verdicts() {
        let counts = |on, off, none| {
            let all = on + off + none;
            format!(
                "{all} GPU(s) were checked: GSP firmware enabled on {on}, disabled on {off}, unknown on {none}"
            )
        };
        for (config, modes, health, reason) in [
            (
                "{}",
                vec!["enabled", "enabled"],
                Health::Healthy,
                counts(2, 0, 0),
            ),
            (
                "{}",
                vec!["enabled", "disabled", ""],
                Health::Healthy,
                counts(1, 1, 1),
            ),
            (
                r#"{"expected":"enabled"}"#,
                vec!["enabled", "", "maybe"],
                Health::Healthy,
                counts(1, 0, 2),
            ),
            (
                r#"{"expected":"enabled"}"#,
                vec!["enabled", "disabled"],
                Health::Degraded,
                format!("GPU {GPU_1} (0000:1f:00.0): GSP firmware is disabled, expected enabled"),
            ),
            ("{}", vec![], Health::Healthy, counts(0, 0, 0)),
        ] {
            let report = look(config, &modes);
            let state = only_state(&report);
            assert_eq!(
                (&state.health, &state.reason),
                (&health, &reason),
                "{modes:?}"
            );
            let (_, found) = actions(&report);
            assert_eq!(found.is_empty(), health == Health::Healthy);
        }
    }

    #[test]
    fn what_is_shown() {
        let report = look("{}", &["enabled", ""]);
        assert_eq!(metrics(&report), [(ENABLED, GPU_0, 1.0)]);
        let document: Value = serde_json::from_str(data(&report)).unwrap();
        let rows = &document["gsp_firmware_modes"];
        assert_eq!(
            (&rows[0]["enabled"], &rows[0]["version"]),
            (&json!(true), &json!("570.133.20"))
        );
        assert_eq!(
            (&rows[1]["supported"], &rows[1]["version"]),
            (&json!(false), &Value::Null)
        );
    }
}
