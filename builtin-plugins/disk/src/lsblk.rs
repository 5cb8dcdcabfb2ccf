//! Block devices from `lsblk` (util-linux), in its JSON form and in the `KEY="value"` form of versions before 2.27.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::humanize;
use crate::mounts::Mount;

/// How deep devices are followed (disk, partition, RAID, LVM … are five).
const MAX_DEPTH: usize = 20;
const COLUMNS: &str =
    "NAME,TYPE,SIZE,ROTA,SERIAL,WWN,VENDOR,MODEL,REV,MOUNTPOINT,FSTYPE,FSUSED,PARTUUID";

/// Arguments of the call; the format is `--json` or `--pairs`.
pub fn arguments(format: &str) -> Vec<String> {
    ["--paths", "--bytes", "--fs", "--output", COLUMNS, format]
        .map(str::to_owned)
        .to_vec()
}

/// One device as lsblk gives it: depending on its version, a number may come as text and a truth value as a number.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Raw {
    name: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    size: Value,
    rota: Value,
    serial: Option<String>,
    wwn: Option<String>,
    vendor: Option<String>,
    model: Option<String>,
    rev: Option<String>,
    mountpoint: Option<String>,
    fstype: Option<String>,
    fsused: Value,
    partuuid: Option<String>,
    children: Vec<Raw>,
}

#[derive(Deserialize)]
struct LsblkDocument {
    blockdevices: Vec<Raw>,
}

/// Reads the JSON form.
///
/// # Errors
/// In words, with the place.
pub fn parse_json(text: &str) -> Result<Vec<Raw>, String> {
    let document: LsblkDocument = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(document.blockdevices)
}

/// Reads the pairs form: one device a line, all on one level.
///
/// # Errors
/// In words, the line that is not made of pairs.
pub fn parse_pairs(text: &str) -> Result<Vec<Raw>, String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| parse_pair_line(line).ok_or_else(|| format!("{line:?}")))
        .collect()
}

fn parse_pair_line(line: &str) -> Option<Raw> {
    let mut device = Raw::default();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (key, after) = rest.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        let value = unescape(value);
        match key {
            "NAME" => device.name = Some(value),
            "TYPE" => device.kind = Some(value),
            "SIZE" => device.size = Value::String(value),
            "ROTA" => device.rota = Value::String(value),
            "SERIAL" => device.serial = Some(value),
            "WWN" => device.wwn = Some(value),
            "VENDOR" => device.vendor = Some(value),
            "MODEL" => device.model = Some(value),
            "REV" => device.rev = Some(value),
            "MOUNTPOINT" => device.mountpoint = Some(value),
            "FSTYPE" => device.fstype = Some(value),
            "FSUSED" => device.fsused = Value::String(value),
            "PARTUUID" => device.partuuid = Some(value),
            _ => {}
        }
        rest = after.trim_start();
    }
    Some(device)
}

/// Quotes and control bytes stand as `\xNN`.
fn unescape(text: &str) -> String {
    let mut parts = text.split("\\x");
    let mut plain = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let code = part
            .get(..2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (code.filter(u8::is_ascii), part.get(2..)) {
            (Some(code), Some(rest)) => {
                plain.push(char::from(code));
                plain.push_str(rest);
            }
            _ => {
                plain.push_str("\\x");
                plain.push_str(part);
            }
        }
    }
    plain
}

/// A device as the `data` document shows it; what is empty is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BlockDevice {
    /// Path of the node.
    pub name: String,
    /// `disk`, `part`, `lvm`, `raid1` …
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Bytes.
    #[serde(skip_serializing_if = "is_zero")]
    pub size: u64,
    /// Whether it turns.
    #[serde(skip_serializing_if = "is_false")]
    pub rota: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    /// Serial number.
    pub serial: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    /// World-wide name.
    pub wwn: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    /// Vendor.
    pub vendor: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    /// Model.
    pub model: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    /// Revision.
    pub rev: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    /// Where it is mounted.
    pub mountpoint: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    /// Filesystem type.
    pub fstype: String,
    #[serde(skip_serializing_if = "is_zero")]
    /// Used bytes of the filesystem.
    pub fsused: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    /// UUID of the partition.
    pub partuuid: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    /// Devices that it is a part of.
    pub parents: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    /// Devices that are made of it.
    pub children: Vec<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The devices that are mounted, and those that these are made of, flat and sorted by name. A filesystem type that
