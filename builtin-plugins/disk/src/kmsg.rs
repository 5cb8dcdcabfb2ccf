//! Kernel messages about disks that fail. Sources: `drivers/md`, `drivers/nvme/host`, `fs/ext4`, `fs/buffer.c`, `block/`.

use gpud_builtin_shared::block_device::{is_image, is_removable};
use gpud_sdk::catalog::Entry;
use gpud_sdk::incidents::{after_process_name, begins_with_process, is_kernel_line};
use gpud_sdk::{CheckContext, Event, Evidence, Message};

use crate::patterns;

const BEYOND_END: &str = "attempt to access beyond end of device";

/// Repeats of the same failure within this time are counted, not stored.
const MERGE_SECONDS: u32 = 300;

pub use crate::patterns::PATTERNS;

/// One kind of failure.
#[derive(Debug)]
pub struct FailurePattern {
    /// Its event; the message is also part of the reason of the verdict.
    pub entry: Entry,
    matches: fn(&str) -> bool,
}

/// All kinds, in the order in which a line is tried; the first wins.
pub static FAILURES: [FailurePattern; 8] = [
    FailurePattern {
        entry: patterns::RAID_ARRAY_FAILURE,
        matches: |line| {
            line.strip_prefix("md/raid").is_some_and(|rest| {
                in_order(rest, &[": Disk failure on ", " detected, failing array"])
            })
        },
    },
    FailurePattern {
        entry: patterns::FILESYSTEM_READ_ONLY,
        matches: |line| of_filesystem(line, "Remounting filesystem read-only"),
    },
    FailurePattern {
        entry: patterns::NVME_PATH_FAILURE,
        matches: |line| {
            line.strip_prefix("block nvme")
                .is_some_and(|rest| rest.contains(": no available path - failing I/O"))
        },
    },
    FailurePattern {
        entry: patterns::NVME_CONTROLLER_TIMEOUT,
        matches: |line| {
            after_nvme(line)
                .and_then(|rest| rest.strip_prefix("I/O "))
                .is_some_and(|rest| rest.contains(" timeout, reset controller"))
        },
    },
    FailurePattern {
        entry: patterns::NVME_DEVICE_DISABLED,
        matches: |line| {
            after_nvme(line)
                .is_some_and(|rest| rest.starts_with("Disabling device after reset failure"))
        },
    },
    FailurePattern {
        entry: patterns::BEYOND_END_OF_DEVICE,
        matches: beyond_end,
    },
    FailurePattern {
        entry: patterns::BUFFER_IO_ERROR,
        matches: buffer_io_error,
    },
    FailurePattern {
        entry: patterns::SUPERBLOCK_WRITE_ERROR,
        matches: |line| of_filesystem(line, "I/O error while writing superblock"),
    },
];

/// The event that a message stands for, if any.
pub fn event(context: &CheckContext, message: &Message) -> Option<Event> {
    let FailurePattern { entry, .. } = find(&message.text).filter(|_| is_kernel_line(message))?;
    // The kernel's clock can run ahead of the wall clock by a little; the future is refused.
    let at = message.time.min(context.now);
    let mut event = Event::new(at, entry.name, entry.event_type(), entry.message);
    event.evidence.push(Evidence::Kmsg(message.sequence));
    Some(event.merged_by(entry.message, MERGE_SECONDS))
}

/// The failure that a kernel line reports. All are matched from the beginning of the line. What happens to an image in
/// a file (`loop0`), a floppy or an optical drive is none: users may mount their own, and break them.
pub fn find(line: &str) -> Option<&'static FailurePattern> {
    if device(line).is_some_and(|device| is_image(device) || is_removable(device)) {
        return None;
    }
    let by_process = begins_with_process(line);
    FAILURES.iter().find(|failure| {
        let names_process = failure.entry.name == patterns::BEYOND_END_OF_DEVICE.name;
        (names_process || !by_process) && (failure.matches)(line)
    })
}

fn in_order(line: &str, pieces: &[&str]) -> bool {
    pieces
        .iter()
        .try_fold(line, |rest, piece| {
            rest.split_once(piece).map(|(_, rest)| rest)
        })
        .is_some()
}

/// Returns the text after `nvme nvme‹n›: `.
fn after_nvme(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("nvme nvme")?;
    rest.get(digits(rest)?..)?.strip_prefix(": ")
}

/// The device that a line names, where one of [`FAILURES`] names it.
fn device(line: &str) -> Option<&str> {
    // First, since this line begins with what a user calls a process. Linux names the device in the second line of the
    // same message (from 5.13 on) or in a message of its own.
    if let Some((_, rest)) = line.split_once(BEYOND_END) {
        return rest.strip_prefix(r"\x0a");
    }
    if let Some(device) = device_beyond_end(line) {
        return Some(device);
    }
    if let Some(rest) = line.strip_prefix("Buffer I/O error on dev") {
        return rest.strip_prefix("ice ").or_else(|| rest.strip_prefix(' '));
    }
    let (who, _) = line.split_once("): ")?;
    who.split_once(" (").map(|(_, device)| device)
}

