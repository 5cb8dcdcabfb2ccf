use proptest::prelude::*;

use super::*;

const MEMORY: &[&str] = &[
    "{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4",
    "{1}[Hardware Error]: It has been corrected by h/w and requires no further action",
    "{1}[Hardware Error]: event severity: corrected",
    "{1}[Hardware Error]:  Error 0, type: corrected",
    "{1}[Hardware Error]:  fru_text: B1",
    "{1}[Hardware Error]:   section_type: memory error",
    "{1}[Hardware Error]:   error_status: Storage error in DRAM memory (0x0000000000000400)",
    "{1}[Hardware Error]:   physical_address: 0x0000000898b86020",
    "{1}[Hardware Error]:   node:0 card:0 module:0 rank:0 bank:513 device:0 row:4887 column:1032 ",
    "{1}[Hardware Error]:   error_type: 2, single-bit ECC",
    "{1}[Hardware Error]:   DIMM location: PROC 1 DIMM 3 ",
];

/// Severity, place and mark of the sections, with the batches cut at these lines.
fn sections(lines: &[&str], cuts: &[usize]) -> Vec<(RecordSeverity, String, bool)> {
    let mut found = Vec::new();
    let mut saved: Option<String> = None;
    let mut assembler = Assembler::default();
    for (index, line) in lines.iter().enumerate() {
        if cuts.contains(&index) {
            found.extend(assembler.end());
            saved = assembler.save("b");
            assembler = Assembler::restore(saved.as_deref(), "b");
        }
        if let Some((mark, piece)) = FirmwareLine::parse(line) {
            found.extend(assembler.take(mark, piece, 1000, index as u64));
        }
    }
    found.extend(assembler.end());
    drop(saved);
    found
        .into_iter()
        .map(|section| (section.severity, section.place(), section.of_previous_boot))
        .collect()
}

#[test]
fn records_become_sections() {
    let corrected = |place: &str| (RecordSeverity::Corrected, place.to_owned(), false);
    let whole = corrected("memory error (B1), DIMM location: PROC 1 DIMM 3");
    assert_eq!(sections(MEMORY, &[]), std::slice::from_ref(&whole));
    // Cut before the section: nothing is lost. Within it: the details that come later.
    for cut in 1..=5 {
        assert_eq!(
            sections(MEMORY, &[cut]),
            std::slice::from_ref(&whole),
            "{cut}"
        );
    }
    for cut in 6..=10 {
        let short = corrected("memory error (B1)");
        assert_eq!(sections(MEMORY, &[cut]), [short], "{cut}");
    }

    let bert = [
        "BERT: Error records from previous boot:",
        "[Hardware Error]: event severity: fatal",
        "[Hardware Error]:  Error 0, type: fatal",
        "[Hardware Error]:   section type: unknown, 81212a96-09ed-4996-9471-8d729c8e69ed",
        "[Hardware Error]:   section length: 0x290",
        "[Hardware Error]:   00000000: 00000001 00000000 00000000 00020002  ................",
        "[Hardware Error]:  Error 1, type: recoverable",
        "[Hardware Error]:   section_type: IA32/X64 processor error",
    ];
    let place = "unknown, 81212a96-09ed-4996-9471-8d729c8e69ed".to_owned();
    assert_eq!(
        sections(&bert, &[]),
        [
            (RecordSeverity::Fatal, place, true),
            (
                RecordSeverity::Recoverable,
                "IA32/X64 processor error".to_owned(),
                true
            ),
        ]
    );

    let pcie = [
        "{7}[Hardware Error]: event severity: recoverable",
        "{7}[Hardware Error]:  Error 0, type: recoverable",
        "{7}[Hardware Error]:   section_type: PCIe error",
        "{7}[Hardware Error]:   port_type: 4, root port",
        "{7}[Hardware Error]:   device_id: 0000:3a:00.0",
        "{7}[Hardware Error]:   vendor_id: 0x8086, device_id: 0x347a",
        "{8}[Hardware Error]:   DIMM location: of another record",
    ];
    let place = "PCIe error, device_id: 0000:3a:00.0".to_owned();
    assert_eq!(
        sections(&pcie, &[]),
        [(RecordSeverity::Recoverable, place, false)]
    );

    // The beginning was lost: an error of which no more is known.
    let rest = &MEMORY[5..6];
    assert_eq!(
        sections(rest, &[]),
        [(RecordSeverity::Info, "memory error".to_owned(), false)]
    );
}

#[test]
fn saved_state_belongs_to_a_boot() {
    let mut assembler = Assembler::default();
    assert_eq!(assembler.save("b"), None);
    let (mark, piece) = FirmwareLine::parse("{9}[Hardware Error]: event severity: fatal").unwrap();
    assert_eq!(assembler.take(mark, piece, 0, 0), None);
    let saved = assembler.save("b").unwrap();
    assert_eq!(Assembler::restore(Some(&saved), "b"), assembler);
    assert_eq!(Assembler::restore(Some(&saved), "c"), Assembler::default());
    for broken in ["", "b", "b\n9", "b\n9\nfatal"] {
        assert_eq!(Assembler::restore(Some(broken), "b"), Assembler::default());
    }
}

#[test]
fn saved_state_is_short() {
    let mut assembler = Assembler::default();
    let long = "é".repeat(40_000);
    for (line, kept) in [
        (
            "{9}[Hardware Error]: event severity: fatal",
            "b\n9\nfatal\n",
        ),
        (
            &format!("{{9}}[Hardware Error]:  fru_text: {long}"),
            "b\n9\nfatal\né",
        ),
    ] {
        let (mark, piece) = FirmwareLine::parse(line).unwrap();
        assert_eq!(assembler.take(mark, piece, 0, 0), None);
        let saved = assembler.save("b").unwrap();
        assert!(
            saved.starts_with(kept) && saved.len() < 1_000,
            "{}",
            saved.len()
        );
        assert_eq!(Assembler::restore(Some(&saved), "b"), assembler);
    }
}

#[test]
fn lookalikes() {
    for line in [
        "[Hardware Error]: Corrected error, no action required.",
        "[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4",
        "{1}[Hardware Error]:   vendor_id: 0x8086, device_id: 0x347a",
        "{x}[Hardware Error]: event severity: fatal",
        "{}[Hardware Error]: event severity: fatal",
        "{99999999999}[Hardware Error]: event severity: fatal",
        "{1[Hardware Error]: event severity: fatal",
        "{1}[Hardware Error]:  Error x, type: fatal",
        "{1} event severity: fatal",
        "app: {1}[Hardware Error]: event severity: fatal",
    ] {
        assert_eq!(FirmwareLine::parse(line), None, "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Whatever comes, nothing but the text itself is kept, and no section is reported twice.
    #[test]
    fn any_order_of_lines(order in prop::collection::vec(0..MEMORY.len(), 0..40), cut in 0..40usize) {
        let lines: Vec<&str> = order.iter().map(|index| MEMORY[*index]).collect();
        let count = sections(&lines, &[cut]).len();
        let begun = lines.iter().filter(|line| line.contains("section_type")).count();
        prop_assert_eq!(count, begun);
    }
}
