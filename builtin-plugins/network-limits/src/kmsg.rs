//! Kernel lines about tables that ran full, Linux 5.4 to 6.18. They become events; the verdict comes from the readings.
//!
//! | line | source |
//! |---|---|
//! | `nf_conntrack: table full, dropping packet`, with its module's name twice, later `… table full in netns ‹n›, dropping packet` | `net/netfilter/nf_conntrack_core.c`, `__nf_conntrack_alloc` |
//! | `nf_conntrack: expectation table full` | `net/netfilter/nf_conntrack_expect.c`, `__nf_ct_expect_check` |
//! | `neighbour: ‹table›: neighbor table overflow!` | `net/core/neighbour.c`, `neigh_alloc` |
//! | `TCP: out of memory -- consider tuning tcp_mem`, `TCP: too many orphaned sockets` | `net/ipv4/tcp.c`, `tcp_check_oom` |
//! | `Route cache is full: consider increasing sysctl ‹name›.` | `net/core/dst.c`, `dst_alloc` |
//!
//! All are matched from the beginning of the line.

use gpud_sdk::catalog::Entry;
use gpud_sdk::incidents::{Sighting, is_driver_line};
use gpud_sdk::{CheckContext, Event, Message};

use crate::patterns;

pub use crate::patterns::PATTERNS;

/// Repeats of one kind and table within this time are counted. The kernel prints a few a second.
const MERGE_SECONDS: u32 = 300;

/// The events of messages, oldest first.
pub fn events(context: &CheckContext, messages: &[Message]) -> Vec<Event> {
    let genuine = messages.iter().filter(|message| is_driver_line(message));
    genuine
        .filter_map(|message| {
            let (entry, table) = find(&message.text)?;
            let mut text = entry.message.to_owned();
            if !table.is_empty() {
                text.push_str(&format!(" ({table})"));
            }
            let sighting = Sighting::new(entry.name, entry.event_type(), text).of(table);
            Some(sighting.event(context, message, MERGE_SECONDS))
        })
        .collect()
}

/// What a line tells, and the table where it names one.
pub fn find(line: &str) -> Option<(&'static Entry, &str)> {
    conntrack(line)
        .or_else(|| neighbours(line))
        .or_else(|| sockets(line))
}

fn conntrack(line: &str) -> Option<(&'static Entry, &str)> {
    const MODULE: &str = "nf_conntrack: ";
    let text = line.strip_prefix(MODULE)?;
    let text = text.strip_prefix(MODULE).unwrap_or(text);
    if text.starts_with("table full, ") || text.starts_with("table full in ") {
        return Some((&patterns::CONNTRACK_TABLE_FULL, ""));
    }
    text.starts_with("expectation table full")
        .then_some((&patterns::CONNTRACK_EXPECTATIONS_FULL, ""))
}

fn neighbours(line: &str) -> Option<(&'static Entry, &str)> {
    let entry = &patterns::NEIGHBOUR_TABLE_OVERFLOW;
    if let Some(text) = line.strip_prefix("neighbour: ") {
        let (table, text) = text.split_once(": ")?;
        let is_name = table
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let overflows = text.starts_with("neighbor table overflow!");
        return (is_name && !table.is_empty() && overflows).then_some((entry, table));
    }
    let text = line.strip_prefix("ipv4: ").unwrap_or(line);
    ["Neighbour table overflow", "neighbour table overflow"]
        .iter()
        .any(|form| text.starts_with(form))
        .then_some((entry, ""))
}

fn sockets(line: &str) -> Option<(&'static Entry, &str)> {
    if line.starts_with("Route cache is full: ") {
        return Some((&patterns::ROUTE_CACHE_FULL, ""));
    }
    let text = line.strip_prefix("TCP: ")?;
    if text.starts_with("out of memory -- ") {
        return Some((&patterns::TCP_OUT_OF_MEMORY, ""));
    }
    text.starts_with("too many orphaned sockets")
        .then_some((&patterns::TCP_TOO_MANY_ORPHANS, ""))
}

#[cfg(test)]
mod tests {
    use gpud_sdk::catalog::testing;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_and_lookalikes() {
        let cases = [
            (
                "nf_conntrack: table full, dropping packet",
                Some(("conntrack_table_full", "")),
            ),
            (
                "nf_conntrack: nf_conntrack: table full, dropping packet",
                Some(("conntrack_table_full", "")),
            ),
            (
                "neighbour: arp_cache: neighbor table overflow!",
                Some(("neighbour_table_overflow", "arp_cache")),
            ),
            (
                "TCP: out of memory -- consider tuning tcp_mem",
                Some(("tcp_out_of_memory", "")),
            ),
            (
                "TCP: request_sock_TCP: Possible SYN flooding on port 8000. Sending cookies.",
                None,
            ),
            ("neighbour: a b: neighbor table overflow!", None),
            ("neighbour: : neighbor table overflow!", None),
            ("x nf_conntrack: table full, dropping packet", None),
        ];
        testing::reads(&cases, find);
    }

    #[test]
    fn the_data_file_holds() {
        let file = include_str!("../catalog/patterns.json");
        testing::holds(file, &patterns::CATALOG, events);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn what_is_read_is_delivered(line in "(nf_conntrack: |neighbour: |ipv4: |TCP: |Route cache is full: )?(table full,|table full in|expectation table full|a_b: neighbor table overflow!|Neighbour table overflow|out of memory -- )? ?\\PC{0,8}") {
            if find(&line).is_some() {
                testing::is_delivered(&PATTERNS, &line);
            }
        }
    }
}
