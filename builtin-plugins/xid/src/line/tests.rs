//! Lines in all forms, what is no line, and GPUd's grammar as regular expressions to compare with.

use gpud_builtin_shared::patterns::forged;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use regex::Regex;

use super::*;

fn all(text: &str) -> Option<Line<'_>> {
    parse(text, |_| true)
}

fn general(device: &str, code: u64) -> Option<Line<'_>> {
    Some(Line {
        device: device.into(),
        instance: "",
        code,
        extended: None,
    })
}

fn extended<'a>(
    device: &'a str,
    code: u64,
    unit: &'a str,
    fatal: bool,
    words: (u32, u32),
) -> Option<Line<'a>> {
    let extended = Extended {
        unit,
        fatal,
        intrinfo: words.0,
        status: words.1,
    };
    Some(Line {
        device: device.into(),
        instance: "",
        code,
        extended: Some(extended),
    })
}

#[test]
fn general_form() {
    for (text, expected) in [
        (
            "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            general("PCI:0000:3b:00", 79),
        ),
        (
            "NVRM: Xid (PCI:0000:c1:00): 94, pid=7741, name=python3.11, Contained: SM (0x1). RST: No, D-RST: No",
            general("PCI:0000:c1:00", 94),
        ),
        (
            "NVRM: Xid (0000:41:00): 31, Ch 00000010, intr 10000000. MMU Fault: ENGINE GRAPHICS",
            general("0000:41:00", 31),
        ),
        (
            "NVRM: Xid (PCI:0000:04:00): 63, unknown",
            general("PCI:0000:04:00", 63),
        ),
        // Kept as written; what is between is not looked at.
        (
            "NVRM: Xid (PCI:00000000:3B:00): 13, x\\x0a",
            general("PCI:00000000:3B:00", 13),
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00) x: 7 y: 8, z: 9,",
            general("PCI:0000:3b:00", 8),
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00): 12x, y: 13, z",
            general("PCI:0000:3b:00", 13),
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00):\t12, a: 13,",
            general("PCI:0000:3b:00", 13),
        ),
        // The driver's own line counts, whatever follows.
        (
            "NVRM: Xid (3b:00): 31, pid=1, name=NVRM: Xid (4c:0, NVRM: Xid (PCI:0000:4c:00): 79, a",
            general("3b:00", 31),
        ),
    ] {
        assert_eq!(all(text), expected, "{text}");
    }
}

#[test]
fn what_gpud_drops_and_drivers_print() {
    for (text, device, instance, code) in [
        // MIG.
        (
            "NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 43, pid=1, name=a, b",
            "PCI:0000:3b:00",
            "GPU-I:05",
            43,
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00 GPU-I:05 GPU-CI:00): 31, pid=1, name=a, b",
            "PCI:0000:3b:00",
            "GPU-I:05 GPU-CI:00",
            31,
        ),
        // Functions: 0 is the GPU, others are virtual.
        (
            "NVRM: Xid (PCI:0000:3b:00.0): 79, x",
            "PCI:0000:3b:00",
            "",
            79,
        ),
        ("NVRM: Xid (0000:3B:00.0): 79, x", "0000:3B:00", "", 79),
        (
            "NVRM: Xid (PCI:0000:3b:00.4): 79, x",
            "PCI:0000:3b:00.4",
            "",
            79,
        ),
        // No comma.
        ("NVRM: Xid (PCI:0000:3b:00): 79", "PCI:0000:3b:00", "", 79),
        (
            "NVRM: Xid (PCI:0000:3b:00): 79\nmore",
            "PCI:0000:3b:00",
            "",
            79,
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00): 79 GPU lost",
            "PCI:0000:3b:00",
            "",
            79,
        ),
        (
            "NVRM: Xid (PCI:0000:3b:00): 79 pid=1: 5, x",
            "PCI:0000:3b:00",
            "",
            79,
        ),
    ] {
        let expected = Line {
            device: device.into(),
            instance,
            code,
            extended: None,
        };
        assert_eq!(all(text), Some(expected), "{text}");
    }
}

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

