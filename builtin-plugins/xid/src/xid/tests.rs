//! The verdicts on lines, with the catalogue, and their texts.

use super::Severity::{Fatal, Warning};
use super::*;
use crate::catalog::Action::{CheckApp, Ignore, Inspect, Reboot};

mod extended;

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
