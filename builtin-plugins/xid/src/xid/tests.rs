//! The verdicts on lines, with the catalogue, and their texts.

use super::Severity::{Fatal, Warning};
use super::*;
use crate::catalog::Action::{CheckApp, Ignore, Inspect, Reboot};

fn text(xid: &Xid<'_>) -> String {
    message(
        xid.code,
        xid.sub_code,
        xid.status,
        xid.label,
        &xid.device,
        None,
    )
}

/// Lines in the general form: severity, actions, text.
const GENERAL_LINES: &[(&str, Severity, &[Action], &str)] = &[
    (
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.",
        Fatal,
        &[Reboot, Inspect],
        "XID 79 ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS GPU has fallen off the bus detected on GPU PCI:0000:3b:00",
    ),
    (
        "NVRM: GPU 3b:00.0: GPU has fallen off the bus.",
        Fatal,
        &[Reboot, Inspect],
        "XID 79 ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS GPU has fallen off the bus detected on GPU PCI:0000:3b:00",
    ),
    (
        "NVRM: Xid (0000:41:00): 14, x",
        Warning,
        &[],
        "XID 14 ROBUST_CHANNEL_FAKE_ERROR detected on GPU 0000:41:00",
    ),
    (
        "NVRM: Xid (PCI:0000:9b:00): 167, x",
        Warning,
        &[Reboot],
        "XID 167 PCIE_FATAL_TIMEOUT detected on GPU PCI:0000:9b:00",
    ),
    (
        "NVRM: Xid (PCI:0000:e3:00): 173, x",
        Fatal,
        &[Reboot],
        "XID 173 C2C Fatal Link Failure detected on GPU PCI:0000:e3:00",
    ),
    (
        "NVRM: Xid (PCI:0000:e3:00): 13, x",
        Warning,
        &[CheckApp],
        "XID 13 ROBUST_CHANNEL_GR_EXCEPTION /\nROBUST_CHANNEL_GR_ERROR_SW_NOTIFY Graphics Engine Exception detected on GPU PCI:0000:e3:00",
    ),
    (
        "NVRM: Xid (PCI:0000:c1:00): 94, pid=1, name=x, Contained",
        Fatal,
        &[Reboot, Ignore],
        "XID 94 ROBUST_CHANNEL_CONTAINED_ERROR Contained ECC error detected on GPU PCI:0000:c1:00",
    ),
    // An NVLink error without the extended form.
    (
        "NVRM: Xid (PCI:0008:01:00): 149, NETIR",
        Warning,
        &[Reboot],
        "XID 149.0 (err status 0x00000000) NVLINK_NETIR_ERROR NVLINK: NETIR Error detected on GPU PCI:0008:01:00",
    ),
    // Codes that the catalogue does not have.
    (
        "NVRM: Xid (PCI:0:1): 133, x",
        Warning,
        &[],
        "XID 133 ROBUST_CHANNEL_CE17_ERROR detected on GPU PCI:0:1",
    ),
    (
        "NVRM: Xid (PCI:0:1): 999, x",
        Warning,
        &[],
        "XID 999 detected on GPU PCI:0:1",
    ),
];

#[test]
fn general_lines_take_their_code_s_entry() {
    for &(line, severity, actions, expected) in GENERAL_LINES {
        let xid = decode(line).unwrap();
        assert_eq!((xid.severity, xid.actions), (severity, actions), "{line}");
        assert_eq!(
            (xid.sub_code, xid.unit, xid.status, xid.hint),
            (0, "", 0, ""),
            "{line}"
        );
        assert_eq!(text(&xid), expected);
    }
    assert_eq!(decode("NVRM: Xid (PCI:0000:3b:00): 1000, x"), None);
    assert_eq!(decode("NVRM: Xid (PCI:0000:3b:00): 4294967375, x"), None);
    assert_eq!(decode("eth0: link up"), None);
    assert_eq!(
        crate::match_lines(&["NVRM: Xid (0:1): 79, x", "y", "NVRM: Xid (0:1): 31"]),
        2
    );
}