#[test]
fn off_the_bus() {
    for (text, device) in [
        (
            "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
            "PCI:0000:3b:00",
        ),
        (
            "NVRM:GPU 3b:00.0:GPU has fallen off the bus",
            "PCI:0000:3b:00",
        ),
        (
            "NVRM:  GPU 0018:C1:00.0: \t GPU has fallen off the bus",
            "PCI:0018:C1:00",
        ),
        (
            "NVRM: GPU 00000018:c1:00.0: GPU has fallen off the bus",
            "PCI:00000018:c1:00",
        ),
        (
            "NVRM: The NVIDIA GPU 0000:9b:00.0\\x0aNVRM: (PCI ID: 10de:2330) installed in this system has\\x0aNVRM: fallen off the bus and is not responding to commands.",
            "PCI:0000:9b:00",
        ),
        (
            "NVRM: The NVIDIA GPU 0000:9b:00.0\nNVRM: has\nNVRM: fallen off the bus and is not responding to commands.",
            "PCI:0000:9b:00",
        ),
        // The GPU that the message is about, whatever other devices it names.
        (
            "NVRM: The NVIDIA GPU 0000:01:00.0 NVRM: GPU 02:00.0: GPU has fallen off the bus and fallen off the bus and is not responding to commands.",
            "PCI:0000:01:00",
        ),
    ] {
        assert_eq!(all(text), general(device, 79), "{text}");
    }
}

#[test]
fn other_lines_are_ignored() {
    let long = format!("NVRM: Xid (PCI:{}): 79, x", "0".repeat(100));
    for text in [
        "",
        "NVRM: Xid",
        "NVRM: Xid (",
        "NVRM: Xid (PCI:0000:3b:00",
        "NVRM: Xid (PCI:0000:3b:00)",
        "NVRM: Xid (PCI:0000:3b:00): , x",
        "NVRM: Xid (PCI:0000:3b:00): x",
        "NVRM: Xid (PCI:0000:3b:00):79, x",
        "NVRM: Xid (PCI:0000:3b:00): -79, x",
        "NVRM: Xid (PCI:0000:3b:00): 0, x",
        "NVRM: Xid (PCI:0000:3b:00): 0, x: 79, y",
        "NVRM: Xid (PCI:0000:3b:00): 79.5",
        "NVRM: Xid (PCI:0000:3b:00): \u{663}, x",
        "NVRM: Xid (PCI:0000:3b:00)\n: 79, x",
        "NVRM: Xid (): 79, x",
        // Within other lines.
        "[ 12.5] NVRM: Xid (PCI:0000:3b:00): 79, x",
        "x NVRM: Xid (PCI:0000:3b:00): 79, x",
        "NVRM: NVRM: Xid (PCI:0000:3b:00): 79, x",
        "NVRM: Xid (PCI:0000:01:00)\nNVRM: Xid (PCI:0000:02:00): 31, a",
        "NVRM: Xid (PCI:0000:01:00): 0, NVRM: GPU 3b:00.0: GPU has fallen off the bus",
        "NVRM: Xid (PCI:0000:01:00): 99999999999999999999, NVRM: GPU 3b:00.0: GPU has fallen off the bus",
        "x NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus",
        "x NVRM: The NVIDIA GPU 0000:9b:00.0 has fallen off the bus and is not responding to commands.",
        // Too short for the id of a GPU: what the name of a process has room for.
        "NVRM: Xid (3b): 79, x",
        "NVRM: Xid (3b):[311]: segfault at 0 ip 0 sp 0 error 4 in x: 79, y[400000+1000]",
        "NVRM: Xid (PCI:): 79, x",
        "NVRM: Xid (PCI:0000:3g:00): 79, x",
        "NVRM: Xid (pci:0000:3b:00): 79, x",
        "NVRM: Xid (PCI:0000:3b:00.): 79, x",
        "NVRM: Xid(PCI:0000:3b:00): 79, x",
        "NVRM: xid (PCI:0000:3b:00): 79, x",
        "NVRM:  Xid (PCI:0000:3b:00): 79, x",
        "nvidia-nvswitch3: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
        "NVRM: GPU 0000:3b:00.1: GPU has fallen off the bus",
        "NVRM: GPU 000:3b:00.0: GPU has fallen off the bus",
        "NVRM: GPU 0000:0000:3b:00.0: GPU has fallen off the bus",
        "NVRM: GPU 0000:3b:00: GPU has fallen off the bus",
        "NVRM: GPU 0000:3b:00.0: GPU is not lost",
        "NVRM: GPU at 0000:3b:00.0: GPU has fallen off the bus",
        "GPU 0000:3b:00.0: GPU has fallen off the bus",
        "NVRM: The NVIDIA GPU 0000:9b:00.0",
        "NVRM: fallen off the bus and is not responding to commands.",
        "NVRM: The NVIDIA GPU 0000:9b:00.0 has fallen off the bus and is not responding to commands!",
        long.as_str(),
    ] {
        assert_eq!(all(text), None, "{text}");
    }
}

