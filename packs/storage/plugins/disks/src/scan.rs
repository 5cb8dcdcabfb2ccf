//! Disks behind RAID controllers: `smartctl --scan --json` (smartctl(8)), which gives them a type with a comma, such as
//! `megaraid,8` of `/dev/bus/0`. All others are found in sysfs.

use gpud_builtin_smart::health;
use serde_json::Value;

/// Disks that are taken.
const MAX_DISKS: usize = 256;
/// Controllers whose disks smartctl can ask.
const TYPES: [&str; 6] = [
    "megaraid,",
    "cciss,",
    "aacraid,",
    "3ware,",
    "areca,",
    "sssraid,",
];

/// A disk behind a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden {
    /// The controller's device: `/dev/bus/0`.
    pub path: String,
    /// What smartctl calls it: `megaraid,8`.
    pub kind: String,
}

/// Reads the document.
pub fn parse(text: &str) -> Vec<Hidden> {
    let document = health::document(text).unwrap_or_default();
    let devices = document.get("devices").and_then(Value::as_array);
    devices
        .into_iter()
        .flatten()
        .filter_map(hidden)
        .take(MAX_DISKS)
        .collect()
}

fn hidden(device: &Value) -> Option<Hidden> {
    let path = device.get("name")?.as_str()?;
    let kind = device.get("type")?.as_str()?;
    let is_known = TYPES.iter().any(|known| kind.starts_with(known));
    // They go into a command line.
    let plain = |text: &str, more: &[u8]| {
        text.len() <= 64
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || more.contains(&byte))
    };
    let is_plain = path.starts_with("/dev/") && plain(path, b"/_-") && plain(kind, b",/_+");
    (is_known && is_plain).then(|| Hidden {
        path: path.to_owned(),
        kind: kind.to_owned(),
    })
}

impl Hidden {
    /// A name for people.
    pub fn name(&self) -> String {
        let path = self.path.strip_prefix("/dev/").unwrap_or(&self.path);
        format!("{path} [{}]", self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_those_behind_controllers() {
        let text = r#"{"devices":[
            {"name":"/dev/sda","info_name":"/dev/sda","type":"scsi","protocol":"SCSI"},
            {"name":"/dev/bus/0","info_name":"/dev/bus/0 [megaraid_disk_08]","type":"megaraid,8","protocol":"SCSI"},
            {"name":"/dev/sg1","type":"cciss,0"},
            {"name":"--scan","type":"megaraid,8"},
            {"name":"/dev/bus/0","type":"megaraid,8 --set"},
            {"name":"/dev/nvme0","type":"nvme"}]}"#;
        let names: Vec<String> = parse(text).iter().map(Hidden::name).collect();
        assert_eq!(names, ["bus/0 [megaraid,8]", "sg1 [cciss,0]"]);
        assert!(parse("smartctl 7.4").is_empty() && parse("{}").is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in any::<String>(), name in "[ -~]{0,20}", kind in "(megaraid,)?[ -~]{0,10}") {
            parse(&text);
            let text = serde_json::json!({"devices": [{"name": name, "type": kind}]}).to_string();
            for one in parse(&text) {
                prop_assert!(one.path.starts_with("/dev/") && !one.kind.contains(' '));
            }
        }
    }
}
