//! Lines of drivers, lines of tests, and what only looks like either.

use gpud_sdk::catalog::forged;
use proptest::prelude::*;
use regex::Regex;
use std::sync::LazyLock;

use super::*;

const SWITCH: &str = "PCI:0000:c4:00.0";

fn line(device: &str, code: u64, by_driver: bool) -> Option<Line<'_>> {
    Some(Line {
        device,
        code,
        by_driver,
    })
}

#[test]
fn lines_of_the_driver() {
    for (text, device, code) in [
        (
            "nvidia-nvswitch5: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 11 LTSSM Fault Up",
            SWITCH,
            20_034,
        ),
        (
            "nvidia-nvswitch5: SXid (PCI:0000:c4:00.0): 20034, Severity 1 Engine instance 11 Sub-engine instance 00",
            SWITCH,
            20_034,
        ),
        (
            "nvidia-nvswitch5: SXid (PCI:0000:c4:00.0): 20034, Data {0x20000000, 0x20000000, 0x00000000, 0x20000000}",
            SWITCH,
            20_034,
        ),
        (
            "nvidia-nvswitch1: SXid (PCI:0000:86:00.0): 12028, Non-fatal, Link 14 egress non-posted PRIV error (First)",
            "PCI:0000:86:00.0",
            12_028,
        ),
        (
            "nvidia-nvswitch0: SXid (PCI:0018:0A:00.0): 22013, Correctable, Link 63 Minion Link DLREQ interrupt",
            "PCI:0018:0A:00.0",
            22_013,
        ),
        (
            "nvidia-nvswitch0: SXid (PCI:0000:c4:00.0): 28006, Non-fatal, Link 29 MC TS crumbstore MCTO",
            SWITCH,
            28_006,
        ),
        // A line that ends early.
        (
            "nvidia-nvswitch0: SXid (PCI:0000:c4:00.0): 20034",
            SWITCH,
            20_034,
        ),
        ("SXid (PCI:0000:c4:00.0): 20034 Fatal", SWITCH, 20_034),
    ] {
        assert_eq!(parse(text, true), line(device, code, true), "{text}");
    }
}

#[test]
fn lookalikes_in_the_kernel_s_own_lines() {
    let long = format!("SXid (PCI:{}): 20034, x", "0".repeat(65));
    for text in [
        // What processes call themselves.
        "SXid: 20034,[311]: segfault at 0 ip 00005581 sp 00007ffc error 4 in a.out[5581+1000]",
        "INFO: task SXid: 20034,:311 blocked for more than 122 seconds.",
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task=SXid: 20034,pid=311,uid=1000",
        "traps: SXid (PCI:0)[12028] general protection fault ip:7f sp:7f error: 20034, x",
        "SXid (PCI:0)x: 20034, y",
        // Within another line, and behind an id that is too short for a GPU's.
        "x nvidia-nvswitch5: SXid (PCI:0000:c4:00.0): 20034, Fatal",
        "SXid (PCI:0000:c4:00.0) SXid (PCI:0000:86:00.0): 20034, x",
        "SXid (PCI:c4): 20034, Fatal",
        // No id, no code, another letter case.
        "nvidia-nvswitch: SXid: 20034, Fatal",
        "nvidia-nvswitch5: SXid (0000:x4:00.0): 20034, Fatal",
        "nvidia-nvswitch5: SXid 20034, Fatal",
        "SXid (0000:c4:00.0): 20034, Fatal",
        "nvidia-nvswitch5: SXid (PCI:): 20034, Fatal",
        "nvidia-nvswitch5: SXid (PCI:0000:g4:00.0): 20034, Fatal",
        "nvidia-nvswitch5: SXid (PCI:0000:c4:00.0: 20034, Fatal",
        "nvidia-nvswitch5: SXid (PCI:0000:c4:00.0): garbled, Fatal",
        "nvidia-nvswitch5: SXid (PCI:0000:c4:00.0): 20034x, Fatal",
        "nvidia-nvswitch5: SXid (PCI:0000:c4:00.0): 20034.5, Fatal",
        "nvidia-nvswitch5: SXid (PCI:0000:c4:00.0): 99999999999999999999, Fatal",
        "nvidia-nvswitch5: SXid (PCI:0000:c4:00.0):20034, Fatal",
        "nvidia-nvswitch5: sxid (PCI:0000:c4:00.0): 20034, Fatal",
        "nvidia-nvswitch5: SXid (PCI:0000:c4:00.0)\n: 20034, Fatal",
        "nvidia-nvswitch5: open (major=511)",
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.",
        long.as_str(),
        "",
    ] {
        assert_eq!(parse(text, true), None, "{text}");
    }
}

#[test]
fn a_switch_without_the_usual_identifier_is_not_lost() {
    for (text, device) in [
        (
            "nvidia-nvswitch1: SXid (0000:c3:00.0): 12028, Fatal, Link 32 egress non-posted PRIV error",
            "0000:c3:00.0",
        ),
        (
            "nvidia-nvswitch1: SXid: 12028, Fatal, Link 32",
            "nvidia-nvswitch1",
        ),
    ] {
        assert_eq!(parse(text, true), line(device, 12_028, true), "{text}");
    }
}

#[test]
fn severity_and_link_are_stored() {
    for (text, expected) in [
        (
            "nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)",
            [
                Some("Non-fatal"),
                Some("32"),
                Some("12028, Non-fatal, Link 32 egress non-posted PRIV error (First)"),
            ],
        ),
        (
            "nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Severity 0 Engine instance 44",
            [None, None, Some("22013, Severity 0 Engine instance 44")],
        ),
        ("", [None; 3]),
    ] {
        assert_eq!(details(text).map(|(_, value)| value), expected, "{text}");
    }
    let long = format!("SXid (PCI:0): 1, {}", "ä".repeat(400));
    let [_, _, (_, detail)] = details(&long);
    assert!(detail.is_some_and(|detail| detail.len() <= MAX_DETAIL));
}

