//! GPUd's grammar as regular expressions to compare with, and lines that someone forged.

use gpud_sdk::catalog::forged;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use regex::Regex;

use super::*;

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