/// lsblk does not know is taken from the mounts.
pub fn select(devices: Vec<Raw>, mounts: &[Mount]) -> Vec<BlockDevice> {
    let mut flat = BTreeMap::new();
    for device in devices {
        add(device, None, mounts, MAX_DEPTH, &mut flat);
    }
    flat.into_values().collect()
}

/// Adds a device and its descendants if one of them is wanted. Gives its name if it was added.
fn add(
    raw: Raw,
    parent: Option<&str>,
    mounts: &[Mount],
    depth: usize,
    flat: &mut BTreeMap<String, BlockDevice>,
) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let name = raw.name.filter(|name| !name.is_empty())?;
    let mut device = BlockDevice {
        kind: raw.kind.unwrap_or_default(),
        size: number(&raw.size),
        rota: truth(&raw.rota),
        serial: raw.serial.unwrap_or_default(),
        wwn: raw.wwn.unwrap_or_default(),
        vendor: raw.vendor.unwrap_or_default(),
        model: raw.model.unwrap_or_default(),
        rev: raw.rev.unwrap_or_default(),
        mountpoint: raw.mountpoint.unwrap_or_default(),
        fstype: raw.fstype.unwrap_or_default(),
        fsused: number(&raw.fsused),
        partuuid: raw.partuuid.unwrap_or_default(),
        parents: parent.map(str::to_owned).into_iter().collect(),
        children: Vec::new(),
        name: name.clone(),
    };
    if device.fstype.is_empty()
        && let Some(mount) = mounts.iter().find(|mount| mount.point == device.mountpoint)
    {
        device.fstype.clone_from(&mount.fstype);
    }
    let children = raw.children.into_iter();
    device.children = children
        .filter_map(|child| add(child, Some(&name), mounts, depth, flat))
        .collect();
    if device.children.is_empty() && !is_wanted(&device) {
        return None;
    }
    // A RAID array or multipath device stands below each of its parts.
    match flat.get_mut(&name) {
        Some(known) => {
            known.parents.extend(device.parents);
            known.parents.sort_unstable();
            known.parents.dedup();
        }
        None => drop(flat.insert(name.clone(), device)),
    }
    Some(name)
}

fn is_wanted(device: &BlockDevice) -> bool {
    let kind = device.kind.as_str();
    let kind = matches!(kind, "disk" | "lvm" | "part" | "crypt" | "mpath")
        || kind.starts_with("raid")
        || kind.starts_with("md");
    let fstype = device.fstype.as_str();
    let fstype = matches!(
        fstype,
        "" | "ext4"
            | "xfs"
            | "vfat"
            | "LVM2_member"
            | "linux_raid_member"
            | "raid0"
            | "btrfs"
            | "ext3"
            | "ext2"
            | "f2fs"
            | "zfs_member"
            | "bcachefs"
    ) || fstype.starts_with("nfs");
    let point = device.mountpoint.as_str();
    let point = !point.is_empty()
        && !point.starts_with("/mnt/cloud-metadata")
        && !point.contains("/kubelet/pods");
    kind && fstype && point
}

/// A number, also as text; with units (which `--bytes` should prevent) in powers of 1000.
fn number(value: &Value) -> u64 {
    match value {
        Value::Number(number) => number.as_u64().unwrap_or(0),
        Value::String(text) => text
            .trim()
            .parse()
            .ok()
            .or_else(|| humanize::parse(text, 1000.0))
            .unwrap_or(0),
        _ => 0,
    }
}

