//! Lines in the extended form.

use super::*;

#[test]
fn extended_form() {
    let words = "0x00000000 0x00000000 0x00000000 0x00000000";
    for (text, expected) in [
        (
            format!("NVRM: Xid (PCI:0008:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 03 (0x020465c6 0x00000000 {words})"),
            extended("PCI:0008:01:00", 149, "NETIR_LINK_EVT", true, (0x0204_65c6, 0)),
        ),
        (
            "NVRM: Xid (PCI:0010:01:00): 145, pid=31337, name=vllm::worker, RLW_RXPIPE Nonfatal XC0 i0 Link 07 (0x0402e0c2 0x00000004 0x00000001 0x00000000 0x00100000 0x00000002)".into(),
            extended("PCI:0010:01:00", 145, "RLW_RXPIPE", false, (0x0402_e0c2, 4)),
        ),
        (
            "NVRM: Xid (PCI:0008:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000f2406 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)".into(),
            extended("PCI:0008:01:00", 149, "NETIR", true, (0x000f_2406, 0)),
        ),
        // No closing parenthesis, two names, two words of any width and letter case, any white space.
        (
            "NVRM: Xid (PCI:a): 1, NETIR/NETIR_INT\tFatal\nXC1  i12 Link -1 (0xFf\t0x000000000ABC".into(),
            extended("PCI:a", 1, "NETIR/NETIR_INT", true, (0xff, 0xabc)),
        ),
    ] {
        assert_eq!(all(&text), expected, "{text}");
    }
}

#[test]
fn extended_form_where_gpud_degrades() {
    let rest = "Nonfatal XC0 i0 Link 07 (0x0402e0c2 0x00000004 0x0)";
    let start = "NVRM: Xid (PCI:0010:01:00): 146,";
    for (text, unit) in [
        (format!("{start} TLW_RX_PIPE0 {rest}"), "TLW_RX_PIPE0"),
        (
            format!("{start} TLW_RX/TLW_RX_PIPE1 {rest}"),
            "TLW_RX/TLW_RX_PIPE1",
        ),
        (
            format!("{start} pid='<unknown>', name=<unknown>, TLW_CTRL {rest}"),
            "TLW_CTRL",
        ),
        (
            format!("{start} pid=7, name=a, b,c, D, TLW_CTRL {rest}"),
            "TLW_CTRL",
        ),
        (
            format!("{start} TLW_CTRL {}", rest.replace("Nonf", "Non-f")),
            "TLW_CTRL",
        ),
        (
            format!("{} TLW_CTRL {rest}", start.replace("PCI:", "")),
            "TLW_CTRL",
        ),
        (
            format!("{} TLW_CTRL {rest}", start.replace("01:00", "01:00.0")),
            "TLW_CTRL",
        ),
    ] {
        let line = all(&text).unwrap();
        assert_eq!(
            line.device.trim_start_matches("PCI:"),
            "0010:01:00",
            "{text}"
        );
        let fields = Extended {
            unit,
            fatal: false,
            intrinfo: 0x0402_e0c2,
            status: 4,
        };
        assert_eq!((line.code, line.extended), (146, Some(fields)), "{text}");
    }
}

#[test]
fn lines_that_miss_the_extended_form_are_general() {
    let base =
        "NVRM: Xid (PCI:0008:01:00): 149, NETIR Fatal XC0 i0 Link 03 (0x00000006 0x00000000)";
    assert!(all(base).unwrap().extended.is_some());
    for (from, to) in [
        ("NETIR", "netir"),
        ("NETIR", "0NETIR"),
        ("NETIR", "A/B/C"),
        ("NETIR", "NETIR-X"),
        (" Fatal", " FATAL"),
        ("XC0", "XC2"),
        (" i0", " 0"),
        (" i0", " i"),
        ("Link", "link"),
        ("03", "+3"),
        ("03", "-"),
        ("03 (", "03("),
        ("(0x", "0x"),
        ("0x00000006", "0x100000006"),
        ("0x00000000", "0x100000000"),
        (" 0x00000000", ""),
        ("0x00000000", "00000000"),
        ("(0x00000006 0x00000000)", "(0x00000006,0x00000000)"),
        ("(0x00000006 0x00000000)", "(0x000000"),
    ] {
        let text = base.replacen(from, to, 1);
        assert_ne!(text, base);
        assert_eq!(all(&text), general("PCI:0008:01:00", 149), "{text}");
    }
    let refused = parse(base, |code| code != 149);
    assert_eq!(refused, general("PCI:0008:01:00", 149));
}