/// GPUd's grammar, at the beginning of a text.
struct Grammar {
    extended: Regex,
    general: Regex,
    single: Regex,
    multi: Regex,
}

#[derive(Debug, PartialEq)]
enum Found {
    Extended {
        device: String,
        code: u64,
        unit: String,
        fatal: bool,
        words: (u32, u32),
    },
    General {
        device: String,
        code: u64,
    },
    Nothing,
}

impl Grammar {
    fn new() -> Self {
        let bdf = r"((?:[0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2})\.0";
        let regex = |pattern: &str| Regex::new(pattern).unwrap();
        Self {
            extended: regex(
                r"^NVRM: Xid \(PCI:([0-9a-fA-F:]+)\): ([0-9]+)(?:, pid=[0-9]+, name=[^,]+)?, ([A-Z_]+(?:/[A-Z_]+)?)[ \t\n\x0c\r]+(Nonfatal|Fatal)[ \t\n\x0c\r]+XC[01][ \t\n\x0c\r]+i[0-9]+[ \t\n\x0c\r]+Link[ \t\n\x0c\r]+-?[0-9]+[ \t\n\x0c\r]+\(0x([0-9a-fA-F]+)[ \t\n\x0c\r]+0x([0-9a-fA-F]+)",
            ),
            general: regex(r"^NVRM: Xid \(((?:PCI:)?[0-9a-fA-F:]+)\).*?: ([0-9]+),"),
            single: regex(&format!(
                r"^NVRM:[ \t\n\x0c\r]*GPU {bdf}:[ \t\n\x0c\r]*GPU has fallen off the bus"
            )),
            multi: regex(&format!(
                r"(?s)^NVRM:[ \t\n\x0c\r]*The NVIDIA GPU {bdf}.*fallen off the bus and is not responding to commands\."
            )),
        }
    }

    fn find(&self, text: &str) -> Found {
        if let Some(found) = self.extended.captures(text) {
            let word = |group| u32::from_str_radix(&found[group], 16).ok();
            if let (Ok(code), Some(first), Some(second)) = (found[2].parse(), word(5), word(6)) {
                return Found::Extended {
                    device: format!("PCI:{}", &found[1]),
                    code,
                    unit: found[3].to_owned(),
                    fatal: &found[4] == "Fatal",
                    words: (first, second),
                };
            }
        }
        if let Some(found) = self.general.captures(text)
            && is_whole_id(&found[1])
            && let Some(code) = found[2].parse().ok().filter(|code| *code != 0)
        {
            return Found::General {
                device: found[1].to_owned(),
                code,
            };
        }
        match self
            .single
            .captures(text)
            .or_else(|| self.multi.captures(text))
        {
            Some(found) => {
                let domain = if found[1].len() == 5 { "0000:" } else { "" };
                Found::General {
                    device: format!("PCI:{domain}{}", &found[1]),
                    code: 79,
                }
            }
            None => Found::Nothing,
        }
    }
}

/// An id that no name of a process has room for.
fn is_whole_id(id: &str) -> bool {
    id.starts_with("PCI:") || id.len() >= MIN_ID && id.contains(':')
}

