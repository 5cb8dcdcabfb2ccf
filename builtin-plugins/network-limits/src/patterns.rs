//! The catalogue as constants. Made by `builtin-plugins/shared/patterns.py` from `catalog/patterns.json`; do not edit.

use gpud_sdk::catalog::Severity::Warning;
use gpud_sdk::catalog::{Catalog, Entry};

/// Version of the catalogue.
pub const VERSION: u32 = 3;

/// The patterns of the lines that the host delivers: no narrower than the parser.
pub const PATTERNS: [&str; 4] = [
    "^nf_conntrack: (nf_conntrack: )?(table full(,| in )|expectation table full)",
    "^(neighbour: [a-z_]+: neighbor table overflow!|(ipv4: )?[Nn]eighbou?r table overflow)",
    "^TCP: (out of memory -- |too many orphaned sockets)",
    "^Route cache is full: ",
];

/// The kernel could not track a new connection and dropped its packets: connections of this machine or its containers failed.
pub const CONNTRACK_TABLE_FULL: Entry = Entry {
    name: "conntrack_table_full",
    severity: Warning,
    otherwise: None,
    message: "Connection tracking table was full, packets were dropped",
    other_message: "",
    actions: &[],
    advice: "Raise net.netfilter.nf_conntrack_max, or look for the program that opens so many connections (conntrack -L).",
    verdict: None,
};

/// A helper of connection tracking (FTP, SIP and the like) could not note a connection that it expects; that connection fails.
pub const CONNTRACK_EXPECTATIONS_FULL: Entry = Entry {
    name: "conntrack_expectations_full",
    severity: Warning,
    otherwise: None,
    message: "Table of expected connections was full",
    other_message: "",
    actions: &[],
    advice: "Raise net.netfilter.nf_conntrack_expect_max.",
    verdict: None,
};

/// The kernel has no room for the address of another machine on the same network: packets to new neighbours are dropped. Common in large flat networks and with thousands of containers.
pub const NEIGHBOUR_TABLE_OVERFLOW: Entry = Entry {
    name: "neighbour_table_overflow",
    severity: Warning,
    otherwise: None,
    message: "Table of neighbours was full",
    other_message: "",
    actions: &[],
    advice: "Raise net.ipv4.neigh.default.gc_thresh1 to gc_thresh3, and those of net.ipv6.",
    verdict: None,
};

/// All TCP sockets together reached the most memory that they may use; connections stall or are closed.
pub const TCP_OUT_OF_MEMORY: Entry = Entry {
    name: "tcp_out_of_memory",
    severity: Warning,
    otherwise: None,
    message: "TCP was out of memory",
    other_message: "",
    actions: &[],
    advice: "Raise net.ipv4.tcp_mem, or look for programs that do not read the data of their sockets (ss -tm).",
    verdict: None,
};

/// More sockets than allowed belong to no program any more and wait for their last data to be sent; the kernel resets connections.
pub const TCP_TOO_MANY_ORPHANS: Entry = Entry {
    name: "tcp_too_many_orphans",
    severity: Warning,
    otherwise: None,
    message: "TCP had too many closed sockets with data left to send",
    other_message: "",
    actions: &[],
    advice: "Raise net.ipv4.tcp_max_orphans, or look for a peer or network that takes no more data.",
    verdict: None,
};

/// The kernel could not store another route to a destination; packets to it are dropped.
pub const ROUTE_CACHE_FULL: Entry = Entry {
    name: "route_cache_full",
    severity: Warning,
    otherwise: None,
    message: "Route cache was full",
    other_message: "",
    actions: &[],
    advice: "Raise net.ipv6.route.max_size (net.ipv4.route.max_size).",
    verdict: None,
};

/// All of it.
pub static CATALOG: Catalog = Catalog {
    version: VERSION,
    device: "device",
    patterns: &PATTERNS,
    entries: &[&CONNTRACK_TABLE_FULL, &CONNTRACK_EXPECTATIONS_FULL, &NEIGHBOUR_TABLE_OVERFLOW, &TCP_OUT_OF_MEMORY, &TCP_TOO_MANY_ORPHANS, &ROUTE_CACHE_FULL],
};
