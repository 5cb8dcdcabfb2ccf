//! The forms in which a kernel log is saved.

/// The form of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Records as `/dev/kmsg` gives them: `6,339,5140900,-;text`.
    Kmsg,
    /// `dmesg`, with seconds since boot: `[    5.140900] text`; also with `-d`, and a serial console's log.
    Dmesg,
    /// `dmesg -r` and `/proc/kmsg`: `<6>[    5.140900] text`.
    DmesgRaw,
    /// `dmesg -T`: `[Sat Nov 21 04:14:13 2026] text`.
    DmesgCtime,
    /// `dmesg --time-format iso`: `2026-11-21T04:14:13,692956+00:00 text`.
    DmesgIso,
    /// `dmesg -H`, `dmesg -e`: `[Nov21 04:14] text` and then `[  +0.036001] text`.
    DmesgReltime,
    /// `dmesg --time-format delta`: `[<    0.036001>] text`.
    DmesgDelta,
    /// `dmesg --json`.
    DmesgJson,
    /// `/var/log/kern.log`, `journalctl -o short` and `short-precise`: `Nov 21 04:14:13 host kernel: text`.
    Syslog,
    /// The same with RFC 3339 stamps; `journalctl -o short-iso` and `short-iso-precise`.
    SyslogIso,
    /// `journalctl -o short-full` and `with-unit`: `Sat 2026-11-21 04:14:13 UTC host kernel: text`.
    JournalFull,
    /// `journalctl -o short-monotonic` and `short-delta`: `[    5.140900] host kernel: text`.
    JournalMonotonic,
    /// `journalctl -o short-unix`: `1795234453.692956 host kernel: text`.
    JournalUnix,
    /// `journalctl -o json`: an object a line; also `json-pretty`, `export` and `verbose`.
    JournalJson,
    /// Any other prefix before a kernel message: a log collector's, a hypervisor's, another locale's, grep's, a quotation.
    Prefixed,
    /// JSON objects of a log collector, one a line.
    JsonLines,
    /// Text without stamps: `dmesg -t`, `journalctl -o cat`.
    Plain,
}

impl Format {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 17] = [
        Self::Kmsg,
        Self::Dmesg,
        Self::DmesgRaw,
        Self::DmesgCtime,
        Self::DmesgIso,
        Self::DmesgReltime,
        Self::DmesgDelta,
        Self::DmesgJson,
        Self::Syslog,
        Self::SyslogIso,
        Self::JournalFull,
        Self::JournalMonotonic,
        Self::JournalUnix,
        Self::JournalJson,
        Self::Prefixed,
        Self::JsonLines,
        Self::Plain,
    ];

    /// Returns its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kmsg => "/dev/kmsg",
            Self::Dmesg => "dmesg",
            Self::DmesgRaw => "dmesg --raw",
            Self::DmesgCtime => "dmesg --ctime",
            Self::DmesgIso => "dmesg --time-format iso",
            Self::DmesgReltime => "dmesg --reltime",
            Self::DmesgDelta => "dmesg --time-format delta",
            Self::DmesgJson => "dmesg --json",
            Self::Syslog => "syslog or journalctl -o short",
            Self::SyslogIso => "syslog with RFC 3339 stamps or journalctl -o short-iso",
            Self::JournalFull => "journalctl -o short-full",
            Self::JournalMonotonic => "journalctl -o short-monotonic",
            Self::JournalUnix => "journalctl -o short-unix",
            Self::JournalJson => "journalctl -o json",
            Self::Prefixed => "kernel messages behind another prefix",
            Self::JsonLines => "JSON lines",
            Self::Plain => "text without time stamps",
        }
    }
}