fn ours(text: &str) -> Found {
    match all(text) {
        None => Found::Nothing,
        Some(Line {
            device,
            code,
            extended: None,
            ..
        }) => Found::General {
            device: device.into(),
            code,
        },
        Some(Line {
            device,
            code,
            extended: Some(fields),
            ..
        }) => Found::Extended {
            device: device.into(),
            code,
            unit: fields.unit.to_owned(),
            fatal: fields.fatal,
            words: (fields.intrinfo, fields.status),
        },
    }
}

/// Text with the pieces of all forms, whole, broken and in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => Just("NVRM: Xid (".to_owned()),
        2 => Just("NVRM:".to_owned()),
        2 => Just("NVRM: GPU ".to_owned()),
        2 => Just(" The NVIDIA GPU ".to_owned()),
        2 => Just("PCI:".to_owned()),
        4 => "[0-9a-fA-F]{4}:[0-9a-f]{2}:[0-9a-f]{2}",
        1 => "[0-9a-f:]{0,12}",
        2 => Just(".0".to_owned()),
        2 => Just(".0: GPU has fallen off the bus".to_owned()),
        2 => Just(" fallen off the bus and is not responding to commands.".to_owned()),
        5 => Just(")".to_owned()),
        5 => Just("): ".to_owned()),
        3 => Just(": ".to_owned()),
        5 => "[0-9]{1,3}",
        1 => "[0-9]{18,22}",
        5 => Just(", ".to_owned()),
        2 => Just(",".to_owned()),
        2 => "pid=[0-9]{1,4}, name=[a-z:, ]{1,6}, ",
        4 => "[A-Z_]{1,4}(/[A-Z_]{1,4})?(Fatal)? (Nonfatal|Fatal) {1,2}XC[012] i[0-9] Link -?[0-9]{1,2} \\((0x[0-9a-fA-F]{1,9} ?){1,3}\\)?",
        1 => "[ -~]{0,8}",
        1 => "\\PC{0,4}",
        1 => Just("\n".to_owned()),
        2 => Just(" ".to_owned()),
    ];
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

/// Text that is mostly right.
fn nearly() -> impl Strategy<Value = String> {
    let id = "(PCI:)?([0-9a-fA-F]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}";
    let process = prop_oneof![Just(String::new()), "pid=[0-9]{1,5}, name=[a-z:]{1,6}, "];
    let fields = "(NETIR|RLW_CTRL|A/B_C|TLW_RX) {1,3}(Nonfatal|Fatal)[ \t]{1,3}XC[01] i[0-9]{1,2} Link -?[0-9]{1,2} \\(0x[0-9a-f]{1,9} 0x[0-9a-f]{1,9}( 0x[0-9a-f]{1,8}){0,4}\\)?";
    (
        id,
        "[1-9][0-9]{0,3}",
        process,
        prop_oneof![fields, "[ -~]{0,20}"],
    )
        .prop_map(|(id, code, process, rest)| format!("NVRM: Xid ({id}): {code}, {process}{rest}"))
}

/// Everything that GPUd's grammar finds is found, as the same; beyond it only what is listed as lenient.
fn compare(grammar: &Grammar, text: &str) -> Result<(), TestCaseError> {
    let theirs = grammar.find(text);
    let ours = ours(text);
    if ours == theirs {
        return Ok(());
    }
    match (&theirs, &ours) {
        // More lines are found at all, or as extended. The first such line of a text may then be another.
        (Found::Nothing | Found::General { .. }, Found::Extended { .. }) => Ok(()),
        // A code without its comma, a function or a MIG instance, a wide domain; in this line or in an earlier one.
        (Found::Nothing | Found::General { .. }, Found::General { .. }) => {
            let lenient = Regex::new(
                r"NVRM: Xid \([^)]*[. ][^)]*\)|NVRM: Xid \([^)]*\): [0-9]+([ \t\n\x0c\r]|$)|GPU [0-9a-fA-F]{5,8}:",
            )
            .unwrap();
            prop_assert!(lenient.is_match(text), "{text:?}: {theirs:?}, but {ours:?}");
            Ok(())
        }
        (Found::Extended { .. }, Found::Extended { .. }) => {
            prop_assert!(
                text.matches(DRIVER).count() > 1,
                "{text:?}: {theirs:?}, but {ours:?}"
            );
            Ok(())
        }
        _ => Err(TestCaseError::fail(format!(
            "{text:?}: {theirs:?}, but {ours:?}"
        ))),
    }
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    })
}

