//! Ports for outgoing TCP connections.
//!
//! A connection needs a local port that no other connection from the same address to the same place has: what runs out is
//! the range *for one destination*. Sources: `ip_local_port_range` (`Documentation/networking/ip-sysctl.rst`);
//! `/proc/net/sockstat` (`net/ipv4/proc.c`, `sockstat_seq_show`); `/proc/net/tcp`
//! (`Documentation/networking/proc_net_tcp.rst`: address and port in hexadecimal; states, `include/net/tcp_states.h`:
//! `0A` LISTEN, `06` TIME_WAIT); `tcp_tw_reuse` (`ip-sysctl.rst`: a new connection takes the port of one in TIME_WAIT, 1
//! everywhere, 2, as is usual, on the loopback only; `net/ipv4/tcp_ipv4.c`, `tcp_twsk_unique`).

use std::collections::HashMap;

/// Share of the range from which sockets are counted by destination, percent.
const WORTH_COUNTING: u64 = 50;

/// First and last port, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    first: u16,
    last: u16,
}

impl Range {
    /// Reads two numbers with a tab between.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let (first, last) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        (first <= last).then_some(Self { first, last })
    }

    /// How many.
    pub fn size(self) -> u64 {
        u64::from(self.last - self.first) + 1
    }

    fn has(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }
}

/// `tcp_tw_reuse`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reuse {
    /// Nowhere.
    #[default]
    Never,
    /// Between programs of this machine.
    Loopback,
    /// Everywhere.
    Always,
}

impl Reuse {
    /// Reads the setting; one that is not known frees nothing.
    pub fn parse(text: &str) -> Self {
        match text.trim() {
            "1" => Self::Always,
            "2" => Self::Loopback,
            _ => Self::Never,
        }
    }

    fn frees(self, address: &str) -> bool {
        match self {
            Self::Never => false,
            Self::Loopback => is_loopback(address),
            Self::Always => true,
        }
    }
}

/// 127.0.0.0/8, also as an address of IPv6, or `::1`.
fn is_loopback(address: &str) -> bool {
    let four = address.len() == 8 || address.starts_with("0000000000000000FFFF0000");
    four && address.ends_with("7F") || address == "00000000000000000000000001000000"
}

/// The known facts about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports {
    /// The range.
    pub range: Range,
    /// TCP sockets that have a port, listening ones and those in TIME_WAIT included.
    pub sockets: u64,
    /// There were more than can be counted by destination.
    pub too_many: bool,
    /// Where ports of connections in TIME_WAIT are free for new ones.
    pub reuse: Reuse,
    /// Local address, remote address and port, as the kernel writes them, to the number of connections.
    destinations: HashMap<String, u64>,
}

impl Ports {
    /// Not counted by destination yet.
    pub fn new(range: Range, sockets: u64) -> Self {
        Self {
            range,
            sockets,
            too_many: false,
            reuse: Reuse::default(),
            destinations: HashMap::new(),
        }
    }

    /// Could one destination have used up much of the range?
    pub fn is_worth_counting(&self) -> bool {
        self.sockets.saturating_mul(100) >= self.range.size() * WORTH_COUNTING
    }

    /// Counts the connections of a table.
    pub fn count(&mut self, table: &str) {
        for line in table.lines().skip(1) {
            let mut words = line.split_ascii_whitespace().skip(1);
            let (Some(local), Some(remote), Some(state)) =
                (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let Some((address, port)) = local.rsplit_once(':') else {
                continue;
            };
            let port = u16::from_str_radix(port, 16);
            let free = state == "0A" || state == "06" && self.reuse.frees(address);
            if !free && port.is_ok_and(|port| self.range.has(port)) {
                *self
                    .destinations
                    .entry(format!("{address} {remote}"))
                    .or_default() += 1;
            }
        }
    }

    /// The destination with most connections: in words, and how many.
    pub fn busiest(&self) -> Option<(String, u64)> {
        let (key, &count) = self
            .destinations
            .iter()
            .max_by_key(|(key, count)| (*count, *key))?;
        let remote = key.split_once(' ')?.1;
        Some((readable(remote).unwrap_or_else(|| remote.to_owned()), count))
    }
}

/// TCP sockets of `sockstat` or `sockstat6`: `TCP: inuse 9 orphan 0 tw 1 alloc 9 mem 0`, `TCP6: inuse 4`.
pub fn tcp_sockets(text: &str) -> u64 {
    let mut sum = 0u64;
    for line in text.lines() {
        let Some(rest) = line
            .strip_prefix("TCP: ")
            .or_else(|| line.strip_prefix("TCP6: "))
        else {
            continue;
        };
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        for pair in words.chunks_exact(2) {
            if let ["inuse" | "tw", value] = pair {
                sum = sum.saturating_add(value.parse().unwrap_or(0));
            }
        }
    }
    sum
}

/// `0100007F:1F90` is 127.0.0.1:8080: each group of four bytes stands in the machine's own order, which is taken to be
/// little-endian, as on all machines that gpud is built for.
fn readable(text: &str) -> Option<String> {
    let (address, port) = text.rsplit_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::new();
    for at in (0..address.len()).step_by(8) {
        let group = u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?;
        bytes.extend(group.to_le_bytes());
    }
    if let Ok(four) = <[u8; 4]>::try_from(bytes.as_slice()) {
        return Some(format!("{}:{port}", std::net::Ipv4Addr::from(four)));
    }
    let six = <[u8; 16]>::try_from(bytes.as_slice()).ok()?;
    Some(format!("[{}]:{port}", std::net::Ipv6Addr::from(six)))
}

#[cfg(test)]
mod tests;
