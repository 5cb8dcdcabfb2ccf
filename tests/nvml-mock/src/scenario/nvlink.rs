//! NVLink: links, their states and counters.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::patch::{Patch, readings};

readings! {
    /// One link.
    Link, LinkPatch {
        /// Up.
        active: bool,
        /// `nvmlNvlinkVersion_t`: 5 is NVLink 3, 6 is 3.1, 7 is 4, 8 is 5.
        version: u32,
        /// Speed, Mbit/s.
        speed_mbps: u32,
        /// What is at the other end: 0 a GPU, 2 a switch.
        remote_type: u32,
        /// Bus id of the other end.
        remote_bus_id: String,
        /// Replays (counter 0).
        replay: u64,
        /// Recoveries (counter 1).
        recovery: u64,
        /// CRC errors of flow-control digits (counter 2).
        crc_flit: u64,
        /// CRC errors of data (counter 3).
        crc_data: u64,
        /// ECC errors of data (counter 4).
        ecc_data: u64,
        /// Sent, KiB since the driver was loaded.
        tx_kib: u64,
        /// Received, KiB since the driver was loaded.
        rx_kib: u64,
        /// Sent, KiB in a second: added to `tx_kib` with time.
        tx_kib_s: u64,
        /// Received, KiB in a second.
        rx_kib_s: u64,
        /// Link in low power: 0 high speed, 1 low.
        power_state: u32,
        /// Symbol errors.
        symbol_errors: u64,
        /// Effective errors.
        effective_errors: u64,
        /// Malformed packets.
        malformed_packets: u64,
        /// Link recoveries that worked.
        recoveries_ok: u64,
        /// Link recoveries that failed.
        recoveries_failed: u64,
    }
}

/// The links of a GPU; none where it has no NVLink.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NvLink {
    /// By link number.
    pub links: Vec<Link>,
}

/// Most links that a scenario may ask for.
pub const MAX_LINKS: u32 = 72;

/// Changes to the links: how many, what holds for all, what for one.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvLinkPatch {
    /// How many links; those that come new are as link 0 was.
    #[serde(default)]
    pub count: Option<u32>,
    /// For each link.
    #[serde(default)]
    pub all: LinkPatch,
    /// For one link, by number.
    #[serde(default)]
    pub link: BTreeMap<u32, LinkPatch>,
}

impl Patch for NvLinkPatch {
    type Target = NvLink;

    fn apply(&self, to: &mut NvLink) {
        if let Some(count) = self.count {
            let count = usize::try_from(count.min(MAX_LINKS)).unwrap_or(0);
            let like = to.links.first().cloned().unwrap_or_default();
            to.links.resize(count, like);
        }
        for link in &mut to.links {
            self.all.apply(link);
        }
        for (number, patch) in &self.link {
            if let Some(link) = usize::try_from(*number)
                .ok()
                .and_then(|n| to.links.get_mut(n))
            {
                patch.apply(link);
            }
        }
    }
}