#[test]
fn what_root_writes_is_read_in_the_wide_form() {
    for (text, expected) in [
        (
            "nvidia-nvswitch5: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 11 LTSSM Fault Up",
            line(SWITCH, 20_034, true),
        ),
        ("SXid: 20034, Fatal", line("", 20_034, false)),
        ("SXid 1 of 2: 3; here: 20034,", line("", 20_034, false)),
        ("SXid (0000:c4:00.0): 20034, Fatal", line("", 20_034, false)),
        (
            "SXid: 20034, then SXid (PCI:0000:c4:00.0): 12028, x",
            line(SWITCH, 20_034, false),
        ),
        (
            "SXid of SXid (PCI:0000:c4:00.0) on: 12028, x",
            line(SWITCH, 12_028, false),
        ),
        ("SXid\nSXid (PCI:0000:c4:00.0) on: 12028, x", None),
        ("sshd[1]: SXid: 20034, Fatal", None),
        // No comma: the driver's form alone.
        ("SXid (PCI:0000:c4:00.0): 20034", line(SWITCH, 20_034, true)),
        ("SXid: 20034", None),
        ("SXid\n: 20034, x", None),
        ("SXid: 99999999999999999999, SXid: 20034,", None),
        ("Xid (PCI:0000:3b:00): 79, x", None),
    ] {
        assert_eq!(parse(text, false), expected, "{text}");
    }
}

static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new("^SXid.*?: ([0-9]+),").unwrap());
static DEVICE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"SXid \((PCI:[0-9a-fA-F:.]{1,64})\)").unwrap());
static DRIVER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^SXid \((PCI:[0-9a-fA-F:.]{1,64})\): ([0-9]+)(?:[, \n]|$)").unwrap()
});
static DELIVERED: LazyLock<Regex> = LazyLock::new(|| Regex::new(PATTERNS[0]).unwrap());

/// Lines put together from the pieces that the rules look at, so that near misses are common.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => Just("SXid (PCI:0000:c4:00.0)".to_owned()),
        2 => Just("SXid".to_owned()),
        2 => Just("SXid (PCI:".to_owned()),
        2 => "[0-9a-fA-F:.]{0,12}",
        2 => Just(")".to_owned()),
        8 => Just(": ".to_owned()),
        6 => "[0-9]{1,5}",
        1 => "[0-9]{18,22}",
        6 => Just(",".to_owned()),
        2 => Just(" ".to_owned()),
        1 => Just("\n".to_owned()),
        1 => "[ -~]{0,6}",
        1 => "\\PC{0,4}",
    ];
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

    /// What user space writes is read as GPUd reads it; only a missing comma is forgiven beyond that.
    #[test]
    fn agrees_with_the_reference(text in pieces()) {
        let ours = parse(&text, false);
        match CODE.captures(&text) {
            Some(found) => {
                let mut devices = DEVICE.captures_iter(&text).map(|found| found[1].to_owned());
                let device = devices.find(|device| is_id(&device[4..]));
                let expected = found[1].parse::<u64>().ok().map(|code| (device.unwrap_or_default(), code));
                prop_assert_eq!(ours.map(|line| (line.device.to_owned(), line.code)), expected);
            }
            None => prop_assert_eq!(ours, parse(&text, true)),
        }
    }

    /// The kernel's lines are read in the driver's form and no other.
    #[test]
    fn agrees_with_the_driver_s_form(text in pieces()) {
        let ours = parse(&text, true).map(|line| (line.device.to_owned(), line.code));
        let expected = DRIVER.captures(&text).and_then(|found| Some((found[1].to_owned(), found[2].parse().ok()?)));
        let expected = expected.filter(|(device, _)| is_id(&device[4..]));
        prop_assert_eq!(ours, expected);
    }

    #[test]
    fn every_line_that_matters_is_delivered(text in pieces(), from_kernel: bool) {
        // A record is delivered by its first line.
        let first = text.split('\n').next().unwrap();
        if parse(first, from_kernel).is_some() {
            prop_assert!(DELIVERED.is_match(first), "{first:?}");
        }
    }

    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}", from_kernel: bool) {
        parse(&text, from_kernel);
    }
}

#[test]
fn no_forged_line_is_believed() {
    let line = "nvidia-nvswitch5: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 11 LTSSM Fault Up";
    for line in [
        line,
        "SXid (PCI:0000:c4:00.0): 20034, Fatal",
        "SXid: 20034, Fatal",
    ] {
        let within = forged::LINES.map(|other| other.replace("{}", line));
        let about = [forged::crashes(line), forged::of_processes(line)].concat();
        for forged in within.iter().chain(&about) {
            assert_eq!(parse(forged, true), None, "{forged}");
        }
        for forged in &within {
            assert_eq!(parse(forged, false), None, "{forged}");
        }
    }
}

#[test]
fn each_pattern_has_a_line_and_a_lookalike() {
    let lines = [(
        "nvidia-nvswitch5: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 11 LTSSM Fault Up",
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x",
    )];
    assert_eq!(lines.len(), PATTERNS.len());
    for (pattern, (line, lookalike)) in PATTERNS.iter().zip(lines) {
        let regex = Regex::new(pattern).unwrap();
        assert!(regex.is_match(line), "{pattern}: {line}");
        assert!(!regex.is_match(lookalike), "{pattern}: {lookalike}");
        assert!(
            parse(line, true).is_some() && parse(lookalike, true).is_none(),
            "{line}"
        );
    }
}
