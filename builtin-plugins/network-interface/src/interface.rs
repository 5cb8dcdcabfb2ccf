//! One interface as sysfs has it.
//!
//! | file below `/sys/class/net/‹name›/` | meaning | source |
//! |---|---|---|
//! | `device/` | a real device is behind it (VLANs, bridges, tunnels have none) | `Documentation/ABI/testing/sysfs-class-net` |
//! | `type` | ARP hardware type, 1 is Ethernet | same; `include/uapi/linux/if_arp.h` |
//! | `flags` | bit 0: switched on by the administrator | same; `include/uapi/linux/if.h`, `IFF_UP` |
//! | `carrier` | 1 with a link; `EINVAL` when switched off | same |
//! | `carrier_down_count` | losses of the link, Linux 4.16 and later | same |
//! | `speed` | Mbit/s; -1 or `EINVAL` when unknown | same |
//! | `statistics/` | counters since the driver was loaded | `Documentation/ABI/testing/sysfs-class-net-statistics` |
//! | `uevent` | `DEVTYPE=wlan` for wireless | `net/core/net-sysfs.c`, `netdev_uevent` |
//! | `bonding/`, `bonding_slave/` | bonds and their members | `Documentation/networking/bonding.rst` |

use gpud_sdk::AccessError;

/// Where all interfaces are.
pub const ROOT: &str = "/sys/class/net";

/// The judged facts of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interface {
    /// Name.
    pub name: String,
    /// An Ethernet device, and not wireless.
    pub wired: bool,
    /// Switched on.
    pub enabled: bool,
    /// With a link; nothing when this cannot be determined.
    pub carrier: Option<bool>,
    /// Mbit/s, if known.
    pub speed: Option<u64>,
    /// Losses of the link since the driver was loaded.
    pub losses: Option<u64>,
    /// Receive and transmit errors since then.
    pub errors: [Option<u64>; 2],
    /// Dropped packets since then, received and transmitted.
    pub dropped: [Option<u64>; 2],
    /// What it is made of, for a bond.
    pub bond: Option<Bond>,
    /// As a member of a bond: does the bond's own link watch see it up?
    pub member_up: Option<bool>,
}

/// A bond.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bond {
    /// For example `802.3ad`.
    pub mode: String,
    /// Names of its members.
    pub members: Vec<String>,
    /// LACP without a partner on the other side; the kernel tells only root.
    pub no_partner: bool,
}

impl Interface {
    /// Reads an interface. `read` gives a file below its folder, trimmed; nothing where there is none.
    ///
    /// # Errors
    /// The first of `read`.
    pub fn read(
        name: &str,
        mut read: impl FnMut(&str) -> Result<Option<String>, AccessError>,
    ) -> Result<Self, AccessError> {
        let mut number = |file: &str| -> Result<Option<u64>, AccessError> {
            Ok(read(file)?.and_then(|text| text.parse().ok()))
        };
        let ethernet = number("type")? == Some(1);
        let mut interface = Self {
            name: name.to_owned(),
            carrier: number("carrier")?.map(|carrier| carrier == 1),
            speed: number("speed")?.filter(|&speed| is_speed(speed)),
            losses: number("carrier_down_count")?,
            errors: [
                number("statistics/rx_errors")?,
                number("statistics/tx_errors")?,
            ],
            dropped: [
                number("statistics/rx_dropped")?,
                number("statistics/tx_dropped")?,
            ],
            ..Self::default()
        };
        let uevent = read("uevent")?.unwrap_or_default();
        let physical = read("device/uevent")?.is_some();
        interface.wired = ethernet && physical && !uevent.lines().any(|l| l == "DEVTYPE=wlan");
        interface.enabled = read("flags")?.and_then(|text| hex(&text)).unwrap_or(0) & 1 != 0;
        // `bond_slave_link_status` in the kernel's include/net/bonding.h; what is none of its words says nothing.
        interface.member_up = match read("bonding_slave/mii_status")?.as_deref() {
            Some("up") => Some(true),
            Some("down" | "going down" | "going back") => Some(false),
            _ => None,
        };
        if let Some(mode) = read("bonding/mode")? {
            let members = read("bonding/slaves")?.unwrap_or_default();
            let partner = read("bonding/ad_partner_mac")?.unwrap_or_default();
            interface.bond = Some(Bond {
                // `802.3ad 4`
                mode: mode.split(' ').next().unwrap_or("").to_owned(),
                members: members.split_whitespace().map(str::to_owned).collect(),
                no_partner: partner == "00:00:00:00:00:00",
            });
        }
        Ok(interface)
    }

    /// All errors; nothing unless both directions are known: half of them would look like a counter that restarted.
    pub fn all_errors(&self) -> Option<u64> {
        let [rx, tx] = self.errors;
        Some(rx?.saturating_add(tx?))
    }
}

/// `SPEED_UNKNOWN` is -1, which drivers of old have as a number of 16 or 32 bits (`include/uapi/linux/ethtool.h`).
fn is_speed(speed: u64) -> bool {
    speed > 0 && speed < u64::from(u32::MAX) && speed != u64::from(u16::MAX)
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An interface out of lines `file=text`.
    pub(crate) fn of(name: &str, files: &str) -> Interface {
        Interface::read(name, |file| {
            let mut lines = files.split(';');
            let line = lines.find_map(|line| line.strip_prefix(file)?.strip_prefix(": "));
            Ok(line.map(str::to_owned))
        })
        .unwrap()
    }

    #[test]
    fn interfaces() {
        let eth = of(
            "eth0",
            "type: 1;flags: 0x1003;carrier: 1;speed: 100000;carrier_down_count: 3;device/uevent: DRIVER=mlx5_core;uevent: INTERFACE=eth0;statistics/rx_errors: 5;statistics/tx_errors: 2",
        );
        assert!(eth.wired && eth.enabled && eth.carrier == Some(true));
        assert_eq!(
            (eth.speed, eth.losses, eth.all_errors()),
            (Some(100_000), Some(3), Some(7))
        );
        let bond = of(
            "bond0",
            "type: 1;flags: 0x1403;bonding/mode: 802.3ad 4;bonding/slaves: a b;bonding/ad_partner_mac: 00:00:00:00:00:00",
        );
        let made_of = bond.bond.unwrap();
        assert!(!bond.wired && made_of.no_partner);
        assert_eq!(
            (made_of.mode.as_str(), made_of.members.len()),
            ("802.3ad", 2)
        );
        let wlan = of(
            "wlan0",
            "type: 1;device/uevent: ;uevent: DEVTYPE=wlan\nIFINDEX=3;speed: -1",
        );
        assert!(!wlan.wired && wlan.speed.is_none() && wlan.all_errors().is_none());
        for unknown in ["4294967295", "65535", "0", "-1", ""] {
            assert_eq!(of("x", &format!("speed: {unknown}")).speed, None);
        }
        assert_eq!(
            of("x", "bonding_slave/mii_status: down").member_up,
            Some(false)
        );
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[ -~]{0,40}") {
            Interface::read("x", |_| Ok(Some(text.clone()))).unwrap();
        }
    }
}
