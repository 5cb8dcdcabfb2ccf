//! Reads what `lsblk` prints: JSON, or `KEY="value"` pairs of old versions.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::wire::BlockDevice;

/// For JSON output.
pub const JSON_ARGUMENTS: [&str; 5] = [
    "--paths",
    "--bytes",
    "--json",
    "--output",
    "NAME,TYPE,SIZE,ROTA,SERIAL,WWN,VENDOR,MODEL,REV,MOUNTPOINT,FSTYPE,FSUSED,PARTUUID",
];
/// For pairs, with columns that old versions know; the parent's name stands for the tree.
pub const PAIRS_ARGUMENTS: [&str; 5] = [
    "--paths",
    "--bytes",
    "--pairs",
    "--output",
    "NAME,TYPE,SIZE,ROTA,SERIAL,WWN,VENDOR,MODEL,REV,MOUNTPOINT,FSTYPE,PARTUUID,PKNAME",
];
/// Devices are stacked less deep than this (disk, partition, RAID, encryption, volume).
const MAX_DEPTH: usize = 20;

/// One line of the listing; a device below several others appears once for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    parent: Option<String>,
    facts: BlockDevice,
}

/// Reads JSON output; `None` if it is none.
pub fn from_json(output: &[u8]) -> Option<Vec<Device>> {
    let document: Value = serde_json::from_slice(output).ok()?;
    let mut devices = Vec::new();
    for device in document.get("blockdevices")?.as_array()? {
        add(device, None, MAX_DEPTH, &mut devices);
    }
    Some(devices)
}

fn add(value: &Value, parent: Option<&str>, depth: usize, devices: &mut Vec<Device>) {
    let Some(fields) = value.as_object().filter(|_| depth > 0) else {
        return;
    };
    let device = Device {
        parent: parent.map(str::to_owned),
        facts: facts(|key| text(fields, key)),
    };
    let name = device.facts.name.clone();
    devices.push(device);
    for child in fields
        .get("children")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        add(child, Some(&name), depth - 1, devices);
    }
}

fn text(fields: &Map<String, Value>, key: &str) -> String {
    match fields.get(key) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Reads pairs; `None` if a line is something else, or there is none.
pub fn from_pairs(output: &str) -> Option<Vec<Device>> {
    let lines = output.lines().filter(|line| !line.trim().is_empty());
    let devices: Vec<_> = lines
        .map(|line| {
            let fields = pairs(line)?;
            let get = |key: &str| fields.get(key).cloned().unwrap_or_default();
            let device = Device {
                parent: Some(get("pkname")).filter(|parent| !parent.is_empty()),
                facts: facts(get),
            };
            (!device.facts.name.is_empty()).then_some(device)
        })
        .collect::<Option<_>>()?;
    (!devices.is_empty()).then_some(devices)
}

/// `KEY="value"` separated by blanks, keys in lower case. Values write unusual characters as `\x20`.
fn pairs(line: &str) -> Option<BTreeMap<String, String>> {
    let mut fields = BTreeMap::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (key, after) = rest.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        fields.insert(key.to_ascii_lowercase(), unescaped(value));
        rest = after.trim_start();
    }
    Some(fields)
}

fn unescaped(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("\\x") {
        bytes.extend_from_slice(before.as_bytes());
        let code = after
            .get(..2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.extend_from_slice(b"\\x");
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

fn facts(get: impl Fn(&str) -> String) -> BlockDevice {
    let trimmed = |key: &str| get(key).trim().to_owned();
    BlockDevice {
        name: get("name"),
        device_type: get("type"),
        size: bytes(&get("size")),
        used: bytes(&get("fsused")),
        rota: matches!(get("rota").as_str(), "1" | "true"),
        serial: trimmed("serial"),
        wwn: trimmed("wwn"),
        vendor: trimmed("vendor"),
        model: trimmed("model"),
        rev: trimmed("rev"),
        mount_point: get("mountpoint"),
        fs_type: get("fstype"),
        part_uuid: get("partuuid"),
        ..BlockDevice::default()
    }
}

/// A number of bytes, or with a decimal unit (`63.9M`), as some versions print; 0 for anything else.
fn bytes(text: &str) -> i64 {
    let text = text.trim();
    if let Ok(bytes) = text.parse::<u64>() {
        return i64::try_from(bytes).unwrap_or(i64::MAX);
    }
    let mut letters = text.chars();
    let power = match letters.next_back() {
        Some('B') => 0,
        Some('K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        Some('P') => 5,
        Some('E') => 6,
        _ => return 0,
    };
    let number: f64 = letters.as_str().parse().unwrap_or(0.0);
    let size = number * 1000_f64.powi(power);
    // Out of range, it is cut to the largest number; what is no number is 0.
    size.round().max(0.0) as i64
}

/// The devices that are mounted somewhere of interest, sorted by name, each once, with the devices above and below it.
pub fn mounted(devices: &[Device]) -> Vec<BlockDevice> {
    let mut by_name: BTreeMap<&str, BlockDevice> = BTreeMap::new();
    for device in devices {
        let entry = by_name.entry(&device.facts.name);
        let facts = entry.or_insert_with(|| device.facts.clone());
        if let Some(parent) = &device.parent {
            insert(&mut facts.parents, parent);
        }
    }
    let links: Vec<_> = devices
        .iter()
        .filter_map(|device| Some((device.parent.as_deref()?, &device.facts.name)))
        .collect();
    for (parent, child) in links {
        if let Some(parent) = by_name.get_mut(parent) {
            insert(&mut parent.children, child);
        }
    }
    by_name.into_values().filter(is_of_interest).collect()
}

fn insert(names: &mut Vec<String>, name: &str) {
    if let Err(at) = names.binary_search_by(|known| known.as_str().cmp(name)) {
        names.insert(at, name.to_owned());
    }
}

/// Real disks and what is built on them (no loop devices, which are files), mounted where data is stored.
fn is_of_interest(device: &BlockDevice) -> bool {
    let kind = device.device_type.as_str();
    let is_disk = matches!(kind, "disk" | "part" | "lvm" | "crypt" | "mpath")
        || kind.starts_with("raid")
        || kind.starts_with("md");
    let point = device.mount_point.as_str();
    is_disk
        && point.starts_with('/')
        && !point.starts_with("/mnt/cloud-metadata")
        && !point.contains("/kubelet/pods")
}

#[cfg(test)]
mod tests;
