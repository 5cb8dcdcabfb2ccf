//! Recognises messages that only the kernel and its drivers print by their beginning, so that a line without a stamp can
//! be read as a kernel message.

/// Beginnings of kernel messages. A line with such a beginning is the kernel's, whatever surrounds it.
const BEGINNINGS: &[&[u8]] = &[
    b"NVRM: ",
    b"nvidia-nvswitch",
    b"nvidia-nvlink: ",
    b"nvidia-peermem ",
    b"nvidia-uvm: ",
    b"nvidia 0000:",
    b"nvidia: probe of ",
    b"nvme nvme",
    b"mlx5_core ",
    b"bnxt_en ",
    b"pcieport ",
    b"mce: ",
    b"EDAC ",
    b"EXT4-fs ",
    b"XFS (",
    b"BTRFS ",
    b"BTRFS: ",
    b"md/raid",
    b"I/O error, dev ",
    b"Buffer I/O error on dev",
    b"blk_update_request: ",
    b"print_req_error: ",
    b"end_request: ",
    b"Out of memory: Kill",
    b"Memory cgroup out of memory: Kill",
    b"oom-kill:constraint=",
    b"oom_reaper: ",
    b"INFO: task ",
    b"INFO: rcu",
    b"rcu: INFO: ",
    b"watchdog: BUG: ",
    b"BUG: ",
    b"Kernel panic - not syncing",
    b"Oops: ",
    b"general protection fault",
    b"NETDEV WATCHDOG: ",
    b"Linux version ",
    b"DMAR: ",
    b"AMD-Vi: ",
    b"nfs: server ",
    b"LustreError: ",
    b"Lustre: ",
    b"libceph: ",
    b"megaraid_sas ",
    b"mpt3sas_cm",
    b"amdgpu 0000:",
    b"ipmi_si ",
    b"nf_conntrack: ",
];

/// Tags that look like the name of a program behind a host.
const TAGS: &[&[u8]] = &[
    b"NVRM:",
    b"nvidia-nvlink:",
    b"nvidia-uvm:",
    b"nvidia-modeset:",
    b"mce:",
    // Not the kernel's, but of a client of a file system.
    b"mmfs:",
];

/// Whether a line without a prefix is a kernel message.
pub(super) fn begins_message(line: &[u8]) -> bool {
    BEGINNINGS.iter().any(|start| line.starts_with(start))
}

/// Whether a word that ends in a colon is a tag of messages that checkers read, rather than a program.
pub(super) fn is_tag(word: &[u8]) -> bool {
    TAGS.contains(&word) || word.starts_with(b"nvidia-nvswitch") || word.starts_with(b"mmfs[")
}