/// `EXT4-fs (‹device›): ‹phrase›`, also of other filesystems that print like it, or the phrase alone.
fn of_filesystem(line: &str, phrase: &str) -> bool {
    let text = line.split_once("): ").and_then(|(who, text)| {
        let (driver, _device) = who.split_once(" (")?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (!driver.is_empty() && driver.bytes().all(is_name)).then_some(text)
    });
    text.unwrap_or(line).starts_with(phrase)
}

/// `[‹process›: ]attempt to access beyond end of device` (`block/blk-core.c`, `bio_check_eod`; without the process before
/// 5.13). Before 5.10 the device is in a message of its own, and the first one says nothing.
fn beyond_end(line: &str) -> bool {
    let with_device = line
        .strip_prefix(BEYOND_END)
        .is_some_and(|rest| !rest.is_empty());
    let with_process = after_process_name(line, ": attempt to access beyond end of device");
    with_device || with_process.is_some() || device_beyond_end(line).is_some()
}

/// The device in `‹device›: rw=‹n›, want=‹n›, limit=‹n›`, the second message (`block/blk-core.c`, `handle_bad_sector`, up to
/// 5.9).
fn device_beyond_end(line: &str) -> Option<&str> {
    let (device, rest) = line.split_once(": rw=")?;
    let rest = rest.get(digits(rest)?..)?.strip_prefix(", want=")?;
    let rest = rest.get(digits(rest)?..)?.strip_prefix(", limit=")?;
    let is_name = !device.is_empty() && device.len() <= 31 && !device.contains(' ');
    (is_name && digits(rest)? == rest.len()).then_some(device)
}

/// `Buffer I/O error on dev ‹name›, logical block ‹n›` (`fs/buffer.c`, `buffer_io_error`), and ext4's own
/// `Buffer I/O error on device ‹name›, …` (`fs/ext4/page-io.c`, `buffer_io_error`), which GPUd does not read.
fn buffer_io_error(line: &str) -> bool {
    names_block(line, "Buffer I/O error on dev ")
        || names_block(line, "Buffer I/O error on device ")
}

/// `‹phrase›‹name›, logical block ‹n›`.
fn names_block(line: &str, phrase: &str) -> bool {
    let device_and_block = line
        .strip_prefix(phrase)
        .and_then(|rest| rest.split_once(' '));
    device_and_block.is_some_and(|(device, rest)| {
        let block = rest.strip_prefix("logical block ").and_then(digits);
        let is_named = device
            .strip_suffix(',')
            .is_some_and(|name| !name.is_empty());
        is_named && block.is_some()
    })
}

