//! The processor, from `/proc/cpuinfo`.

use super::key_values;

/// Facts about the processor; empty strings are left out as `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuFacts {
    /// Logical cores: the numbered `processor` lines, else the `cpuN` lines of `/proc/stat`.
    pub logical_cores: u32,
    /// Vendor: `vendor_id` on x86 (`GenuineIntel`), on ARM the name behind `CPU implementer` (`ARM`).
    pub vendor: Option<String>,
    /// Model name; on ARM the name behind `CPU part`, `Undefined` for a part that is not in the table.
    pub model_name: Option<String>,
    /// Model number: `model` on x86, `CPU part` on ARM.
    pub model: Option<String>,
    /// Family: `cpu family` on x86, `CPU architecture` on ARM.
    pub family: Option<String>,
}

/// `CPU implementer`: MIDR_EL1 bits 31-24, as assigned by Arm and listed in Linux' asm/cputype.h.
const IMPLEMENTERS: [(u32, &str); 7] = [
    (0x41, "ARM"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"),
    (0x50, "APM"),
    (0x51, "Qualcomm"),
    (0xc0, "Ampere"),
];

/// `CPU part` by implementer: MIDR_EL1 bits 15-4, same source. Server and Jetson processors that GPUs sit beside.
const PARTS: [(u32, u32, &str); 16] = [
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd41, "Cortex-A78"),
    (0x41, 0xd42, "Cortex-A78AE"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd84, "Neoverse-V3"),
    (0x41, 0xd8e, "Neoverse-N3"),
    (0x4e, 0x003, "Denver 2"),
    (0x4e, 0x004, "Carmel"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1a"),
];

impl CpuFacts {
    /// Reads the first processor of `/proc/cpuinfo`, and counts cores there or in `/proc/stat`.
    pub fn parse(cpuinfo: &str, proc_stat: &str) -> Self {
        let first = cpuinfo.split("\n\n").next().unwrap_or_default();
        let values = key_values(first, ':');
        let text = |key: &str| {
            let value = values.get(key).filter(|value| !value.is_empty());
            value.map(|value| (*value).to_owned())
        };
        let number = |key: &str| {
            let digits = values.get(key)?.strip_prefix("0x")?;
            u32::from_str_radix(digits, 16).ok()
        };
        let implementer = number("CPU implementer");
        let part = number("CPU part");
        let part_name = implementer.zip(part).map(|(maker, part)| {
            PARTS
                .iter()
                .find(|known| (known.0, known.1) == (maker, part))
                .map_or("Undefined", |known| known.2)
                .to_owned()
        });
        let maker_name = implementer.and_then(|maker| {
            let known = IMPLEMENTERS.iter().find(|known| known.0 == maker)?;
            Some(known.1.to_owned())
        });
        Self {
            logical_cores: logical_cores(cpuinfo, proc_stat),
            vendor: text("vendor_id").or(maker_name),
            model_name: text("model name").or(part_name),
            model: text("model").or_else(|| text("CPU part")),
            family: text("cpu family").or_else(|| text("CPU architecture")),
        }
    }
}

fn logical_cores(cpuinfo: &str, proc_stat: &str) -> u32 {
    let numbered = |line: &&str| {
        line.split_once(':').is_some_and(|(key, value)| {
            key.get(..9)
                .is_some_and(|key| key.eq_ignore_ascii_case("processor"))
                && value.trim().parse::<u32>().is_ok()
        })
    };
    let in_stat = |line: &&str| {
        line.strip_prefix("cpu")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let count = match cpuinfo.lines().filter(numbered).count() {
        0 => proc_stat.lines().filter(in_stat).count(),
        count => count,
    };
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
