//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::Inspect;
use gpud_sdk::catalog::Severity::{Info, Warning};
use gpud_sdk::catalog::{Catalog, Entry};

/// Version of the catalogue.
pub const VERSION: u32 = 2;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 3] = [
    "^(ipmi_[a-z]+|IPMI message handler)( [^ ]+)?: .*(KCS in invalid state [0-9]|kcs hosed: |BMC returned (incorrect response|too small a message|0x[0-9a-f]+, retry)|device id demangle failed|Could not set the global enables)",
    "^IPMI Watchdog: (heartbeat |set timeout error|Error)",
    "^ipmi_si [^ ]+: There appears to be no BMC at this location",
];

/// The kernel talks to the management controller, and its answers are missing, late or wrong. The machine goes on, but is not watched or controlled over it.
pub const BMC_INTERFACE_ERROR: Entry = Entry {
    name: "bmc_interface_error",
    severity: Warning,
    otherwise: None,
    message: "Management controller (BMC) does not answer as it should",
    other_message: "",
    actions: &[Inspect],
    advice: "Reset the controller (ipmitool mc reset cold, or from the network) and update its firmware; some do it for minutes during an update.",
    verdict: None,
};

/// The kernel could not send a sign of life to the controller's watchdog: it may restart the machine.
pub const BMC_WATCHDOG_ERROR: Entry = Entry {
    name: "bmc_watchdog_error",
    severity: Warning,
    otherwise: None,
    message: "Watchdog of the management controller (BMC) cannot be fed",
    other_message: "",
    actions: &[Inspect],
    advice: "Reset the controller (ipmitool mc reset cold), or switch its watchdog off before it restarts the machine.",
    verdict: None,
};

/// The kernel found nothing at the place that the firmware or a module option names: the machine has no controller, or it does not answer at the start.
pub const BMC_NOT_FOUND: Entry = Entry {
    name: "bmc_not_found",
    severity: Info,
    otherwise: None,
    message: "No management controller (BMC) at the address that the firmware names",
    other_message: "",
    actions: &[],
    advice: "If the machine has a controller, reset it; else leave the module ipmi_si out.",
    verdict: None,
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&BMC_INTERFACE_ERROR, &BMC_WATCHDOG_ERROR, &BMC_NOT_FOUND],
};