fn digits(text: &str) -> Option<usize> {
    Some(text.bytes().take_while(u8::is_ascii_digit).count()).filter(|&count| count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_sdk::{EventType, Trigger};
    use proptest::prelude::*;
    use regex::Regex;
    use std::sync::LazyLock;

    #[test]
    fn lines_of_real_kernels() {
        let cases = [
            (
                "md/raid0:md126: Disk failure on nvme5n1 detected, failing array.",
                "raid_array_failure",
            ),
            (
                "EXT4-fs (nvme1n1p2): Remounting filesystem read-only",
                "filesystem_read_only",
            ),
            (
                "block nvme3n1: no available path - failing I/O",
                "nvme_path_failure",
            ),
            (
                "nvme nvme6: I/O tag 12 (300c) opcode 0x2 (I/O Cmd) QID 9 timeout, reset controller",
                "nvme_controller_timeout",
            ),
            (
                "nvme nvme0: I/O 12 QID 9 timeout, reset controller",
                "nvme_controller_timeout",
            ),
            (
                "nvme nvme6: Disabling device after reset failure: -19",
                "nvme_device_disabled",
            ),
            (
                "fio: attempt to access beyond end of device",
                "beyond_end_of_device",
            ),
            (
                "Buffer I/O error on dev dm-4, logical block 771, async page read",
                "buffer_io_error",
            ),
            (
                "EXT4-fs (dm-4): I/O error while writing superblock",
                "superblock_write_error",
            ),
            ("md/raid1:md0: Disk failure on sdb1, disabling device.", ""),
            ("nvme nvme0: I/O 12 QID 9 timeout, aborting", ""),
            ("nvme nvme0: I/O 12 QID 9 timeout, disable controller", ""),
            ("block nvme3n1: no usable path - requeuing I/O", ""),
            ("nvme nvme0: Removing after probe failure status: -19", ""),
            ("blk_update_request: I/O error, dev sda, sector 1", ""),
            (
                "Buffer I/O error on device sdb, logical block 1",
                "buffer_io_error",
            ),
            (
                "Buffer I/O error on device nvme0n1p1, logical block 1066386",
                "buffer_io_error",
            ),
            ("Buffer I/O error on device loop1, logical block 164368", ""),
            ("Buffer I/O error on device sr0, logical block 1", ""),
            (
                "Buffer I/O error on dev loop0, logical block 0, async page read",
                "",
            ),
            (
                "Buffer I/O error on dev loop0p1, logical block 0, async page read",
                "",
            ),
            (
                "Buffer I/O error on dev fd0, logical block 0, async page read",
                "",
            ),
            ("EXT4-fs (loop0): Remounting filesystem read-only", ""),
            ("EXT4-fs (loop12): I/O error while writing superblock", ""),
            (
                r"cat: attempt to access beyond end of device\x0aloop0: rw=524288, sector=128, nr_sectors = 256 limit=128",
                "",
            ),
            (
                r"x (loop0): attempt to access beyond end of device\x0asda1: rw=524288, sector=128, nr_sectors = 256 limit=128",
                "beyond_end_of_device",
            ),
            (
                r"fio: attempt to access beyond end of device\x0asda1: rw=524288, sector=128, nr_sectors = 256 limit=128",
                "beyond_end_of_device",
            ),
            (
                r"attempt to access beyond end of device\x0asda1: rw=0, want=40962, limit=40960",
                "beyond_end_of_device",
            ),
            (
                r"attempt to access beyond end of device\x0aloop0: rw=0, want=40962, limit=40960",
                "",
            ),
            // Two messages, up to Linux 5.9.
            ("attempt to access beyond end of device", ""),
            (
                "sda1: rw=0, want=40962, limit=40960",
                "beyond_end_of_device",
            ),
            ("loop0: rw=0, want=40962, limit=40960", ""),
            ("sda1: rw=0, want=40962", ""),
            (
                "input: rw=0, want=1, limit=1 as /devices/virtual/input/input7",
                "",
            ),
            ("Buffer I/O error on device sdb, block 1", ""),
            ("EXT4-fs error (device sda1): ext4_find_entry:1455", ""),
        ];
        for (line, expected) in cases {
            assert_eq!(
                find(line).map_or("", |failure| failure.entry.name),
                expected,
                "{line}"
            );
        }
    }

    #[test]
    fn an_event_points_to_its_record_and_counts_repeats() {
        let message = Message {
            sequence: 9,
            time: 1_800_000_000_000,
            level: 2,
            facility: 0,
            text: "EXT4-fs (sda1): Remounting filesystem read-only".into(),
            dictionary: None,
        };
        let context = |now| CheckContext {
            component: "disk".to_owned(),
            now,
            trigger: Trigger::Event,
            boot_id: "b-1".to_owned(),
            boot_time: 0,
            previous_check: None,
            extra: Vec::new(),
        };
        let early = event(&context(message.time - 1), &message).unwrap();
        assert_eq!(early.time, message.time - 1, "the future would be refused");
        let event = event(&context(message.time), &message).unwrap();
        assert_eq!(
            event.message,
            "filesystem remounted as read-only due to errors"
        );
        assert_eq!(
            (event.event_type, event.evidence),
            (EventType::Warning, vec![Evidence::Kmsg(9)])
        );
        assert_eq!(event.merge.unwrap().window_seconds, 300);
    }

    static EXPRESSIONS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        let all = [
            "^md/raid.*: Disk failure on .* detected, failing array",
            r"^([A-Za-z0-9_-]+ \(.*\): )?Remounting filesystem read-only",
            "^block nvme.*: no available path - failing I/O",
            "^nvme nvme[0-9]+: I/O .* timeout, reset controller",
            "^nvme nvme[0-9]+: Disabling device after reset failure",
            "^(.{1,60}: attempt to access beyond end of device|attempt to access beyond end of device.)|^[^ ]{1,31}: rw=[0-9]+, want=[0-9]+, limit=[0-9]+$",
            "^Buffer I/O error on dev [^ ]+, logical block [0-9]+",
            r"^([A-Za-z0-9_-]+ \(.*\): )?I/O error while writing superblock",
        ];
        all.iter().map(|one| Regex::new(one).unwrap()).collect()
    });
    static DELIVERED: LazyLock<Regex> = LazyLock::new(|| Regex::new(&PATTERNS.join("|")).unwrap());

    /// Lines put together from the pieces that the rules look at, so that near misses are common.
    fn line() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "md/raid",
            ": Disk failure on ",
            "x",
            " detected, failing array",
            "block nvme",
            "3",
            ": no available path - failing I/O",
            "nvme nvme",
            ": ",
            "I/O ",
            ": rw=1, want=",
            ", limit=",
            " timeout, reset controller",
            "Disabling device after reset failure",
            "Buffer I/O error on dev ",
            "dm-4",
            ",",
            ", ",
            " ",
            "logical block ",
            "nvme nvme3: I/O ",
            "Buffer I/O error on dev sda, logical block ",
            "é",
        ]);
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

        #[test]
        fn agrees_with_the_reference(line in line()) {
            for (failure, expression) in FAILURES.iter().zip(EXPRESSIONS.iter()) {
                let matches = (failure.matches)(&line);
                prop_assert_eq!(matches, expression.is_match(&line), "{}: {}", failure.entry.name, line);
                prop_assert!(!matches || DELIVERED.is_match(&line));
            }
        }
    }
}