fn truth(value: &Value) -> bool {
    match value {
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_u64() == Some(1),
        Value::String(text) => matches!(text.as_str(), "1" | "true"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(devices: &[BlockDevice]) -> Vec<String> {
        devices
            .iter()
            .map(|d| {
                format!(
                    "{} < {} > {}",
                    d.parents.join("+"),
                    d.name,
                    d.children.join("+")
                )
            })
            .collect()
    }

    #[test]
    fn json_of_all_versions() {
        for (size, rota) in [("1000", "true"), ("\"1000\"", "\"1\""), ("\"1K\"", "1")] {
            let text = format!(
                r#"{{"blockdevices":[{{"name":"/dev/sda","type":"disk","size":{size},"rota":{rota},"serial":null,
                "vendor":"ATA","mountpoint":"/","fstype":null,"fsused":"7","new-column":[1]}}]}}"#
            );
            let mounts = crate::mounts::parse("1 0 8:0 / / rw - ext4 /dev/sda rw");
            let devices = select(parse_json(&text).unwrap(), &mounts);
            assert_eq!(
                serde_json::to_string(&devices).unwrap(),
                r#"[{"name":"/dev/sda","type":"disk","size":1000,"rota":true,"vendor":"ATA","mountpoint":"/","fstype":"ext4","fsused":7}]"#
            );
        }
        assert!(parse_json("lsblk: bad").is_err());
    }

    #[test]
    fn mounted_devices_and_what_they_are_made_of() {
        let text = r#"{"blockdevices":[
            {"name":"/dev/sdb","type":"disk","children":[
                {"name":"/dev/sdb1","type":"part","fstype":"linux_raid_member","children":[
                    {"name":"/dev/md0","type":"raid1","fstype":"ext4","mountpoint":"/"}]},
                {"name":"/dev/sdb2","type":"part","fstype":"ext4","mountpoint":null}]},
            {"name":"/dev/sda","type":"disk","children":[
                {"name":"/dev/sda1","type":"part","fstype":"linux_raid_member","children":[
                    {"name":"/dev/md0","type":"raid1","fstype":"ext4","mountpoint":"/"}]}]},
            {"name":"/dev/loop0","type":"loop","mountpoint":"/snap"},
            {"name":"/dev/sdc","type":"disk","fstype":"swap","mountpoint":"[SWAP]"},
            {"name":"/dev/sdd","type":"disk","fstype":"ext4","mountpoint":"/mnt/cloud-metadata/x"},
            {"name":"/dev/sde","type":"disk","fstype":"ext4"},
            {"type":"disk","mountpoint":"/nameless"}]}"#;
        let devices = select(parse_json(text).unwrap(), &[]);
        assert_eq!(
            names(&devices),
            [
                "/dev/sda1+/dev/sdb1 < /dev/md0 > ",
                " < /dev/sda > /dev/sda1",
                "/dev/sda < /dev/sda1 > /dev/md0",
                " < /dev/sdb > /dev/sdb1",
                "/dev/sdb < /dev/sdb1 > /dev/md0",
            ]
        );
    }

    #[test]
    fn pairs_keep_blanks() {
        let text = "NAME=\"/dev/sda\" TYPE=\"disk\" SIZE=\"5\" ROTA=\"0\" MODEL=\"Big Disk \\x22A\\x22\" MOUNTPOINT=\"\" X=\"\"\n\
                    \nNAME=\"/dev/sda1\" TYPE=\"part\" SIZE=\"4\" ROTA=\"1\" MODEL=\"a=b c\" MOUNTPOINT=\"/\" FSTYPE=\"xfs\" FSUSED=\"\"\n";
        let raw = parse_pairs(text).unwrap();
        assert_eq!(raw[0].model.as_deref(), Some("Big Disk \"A\""));
        let devices = select(raw, &[]);
        let [device] = devices.as_slice() else {
            panic!("{devices:?}")
        };
        assert_eq!(
            (device.model.as_str(), device.rota, device.size),
            ("a=b c", true, 4)
        );
        assert_eq!(parse_pairs("lsblk: x").unwrap_err(), "\"lsblk: x\"");
    }

    #[test]
    fn depth_is_bounded() {
        let mut text = r#"{"name":"/dev/x","type":"part","mountpoint":"/"}"#.to_owned();
        for level in 0..MAX_DEPTH {
            text = format!(r#"{{"name":"/dev/{level}","type":"part","children":[{text}]}}"#);
        }
        let text = format!(r#"{{"blockdevices":[{text}]}}"#);
        assert!(select(parse_json(&text).unwrap(), &[]).is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in r#"([A-Z]{1,4}="\PC{0,9}" ?|\PC)*"#) {
            let _ = (parse_json(&text).is_ok(), parse_pairs(&text).map(|raw| select(raw, &[])));
        }
    }
}
