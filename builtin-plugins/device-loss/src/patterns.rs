//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::{CheckApp, Inspect, Reboot};
use gpud_sdk::catalog::Severity::{Critical, Fatal, Info, Warning};
use gpud_sdk::catalog::{Catalog, Entry, EventVerdict};

/// Version of the catalogue.
pub const VERSION: u32 = 8;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 27] = [
    "^(nvidia|amdgpu|mlx5_core): probe of [0-9a-fA-F:.]+ failed with error ",
    "^(nvidia|amdgpu|mlx5_core) [0-9a-fA-F:.]+: probe with driver [^ ]+ failed with error ",
    "^mlx5_core [0-9a-fA-F:.]+: .*(device's health compromised|Fatal error [0-9]+ detected|Health issue observed, )",
    "^mlx5_core [0-9a-fA-F:.]+: .*(health recovery (flow aborted|failed|succeeded)|Driver is in error state)",
    r"^mlx5_core [0-9a-fA-F:.]+: .*(synd 0x[0-9a-f]+: |PCI slot is unavailable|timeout\. Will cause a leak)",
    "^mlx5_core [0-9a-fA-F:.]+: .*High temperature on sensors",
    r"^mlx5_core [0-9a-fA-F:.]+: mlx5_(enter_error_state|error_sw_reset):[0-9]+:\(pid [0-9]+\): start",
    r"^NVRM: .*(RmInitAdapter failed!|rm_init_adapter(\(\))? failed)",
    r"^NVRM: .*(GPU (at [^ ]+ )?has fallen off the bus|GPU lost from the bus \[NV_ERR_GPU_IS_LOST\])",
    "^NVRM: .*(rpcRecvPoll (timedout|failed)|Rate limiting GSP RPC error prints|[Hh]eartbeat timed out|GSP Timeout)",
    "^NVRM: .*(failed to wait for GFW(_BOOT| boot)|cannot bootstrap riscv/gsp|Cannot initialize GSP firmware RM)",
    "^NVRM: .*uvm encountered global fatal error ",
    r"^NVRM: .*failed: Reset required \[NV_ERR_RESET_REQUIRED\]",
    "^NVRM: .*RC watchdog: GPU is probably locked!",
    "^NVRM: API mismatch: ",
    "^NVRM: The NVIDIA probe routine (was not called|failed) for ",
    "^nouveau [0-9a-fA-F:.]+: (bus: MMIO (read|write) of |fifo: (SCHED_ERROR |fault |(read|write) fault at )|gr: TRAP)",
    "^([A-Za-z0-9_-]+ [^ ]+ [^:]+: |[^ ]+: )?NETDEV WATCHDOG: ",
    "^[A-Za-z0-9_-]+ [^ ]+ [^:]+: (TX timeout detected|transmit timed out, resetting|tx_timeout: VSI_)",
    r"^pcieport [0-9a-fA-F:.]+: pciehp: Slot\(.*\): (Link Down|Card not present)",
    r"^pcieport [0-9a-fA-F:.]+: pciehp: Slot\(.*\): Power fault",
    "^[A-Za-z0-9_-]+ [0-9a-fA-F:.]+: ([Uu]nable to|can't) change power state from .* inaccessible",
    "^[A-Za-z0-9_-]+ [0-9a-fA-F:.]+: not ready [0-9]+ms after .*; giving up",
    r"^DMAR: ?\[(DMA Read|DMA Write|INTR-REMAP).*\] Request device \[",
    "^DMAR: VT-d detected Invalidation (Time-out|Completion|Queue) Error: ",
    r"^([A-Za-z0-9_-]+ [^ ]+: )?AMD-Vi: Event logged \[(IO_PAGE_FAULT |[A-Z_]+ device=)",
    "^arm-smmu-v3 [^ ]*: event(: .* client: | 0x[0-9a-fA-F]+ received:)",
];

