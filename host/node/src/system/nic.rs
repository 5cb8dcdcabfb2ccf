//! Network interfaces with a private address, as machine-info lists them.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv6Addr},
};

use crate::{error::SourceError, files::Files};

/// An interface and its private address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NicAddress {
    /// Name, such as `eth0`.
    pub interface: String,
    /// Hardware address; absent for interfaces that have none.
    pub mac: Option<String>,
    /// The address.
    pub ip: IpAddr,
}

/// Interfaces that belong to containers, overlays, tunnels, or InfiniBand, and loopback: name prefixes.
const SKIPPED_PREFIXES: [&str; 11] = [
    "lo",
    "cali",
    "cni",
    "docker",
    "flannel",
    "nodelocaldns",
    "tailscale",
    "tunl",
    "veth",
    "vxlan",
    "ib",
];
const SKIPPED_SUFFIX: &str = ".calico";
/// `IFF_UP` of linux/if.h.
const IFF_UP: u32 = 1;
/// Larger than any attribute read here.
const MAX_BYTES: u64 = 4096;

/// The interfaces that are up and not of a skipped kind, with one address each: the first private IPv4, else the first
/// unique-local or link-local IPv6. Sorted by the address as text. Empty for a copied machine.
///
/// # Errors
/// When the kernel does not list the addresses.
pub async fn private_interfaces(files: &Files) -> Result<Vec<NicAddress>, SourceError> {
    if !files.is_live() {
        return Ok(Vec::new());
    }
    let listed = tokio::task::spawn_blocking(if_addrs::get_if_addrs)
        .await
        .map_err(|error| SourceError::Other(format!("network addresses: {error}")))?
        .map_err(|error| SourceError::from_io("network addresses", &error))?;
    let listed = listed.into_iter().map(|one| {
        // An IPv4 address may carry a label such as `eth0:1`.
        let name = one.name.split(':').next().unwrap_or_default().to_owned();
        (name, one.addr.ip())
    });
    let mut found = Vec::new();
    for (interface, ip) in choose(listed) {
        let attribute = |name: &str| format!("/sys/class/net/{interface}/{name}");
        // An interface that vanished in the meantime is not up either.
        let flags = files.read(&attribute("flags"), MAX_BYTES).await;
        if !flags.is_ok_and(|flags| is_up(&flags)) {
            continue;
        }
        let mac = files.read(&attribute("address"), MAX_BYTES).await.ok();
        let mac = mac.map(|mac| String::from_utf8_lossy(&mac).trim().to_owned());
        let mac = mac.filter(|mac| mac.chars().any(|c| !matches!(c, '0' | ':')));
        found.push(NicAddress { interface, mac, ip });
    }
    found.sort_by_key(|nic| nic.ip.to_string());
    Ok(found)
}

fn is_up(flags: &[u8]) -> bool {
    let text = String::from_utf8_lossy(flags);
    let digits = text.trim().trim_start_matches("0x");
    u32::from_str_radix(digits, 16).is_ok_and(|flags| flags & IFF_UP != 0)
}

/// One address for each interface that counts.
fn choose(listed: impl Iterator<Item = (String, IpAddr)>) -> BTreeMap<String, IpAddr> {
    let mut chosen: BTreeMap<String, IpAddr> = BTreeMap::new();
    for (name, ip) in listed {
        let skipped = name.ends_with(SKIPPED_SUFFIX)
            || SKIPPED_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix));
        if skipped || !is_private(ip) {
            continue;
        }
        let first = *chosen.entry(name.clone()).or_insert(ip);
        if first.is_ipv6() && ip.is_ipv4() {
            chosen.insert(name, ip);
        }
    }
    chosen
}

fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_private(),
        IpAddr::V6(ip) => Ipv6Addr::is_unique_local(&ip) || ip.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests;
