//! The state that each kind of kernel line causes.

use gpud_sdk::catalog::Entry;
use gpud_sdk::incidents::Rule;

use crate::config::Config;
use crate::patterns;

/// The rules. `nouveau` says whether that driver has devices.
pub fn rules(config: &Config, nouveau: bool) -> Vec<Rule> {
    // What a device can recover from: it is reported when it comes often.
    let often = |entry: &Entry| Rule {
        at_least: config.repeat_threshold,
        remember_ms: config.window_ms(),
        ..entry.rule()
    };
    let mut rules = vec![
        patterns::DRIVER_PROBE_FAILED.rule(),
        patterns::MLX5_FATAL_ERROR.rule(),
        patterns::MLX5_RECOVERY_FAILED.rule(),
        patterns::MLX5_HEALTH_COMPROMISED.rule(),
        patterns::MLX5_HEALTH_ISSUE.rule(),
        patterns::MLX5_HEALTH_WARNING.rule(),
        patterns::MLX5_HIGH_TEMPERATURE.rule(),
        often(&patterns::MLX5_COMMAND_TIMEOUT),
        often(&patterns::NETDEV_TX_TIMEOUT),
        patterns::NVIDIA_INIT_FAILED.rule(),
        patterns::NVIDIA_FALLEN_OFF_BUS.rule(),
        patterns::NVIDIA_GSP_TIMEOUT.rule(),
        patterns::NVIDIA_BOOT_FAILED.rule(),
        patterns::NVIDIA_UVM_FATAL.rule(),
        patterns::NVIDIA_RESET_REQUIRED.rule(),
        patterns::PCI_DEVICE_INACCESSIBLE.rule(),
        patterns::PCIE_SLOT_POWER_FAULT.rule(),
        often(&patterns::NVIDIA_GPU_LOCKED),
        // A container with old libraries does it as well as an update without a reboot: no verdict on the machine alone.
        Rule {
            at_least: 1,
            ..often(&patterns::NVIDIA_API_MISMATCH)
        },
    ];
    // GPUs that are passed on to virtual machines are missed on purpose.
    if nouveau {
        rules.push(patterns::NVIDIA_DRIVER_CONFLICT.rule());
    }
    rules
}
