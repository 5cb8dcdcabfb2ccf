//! `network-interface`: links, speeds, errors and bonds of the machine's network devices, as sysfs has them.
//!
//! Only devices, bonds and what the operator named are read: a node can have thousands of virtual interfaces.

pub mod config;
pub mod evaluate;
pub mod interface;

use std::collections::BTreeSet;

use gpud_sdk::files;
use gpud_sdk::findings;
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report, state};

use config::Config;
use evaluate::History;
use interface::{Interface, ROOT};

/// Gauge: has a link.
pub const UP: &str = "network_interface_up";
/// Gauge: speed.
pub const SPEED: &str = "network_interface_speed_megabits_per_second";
/// Gauge: losses of the link.
pub const LOSSES: &str = "network_interface_link_losses";
/// Gauge: errors.
pub const ERRORS: &str = "network_interface_errors";
/// Gauge: dropped packets.
pub const DROPPED: &str = "network_interface_dropped_packets";

/// The key of the stored counters.
const HISTORY: &str = "history";
/// Interfaces that are looked at, 14 files each: what a call may ask of the host is bounded.
const MAX_INTERFACES: usize = 128;

/// The checker.
pub struct NetworkInterface;

impl Checker for NetworkInterface {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let mut names = BTreeSet::new();
        // Members of a bond need not be devices: VLANs can be.
        for pattern in ["device/uevent", "bonding/mode", "bonding_slave/mii_status"] {
            for (path, _) in files::read_all(&format!("{ROOT}/*/{pattern}"))? {
                names.extend(files::segment(&path, 2).map(str::to_owned));
            }
        }
        let mut interfaces = Vec::new();
        let (names, left_out) = chosen(&config, &names);
        for name in names {
            let path = format!("{ROOT}/{name}");
            if files::read_optional(&format!("{path}/type"), files::SHORT)?.is_some() {
                interfaces.push(Interface::read(name, |file| {
                    files::read_optional(&format!("{path}/{file}"), 4_096)
                })?);
            }
        }
        let kept = state::get_string(HISTORY)?;
        let mut history: History = kept
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let report = findings::check(|before| {
            Ok(evaluate::judge(
                context,
                &config,
                &interfaces,
                left_out,
                &mut history,
                before,
            ))
        })?;
        let text = serde_json::to_string(&history).map_err(Error::failed)?;
        state::set_changed(HISTORY, kept.as_deref(), &text)?;
        Ok(report)
    }
}

/// The interfaces to look at, those that the operator expects first, and how many more there are.
fn chosen<'a>(config: &'a Config, there: &'a BTreeSet<String>) -> (Vec<&'a str>, usize) {
    // A name with a slash is no interface.
    let plain = |name: &&String| !name.contains('/') && !name.starts_with('.');
    let others = there
        .iter()
        .filter(|name| !config.expected.contains_key(*name));
    let mut names: Vec<&str> = config
        .expected
        .keys()
        .chain(others)
        .filter(plain)
        .map(String::as_str)
        .collect();
    let left_out = names.len().saturating_sub(MAX_INTERFACES);
    names.truncate(MAX_INTERFACES);
    (names, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cards with hundreds of virtual functions come first in the alphabet.
    #[test]
    fn what_is_expected_is_looked_at_first() {
        let config = Config::parse(r#"{"expected":{"wan0":0,"../x":0}}"#).unwrap();
        let there = (0..200)
            .map(|n| format!("eth{n:03}"))
            .chain(["wan0".to_owned()]);
        let there = there.collect();
        let (names, left_out) = chosen(&config, &there);
        assert_eq!((names[0], names[1], names.len()), ("wan0", "eth000", 128));
        assert_eq!(left_out, 73);
        let few = ["lo".to_owned()].into();
        assert_eq!(chosen(&config, &few), (vec!["wan0", "lo"], 0));
    }
}

gpud_sdk::member!("network-interface" => NetworkInterface: Descriptor::new(
    "network-interface",
    "Links, speeds, errors and bonds of network devices",
)
.metric(UP, "1 when the interface has a link")
.metric(SPEED, "Speed of the link (Mbit/s)")
.metric(LOSSES, "Times that the interface lost its link since its driver was loaded")
.metric(ERRORS, "Errors since the driver was loaded, by direction")
.metric(DROPPED, "Dropped packets since the driver was loaded, by direction")
.config_schema(config::SCHEMA));
