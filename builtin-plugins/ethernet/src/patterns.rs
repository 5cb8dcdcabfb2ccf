//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Action::{CheckApp, Inspect, Reboot};
use gpud_sdk::catalog::Severity::{Critical, Fatal, Info, Warning};
use gpud_sdk::catalog::{Catalog, Entry, EventVerdict};

/// Version of the catalogue.
pub const VERSION: u32 = 3;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 11] = [
    r"^bnxt_en [0-9a-fA-F:.]+( [^:]+)?: ((Non-f|F)atal firmware reset event|Firmware (non-)?fatal reset event|Firmware reset aborted|Firmware not responding|Error \(timeout: |Resp cmpl intr err msg: |Driver recovery watchdog, |Error recovery info: |Chip temperature has gone above)",
    "^bnxt_en [0-9a-fA-F:.]+( [^:]+)?: QPLIB: cmdq.* timedout",
    "^(infiniband|ice|i40e|iavf|idpf|irdma)[ :].*([Uu]nrecoverable|non-recoverable|tx_timeout recovery unsuccessful|Rebuild failed, unload)",
    "^(infiniband|(ice|i40e|iavf|idpf) [0-9a-fA-F:.]+) [^:]+: (critical PE Error|HMC Error|PE Push Error)",
    r"^ena [0-9a-fA-F:.]+( [^:]+)?: (Keep alive watchdog timeout|ENA admin queue is not in running state|The number of lost tx completions is above|Lost TX completions are above|Reset attempt failed|Device reset completed successfully|Wait for completion \(polling\) timeout)",
    "^(infiniband ([^ ]*efa|rdmap)[^ ]*|efa [0-9a-fA-F:.]+( [^:]+)?): (Failed to process command |Failed to submit command |Wait for completion|The device (didn't send any completion|sent a completion))",
    "^[a-z0-9_]+ [0-9a-fA-F:.]+ [^:]+: (Detected (Tx|Hardware) Unit Hang|initiating reset due to (tx timeout|lost link))",
    "^[a-z0-9_]+ [0-9a-fA-F:.]+( [^:]+)?: (Adapter removed|PCIe link lost)",
    "^[a-z0-9_]+ [0-9a-fA-F:.]+( [^:]+)?: .*[Nn]etwork adapter (has been|was) stopped because it (has over ?heated|overheated)",
    "^[a-z0-9_]+ [0-9a-fA-F:.]+ [^ ]+: .*([Ll]ink (is )?([Dd]own|[Uu]p)|Link (DOWN|ACTIVE))",
    r"^[^ ]+: (\(slave [^ ]+\): link status definitely (down|up)|link status definitely (down|up) for interface |now running without any active interface|(first )?active interface up|Warning: No 802\.3ad response)",
];

/// The firmware of a network card stopped at an error; the driver resets the card.
pub const NIC_FIRMWARE_FATAL: Entry = Entry {
    name: "nic_firmware_fatal",
    severity: Fatal,
    otherwise: None,
    message: "Network card: its firmware met a fatal error",
    other_message: "",
    actions: &[Reboot],
    advice: "If the card does not come back, reboot; if it happens again, update its firmware or have it looked at.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &["nic_recovered"] }),
};

/// The firmware of a network card met an error that it can recover from by a restart.
pub const NIC_FIRMWARE_RESET: Entry = Entry {
    name: "nic_firmware_reset",
    severity: Warning,
    otherwise: None,
    message: "Network card: its firmware restarts after an error",
    other_message: "",
    actions: &[Reboot],
    advice: "If it goes on, update the card's firmware, drain the machine and reboot.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 3, window_seconds: 3_600, reboot_clears: true, ended_by: &[] }),
};

/// The driver reset a network card and it did not come back: the card is not usable.
pub const NIC_RECOVERY_FAILED: Entry = Entry {
    name: "nic_recovery_failed",
    severity: Fatal,
    otherwise: None,
    message: "Network card: the driver could not recover it",
    other_message: "",
    actions: &[Reboot],
    advice: "The card is not usable until its driver is loaded again or the machine rebooted; if it is lost again after that, have it looked at.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &["nic_recovered"] }),
};

