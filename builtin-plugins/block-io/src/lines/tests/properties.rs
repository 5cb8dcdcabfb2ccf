//! Whatever is written, nothing panics, and the patterns are no narrower than the parser.

use proptest::prelude::*;
use regex::Regex;

use super::*;

/// Lines put together from the pieces that the rules look at, so that near misses are common.
fn line() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "blk_update_request: ",
        "I/O",
        "critical medium",
        "timeout",
        " error, dev ",
        "sda",
        "dm-0",
        "fd0",
        ", sector ",
        "12",
        " op 0x1:(WRITE)",
        " op 0x3:(DISCARD)",
        "sd ",
        "0:0:0:0: ",
        "[sda] ",
        "tag#3 ",
        "FAILED Result: ",
        "UNKNOWN(0x2003) Result: ",
        "hostbyte=DID_OK ",
        "Sense Key : ",
        "Medium Error",
        "Hardware Error",
        "Device offlined - not ready",
        "rejecting I/O to offline device",
        "ata1.00: ",
        "ata1: ",
        "failed command: ",
        "error: {",
        " UNC ",
        "}",
        "disabled",
        "disable device",
        "nvme nvme0: ",
        "I/O ",
        "1 QID 2",
        " timeout, ",
        "aborting",
        "controller is down; will reset: CSTS=",
        "Device not ready; aborting ",
        "reset",
        "Removing after probe failure",
        "EXT4-fs error (device ",
        "Aborting journal on device ",
        "-8.",
        "JBD2: ",
        "Error -5 detected",
        " when updating journal superblock for ",
        "XFS (",
        "): ",
        ") in ",
        "log I/O error ",
        "Corruption ",
        "xfs_do_force_shutdown(0x2)",
        "Shutting down filesystem",
        "BTRFS error (device ",
        "BTRFS: error (device ",
        "BTRFS info (device ",
        " state E",
        "forced readonly",
        "FAT-fs (",
        "error, ",
        "md/raid",
        "1:md0",
        ": Disk failure on ",
        ", disabling device",
        "é",
        ": ",
        " ",
    ]);
    prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

    /// What is understood is delivered.
    #[test]
    fn the_prefilter_is_no_narrower(line in line()) {
        if find(&line).is_some() {
            prop_assert!(DELIVERED.is_match(&line), "{}", line);
        }
    }

    /// Failed requests are found exactly where the regular expression of their format says so.
    #[test]
    fn requests_as_by_regular_expression(line in line()) {
        static FORM: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"^(?:\w+: )?(I/O|timeout|critical medium) error, dev (\S+), sector ([0-9]+)(?: op 0x[0-9a-f]+:\((\w+)\))?").unwrap()
        });
        let expected = FORM
            .captures(&line)
            .filter(|c| &c[2] != "fd0" && (c.get(4).is_none_or(|op| op.as_str() != "DISCARD") || &c[1] == "critical medium" || &c[1] == "timeout"))
            .filter(|c| is_device(&c[2]))
            .map(|c| (c[2].to_owned(), c[3].to_owned()));
        let found = request(&line).map(|f| (f.device.to_owned(), f.facts[2].1.to_owned()));
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn anything_goes(line in any::<String>()) {
        let _ = find(&line);
    }
}

#[test]
fn names_that_no_device_has() {
    for length in [31, 64, 65, 8000] {
        let name = "1".repeat(length);
        for line in [
            format!("sd {name}: Device offlined - not ready"),
            format!("sd {name}: [sda] Device offlined - not ready"),
            format!("ata1.{}: disabled", "1".repeat(length - 5)),
            format!(
                "nvme nvme{}: Device not ready; aborting reset, CSTS=0x1",
                "1".repeat(length - 4)
            ),
        ] {
            assert_eq!(find(&line).is_some(), length <= MAX_NAME, "{line}");
        }
        for line in [
            format!("EXT4-fs error (device {name}): x"),
            format!("Aborting journal on device {name}-8."),
            format!("XFS ({name}): log I/O error -5"),
            format!("BTRFS info (device {name} state E): forced readonly"),
            format!("md/raid1:md0: Disk failure on {name}, disabling device."),
            format!("md/raid1:{name}: Disk failure on sda1, disabling device."),
        ] {
            assert_eq!(find(&line).is_some(), length < 32, "{line}");
        }
    }
}
