//! What a checker reads of one kernel line.

use crate::catalog::Entry;

/// The fact that a message also shows: a network card's name in the system.
pub const INTERFACE: &str = "interface";

/// The states of an interface that is coming or going, as they follow its name.
const STATES: [&str; 6] = [
    " (uninitialized)",
    " (unregistering)",
    " (unregistered)",
    " (released)",
    " (dummy)",
    " (unknown)",
];

/// Removes what `netdev_printk` says of an interface that is coming or going: `eth0 (unregistering)`, and before it has a
/// name `(unnamed net_device) (uninitialized)`.
///
/// `who` is what stands before the colon. Source: `netdev_reg_state` in `include/linux/netdevice.h`.
pub fn without_state(who: &str) -> &str {
    let named = STATES.iter().find_map(|state| who.strip_suffix(*state));
    let named = named.unwrap_or(who);
    named.strip_suffix(" (unnamed net_device)").unwrap_or(named)
}

/// A kernel line that the checker knows, with its facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedLine<'a> {
    /// What happened.
    pub entry: &'static Entry,
    /// To which device; may be empty.
    pub device: String,
    /// Facts by name; empty ones are left out.
    pub facts: Vec<(&'static str, &'a str)>,
    /// The events whose end this is. Such a line is silent unless one of them was seen before: drivers print it at every
    /// start, too.
    pub ends: &'static [&'static Entry],
}

impl<'a> MatchedLine<'a> {
    /// Makes a line of something that happened to a device.
    pub fn new(entry: &'static Entry, device: impl Into<String>) -> Self {
        Self {
            entry,
            device: device.into(),
            facts: Vec::new(),
            ends: &[],
        }
    }

    /// Adds a fact.
    pub fn fact(mut self, key: &'static str, value: &'a str) -> Self {
        self.facts.push((key, value));
        self
    }

    /// Says which events of the same device it ends.
    pub fn ends(mut self, entries: &'static [&'static Entry]) -> Self {
        self.ends = entries;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_that_come_or_go_keep_their_name() {
        for (who, expected) in [
            ("eth0", "eth0"),
            (
                "mlx5_core 0000:3b:00.0 eth0 (unregistering)",
                "mlx5_core 0000:3b:00.0 eth0",
            ),
            (
                "i40e 0000:3b:00.0 (unnamed net_device) (uninitialized)",
                "i40e 0000:3b:00.0",
            ),
            (" (unknown)", ""),
            ("", ""),
        ] {
            assert_eq!(without_state(who), expected, "{who}");
        }
    }
}
