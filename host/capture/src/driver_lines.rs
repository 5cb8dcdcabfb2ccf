//! A message of the kernel that a tool has printed as several.
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
//! `-r` or `-t`, do not, or give each the stamp again. Only the three together say what is wrong. The same holds for a request beyond the end of
//! a disk, whose second line has the disk (`block/blk-core.c`, `bio_check_eod`):
//!
//! ```text
//! fio: attempt to access beyond end of device
//! sda1: rw=524288, sector=128, nr_sectors = 256 limit=128
//! ```

/// How the message begins.
const FIRST: &str = "NVRM: The NVIDIA GPU ";
/// How every line of it begins.
const TAG: &[u8] = b"NVRM: ";
/// Other messages of the driver.
const OTHERS: [&[u8]; 3] = [b"NVRM: Xid", b"NVRM: GPU ", FIRST.as_bytes()];
/// More lines than this the message does not have.
const MAX_LINES: usize = 4;

/// How the first line about a request beyond the end of a disk ends.
const BEYOND_END: &str = "attempt to access beyond end of device";
/// What stands behind the disk in the second.
const AFTER_DISK: &[u8] = b": rw=";

/// Whether `next` is a further line of the message that begins with `text`.
pub(super) fn continues(text: &str, next: &[u8]) -> bool {
    continues_lost_gpu(text, next)
        || (text.ends_with(BEYOND_END)
            && next
                .windows(AFTER_DISK.len())
                .any(|part| part == AFTER_DISK))
}

fn continues_lost_gpu(text: &str, next: &[u8]) -> bool {
    text.starts_with(FIRST)
        && !text.ends_with('.')
        && text.matches("\\x0a").count() + 1 < MAX_LINES
        && next.starts_with(TAG)
        && !OTHERS.iter().any(|other| next.starts_with(other))
}