fn line(code: u32, unit: &str, severity: &str, intrinfo: u32, status: u32) -> String {
    format!(
        "NVRM: Xid (PCI:0008:01:00): {code}, {unit} {severity} XC0 i0 Link 03 (0x{intrinfo:08x} 0x{status:08x} 0x0 0x0 0x0 0x0)"
    )
}

#[test]
fn extended_lines() {
    let (link, ser) = ("NETIR_LINK_EVT", 0x0000_01c6_u32);
    let sub = |sub_code: u32| ser | sub_code << 20;
    for (line, sub_code, severity, actions, hint) in [
        // Rules, by both generations of patterns; bits outside the pattern do not count.
        (
            line(144, "SAW_MVB", "Nonfatal", 0x21, 1),
            0,
            Warning,
            &[Ignore][..],
            "",
        ),
        (
            line(144, "SAW_MVB", "Nonfatal", 0x01, 2),
            0,
            Fatal,
            &[Reboot],
            "",
        ),
        (
            line(145, "RLW_REMAP", "Nonfatal", 0x82, 0x4),
            0,
            Warning,
            &[Inspect],
            "CHECK_NVLINK_FAILURE_FLOW",
        ),
        (
            line(145, "RLW_RXPIPE", "Nonfatal", 0x0402_e0c2, 4),
            0,
            Warning,
            &[Ignore],
            "",
        ),
        // The log makes it worse, never better.
        (
            line(145, "RLW_RXPIPE", "Fatal", 0x0402_e0c2, 4),
            0,
            Fatal,
            &[Ignore],
            "",
        ),
        (
            line(150, "MSE_WATCHDOG", "Nonfatal", 0, 0),
            0,
            Fatal,
            &[Reboot],
            "",
        ),
        // Any name of the rule, or all of them.
        (
            line(149, "NETIR", "Fatal", 0x18, 0),
            0,
            Fatal,
            &[Reboot],
            "SYMPATHETIC_REPORT_SOLO",
        ),
        (
            line(149, "NETIR/NETIR_INT", "Fatal", 0x18, 0),
            0,
            Fatal,
            &[Reboot],
            "SYMPATHETIC_REPORT_SOLO",
        ),
        (
            line(149, link, "Fatal", sub(32), 0),
            32,
            Fatal,
            &[Reboot],
            "INVESTIGATE_PEER_DEVICE",
        ),
        (
            line(149, link, "Fatal", sub(1), 0),
            1,
            Fatal,
            &[Reboot],
            "REPORT_ISSUE (if seen >1 per day)",
        ),
        // Lenient: digits in the unit's name.
        (
            line(146, "TLW_RX_PIPE0", "Nonfatal", 0x143, 4),
            0,
            Fatal,
            &[Reboot],
            "",
        ),
        (
            line(146, "TLW_RX/TLW_RX_PIPE1", "Nonfatal", 0x0b, 4),
            0,
            Fatal,
            &[Reboot],
            "",
        ),
        // Ignored by NVIDIA, although fatal.
        (
            line(149, link, "Fatal", sub(38), 0),
            38,
            Fatal,
            &[Ignore],
            "INVESTIGATE_SW/USER",
        ),
        (
            line(149, link, "Fatal", sub(40), 0),
            40,
            Fatal,
            &[Ignore],
            "INVESTIGATE_HOST",
        ),
        // The two special sub-codes: a rule beats them, without one they stay.
        (
            line(149, link, "Fatal", sub(4), 0),
            4,
            Fatal,
            &[Reboot],
            "INVESTIGATE_LINK_SI",
        ),
        (
            line(149, link, "Nonfatal", sub(4), 7),
            4,
            Fatal,
            &[Inspect],
            "",
        ),
        (
            line(149, "OTHER", "Nonfatal", sub(10), 0),
            10,
            Fatal,
            &[Inspect],
            "",
        ),
        // No rule for the unit: all that is known of the status.
        (
            line(145, "OTHER", "Nonfatal", 0, 1),
            0,
            Fatal,
            &[Inspect, Ignore, Reboot],
            "",
        ),
        // No status: all that is known of the sub-code; an unknown one counts as 0.
        (
            line(145, "OTHER", "Nonfatal", 0, 0x0bad),
            0,
            Warning,
            &[Inspect, Ignore, Reboot],
            "",
        ),
        (
            line(149, link, "Fatal", sub(63), 0),
            63,
            Fatal,
            &[Ignore, Reboot],
            "",
        ),
        (
            line(149, link, "Nonfatal", sub(63), 0),
            63,
            Warning,
            &[Ignore, Reboot],
            "",
        ),
        // Other codes in this form keep their entry.
        (
            line(74, "NVLINK", "Nonfatal", 0, 0),
            0,
            Fatal,
            &[Reboot, Inspect],
            "",
        ),
        (
            line(31, "MMU", "Fatal", 0x0010_0000, 5),
            1,
            Fatal,
            &[CheckApp, Inspect],
            "",
        ),
        (line(14, "X", "Nonfatal", 0, 5), 0, Warning, &[], ""),
    ] {
        let xid = decode(&line).unwrap();
        assert_eq!(
            (xid.sub_code, xid.severity, xid.actions, xid.hint),
            (sub_code, severity, actions, hint),
            "{line}"
        );
        assert_ne!(xid.unit, "", "{line}");
    }
    // A code without an entry is not read in this form.
    let unlisted = line(133, "X", "Fatal", 1 << 20, 5);
    let xid = decode(&unlisted).unwrap();
    assert_eq!(
        (xid.sub_code, xid.unit, xid.status, xid.severity),
        (0, "", 0, Warning)
    );
}

