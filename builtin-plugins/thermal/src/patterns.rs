//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::Inspect;
use gpud_sdk::catalog::Severity::{Fatal, Info, Warning};
use gpud_sdk::catalog::{Catalog, Entry, EventVerdict};

/// Version of the catalogue.
pub const VERSION: u32 = 1;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 4] = [
    "^(mce: )?CPU[0-9]+: (Core|Package) temperature(/speed normal| (is )?above threshold, )",
    "^thermal thermal_zone[0-9].*: critical temperature reached",
    r"^Critical temperature reached \(-?[0-9]+ C\), shutting down",
    r"^reboot: HARDWARE PROTECTION .*\(Temperature too high\)",
];

/// A processor is so hot that it slows itself down.
pub const CPU_THERMAL_THROTTLED: Entry = Entry {
    name: "cpu_thermal_throttled",
    severity: Warning,
    otherwise: None,
    message: "CPU {level} temperature above threshold, clock throttled",
    other_message: "",
    actions: &[Inspect],
    advice: "Check fans, heat sinks, air flow and the temperature of the room.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 3, window_seconds: 600, reboot_clears: true, ended_by: &["cpu_thermal_normal"] }),
};

/// A processor that was too hot works at full speed again.
pub const CPU_THERMAL_NORMAL: Entry = Entry {
    name: "cpu_thermal_normal",
    severity: Info,
    otherwise: None,
    message: "CPU {level} temperature and speed normal again",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// A sensor reached its critical temperature; the kernel shuts the machine down before the hardware takes damage.
pub const CRITICAL_TEMPERATURE: Entry = Entry {
    name: "critical_temperature",
    severity: Fatal,
    otherwise: None,
    message: "Critical temperature reached: the kernel shuts the machine down",
    other_message: "",
    actions: &[Inspect],
    advice: "Check fans, heat sinks, air flow and the temperature of the room.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 86_400, reboot_clears: false, ended_by: &[] }),
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&CPU_THERMAL_THROTTLED, &CPU_THERMAL_NORMAL, &CRITICAL_TEMPERATURE],
};
