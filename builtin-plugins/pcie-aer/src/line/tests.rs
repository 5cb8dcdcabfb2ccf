use std::sync::LazyLock;

use proptest::prelude::*;
use regex::Regex;

use super::*;

mod real_lines;

static DELIVERED: LazyLock<Regex> = LazyLock::new(|| Regex::new(&PATTERNS.join("|")).unwrap());

fn kind(name: &str) -> &'static Kind {
    KINDS.iter().find(|kind| kind.name == name).unwrap()
}

#[test]
fn every_kind_has_its_own_name_and_meaning() {
    for (index, kind) in KINDS.iter().enumerate() {
        assert!(
            !kind.meaning.is_empty() && kind.meaning.len() < 40,
            "{}",
            kind.name
        );
        let others = KINDS
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index);
        assert!(
            others
                .clone()
                .all(|(_, other)| other.name != kind.name && other.meaning != kind.meaning),
            "{}",
            kind.name
        );
    }
    let corrected = KINDS.iter().filter(|kind| kind.correctable).count();
    assert_eq!(corrected, 8);
}

const ID: &str = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]";
static FORMS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let names = KINDS
        .iter()
        .map(|kind| kind.name)
        .collect::<Vec<_>>()
        .join("|");
    let severity = r"(?:Correct(?:ed|able)|Uncorrect(?:ed|able) \((?:Non-)?Fatal\))";
    [
        format!(r"(?:AER: )?(?:PCIe|CXL) Bus Error: severity={severity}, type=.+?, \([^()]+\)"),
        format!(r"(?:AER: )? +\[ ?[0-9]{{1,2}}\] (?:{names}) *(?: \(First\))?"),
        "(?:AER: )?aer_status: 0x[0-9a-f]{8}, aer_mask: 0x[0-9a-f]{8}".to_owned(),
        "(?:AER: )?aer_uncor_severity: 0x[0-9a-f]{8}".to_owned(),
        "(?:AER: )?aer_layer=.+?, aer_agent=.+".to_owned(),
        format!(
            r"AER: (?:Multiple )?{severity} error message received from {ID} \(no details found.*"
        ),
        format!("AER: found no error details for {ID}"),
        "AER: can't find device of ID[0-9a-f]{4}".to_owned(),
        "AER: [Dd]evice recovery (?:successful|failed)".to_owned(),
        "DPC: containment event, status:0x[0-9a-f].*".to_owned(),
    ]
    .iter()
    .map(|form| Regex::new(&format!("^(?s)([^ ]+) ({ID}): (?:{form})$")).unwrap())
    .collect()
});

/// Lines put together from the pieces that the rules look at, so that near misses are common.
fn made_up() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "PCIe",
        "CXL",
        " Bus Error: severity=",
        "Corrected",
        "Uncorrectable (Fatal)",
        ", type=",
        "Physical Layer",
        ", (",
        "Receiver ID",
        ")",
        "(",
        "   ",
        " ",
        "[14] ",
        "[ 0] ",
        "CmpltTO",
        "RxErr",
        " (First)",
        "aer_status: 0x",
        "00000001",
        ", aer_mask: 0x",
        "aer_layer=",
        ", aer_agent=",
        "aer_uncor_severity: 0x",
        "AER: ",
        "Multiple ",
        " error message received from ",
        "0000:3b:00.0",
        " (no details found",
        "found no error details for ",
        "can't find device of ID",
        "3b00",
        "device recovery ",
        "Device recovery ",
        "successful",
        "failed",
        "DPC: containment event, status:0x",
        "1f01",
        "é",
        ": ",
        "PCIe Bus Error: severity=Corrected, type=",
    ]);
    let head = prop::sample::select(vec![
        "nvidia 0000:3b:00.0: ",
        "pcieport 10000:3a:00.7: ",
        "pcieport 0000:3a:00.0: AER: ",
        "x 0000:3a:00.8: ",
        "0000:3a:00.0: ",
        "a b 0000:3a:00.0: ",
        " 0000:3a:00.0: ",
    ]);
    (head, prop::collection::vec(piece, 0..8))
        .prop_map(|(head, pieces)| format!("{head}{}", pieces.concat()))
}

fn agree(line: &str) -> Result<(), TestCaseError> {
    let found = Line::parse(line);
    let device = FORMS
        .iter()
        .find_map(|form| Some(form.captures(line)?.get(2)?.as_str()));
    prop_assert_eq!(found.map(|found| found.device), device);
    if found.is_some() {
        prop_assert!(DELIVERED.is_match(line));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn agrees_with_the_expressions(line in made_up()) {
        agree(&line)?;
    }

    #[test]
    fn agrees_on_any_text(line in "\\PC{0,80}") {
        agree(&line)?;
    }

    #[test]
    fn pci_ids(text in "[0-9a-g]{3,9}:[0-9a-g]{1,3}:[0-9a-f]{2}[.:][0-9]{1,2}") {
        static WHOLE: LazyLock<Regex> = LazyLock::new(|| Regex::new(&format!("^{ID}$")).unwrap());
        prop_assert_eq!(is_pci_id(&text), WHOLE.is_match(&text));
    }
}

#[test]
fn each_pattern_has_a_line_and_a_lookalike() {
    let lines = [
        (
            "pcieport 0000:00:1c.0: AER: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
            "systemd[1]: PCIe Bus Error: severity=Corrected",
        ),
        (
            "pcieport 0000:00:1c.0:    [ 0] RxErr                  (First)",
            "pcieport 0000:00:1c.0: [8086:a110] type 01 class 0x060400",
        ),
        (
            "nvidia 0000:3b:00.0: AER: aer_status: 0x00000001, aer_mask: 0x00002000",
            "nvidia 0000:3b:00.0: AER: aer_mask: 0x00002000",
        ),
        (
            "pcieport 0000:00:1c.0: AER: Corrected error message received from 0000:01:00.0 (no details found)",
            "pcieport 0000:00:1c.0: AER: Corrected error message received from 0000:01:00.0",
        ),
        (
            "pcieport 0000:00:1c.0: AER: can't find device of ID00e0",
            "pcieport 0000:00:1c.0: AER: enabled with IRQ 120",
        ),
        (
            "pcieport 0000:00:1c.0: AER: device recovery failed",
            "pcieport 0000:00:1c.0: AER: device recovery started",
        ),
        (
            "pcieport 0000:00:1c.0: DPC: containment event, status:0x1f01 source:0x0000",
            "pcieport 0000:00:1c.0: DPC: error containment capabilities: Int Msg #0, RPExt+",
        ),
    ];
    assert_eq!(lines.len(), PATTERNS.len());
    for (pattern, (line, lookalike)) in PATTERNS.iter().zip(lines) {
        let regex = Regex::new(pattern).unwrap();
        assert!(regex.is_match(line), "{pattern}: {line}");
        assert!(!regex.is_match(lookalike), "{pattern}: {lookalike}");
    }
}
