//! Facts that the kernel reports.
//!
//! | file | source |
//! |---|---|
//! | `/sys/devices/system/cpu/cpufreq/policy‹n›/`: governor, driver, frequencies in kHz | `Documentation/admin-guide/pm/cpufreq.rst` |
//! | `/sys/devices/system/cpu/cpufreq/boost`: 0 when frequencies above the nominal one are switched off | same |
//! | `/sys/devices/system/cpu/intel_pstate/no_turbo`: 1 when they are | `Documentation/admin-guide/pm/intel_pstate.rst` |
//! | `/sys/class/thermal/thermal_zone‹n›/`: type, temperature in thousandths of a degree Celsius | `Documentation/driver-api/thermal/sysfs-api.rst` |

use std::collections::BTreeMap;

use gpud_sdk::files::segment;

/// A group of processors that share their frequency.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// For example `policy0`.
    pub name: String,
    /// For example `performance`.
    pub governor: String,
    /// For example `intel_pstate`.
    pub driver: String,
    /// Highest frequency that is allowed, kHz.
    pub limit: Option<u64>,
    /// Highest frequency of the hardware, kHz.
    pub max: Option<u64>,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// Groups of processors.
    pub policies: Vec<Policy>,
    /// Turbo or boost is allowed, if the driver tells.
    pub boost: Option<bool>,
    /// Name (with type) and °C of thermal zones.
    pub zones: Vec<(String, f64)>,
}

impl Facts {
    /// Out of files (path, text).
    pub fn new(
        policies: &[(String, String)],
        zones: &[(String, String)],
        boost: Option<&str>,
        no_turbo: Option<&str>,
    ) -> Self {
        let mut by_name: BTreeMap<&str, Policy> = BTreeMap::new();
        for (path, text) in policies {
            let (Some(name), Some(file)) = (segment(path, 1), segment(path, 0)) else {
                continue;
            };
            let policy = by_name.entry(name).or_default();
            name.clone_into(&mut policy.name);
            match file {
                "scaling_governor" => policy.governor.clone_from(text),
                "scaling_driver" => policy.driver.clone_from(text),
                "scaling_max_freq" => policy.limit = text.parse().ok(),
                "cpuinfo_max_freq" => policy.max = text.parse().ok(),
                _ => {}
            }
        }
        let flag = |text: Option<&str>, on: &str| text.map(|text| text == on);
        Self {
            policies: by_name.into_values().collect(),
            boost: flag(no_turbo, "0").or(flag(boost, "1")),
            zones: zones_of(zones),
        }
    }
}

fn zones_of(files: &[(String, String)]) -> Vec<(String, f64)> {
    let of = |zone: &str, file: &str| {
        let mut files = files.iter();
        let is = |path: &str| segment(path, 1) == Some(zone) && segment(path, 0) == Some(file);
        files
            .find(|(path, _)| is(path))
            .map(|(_, text)| text.as_str())
    };
    let zones = files
        .iter()
        .filter(|(path, _)| segment(path, 0) == Some("temp"));
    zones
        .filter_map(|(path, text)| {
            let zone = segment(path, 1)?;
            // `THERMAL_TEMP_INVALID` of the kernel's include/linux/thermal.h is below what there can be.
            let millidegrees = text.parse().ok().filter(|&value: &i32| value > -273_150)?;
            let number = zone.strip_prefix("thermal_zone").unwrap_or(zone);
            let name = format!("{}-{number}", of(zone, "type").unwrap_or("zone"));
            Some((name, f64::from(millidegrees) / 1e3))
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Files out of `policy0/scaling_governor=performance` and so on.
    pub(crate) fn files(lines: &str) -> Vec<(String, String)> {
        let pairs = lines.split(';').filter_map(|line| line.split_once('='));
        pairs
            .map(|(path, text)| (format!("/{path}"), text.to_owned()))
            .collect()
    }

    #[test]
    fn facts() {
        let facts = Facts::new(
            &files(
                "policy0/scaling_governor=powersave;policy0/scaling_driver=intel_pstate;policy0/scaling_max_freq=2000000;policy0/cpuinfo_max_freq=3000000;policy1/scaling_governor=x",
            ),
            &files(
                "thermal_zone0/type=x86_pkg_temp;thermal_zone0/temp=45500;thermal_zone1/temp=bad;thermal_zone2/temp=-1000;thermal_zone3/temp=-274000",
            ),
            Some("1"),
            Some("1"),
        );
        assert_eq!(facts.policies.len(), 2);
        let policy = &facts.policies[0];
        assert_eq!(
            (policy.governor.as_str(), policy.limit, policy.max),
            ("powersave", Some(2_000_000), Some(3_000_000))
        );
        assert_eq!(
            facts.zones,
            [
                ("x86_pkg_temp-0".to_owned(), 45.5),
                ("zone-2".to_owned(), -1.0)
            ]
        );
        for (boost, no_turbo, expected) in [
            (None, None, None),
            (Some("1"), None, Some(true)),
            (Some("0"), None, Some(false)),
            (Some("1"), Some("1"), Some(false)),
            (None, Some("0"), Some(true)),
        ] {
            assert_eq!(Facts::new(&[], &[], boost, no_turbo).boost, expected);
        }
    }

    proptest! {
        #[test]
        fn any_files_are_survived(list in prop::collection::vec(("[ -~]{0,20}", "[ -~]{0,12}"), 0..20)) {
            Facts::new(&list, &list, None, None);
        }
    }
}