#[test]
fn never_finds_less_than_the_grammar() {
    let grammar = Grammar::new();
    let mut runner = runner(4_000);
    runner
        .run(&pieces(), |text| compare(&grammar, &text))
        .unwrap();
    runner
        .run(&nearly(), |text| {
            prop_assert_ne!(all(&text), None, "{:?}", text);
            compare(&grammar, &text)
        })
        .unwrap();
}

#[test]
fn the_patterns_let_every_line_through() {
    let patterns: Vec<Regex> = PATTERNS
        .iter()
        .map(|pattern| Regex::new(pattern).unwrap())
        .collect();
    let passes = |line: &str| patterns.iter().any(|pattern| pattern.is_match(line));
    // What is delivered is matched by a record's first line.
    let mut runner = runner(4_000);
    runner
        .run(&pieces(), |text| {
            let line = text.split('\n').next().unwrap();
            prop_assert!(all(line).is_none() || passes(line), "{line:?}");
            Ok(())
        })
        .unwrap();
    assert!(passes(
        "NVRM: The NVIDIA GPU 0000:9b:00.0\\x0aNVRM: fallen off the bus and is not responding to commands."
    ));
    assert!(!passes("NVRM: GPU0 is fine"));
    assert!(!passes(
        "nvidia-nvswitch3: SXid (PCI:0000:c3:00.0): 20034, Fatal"
    ));
}

#[test]
fn each_pattern_has_a_line_and_a_lookalike() {
    let lines = [
        (
            "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.",
            "nvidia-nvswitch3: SXid (PCI:0000:c3:00.0): 20034, Fatal",
        ),
        (
            "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
            "NVRM: GPU 0000:3b:00.1: GPU has fallen off the bus.",
        ),
        (
            "NVRM: The NVIDIA GPU 0000:9b:00.0\\x0aNVRM: has fallen off the bus and is not responding to commands.",
            "NVRM: The NVIDIA GPU 0000:9b:00.0 is not responding to commands.",
        ),
    ];
    assert_eq!(lines.len(), PATTERNS.len());
    for (pattern, (line, lookalike)) in PATTERNS.iter().zip(lines) {
        let regex = Regex::new(pattern).unwrap();
        assert!(regex.is_match(line), "{pattern}: {line}");
        assert!(!regex.is_match(lookalike), "{pattern}: {lookalike}");
        assert!(all(line).is_some() && all(lookalike).is_none(), "{line}");
    }
}

#[test]
fn no_forged_line_is_believed() {
    for line in [
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.",
        "NVRM: Xid (0): 79, x",
        "NVRM: Xid (3b:00): 79, x",
        "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
        "NVRM: The NVIDIA GPU 0000:9b:00.0 has fallen off the bus and is not responding to commands.",
    ] {
        let within = forged::LINES.map(|other| other.replace("{}", line));
        let about = [forged::crashes(line), forged::of_processes(line)].concat();
        for forged in within.iter().chain(&about) {
            assert_eq!(all(forged), None, "{forged}");
        }
    }
}

#[test]
fn the_name_of_a_process_changes_neither_code_nor_device() {
    for name in [
        "): 79, (4c:00)",
        "', 79, x: 79, ",
        "a: 79,\"b\": 1,",
        "PCI:4c:00): 79",
        "Row Remapper, x",
    ] {
        let line =
            format!("NVRM: Xid (PCI:0000:3b:00): 31, pid=1, name={name}, Ch 00000010, intr 0");
        assert_eq!(all(&line), general("PCI:0000:3b:00", 31), "{line}");
        assert!(!crate::facts::Facts::of(&line).remaps_rows(), "{line}");
    }
}
