//! The state that each kind of kernel line causes. Resets, hangs and time-outs happen on a desktop, too, where a game or a
//! browser was at fault; so they count only when they come often. A program that uses memory that it does not have
//! (`amdgpu_page_fault`) is at fault itself and is reported as an event only.

use gpud_sdk::incidents::Rule;
use gpud_sdk::{Health, RepairAction};

use crate::config::Config;
use crate::evaluate::LOOK_BACK_MS;

const GONE: &str =
    "The GPU is not usable until a reboot; if it is lost again after that, have it looked at.";
const OFTEN: &str = "If it goes on, drain the machine and reboot.";
const DAMAGED: &str =
    "Reboot, so that the bad memory is retired; if it comes back, have the GPU looked at.";
const WORN: &str = "The memory of the GPU is worn: have it looked at or exchanged.";
const LINK: &str = "Drain the machine and reboot; if it comes back, have the GPUs and the board between them looked \
    at.";
const FIRMWARE: &str = "Switch the machine off and on again; if that does not help, compare the versions of driver and \
    firmware (linux-firmware), and have the GPU looked at.";

const RECOVERED: &[&str] = &["amdgpu_recovered"];

/// The rules.
pub fn rules(config: &Config) -> Vec<Rule> {
    // Gone until a reboot.
    let lost = |event: &'static str, advice: &'static str| Rule {
        event,
        at_least: 1,
        remember_ms: LOOK_BACK_MS,
        reboot_clears: true,
        ended_by: &[],
        health: Health::Unhealthy,
        action: Some(RepairAction::RebootSystem),
        advice,
    };
    let damaged = |event: &'static str, advice: &'static str| Rule {
        health: Health::Degraded,
        ..lost(event, advice)
    };
    // What a GPU can recover from: it is reported when it comes often.
    let often = |event: &'static str, action| Rule {
        at_least: config.repeat_threshold,
        remember_ms: config.window_ms(),
        action: Some(action),
        ..damaged(event, OFTEN)
    };
    vec![
        lost("amdgpu_init_failed", GONE),
        damaged("amdgpu_firmware_load_failed", FIRMWARE),
        lost("amdgpu_fallen_off_bus", GONE),
        Rule {
            ended_by: RECOVERED,
            ..lost("amdgpu_reset_failed", GONE)
        },
        // The driver resets the GPU after it.
        Rule {
            ended_by: RECOVERED,
            ..lost("amdgpu_fatal_error", GONE)
        },
        // A reboot does not repair memory; the driver says it again at each start.
        Rule {
            action: Some(RepairAction::HardwareInspection),
            ..lost("amdgpu_bad_pages_limit", WORN)
        },
        Rule {
            action: Some(RepairAction::HardwareInspection),
            ..damaged("amdgpu_bad_pages_near_limit", WORN)
        },
        damaged("amdgpu_uncorrectable_error", DAMAGED),
        damaged("amdgpu_poison_consumed", DAMAGED),
        damaged("amdgpu_xgmi_error", LINK),
        Rule {
            ended_by: RECOVERED,
            ..often("amdgpu_scheduler_hang", RepairAction::RebootSystem)
        },
        Rule {
            ended_by: RECOVERED,
            ..often("amdgpu_smu_timeout", RepairAction::RebootSystem)
        },
        often("amdgpu_reset", RepairAction::RebootSystem),
        often("amdgpu_ring_timeout", RepairAction::CheckUserAppAndGpu),
    ]
}
