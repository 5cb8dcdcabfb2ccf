//! Flags whose values are JSON documents.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, de::DeserializeOwned};

/// The least number and rate of InfiniBand ports. Negative numbers count as 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExpectedPorts {
    /// Ports that must be up at the rate; 0 is not checked.
    pub at_least_ports: u32,
    /// Gbit/s; 0 is not checked.
    pub at_least_rate: u32,
}

/// One NFS volume to try.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct NfsGroup {
    /// Absolute path of the volume.
    pub volume_path: String,
    /// Folder in it, made if missing.
    pub dir_name: String,
    /// The content that is written to the probe file and read back.
    pub file_contents: String,
}

/// The value of `--infiniband-expected-port-states`.
pub fn expected_ports(flag: &str, text: &str) -> Result<ExpectedPorts, String> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct PortsDocument {
        at_least_ports: i64,
        at_least_rate: i64,
    }
    let document: PortsDocument = parse('{', text).map_err(|why| invalid(flag, &why))?;
    Ok(ExpectedPorts {
        at_least_ports: not_negative(document.at_least_ports),
        at_least_rate: not_negative(document.at_least_rate),
    })
}

/// The value of `--nvlink-expected-link-states`: GPUs whose links must all be up, 0 when not checked.
pub fn expected_links(flag: &str, text: &str) -> Result<u32, String> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct LinksDocument {
        at_least_gpus_with_all_links_feature_enabled: i64,
    }
    let document: LinksDocument = parse('{', text).map_err(|why| invalid(flag, &why))?;
    Ok(not_negative(
        document.at_least_gpus_with_all_links_feature_enabled,
    ))
}

/// The value of `--nfs-checker-configs`.
pub fn nfs_groups(flag: &str, text: &str) -> Result<Vec<NfsGroup>, String> {
    let groups: Vec<NfsGroup> = parse('[', text).map_err(|why| invalid(flag, &why))?;
    for group in &groups {
        if !Path::new(&group.volume_path).is_absolute() {
            let why = format!(
                "volume_path {:?} is not an absolute path",
                group.volume_path
            );
            return Err(invalid(flag, &why));
        }
        if group.file_contents.is_empty() {
            let why = format!("file_contents of {:?} is empty", group.volume_path);
            return Err(invalid(flag, &why));
        }
    }
    Ok(groups)
}

/// The value of `--xid-thresholds` or `--sxid-thresholds`: reboots before an inspection, by code. `kind` is `xid` or
/// `sxid`.
pub fn thresholds(kind: &str, text: &str) -> Result<BTreeMap<u32, u32>, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct ThresholdsDocument {
        #[serde(default)]
        overrides: BTreeMap<String, Override>,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Override {
        #[serde(rename = "rebootThreshold")]
        reboot_threshold: i64,
    }
    let invalid = |why: String| format!("invalid {kind} thresholds: {why}");
    let document: ThresholdsDocument = parse('{', text).map_err(invalid)?;
    let mut by_code = BTreeMap::new();
    for (code, given) in document.overrides {
        let code = code.parse::<u32>().map_err(|_| {
            invalid(format!(
                "{code:?} is not a code, which is a number from 0 on"
            ))
        })?;
        let threshold = u32::try_from(given.reboot_threshold).ok();
        let threshold = threshold
            .filter(|threshold| *threshold > 0)
            .ok_or_else(|| {
                invalid(format!(
                    "rebootThreshold of {code} is {}, it must be at least 1",
                    given.reboot_threshold
                ))
            })?;
        by_code.insert(code, threshold);
    }
    Ok(by_code)
}

/// A document that begins with `begin`: serde would also read a struct from a list of its fields, or `null`.
fn parse<T: DeserializeOwned>(begin: char, text: &str) -> Result<T, String> {
    if !text.trim_start().starts_with(begin) {
        return Err(format!(
            "a JSON document that begins with {begin} is wanted, not {text:?}"
        ));
    }
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn invalid(flag: &str, why: &str) -> String {
    format!("invalid value for --{flag}: {why}")
}

fn not_negative(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
