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
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TREE: &str = r#"{"blockdevices":[
      {"name":"/dev/sdb","type":"disk","size":2000,"rota":"1","mountpoint":null,"children":[
        {"name":"/dev/md0","type":"raid1","size":1900,"mountpoint":"/data","fstype":"xfs","fsused":"100"}]},
      {"name":"/dev/sda","type":"disk","size":"2000","rota":false,"serial":" S1 ","children":[
        {"name":"/dev/sda1","type":"part","size":1,"mountpoint":"/mnt/cloud-metadata"},
        {"name":"/dev/md0","type":"raid1","size":1900,"mountpoint":"/data","fstype":"xfs","fsused":"100"}]},
      {"name":"/dev/loop0","type":"loop","size":5,"mountpoint":"/snap/x"},
      {"name":"/dev/sdc","type":"disk","size":"63.9M","mountpoint":"[SWAP]"},
      {"name":"/dev/vda","type":"disk","size":7,"mountpoint":"/","rota":true,"model":"M 1"}]}"#;

    #[test]
    fn a_tree_becomes_a_list_of_what_is_mounted() {
        let devices = from_json(TREE.as_bytes()).unwrap();
        assert_eq!(
            mounted(&devices),
            [
                BlockDevice {
                    name: "/dev/md0".into(),
                    device_type: "raid1".into(),
                    size: 1900,
                    used: 100,
                    mount_point: "/data".into(),
                    fs_type: "xfs".into(),
                    parents: vec!["/dev/sda".into(), "/dev/sdb".into()],
                    ..BlockDevice::default()
                },
                BlockDevice {
                    name: "/dev/vda".into(),
                    device_type: "disk".into(),
                    size: 7,
                    rota: true,
                    model: "M 1".into(),
                    mount_point: "/".into(),
                    ..BlockDevice::default()
                },
            ]
        );
    }

    #[test]
    fn pairs_of_old_versions() {
        let output = "NAME=\"/dev/sda\" TYPE=\"disk\" SIZE=\"10\" ROTA=\"1\" MODEL=\"A = B C\" MOUNTPOINT=\"\" PKNAME=\"\"\n\
                      NAME=\"/dev/sda1\" TYPE=\"part\" SIZE=\"9\" ROTA=\"1\" MOUNTPOINT=\"/a\\x20b\" PKNAME=\"/dev/sda\"\n";
        let devices = from_pairs(output).unwrap();
        assert_eq!(devices[0].facts.model, "A = B C");
        let found = mounted(&devices);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].name.as_str(), found[0].mount_point.as_str()),
            ("/dev/sda1", "/a b")
        );
        assert_eq!(
            (found[0].parents.as_slice(), found[0].rota),
            (&["/dev/sda".to_owned()][..], true)
        );
    }

    #[test]
    fn other_output_is_refused() {
        for output in [
            "",
            "lsblk: unknown column",
            "{}",
            r#"{"blockdevices":{}}"#,
            "[]",
        ] {
            assert_eq!(from_json(output.as_bytes()), None, "{output}");
        }
        for output in ["", "\n", "lsblk: failed", "NAME=\"x", "TYPE=\"disk\""] {
            assert_eq!(from_pairs(output), None, "{output}");
        }
    }

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("", 0),
            ("12", 12),
            ("18446744073709551615", i64::MAX),
            ("63.9M", 63_900_000),
            ("1.5T", 1_500_000_000_000),
            ("9E", 9_000_000_000_000_000_000),
            ("99E", i64::MAX),
            ("-5", 0),
            ("xM", 0),
            ("NaNG", 0),
            ("?", 0),
        ] {
            assert_eq!(bytes(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_value_in_pairs_comes_back(value in "[ -~]{0,30}") {
            let escaped: String = value
                .bytes()
                .map(|byte| match byte {
                    b'"' | b'\\' | b' ' => format!("\\x{byte:02x}"),
                    byte => char::from(byte).to_string(),
                })
                .collect();
            let fields = pairs(&format!("NAME=\"{escaped}\" TYPE=\"disk\"")).unwrap();
            prop_assert_eq!(&fields["name"], &value);
            prop_assert_eq!(&fields["type"], "disk");
        }
    }
}