/// A network card that failed before works again.
pub const NIC_RECOVERED: Entry = Entry {
    name: "nic_recovered",
    severity: Info,
    otherwise: None,
    message: "Network card: recovered",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// A network card does not answer over PCIe any more.
pub const NIC_LOST: Entry = Entry {
    name: "nic_lost",
    severity: Fatal,
    otherwise: None,
    message: "Network card: gone from the bus",
    other_message: "",
    actions: &[Reboot],
    advice: "The card is not usable until a reboot; if it is lost again after that, have its seat and slot looked at.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// A network card switched itself off for its temperature.
pub const NIC_OVERHEATED: Entry = Entry {
    name: "nic_overheated",
    severity: Fatal,
    otherwise: None,
    message: "Network card: stopped since it is too hot",
    other_message: "",
    actions: &[Inspect],
    advice: "Look at the air flow, the fans and the heat sink of the card, then reboot.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// The chip of a network card is above its limit. Cards that get no cooler stop.
pub const NIC_HOT: Entry = Entry {
    name: "nic_hot",
    severity: Warning,
    otherwise: None,
    message: "Network card: too hot",
    other_message: "",
    actions: &[Inspect],
    advice: "Look at the air flow, the fans and the heat sink of the card.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 3_600, reboot_clears: true, ended_by: &[] }),
};

/// The part of a network card that does RDMA met an error; the driver resets it, and connections break.
pub const NIC_HARDWARE_ERROR: Entry = Entry {
    name: "nic_hardware_error",
    severity: Critical,
    otherwise: None,
    message: "Network card: its RDMA engine reports a hardware error",
    other_message: "",
    actions: &[Inspect],
    advice: "Update the card's firmware; if it happens again, have the card looked at.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 1_209_600, reboot_clears: true, ended_by: &[] }),
};

/// The device of an Elastic Network Adapter sent no sign of life, lost packets, or does not take commands; the driver resets it.
pub const NIC_KEEP_ALIVE_LOST: Entry = Entry {
    name: "nic_keep_alive_lost",
    severity: Warning,
    otherwise: None,
    message: "Network card: its device does not answer",
    other_message: "",
    actions: &[Reboot],
    advice: "If it goes on, stop and start the instance, so that it moves to another host.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 3, window_seconds: 3_600, reboot_clears: true, ended_by: &[] }),
};

/// The firmware or device of a network card did not answer a command.
pub const NIC_COMMAND_TIMEOUT: Entry = Entry {
    name: "nic_command_timeout",
    severity: Warning,
    otherwise: None,
    message: "Network card: command to the firmware timed out",
    other_message: "",
    actions: &[Reboot],
    advice: "If it goes on, drain the machine and reboot; update the card's firmware.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 3, window_seconds: 3_600, reboot_clears: true, ended_by: &[] }),
};

/// An Elastic Fabric Adapter refused a command: it is out of resources, a program asked for what it does not have, or the device is at fault.
pub const NIC_COMMAND_FAILED: Entry = Entry {
    name: "nic_command_failed",
    severity: Warning,
    otherwise: None,
    message: "Network card: it refused a command",
    other_message: "",
    actions: &[CheckApp],
    advice: "Look which program opens connections at that time; if all do, stop and start the instance.",
    verdict: None,
};

/// A network card did not send what its driver gave it; the driver resets the card.
pub const NIC_HANG: Entry = Entry {
    name: "nic_hang",
    severity: Warning,
    otherwise: None,
    message: "Network card: does not send",
    other_message: "",
    actions: &[Reboot],
    advice: "If it goes on, drain the machine and reboot; look at the card's firmware, its link and the switch.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 3, window_seconds: 3_600, reboot_clears: true, ended_by: &[] }),
};

/// A port of a network card has no link any more: a cable, transceiver or switch, or somebody switched the port off.
pub const NIC_LINK_DOWN: Entry = Entry {
    name: "nic_link_down",
    severity: Warning,
    otherwise: None,
    message: "Network port lost its link",
    other_message: "",
    actions: &[Inspect],
    advice: "If nobody switched it off, look at cable, transceiver and the port of the switch.",
    verdict: None,
};

/// A port that lost its link before has one again.
pub const NIC_LINK_UP: Entry = Entry {
    name: "nic_link_up",
    severity: Info,
    otherwise: None,
    message: "Network port has its link again",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// One interface of a bond has no link; the others carry on.
pub const BOND_SLAVE_DOWN: Entry = Entry {
    name: "bond_slave_down",
    severity: Warning,
    otherwise: None,
    message: "Bond lost one of its links",
    other_message: "",
    actions: &[Inspect],
    advice: "Look at cable, transceiver and the port of the switch.",
    verdict: Some(EventVerdict { unhealthy: false, at_least: 1, window_seconds: 86_400, reboot_clears: true, ended_by: &["bond_slave_up"] }),
};

/// An interface of a bond that lost its link before has one again.
pub const BOND_SLAVE_UP: Entry = Entry {
    name: "bond_slave_up",
    severity: Info,
    otherwise: None,
    message: "Bond has one of its links again",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// No interface of a bond has a link: what it connects cannot be reached.
pub const BOND_DOWN: Entry = Entry {
    name: "bond_down",
    severity: Critical,
    otherwise: None,
    message: "Bond has no working link",
    other_message: "",
    actions: &[Inspect],
    advice: "Look at the cables and the switches of all its interfaces.",
    verdict: Some(EventVerdict { unhealthy: true, at_least: 1, window_seconds: 86_400, reboot_clears: true, ended_by: &["bond_up"] }),
};

/// A bond that had no link before has one again.
pub const BOND_UP: Entry = Entry {
    name: "bond_up",
    severity: Info,
    otherwise: None,
    message: "Bond works again",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// No switch answers a bond's LACP. Common for a moment at the start; else the switch's ports are not set up for it.
pub const BOND_NO_PARTNER: Entry = Entry {
    name: "bond_no_partner",
    severity: Info,
    otherwise: None,
    message: "Bond: the switch does not answer",
    other_message: "",
    actions: &[],
    advice: "",
    verdict: None,
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&NIC_FIRMWARE_FATAL, &NIC_FIRMWARE_RESET, &NIC_RECOVERY_FAILED, &NIC_RECOVERED, &NIC_LOST, &NIC_OVERHEATED, &NIC_HOT, &NIC_HARDWARE_ERROR, &NIC_KEEP_ALIVE_LOST, &NIC_COMMAND_TIMEOUT, &NIC_COMMAND_FAILED, &NIC_HANG, &NIC_LINK_DOWN, &NIC_LINK_UP, &BOND_SLAVE_DOWN, &BOND_SLAVE_UP, &BOND_DOWN, &BOND_UP, &BOND_NO_PARTNER],
};
