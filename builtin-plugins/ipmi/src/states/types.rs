//! Sensor types (table 42-3), as ipmitool calls them in the event log, and by the entity that a sensor belongs to.

/// A sensor type of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SensorType(pub u8);

/// ipmitool's names, of all its versions.
const NAMES: [(&str, u8); 51] = [
    ("Temperature", 0x01),
    ("Voltage", 0x02),
    ("Current", 0x03),
    ("Fan", 0x04),
    ("Physical Security", 0x05),
    ("Platform Security", 0x06),
    ("Processor", 0x07),
    ("Power Supply", 0x08),
    ("Power Unit", 0x09),
    ("Cooling Device", 0x0a),
    ("Other", 0x0b),
    ("Memory", 0x0c),
    ("Drive Slot", 0x0d),
    ("POST Memory Resize", 0x0e),
    ("System Firmware", 0x0f),
    ("Event Logging Disabled", 0x10),
    ("Watchdog1", 0x11),
    ("Watchdog 1", 0x11),
    ("System Event", 0x12),
    ("Critical Interrupt", 0x13),
    ("Button", 0x14),
    ("Module / Board", 0x15),
    ("Module/Board", 0x15),
    ("Microcontroller", 0x16),
    ("Add-in Card", 0x17),
    ("Chassis", 0x18),
    ("Chip Set", 0x19),
    ("Other FRU", 0x1a),
    ("Cable / Interconnect", 0x1b),
    ("Cable/Interconnect", 0x1b),
    ("Terminator", 0x1c),
    ("System Boot Initiated", 0x1d),
    ("Boot Error", 0x1e),
    ("OS Boot", 0x1f),
    ("OS Critical Stop", 0x20),
    ("OS Stop", 0x20),
    ("Slot / Connector", 0x21),
    ("Slot/Connector", 0x21),
    ("System ACPI Power State", 0x22),
    ("Watchdog2", 0x23),
    ("Watchdog 2", 0x23),
    ("Platform Alert", 0x24),
    ("Entity Presence", 0x25),
    ("Monitor ASIC", 0x26),
    ("LAN", 0x27),
    ("Management Subsys", 0x28),
    ("Management Subsystem", 0x28),
    ("Battery", 0x29),
    ("Session Audit", 0x2a),
    ("Version Change", 0x2b),
    ("FRU State", 0x2c),
];

/// The type that a sensor of the event log has by its words, such as `Drive Slot / Bay #0x44` or `Memory ECC Sensor`.
pub fn of_sensor(sensor: &str) -> Option<SensorType> {
    let begins = |name: &str| {
        let head = sensor.get(..name.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(name))
    };
    let fits = NAMES.iter().filter(|(name, _)| begins(name));
    fits.max_by_key(|(name, _)| name.len())
        .map(|(_, kind)| SensorType(*kind))
}

/// The type that a sensor surely has which belongs to this entity (table 43-13).
pub fn of_entity(entity: u32) -> Option<SensorType> {
    let kind = match entity {
        3 => 0x07,
        4 | 26 => 0x0d,
        8 | 32 => 0x0c,
        10 => 0x08,
        19 => 0x09,
        29 => 0x04,
        30 => 0x0a,
        40 => 0x29,
        _ => return None,
    };
    Some(SensorType(kind))
}

impl SensorType {
    /// Whether it tells of the power that the machine is fed with.
    pub fn is_power(self) -> bool {
        matches!(self.0, 0x08 | 0x09)
    }

    /// Whether redundancy of a sensor of the other type says something of this one.
    pub fn shares_redundancy(self, other: Self) -> bool {
        let is_cooling = |kind: Self| matches!(kind.0, 0x04 | 0x0a);
        self.is_power() && other.is_power() || is_cooling(self) && is_cooling(other)
    }
}
