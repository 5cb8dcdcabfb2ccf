//! What each kind of news makes of the state.

use gpud_sdk::incidents::Rule;
use gpud_sdk::{Health, RepairAction};

use super::LOOK_BACK_MS;
use super::kinds::CONFLICT;
use crate::config::Config;

const GONE: &str =
    "The device is not usable until a reboot; if it is lost again after that, have it looked at.";
const OFTEN: &str = "If it goes on, drain the machine and reboot.";

/// The rules. `nouveau` says whether that driver has devices.
pub fn rules(config: &Config, nouveau: bool) -> Vec<Rule> {
    // Gone until a reboot.
    let lost = |event: &'static str, ended_by: &'static [&'static str]| Rule {
        event,
        at_least: 1,
        remember_ms: LOOK_BACK_MS,
        reboot_clears: true,
        ended_by,
        health: Health::Unhealthy,
        action: Some(RepairAction::RebootSystem),
        advice: GONE,
    };
    // What a device can recover from: news when it comes often.
    let often = |event: &'static str, action| Rule {
        event,
        at_least: config.repeat_threshold,
        remember_ms: config.window_ms(),
        reboot_clears: true,
        ended_by: &[],
        health: Health::Degraded,
        action: Some(action),
        advice: OFTEN,
    };
    let mlx5_back: &[&str] = &["mlx5_recovered"];
    let mut rules = vec![
        lost("driver_probe_failed", &[]),
        lost("mlx5_fatal_error", mlx5_back),
        lost("mlx5_recovery_failed", mlx5_back),
        lost("mlx5_health_compromised", mlx5_back),
        Rule {
            health: Health::Degraded,
            action: Some(RepairAction::HardwareInspection),
            advice: "Look at the card: temperature, firmware version, seat.",
            ..lost("mlx5_health_issue", mlx5_back)
        },
        often("mlx5_command_timeout", RepairAction::RebootSystem),
        lost("nvidia_init_failed", &[]),
        lost("nvidia_fallen_off_bus", &[]),
        lost("nvidia_gsp_timeout", &[]),
        often("nvidia_gpu_locked", RepairAction::CheckUserAppAndGpu),
        // A container with old libraries does it as well as an update without a reboot: no verdict on the machine alone.
        Rule {
            at_least: 1,
            advice: "After an update of the driver, reboot; else look for containers that bring libraries of their own.",
            ..often("nvidia_api_mismatch", RepairAction::CheckUserAppAndGpu)
        },
        lost("amdgpu_reset_failed", &["amdgpu_recovered"]),
        often("amdgpu_reset", RepairAction::RebootSystem),
        often("amdgpu_ring_timeout", RepairAction::CheckUserAppAndGpu),
        Rule {
            health: Health::Degraded,
            advice: "Reboot, so that the bad memory is retired; if it comes back, have the GPU looked at.",
            ..lost("amdgpu_uncorrectable_error", &[])
        },
    ];
    // GPUs that are passed on to virtual machines are missed on purpose.
    if nouveau {
        rules.push(Rule {
            health: Health::Degraded,
            advice: "Keep nouveau from loading (blacklist it, also in the initial RAM disk), then reboot.",
            ..lost(CONFLICT, &[])
        });
    }
    rules
}
