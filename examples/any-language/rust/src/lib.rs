//! A checker for gpud in Rust, without an SDK: whether the kernel has set a taint flag that means trouble.
//!
//! `wit-bindgen` makes the types and the export from the contract; `cargo build --target wasm32-wasip2` makes the component.

mod judge;

wit_bindgen::generate!({
    // Where the files of the contract are; `wit` beside Cargo.toml in a project of your own.
    path: "../../../wit",
    // A checker with all capabilities. What it does not call is no part of the component, and is not asked for.
    world: "plugin",
});

use exports::gpud::plugin::checker::{
    CheckContext, CheckError, ComponentDescriptor, Descriptor, Guest, Report, RunMode,
    SetHealthyMode,
};
use gpud::plugin::{
    sysfs,
    types::{Health, HealthState, RepairAction, SuggestedActions},
};

const PATH: &str = "/proc/sys/kernel/tainted";
/// Most bytes of it that are read: one number.
const MAX_BYTES: u32 = 64;

struct KernelTaint;

impl Guest for KernelTaint {
    fn describe() -> Descriptor {
        Descriptor {
            version: "0.1.0".to_owned(),
            components: vec![ComponentDescriptor {
                name: "kernel-taint".to_owned(),
                description: "Taint flags of the kernel that mean trouble".to_owned(),
                tags: Vec::new(),
                interval_ms: Some(5 * 60 * 1000),
                run_mode: RunMode::Auto,
                set_healthy: SetHealthyMode::Unsupported,
                metrics: Vec::new(),
                config_schema: None,
                extra: Vec::new(),
            }],
            extra: Vec::new(),
        }
    }

    fn check(context: CheckContext) -> Result<Report, CheckError> {
        // The host makes an honest state of a source that did not answer.
        let bytes = sysfs::read(PATH, MAX_BYTES).map_err(CheckError::Source)?;
        let text = String::from_utf8_lossy(&bytes);
        let flags: u64 = text
            .trim()
            .parse()
            .map_err(|_| CheckError::Failed(format!("{PATH} is no number")))?;
        let verdict = judge::judge(flags);
        let state = HealthState {
            name: Some(context.component),
            time: Some(context.now),
            health: match verdict.health {
                judge::Health::Healthy => Health::Healthy,
                judge::Health::Degraded => Health::Degraded,
                judge::Health::Unhealthy => Health::Unhealthy,
            },
            reason: verdict.reason.to_owned(),
            error: None,
            suggested_actions: verdict.action.map(|(action, text)| SuggestedActions {
                description: text.to_owned(),
                repair_actions: vec![match action {
                    judge::Action::Reboot => RepairAction::RebootSystem,
                    judge::Action::Inspect => RepairAction::HardwareInspection,
                }],
            }),
            subject: None,
            recovery: Vec::new(),
            latch: false,
            evidence: Vec::new(),
            extra_info: Vec::new(),
            extra: Vec::new(),
        };
        Ok(Report {
            supported: true,
            states: vec![state],
            events: Vec::new(),
            metrics: Vec::new(),
            extra: Vec::new(),
        })
    }
}

export!(KernelTaint);
