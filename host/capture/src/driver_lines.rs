//! A message of the NVIDIA driver that a tool has printed as several.
//!
//! That a GPU cannot be reached is one message of three lines:
//!
//! ```text
//! NVRM: The NVIDIA GPU 0000:b3:00.0
//! NVRM: (PCI ID: 10de:26b5) installed in this system has
//! NVRM: fallen off the bus and is not responding to commands.
//! ```
//!
//! journalctl and dmesg indent the later lines; `/proc/kmsg` and with it syslog daemons, and `dmesg` with `-S`, `-P`,
//! `-r` or `-t`, do not, or give each the stamp again. Only the three together say what is wrong.

/// How the message begins.
const FIRST: &str = "NVRM: The NVIDIA GPU ";
/// How every line of it begins.
const TAG: &[u8] = b"NVRM: ";
/// Other messages of the driver.
const OTHERS: [&[u8]; 3] = [b"NVRM: Xid", b"NVRM: GPU ", FIRST.as_bytes()];
/// More lines than this the message does not have.
const MAX_LINES: usize = 4;

/// Whether `next` is a further line of the message that begins with `text`.
pub(super) fn continues(text: &str, next: &[u8]) -> bool {
    text.starts_with(FIRST)
        && !text.ends_with('.')
        && text.matches("\\x0a").count() + 1 < MAX_LINES
        && next.starts_with(TAG)
        && !OTHERS.iter().any(|other| next.starts_with(other))
}
