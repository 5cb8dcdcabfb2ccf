//! Table 42-2: states that sensors of any type can have, by event/reading type.

use super::Weight::{Fatal, Fine, Warning};
use super::{Class::Generic, State};

/// The states, by type and offset.
pub(super) const STATES: &[State] = &[
    // Thresholds. A threshold that is left again the way it was crossed ends the trouble.
    State::fine(Generic(0x01), 0x00, "Lower Non-critical going low"),
    State::fine(Generic(0x01), 0x01, "Lower Non-critical going high"),
    State::trouble(Generic(0x01), 0x02, "Lower Critical going low", Warning),
    State::fine(Generic(0x01), 0x03, "Lower Critical going high"),
    State::trouble(Generic(0x01), 0x04, "Lower Non-recoverable going low", Fatal),
    State::fine(Generic(0x01), 0x05, "Lower Non-recoverable going high"),
    State::fine(Generic(0x01), 0x06, "Upper Non-critical going low"),
    State::fine(Generic(0x01), 0x07, "Upper Non-critical going high"),
    State::fine(Generic(0x01), 0x08, "Upper Critical going low"),
    State::trouble(Generic(0x01), 0x09, "Upper Critical going high", Warning),
    State::fine(Generic(0x01), 0x0a, "Upper Non-recoverable going low"),
    State::trouble(Generic(0x01), 0x0b, "Upper Non-recoverable going high", Fatal),
    // Usage.
    State::fine(Generic(0x02), 0x00, "Transition to Idle"),
    State::fine(Generic(0x02), 0x01, "Transition to Active"),
    State::fine(Generic(0x02), 0x02, "Transition to Busy"),
    // Digital: what an asserted state means is the board's secret.
    State::fine(Generic(0x03), 0x00, "State Deasserted"),
    State::fine(Generic(0x03), 0x01, "State Asserted"),
    State::fine(Generic(0x04), 0x00, "Predictive Failure Deasserted"),
    State::trouble(Generic(0x04), 0x01, "Predictive Failure Asserted", Warning),
    State::fine(Generic(0x05), 0x00, "Limit Not Exceeded"),
    State::trouble(Generic(0x05), 0x01, "Limit Exceeded", Warning),
    State::fine(Generic(0x06), 0x00, "Performance Met"),
    State::fine(Generic(0x06), 0x01, "Performance Lags"),
    // Severity.
    State::fine(Generic(0x07), 0x00, "Transition to OK"),
    State::fine(Generic(0x07), 0x01, "Transition to Non-critical from OK"),
    State::trouble(Generic(0x07), 0x02, "Transition to Critical from less severe", Warning),
    State::trouble(Generic(0x07), 0x03, "Transition to Non-recoverable from less severe", Fatal),
    State::fine(Generic(0x07), 0x04, "Transition to Non-critical from more severe"),
    State::trouble(Generic(0x07), 0x05, "Transition to Critical from Non-recoverable", Warning),
    State::trouble(Generic(0x07), 0x06, "Transition to Non-recoverable", Fatal),
    State::fine(Generic(0x07), 0x07, "Monitor"),
    State::fine(Generic(0x07), 0x08, "Informational"),
    // Shortened words of makers and of ipmitool's older versions.
    State::fine(Generic(0x07), 0x04, "Transition to Non-critical"),
    State::trouble(Generic(0x07), 0x02, "Transition to Critical", Warning),
    // Availability. ipmitool's versions differ in the words.
    State::fine(Generic(0x08), 0x00, "Device Absent"),
    State::fine(Generic(0x08), 0x01, "Device Present"),
    State::fine(Generic(0x08), 0x00, "Device Removed"),
    State::fine(Generic(0x08), 0x01, "Device Inserted"),
    State::fine(Generic(0x09), 0x00, "Device Disabled"),
    State::fine(Generic(0x09), 0x01, "Device Enabled"),
    State::fine(Generic(0x0a), 0x00, "Transition to Running"),
    State::fine(Generic(0x0a), 0x01, "Transition to In Test"),
    State::fine(Generic(0x0a), 0x02, "Transition to Power Off"),
    State::fine(Generic(0x0a), 0x03, "Transition to On Line"),
    State::trouble(Generic(0x0a), 0x04, "Transition to Off Line", Warning),
    State::fine(Generic(0x0a), 0x05, "Transition to Off Duty"),
    State::trouble(Generic(0x0a), 0x06, "Transition to Degraded", Warning),
    State::fine(Generic(0x0a), 0x07, "Transition to Power Save"),
    State::trouble(Generic(0x0a), 0x08, "Install Error", Warning),
    // Redundancy.
    State::fine(Generic(0x0b), 0x00, "Fully Redundant"),
    State::trouble(Generic(0x0b), 0x01, "Redundancy Lost", Warning),
    State::trouble(Generic(0x0b), 0x02, "Redundancy Degraded", Warning),
    State::trouble(Generic(0x0b), 0x03, "Non-Redundant: Sufficient from Redundant", Warning),
    State::trouble(Generic(0x0b), 0x04, "Non-Redundant: Sufficient from Insufficient", Warning),
    State::trouble(Generic(0x0b), 0x03, "Non-Redundant: Sufficient", Warning),
    State::trouble(Generic(0x0b), 0x05, "Non-Redundant: Insufficient Resources", Fatal),
    State::trouble(Generic(0x0b), 0x05, "Non-Redundant: Insufficient", Fatal),
    State::trouble(Generic(0x0b), 0x06, "Redundancy Degraded from Fully Redundant", Warning),
    State::trouble(Generic(0x0b), 0x07, "Redundancy Degraded from Non-Redundant", Warning),
    // ACPI power states of a device.
    State::occurrence(Generic(0x0c), 0x00, "D0 Power State", Fine),
    State::occurrence(Generic(0x0c), 0x01, "D1 Power State", Fine),
    State::occurrence(Generic(0x0c), 0x02, "D2 Power State", Fine),
    State::occurrence(Generic(0x0c), 0x03, "D3 Power State", Fine),
];
