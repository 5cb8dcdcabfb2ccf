//! Lines in the extended form of NVLink errors.

use super::*;

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