/// A driver could not start a GPU or network card: the device is not usable.
pub const DRIVER_PROBE_FAILED: Entry = Entry {
    name: "driver_probe_failed",
    severity: Critical,
    otherwise: None,
    message: "The driver could not start the device",
    other_message: "",
    actions: &[Reboot],
    advice: "The device is not usable until a reboot; if it is lost again after that, have it looked at.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// The firmware of a ConnectX card does not answer: its health counter does not advance.
pub const MLX5_HEALTH_COMPROMISED: Entry = Entry {
    name: "mlx5_health_compromised",
    severity: Critical,
    otherwise: None,
    message: "Network card: firmware does not answer",
    other_message: "",
    actions: &[Reboot],
    advice: "The device is not usable until a reboot; if it is lost again after that, have it looked at.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &["mlx5_recovered"] }),
};

/// A ConnectX card stopped, for good or until its driver recovers it.
pub const MLX5_FATAL_ERROR: Entry = Entry {
    name: "mlx5_fatal_error",
    severity: Fatal,
    otherwise: None,
    message: "Network card: fatal error",
    other_message: "",
    actions: &[Reboot],
    advice: "The device is not usable until a reboot; if it is lost again after that, have it looked at.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &["mlx5_recovered"] }),
};

/// The firmware of a ConnectX card reports trouble of the severity error or worse.
pub const MLX5_HEALTH_ISSUE: Entry = Entry {
    name: "mlx5_health_issue",
    severity: Critical,
    otherwise: None,
    message: "Network card: firmware reports an error",
    other_message: "",
    actions: &[Inspect],
    advice: "Look at the card: temperature, firmware version, seat.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &["mlx5_recovered"] }),
};

/// The firmware of a ConnectX card reports trouble of the severity warning.
pub const MLX5_HEALTH_WARNING: Entry = Entry {
    name: "mlx5_health_warning",
    severity: Warning,
    otherwise: None,
    message: "Network card: firmware warns",
    other_message: "",
    actions: &[Inspect],
    advice: "Look at the card: temperature, firmware version, seat.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 3_600, reboot_clears: true, ended_by: &["mlx5_recovered"] }),
};

/// A sensor of a ConnectX card is above its limit. Cards that get no cooler stop within minutes.
pub const MLX5_HIGH_TEMPERATURE: Entry = Entry {
    name: "mlx5_high_temperature",
    severity: Warning,
    otherwise: None,
    message: "Network card: too hot",
    other_message: "",
    actions: &[Inspect],
    advice: "Look at the air flow, the fans and the heat sink of the card before its firmware stops.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 3_600, reboot_clears: true, ended_by: &[] }),
};

/// The firmware of a ConnectX card reports something of lesser weight than a warning.
pub const MLX5_HEALTH_NOTICE: Entry = Entry {
    name: "mlx5_health_notice",
    severity: Info,
    otherwise: None,
    message: "Network card: firmware reports a health issue",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// The driver could not recover a ConnectX card.
pub const MLX5_RECOVERY_FAILED: Entry = Entry {
    name: "mlx5_recovery_failed",
    severity: Fatal,
    otherwise: None,
    message: "Network card: recovery failed",
    other_message: "",
    actions: &[Reboot],
    advice: "The device is not usable until a reboot; if it is lost again after that, have it looked at.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &["mlx5_recovered"] }),
};

/// The driver recovered a ConnectX card.
pub const MLX5_RECOVERED: Entry = Entry {
    name: "mlx5_recovered",
    severity: Info,
    otherwise: None,
    message: "Network card: recovered",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// The firmware of a ConnectX card did not answer a command.
pub const MLX5_COMMAND_TIMEOUT: Entry = Entry {
    name: "mlx5_command_timeout",
    severity: Warning,
    otherwise: None,
    message: "Network card: command to the firmware timed out",
    other_message: "",
    actions: &[Reboot],
    advice: "If it goes on, drain the machine and reboot.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 3, window_seconds: 3_600, reboot_clears: true, ended_by: &[] }),
};

/// The NVIDIA driver could not initialise a GPU.
pub const NVIDIA_INIT_FAILED: Entry = Entry {
    name: "nvidia_init_failed",
    severity: Fatal,
    otherwise: None,
    message: "NVIDIA driver could not bring the GPU up",
    other_message: "",
    actions: &[Reboot],
    advice: "The device is not usable until a reboot; if it is lost again after that, have it looked at.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// A GPU cannot be reached over PCIe any more (the form of older drivers; later ones report Xid 79).
pub const NVIDIA_FALLEN_OFF_BUS: Entry = Entry {
    name: "nvidia_fallen_off_bus",
    severity: Fatal,
    otherwise: None,
    message: "GPU has fallen off the bus",
    other_message: "",
    actions: &[Reboot],
    advice: "The device is not usable until a reboot; if it is lost again after that, have it looked at.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// The GPU's system processor, which runs most of the driver, does not answer.
pub const NVIDIA_GSP_TIMEOUT: Entry = Entry {
    name: "nvidia_gsp_timeout",
    severity: Critical,
    otherwise: None,
    message: "GPU: its system processor (GSP) does not answer",
    other_message: "",
    actions: &[Reboot],
    advice: "The device is not usable until a reboot; if it is lost again after that, have it looked at.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// The GPU's own firmware did not get ready, or the driver could not start the GPU's system processor. The driver cannot use the GPU.
pub const NVIDIA_BOOT_FAILED: Entry = Entry {
    name: "nvidia_boot_failed",
    severity: Fatal,
    otherwise: None,
    message: "GPU: its firmware or system processor (GSP) did not start",
    other_message: "",
    actions: &[Reboot],
    advice: "The device is not usable until a reboot, better with the power switched off; if it is lost again after that, have it looked at.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// The driver's unified memory met an error that it cannot contain. Running programs fail, and no new one can use CUDA on any GPU; nvidia-smi goes on to work.
pub const NVIDIA_UVM_FATAL: Entry = Entry {
    name: "nvidia_uvm_fatal",
    severity: Fatal,
    otherwise: None,
    message: "NVIDIA driver: its memory manager (UVM) stopped for good",
    other_message: "",
    actions: &[Reboot],
    advice: "Drain the machine and reboot; look at the Xids before it for the GPU that began it.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// The driver refuses new work on a GPU until it is reset.
pub const NVIDIA_RESET_REQUIRED: Entry = Entry {
    name: "nvidia_reset_required",
    severity: Critical,
    otherwise: None,
    message: "GPU must be reset",
    other_message: "",
    actions: &[Reboot],
    advice: "Drain the machine and reset the GPU (nvidia-smi --gpu-reset) or reboot; look at the Xids before it for the cause.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// The driver's watchdog finds that a GPU makes no progress.
pub const NVIDIA_GPU_LOCKED: Entry = Entry {
    name: "nvidia_gpu_locked",
    severity: Warning,
    otherwise: None,
    message: "GPU is probably locked up",
    other_message: "",
    actions: &[CheckApp],
    advice: "If it goes on, drain the machine and reboot.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 3, window_seconds: 3_600, reboot_clears: true, ended_by: &[] }),
};

/// A program uses a driver library of another version than the kernel module: an update without a reboot, or a container with libraries of its own.
pub const NVIDIA_API_MISMATCH: Entry = Entry {
    name: "nvidia_api_mismatch",
    severity: Warning,
    otherwise: None,
    message: "NVIDIA user space and kernel module differ in version",
    other_message: "",
    actions: &[CheckApp],
    advice: "After an update of the driver, reboot; else look for containers that bring libraries of their own.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 3_600, reboot_clears: true, ended_by: &[] }),
};

/// Another driver (nouveau, or one that passes GPUs on to virtual machines) has the GPU; a verdict only while nouveau has it.
pub const NVIDIA_DRIVER_CONFLICT: Entry = Entry {
    name: "nvidia_driver_conflict",
    severity: Warning,
    otherwise: None,
    message: "NVIDIA driver missed GPUs that another driver has",
    other_message: "",
    actions: &[Reboot],
    advice: "Keep nouveau from loading (blacklist it, also in the initial RAM disk), then reboot.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// The kernel's own driver (nouveau), not NVIDIA's, drives this GPU, and reports a fault of it. CUDA cannot use the GPU.
pub const NOUVEAU_FAULT: Entry = Entry {
    name: "nouveau_fault",
    severity: Info,
    otherwise: None,
    message: "nouveau reports a fault of the GPU that it drives",
    other_message: "",
    actions: &[Reboot],
    advice: "If the GPU is meant to compute: keep nouveau from loading (blacklist it, also in the initial RAM disk), install NVIDIA's driver, then reboot.",
    verdict: None,
};

/// A network card did not send within seconds what its driver gave it; the driver resets its queue or the card.
pub const NETDEV_TX_TIMEOUT: Entry = Entry {
    name: "netdev_tx_timeout",
    severity: Warning,
    otherwise: None,
    message: "Network card: does not send",
    other_message: "",
    actions: &[Reboot],
    advice: "If it goes on, drain the machine and reboot; look at the card's firmware, its link and the switch.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 3, window_seconds: 3_600, reboot_clears: true, ended_by: &[] }),
};

/// The link of a hot-plug slot went down, or its card is gone: pulled out in an orderly way, reset, or lost.
pub const PCIE_SLOT_LINK_DOWN: Entry = Entry {
    name: "pcie_slot_link_down",
    severity: Warning,
    otherwise: None,
    message: "PCIe slot lost its link or card",
    other_message: "",
    actions: &[Inspect],
    advice: "If nobody took the card out or reset it, look at its seat, power and cables.",
    verdict: None,
};

/// A hot-plug slot reports that the power of its card failed.
pub const PCIE_SLOT_POWER_FAULT: Entry = Entry {
    name: "pcie_slot_power_fault",
    severity: Critical,
    otherwise: None,
    message: "PCIe slot has a power fault",
    other_message: "",
    actions: &[Inspect],
    advice: "Have the card, its seat and its power cables looked at.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// A device did not come back after a reset or from a low-power state: the kernel cannot read its configuration.
pub const PCI_DEVICE_INACCESSIBLE: Entry = Entry {
    name: "pci_device_inaccessible",
    severity: Critical,
    otherwise: None,
    message: "PCIe device does not answer",
    other_message: "",
    actions: &[Reboot],
    advice: "The device is not usable until a reboot, better with the power switched off; if it is lost again after that, have it looked at.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// The IOMMU stopped a device that read or wrote where it may not: a fault of its driver, of the virtual machine that has it, or of the device.
pub const IOMMU_FAULT: Entry = Entry {
    name: "iommu_fault",
    severity: Warning,
    otherwise: None,
    message: "Device reached for memory that is not its own",
    other_message: "",
    actions: &[CheckApp, Inspect],
    advice: "Look for what the device was doing, and for a newer driver or firmware; if it goes on with both, have the device looked at.",
    verdict: None,
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&DRIVER_PROBE_FAILED, &MLX5_HEALTH_COMPROMISED, &MLX5_FATAL_ERROR, &MLX5_HEALTH_ISSUE, &MLX5_HEALTH_WARNING, &MLX5_HIGH_TEMPERATURE, &MLX5_HEALTH_NOTICE, &MLX5_RECOVERY_FAILED, &MLX5_RECOVERED, &MLX5_COMMAND_TIMEOUT, &NVIDIA_INIT_FAILED, &NVIDIA_FALLEN_OFF_BUS, &NVIDIA_GSP_TIMEOUT, &NVIDIA_BOOT_FAILED, &NVIDIA_UVM_FATAL, &NVIDIA_RESET_REQUIRED, &NVIDIA_GPU_LOCKED, &NVIDIA_API_MISMATCH, &NVIDIA_DRIVER_CONFLICT, &NOUVEAU_FAULT, &NETDEV_TX_TIMEOUT, &PCIE_SLOT_LINK_DOWN, &PCIE_SLOT_POWER_FAULT, &PCI_DEVICE_INACCESSIBLE, &IOMMU_FAULT],
};