#[test]
fn texts_of_nvlink_errors() {
    let of = |line: &str| text(&decode(line).unwrap());
    assert_eq!(
        of(&line(149, "NETIR_LINK_EVT", "Fatal", 0x0200_01c6, 0)),
        "XID 149.32 (err status 0x00000000) NVLINK_NETIR_ERROR NVLINK: NETIR Error detected on GPU PCI:0008:01:00"
    );
    assert_eq!(
        of(&line(145, "RLW_CTRL", "Nonfatal", 0x62, 0x8000_000A)),
        "XID 145.0 (err status 0x8000000a) NVLINK_RLW_ERROR NVLINK: RLW Error detected on GPU PCI:0008:01:00"
    );
    let special = of(&line(149, "NETIR_LINK_EVT", "Fatal", 0x00a0_01c6, 0));
    assert!(
        special
            .starts_with("XID 149.10 (err status 0x00000000) NVLINK_NETIR_ERROR NETIR link event,"),
        "{special}"
    );
}

#[test]
fn texts_name_the_gpu() {
    let of = |uuid| message(14, 0, 0, "Fake", "PCI:0:1", uuid);
    assert_eq!(
        of(None),
        "XID 14 ROBUST_CHANNEL_FAKE_ERROR Fake detected on GPU PCI:0:1"
    );
    assert_eq!(of(Some("")), of(None));
    assert_eq!(
        of(Some("GPU-a")),
        "XID 14 ROBUST_CHANNEL_FAKE_ERROR Fake detected on GPU PCI:0:1 UUID:GPU-a"
    );
    for label in ["", "Unused", "ROBUST_CHANNEL_FAKE_ERROR"] {
        assert_eq!(
            message(14, 0, 0, label, "d", None),
            "XID 14 ROBUST_CHANNEL_FAKE_ERROR detected on GPU d"
        );
    }
    // Without a mnemonic the label says it alone.
    assert_eq!(
        message(173, 0, 0, "Unused", "d", None),
        "XID 173 Unused detected on GPU d"
    );
}
