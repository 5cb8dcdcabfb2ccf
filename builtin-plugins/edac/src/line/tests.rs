use std::sync::LazyLock;

use gpud_sdk::EventType;
use proptest::prelude::*;
use regex::Regex;

use super::*;

static DELIVERED: LazyLock<Regex> = LazyLock::new(|| Regex::new(&PATTERNS.join("|")).unwrap());
static FORM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^EDAC MC([0-9]{1,9}): ([0-9]{1,9}) (CE|UE) (?:|(.*?) )on (.+?) \((.*?)page:0x([0-9a-f]+)",
    )
    .unwrap()
});

fn context() -> CheckContext {
    CheckContext {
        component: "memory-edac".into(),
        now: 1_800_000_000_000,
        trigger: gpud_sdk::Trigger::Scheduled,
        boot_id: "b-1".into(),
        boot_time: 1_799_000_000_000,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn message(text: &str) -> Message {
    Message {
        sequence: 9,
        time: 1_799_500_000_000,
        level: 4,
        facility: 0,
        text: text.into(),
        dictionary: None,
    }
}

/// Controller, errors, whether they are uncorrected, what, DIMM, location, page.
type Fields = (
    u32,
    u32,
    bool,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// Lines of each driver, and lookalikes.
const LINES: &[(&str, Option<Fields>)] = &[
    (
        // skx_edac, i10nm_edac
        "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x3f7c0a offset:0xc40 grain:32 syndrome:0x0 -  err_code:0x0101:0x0091  SystemAddress:0x3f7c0ac40 ProcessorSocketId:0x0)",
        Some((
            0,
            1,
            false,
            "memory read error",
            "CPU_SrcID#0_MC#0_Chan#1_DIMM#0",
            "channel:1 slot:0",
            "3f7c0a",
        )),
    ),
    (
        // amd64_edac
        "EDAC MC1: 3 CE on mc#1csrow#2channel#0 (csrow:2 channel:0 page:0x8f3 offset:0x780 grain:64 syndrome:0x100)",
        Some((
            1,
            3,
            false,
            "",
            "mc#1csrow#2channel#0",
            "csrow:2 channel:0",
            "8f3",
        )),
    ),
    (
        "EDAC MC1: 1 UE on DIMM_B2 (channel:1 slot:1 page:0x0 offset:0x0 grain:1)",
        Some((1, 1, true, "", "DIMM_B2", "channel:1 slot:1", "0")),
    ),
    (
        "EDAC MC0: 1 UE memory scrubbing error on any memory ( page:0x12 offset:0x0 grain:32 - OVERFLOW recoverable)",
        Some((0, 1, true, "memory scrubbing error", "any memory", "", "12")),
    ),
    (
        // ghes_edac
        "EDAC MC0: 1 CE single-symbol chipkill ECC on P1_Node0_Channel3_Dimm0 DIMM_D1 (node:0 card:3 module:0 rank:0 page:0x898b86 offset:0x20 grain:1 syndrome:0x0 - APEI location: node:0 card:3 status(0x0000000000000400): Storage error in DRAM memory)",
        Some((
            0,
            1,
            false,
            "single-symbol chipkill ECC",
            "P1_Node0_Channel3_Dimm0 DIMM_D1",
            "node:0 card:3 module:0 rank:0",
            "898b86",
        )),
    ),
    (
        "EDAC MC0: 2 UE FATAL on DIMM_A1 or DIMM_B1 (branch:0 page:0x1f offset:0x0 grain:8)",
        Some((0, 2, true, "FATAL", "DIMM_A1 or DIMM_B1", "branch:0", "1f")),
    ),
    // Lookalikes.
    ("EDAC MC: Ver: 3.0.0", None),
    (
        "EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0: DEV 0000:3a:0a.0 (INTERRUPT)",
        None,
    ),
    ("EDAC skx MC0: HANDLING MCE MEMORY ERROR", None),
    (
        "EDAC MC0: INTERNAL ERROR: channel value is out of range (9 >= 3)",
        None,
    ),
    ("EDAC PCI0: Giving out device to module e752x", None),
    (
        "EDAC DEVICE0: UE: L2 instance: cpu0 block: L2 count: 1 'x'",
        None,
    ),
    ("EDAC MC0: 1 CE memory read error on DIMM_A1", None),
    (
        "EDAC MC0: 1 CE memory read error on DIMM_A1 (channel:1 page:zz)",
        None,
    ),
    ("EDAC MC0: 1 ce on DIMM_A1 (page:0x1)", None),
    ("EDAC MC99999999999: 1 CE on A (page:0x1)", None),
    (
        "app: EDAC MC0: 1 UE on DIMM_B2 (channel:1 slot:1 page:0x0 offset:0x0 grain:1)",
        None,
    ),
    ("EDAC MC0: 1 CE on  (", None),
];

#[test]
fn lines_of_real_kernels() {
    for &(line, expected) in LINES {
        let found = Line::parse(line);
        let found = found.map(|l| {
            (
                l.controller,
                l.errors,
                l.uncorrected,
                l.what,
                l.dimm,
                l.location,
                l.page,
            )
        });
        assert_eq!(found, expected, "{line}");
        assert!(expected.is_none() || DELIVERED.is_match(line), "{line}");
    }
}

#[test]
fn events_name_the_dimm() {
    let one = |text: &str| events(&context(), &[message(text)]).remove(0);
    let corrected = one(
        "EDAC MC0: 2 CE memory read error on DIMM_A1 (channel:1 slot:0 page:0x3f offset:0x0 grain:32 syndrome:0x0)",
    );
    assert_eq!(
        (corrected.name.as_str(), corrected.event_type.clone()),
        (CORRECTED, EventType::Info)
    );
    assert_eq!(
        corrected.message,
        "2 corrected memory error(s) on DIMM_A1 (mc0, channel:1 slot:0): memory read error"
    );
    assert_eq!(corrected.subject, Some(subject("DIMM_A1")));
    assert_eq!(corrected.evidence, [Evidence::Kmsg(9)]);
    let facts: Vec<_> = corrected
        .extra_info
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        facts,
        [
            ("controller", "mc0"),
            ("dimm", "DIMM_A1"),
            ("location", "channel:1 slot:0"),
            ("errors", "2"),
            ("boot_id", "b-1")
        ]
    );
    let lost = one("EDAC MC1: 1 UE on any memory ( page:0x12 offset:0x0 grain:32)");
    assert_eq!(
        (lost.name.as_str(), lost.event_type.clone()),
        (UNCORRECTED, EventType::Critical)
    );
    assert_eq!(
        lost.message,
        "1 uncorrected memory error(s) on any memory (mc1)"
    );
    let windows = [corrected, lost].map(|event| event.merge.unwrap().window_seconds);
    assert_eq!(windows, [3_600, 60]);
}

#[test]
fn repeats_are_counted_by_dimm_and_boot() {
    let key = |text: &str| {
        events(&context(), &[message(text)])
            .remove(0)
            .merge
            .unwrap()
            .key
    };
    let line = |kind: &str, dimm: &str, page: &str| {
        format!("EDAC MC0: 1 {kind} on {dimm} (channel:0 page:0x{page} offset:0x0)")
    };
    let first = key(&line("CE", "A1", "1"));
    assert!(first.starts_with("b-1 "), "{first}");
    assert_eq!(first, key(&line("CE", "A1", "2")));
    assert_ne!(first, key(&line("CE", "A2", "1")));
    assert_ne!(key(&line("UE", "A1", "1")), key(&line("UE", "A1", "2")));
}

#[test]
fn only_the_kernel_is_heard() {
    for (facility, heard) in [(0, 1), (1, 1), (3, 0), (5, 1)] {
        let text = "EDAC MC1: 1 UE on DIMM_B2 (channel:1 slot:1 page:0x0 offset:0x0 grain:1)";
        let message = Message {
            facility,
            ..message(text)
        };
        assert_eq!(events(&context(), &[message]).len(), heard, "{facility}");
    }
}

/// Lines put together from the pieces that the rules look at, so that near misses are common.
fn made_up() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "EDAC MC",
        "0",
        "12",
        ": ",
        " CE ",
        " UE ",
        "on ",
        " on ",
        "read error",
        "DIMM_A1",
        " (",
        "(",
        ")",
        "channel:1 ",
        "page:0x",
        "3f",
        " ",
        "é",
        "EDAC MC0: 1 CE ",
        "EDAC MC1: 2 UE on ",
        " (channel:0 page:0x1",
        "on",
        "g",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn agree(line: &str) -> Result<(), TestCaseError> {
    let found = Line::parse(line);
    match FORM.captures(line) {
        Some(parts) => {
            let text = |group: usize| parts.get(group).map_or("", |found| found.as_str());
            let expected = Line {
                controller: text(1).parse().unwrap(),
                errors: text(2).parse().unwrap(),
                uncorrected: text(3) == "UE",
                what: text(4),
                dimm: text(5),
                location: text(6).trim(),
                page: text(7),
            };
            prop_assert_eq!(found, Some(expected));
            prop_assert!(DELIVERED.is_match(line));
        }
        None => prop_assert_eq!(found, None),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn agrees_with_the_expression(line in made_up()) {
        agree(&line)?;
    }

    #[test]
    fn agrees_on_any_text(line in "\\PC{0,80}") {
        agree(&line)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    /// Events stay within the host's bounds, whatever a line holds.
    #[test]
    fn bounded(what in "\\PC{0,2000}", dimm in "\\PC{1,2000}") {
        let text = format!("EDAC MC0: 1 UE {what} on {dimm} (x page:0x1 )");
        for event in events(&context(), &[message(&text)]) {
            prop_assert!(event.message.len() <= 4096 && event.merge.unwrap().key.len() <= 16_384);
            let Some(Subject::Other((_, name))) = event.subject else {
                panic!("no DIMM");
            };
            prop_assert!(name.len() <= 128);
        }
    }
}

#[test]
fn each_pattern_has_a_line_and_a_lookalike() {
    let lines = [(
        "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1a2b3c offset:0x0 grain:32 syndrome:0x0)",
        "EDAC MC0: Giving out device to module i7core_edac.c controller",
    )];
    assert_eq!(lines.len(), PATTERNS.len());
    for (pattern, (line, lookalike)) in PATTERNS.iter().zip(lines) {
        let regex = Regex::new(pattern).unwrap();
        assert!(regex.is_match(line), "{pattern}: {line}");
        assert!(!regex.is_match(lookalike), "{pattern}: {lookalike}");
    }
}
