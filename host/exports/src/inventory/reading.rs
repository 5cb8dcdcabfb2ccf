//! Readings of serial numbers, with gpuid's fields.

use std::collections::BTreeSet;

use serde::Serialize;

use super::settings::Settings;
use crate::{NodeIdentity, Snapshot, UnixMillis};

/// In place of a chassis without a serial number, as gpuid writes it.
const NO_CHASSIS: &str = "unknown";
/// In place of a machine without an id, as gpuid writes it.
const NO_MACHINE: &str = "na";
/// The default name of the program that read the serial numbers.
const SOURCE: &str = "gpud";

/// One serial number, and where it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// Name of the cluster.
    pub cluster: String,
    /// Name of the node.
    pub node: String,
    /// The machine behind it.
    pub machine: String,
    /// The program that read it.
    pub source: String,
    /// Serial number of the chassis.
    pub chassis: String,
    /// Serial number of the GPU.
    pub gpu: String,
    /// When it was read, RFC 3339 in UTC, to the second.
    pub time: String,
}

impl Reading {
    /// Returns the columns of files, in gpuid's order.
    pub fn columns(&self) -> [&str; 7] {
        [
            &self.cluster,
            &self.node,
            &self.machine,
            &self.source,
            &self.chassis,
            &self.gpu,
            &self.time,
        ]
    }
}

/// Makes a reading without serial numbers.
pub(super) fn empty(
    settings: &Settings,
    node: String,
    identity: &NodeIdentity,
    time: UnixMillis,
) -> Reading {
    let machine = match (&settings.machine, identity.machine_id.as_str()) {
        (Some(machine), _) => machine.clone(),
        (None, "") => NO_MACHINE.to_owned(),
        (None, id) => id.to_owned(),
    };
    Reading {
        cluster: settings.cluster.clone(),
        node,
        machine,
        source: settings.source.clone().unwrap_or_else(|| SOURCE.to_owned()),
        chassis: NO_CHASSIS.to_owned(),
        gpu: String::new(),
        time: seconds(time),
    }
}

/// Makes a reading for each serial number. The dies of a module share theirs, which is there once.
pub(super) fn of_snapshot(
    snapshot: &Snapshot,
    settings: &Settings,
    node: &str,
    time: UnixMillis,
) -> Vec<Reading> {
    let inventory = &snapshot.inventory;
    let mut common = empty(settings, node.to_owned(), &snapshot.node, time);
    if !inventory.chassis_serial.is_empty() {
        common.chassis.clone_from(&inventory.chassis_serial);
    }
    let mut seen = BTreeSet::new();
    let serials = inventory.gpus.iter().map(|gpu| gpu.serial.trim());
    let serials = serials.filter(|serial| !serial.is_empty() && seen.insert(*serial));
    let readings = serials.map(|serial| Reading {
        gpu: serial.to_owned(),
        ..common.clone()
    });
    readings.collect()
}

/// Returns true if two looks differ by their times only.
pub(super) fn are_same(one: &[Reading], other: &[Reading]) -> bool {
    let identity = |reading: &Reading| Reading {
        time: String::new(),
        ..reading.clone()
    };
    let same = |(one, other): (&Reading, &Reading)| identity(one) == identity(other);
    one.len() == other.len() && one.iter().zip(other).all(same)
}

/// Returns a time as RFC 3339 in UTC, to the second.
fn seconds(time: UnixMillis) -> String {
    let seconds = i64::try_from(time / 1000).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX);
    format!("{time:.0}")
}

#[cfg(test)]
mod tests;
