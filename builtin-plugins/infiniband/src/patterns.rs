//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_builtin_shared::coded::Action::{Ignore, Inspect};
use gpud_builtin_shared::coded::Severity::Warning;
use gpud_builtin_shared::patterns::{Catalog, Entry};

/// Version of the catalogue.
pub const VERSION: u32 = 1;

/// What the host delivers: no narrower than what is read.
pub const PATTERNS: [&str; 3] = [
    r"Detected insufficient power on the PCIe slot \([0-9]+W\)",
    "Port module event.*High Temperature",
    "mlx5_cmd_out_err.*ACCESS_REG.*failed",
];

/// The slot gives the card less power than it asks for.
pub const PCI_POWER_INSUFFICIENT: Entry = Entry {
    name: "pci_power_insufficient",
    severity: Warning,
    otherwise: None,
    message: "Insufficient power on MLX5 PCIe slot",
    other_message: "",
    actions: &[Inspect],
    advice: "Look at the slot, its power cable and the card's type.",
    verdict: None,
};

/// The module of a cable is too hot.
pub const PORT_MODULE_HIGH_TEMPERATURE: Entry = Entry {
    name: "port_module_high_temperature",
    severity: Warning,
    otherwise: None,
    message: "Overheated MLX5 adapter",
    other_message: "",
    actions: &[Inspect],
    advice: "Look at the module, the cable and the air flow.",
    verdict: None,
};

/// The card refuses to be asked for a register, mostly because its function is not allowed to: no fault of the hardware.
pub const ACCESS_REG_FAILED: Entry = Entry {
    name: "access_reg_failed",
    severity: Warning,
    otherwise: None,
    message: "MLX5 ACCESS_REG command failed - device may have restricted PF access",
    other_message: "MLX5 ACCESS_REG command failed - device may have restricted PF access (PCI device {card})",
    actions: &[Ignore],
    advice: "",
    verdict: None,
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&PCI_POWER_INSUFFICIENT, &PORT_MODULE_HIGH_TEMPERATURE, &ACCESS_REG_FAILED],
};
