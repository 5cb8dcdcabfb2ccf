//! The kernel's counters, `/sys/bus/pci/devices/*/aer_dev_{correctable,nonfatal,fatal}` (kernel document
//! `Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats`; `drivers/pci/pcie/aer.c`, `aer_stats_dev_attr`). They
//! count since the device was found. Each file ends with its total: `TOTAL_ERR_COR 4`.

use std::collections::BTreeMap;

/// Files of all devices that can report errors.
pub const FILES: &str = "/sys/bus/pci/devices/*/aer_dev_[cnf]*";

const ROOT: &str = "/sys/bus/pci/devices/";

/// Totals of one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Corrected errors.
    pub corrected: u64,
    /// Non-fatal ones.
    pub nonfatal: u64,
    /// Fatal ones.
    pub fatal: u64,
}

impl Totals {
    /// Both kinds of uncorrected errors.
    pub fn uncorrected(&self) -> u64 {
        self.nonfatal.saturating_add(self.fatal)
    }
}

/// Counters of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    /// Whether there is any device that counts.
    pub exist: bool,
    /// Devices that counted anything, by PCI id.
    pub devices: BTreeMap<String, Totals>,
}

/// Puts counters together from files: path and content.
pub fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Counters {
    let mut counters = Counters::default();
    for (path, content) in files {
        let Some((device, file)) = path
            .strip_prefix(ROOT)
            .and_then(|rest| rest.split_once('/'))
        else {
            continue;
        };
        counters.exist = true;
        let total = total(content);
        if total == 0 {
            continue;
        }
        let totals = counters.devices.entry(device.to_owned()).or_default();
        match file {
            "aer_dev_correctable" => totals.corrected = total,
            "aer_dev_nonfatal" => totals.nonfatal = total,
            "aer_dev_fatal" => totals.fatal = total,
            _ => {}
        }
    }
    counters
}

/// The number in the last line.
fn total(content: &[u8]) -> u64 {
    let text = content.trim_ascii_end();
    let line = text
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let number = std::str::from_utf8(line)
        .ok()
        .and_then(|line| line.strip_prefix("TOTAL_ERR_")?.split_once(' '));
    number
        .and_then(|(_, number)| number.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
