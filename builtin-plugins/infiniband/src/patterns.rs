//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::{Ignore, Inspect};
use gpud_sdk::catalog::Severity::{Info, Warning};
use gpud_sdk::catalog::{Catalog, Entry};

/// Version of the catalogue.
pub const VERSION: u32 = 3;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 4] = [
    r"^(infiniband )?mlx5_.*Detected insufficient power on the PCIe slot \([0-9]+W\)",
    "^(infiniband )?mlx5_.*Port module event.*High Temperature",
    r"^(infiniband )?mlx5_.*Port module event(\[error\])?: module [0-9]+, Cable (error(, [^H]|$)|disabled|unplugged)",
    "^(infiniband )?mlx5_(.*mlx5_)?cmd_out_err.*ACCESS_REG.*failed",
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

/// The card finds a fault of a cable or transceiver: it cannot be read, is not supported, or takes too much power. The port stays down.
pub const PORT_MODULE_ERROR: Entry = Entry {
    name: "port_module_error",
    severity: Warning,
    otherwise: None,
    message: "MLX5 port cannot use its cable module: {cause}",
    other_message: "",
    actions: &[Inspect],
    advice: "Seat the cable or transceiver again; if the fault stays, replace it.",
    verdict: None,
};

/// A cable or transceiver was taken out. Cards also say it of empty ports when they start.
pub const PORT_MODULE_UNPLUGGED: Entry = Entry {
    name: "port_module_unplugged",
    severity: Info,
    otherwise: None,
    message: "MLX5 port has no cable module",
    other_message: "",
    actions: &[],
    advice: "",
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
    entries: &[&PCI_POWER_INSUFFICIENT, &PORT_MODULE_HIGH_TEMPERATURE, &PORT_MODULE_ERROR, &PORT_MODULE_UNPLUGGED, &ACCESS_REG_FAILED],
};
