//! Why a GPU's clocks are not as high as they could be: the bits of `nvmlClocksEventReasons` (`nvml.h`; the last two
//! since R615).

/// Hardware slows it down: temperature, power brake, or power drawn too fast.
pub const HW_SLOWDOWN: u64 = 0x08;
/// Hardware slows it down for its temperature.
pub const HW_THERMAL: u64 = 0x40;
/// Something outside, such as the power supply, asked for less.
pub const HW_POWER_BRAKE: u64 = 0x80;

/// By hardware, in the order of the alphabet.
const BY_HARDWARE: [(u64, &str); 3] = [
    (
        HW_POWER_BRAKE,
        "HW Power Brake Slowdown is active: a signal from outside, as of the power supply, cuts the clocks by half or more (bit 0x80)",
    ),
    (
        HW_SLOWDOWN,
        "HW Slowdown is active: high temperature, power brake or power draw cuts the clocks by half or more (bit 0x8)",
    ),
    (
        HW_THERMAL,
        "HW Thermal Slowdown is active: high temperature cuts the clocks by half or more (bit 0x40)",
    ),
];

/// By anything else, in the order of the alphabet.
const OTHERWISE: [(u64, &str); 8] = [
    (
        0x002,
        "Applications Clocks Setting limits the clocks (bit 0x2)",
    ),
    (
        0x200,
        "Board Limit limits the clocks to what the board can deliver (bit 0x200)",
    ),
    (0x100, "Display Clock Setting limits the clocks (bit 0x100)"),
    (
        0x001,
        "GPU Idle: nothing runs, the clocks are low (bit 0x1)",
    ),
    (
        0x400,
        "Reliability limits the clocks to what the chip's voltage allows (bit 0x400)",
    ),
    (
        0x004,
        "SW Power Cap limits the clocks to keep to the power limit (bit 0x4)",
    ),
    (
        0x020,
        "SW Thermal Slowdown limits the clocks to keep to the highest temperature (bit 0x20)",
    ),
    (
        0x010,
        "Sync Boost limits the clocks to those of other GPUs of the group (bit 0x10)",
    ),
];

/// What the bits mean that are hardware's doing, each with the GPU before it.
pub fn by_hardware(uuid: &str, bits: u64) -> Vec<String> {
    texts(uuid, bits, &BY_HARDWARE)
}

/// What the other bits mean. Unknown ones are passed over.
pub fn otherwise(uuid: &str, bits: u64) -> Vec<String> {
    texts(uuid, bits, &OTHERWISE)
}

fn texts(uuid: &str, bits: u64, known: &[(u64, &str)]) -> Vec<String> {
    let set = known.iter().filter(|(bit, _)| bits & bit != 0);
    set.map(|(_, text)| format!("{uuid}: {text}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_has_its_text() {
        for (bit, hardware, word) in [
            (0x001, false, "GPU Idle"),
            (0x002, false, "Applications Clocks Setting"),
            (0x004, false, "SW Power Cap"),
            (0x008, true, "HW Slowdown"),
            (0x010, false, "Sync Boost"),
            (0x020, false, "SW Thermal Slowdown"),
            (0x040, true, "HW Thermal Slowdown"),
            (0x080, true, "HW Power Brake Slowdown"),
            (0x100, false, "Display Clock Setting"),
            (0x200, false, "Board Limit"),
            (0x400, false, "Reliability"),
        ] {
            let (by_hardware, otherwise) = (by_hardware("GPU-1", bit), otherwise("GPU-1", bit));
            assert_eq!(
                (by_hardware.len(), otherwise.len()),
                (hardware.into(), (!hardware).into())
            );
            let text = by_hardware.iter().chain(&otherwise).next().unwrap();
            assert!(text.starts_with(&format!("GPU-1: {word}")), "{text}");
            assert!(text.ends_with(&format!("(bit {bit:#x})")), "{text}");
        }
        assert!(by_hardware("GPU-1", 0x800).is_empty() && otherwise("GPU-1", 0x800).is_empty());
    }

    #[test]
    fn lists_are_sorted() {
        for list in [by_hardware("", u64::MAX), otherwise("", u64::MAX)] {
            assert!(list.is_sorted(), "{list:?}");
        }
    }
}
