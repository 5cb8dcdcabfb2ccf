use std::sync::LazyLock;

use proptest::prelude::*;
use regex::Regex;

use super::*;
use crate::firmware::FirmwareLine;

static DELIVERED: LazyLock<Regex> = LazyLock::new(|| Regex::new(&PATTERNS.join("|")).unwrap());

fn checked(
    cpu: u32,
    bank: u32,
    status: u64,
    exception: bool,
    amd: bool,
) -> Option<Finding<'static>> {
    Some(Finding::Check(Check {
        cpu,
        bank,
        status,
        exception,
        amd,
    }))
}

#[test]
fn lines_of_real_kernels() {
    let page = |frame, page, outcome| {
        Some(Finding::PoisonedPage {
            frame,
            page,
            outcome,
        })
    };
    let storm = |place, over| Some(Finding::Storm { place, over });
    for (line, expected) in [
        (
            "mce: [Hardware Error]: CPU 5: Machine Check: 0 Bank 0: 90000040000f0005",
            checked(5, 0, 0x9000_0040_000f_0005, false, false),
        ),
        (
            "mce: [Hardware Error]: CPU 24: Machine Check Exception: 5 Bank 4: b200000000070005",
            checked(24, 4, 0xb200_0000_0007_0005, true, false),
        ),
        (
            "[Hardware Error]: CPU 1: Machine Check Exception: f Bank 12: bd80000000100134",
            checked(1, 12, 0xbd80_0000_0010_0134, true, false),
        ),
        (
            "[Hardware Error]: CPU:0 (19:11:1) MC17_STATUS[Over|CE|MiscV|AddrV|-|-|SyndV|CECC|-|-|-]: 0xdc2040000000011b",
            checked(0, 17, 0xdc20_4000_0000_011b, false, true),
        ),
        (
            "[Hardware Error]: CPU:128 (17:31:0) MC21_STATUS[-|-|-|AddrV|-|-|SyndV|-|-|UECC|Deferred|-|-]: 0x8400300000000400",
            checked(128, 21, 0x8400_3000_0000_0400, false, true),
        ),
        (
            "mce: [Hardware Error]: Machine check: Processor context corrupt",
            Some(Finding::Panic("Processor context corrupt")),
        ),
        (
            "mce: CMCI storm detected: switching to poll mode",
            storm(None, false),
        ),
        (
            "mce: CMCI storm subsided: switching to interrupt mode",
            storm(None, true),
        ),
        ("CPU3 BANK7 CMCI storm detected", storm(Some((3, 7)), false)),
        (
            "mce: CPU3 BANK7 CMCI storm subsided",
            storm(Some((3, 7)), true),
        ),
        (
            "Memory failure: 0x17c08a: recovery action for dirty LRU page: Recovered",
            page("0x17c08a", "dirty LRU page", "Recovered"),
        ),
        (
            "Memory failure: 0x9: recovery action for reserved kernel page: Ignored",
            page("0x9", "reserved kernel page", "Ignored"),
        ),
        (
            "RAS: Soft-offlining pfn: 0x17c08ac",
            Some(Finding::SoftOfflined { frame: "0x17c08ac" }),
        ),
        // Lookalikes.
        ("mce: [Hardware Error]: Machine check events logged", None),
        (
            "mce: [Hardware Error]: TSC 0 ADDR 3f7c0a1c40 MISC 200000c020002086 ",
            None,
        ),
        (
            "mce: [Hardware Error]: PROCESSOR 0:606a6 TIME 1751880000 SOCKET 0 APIC 0 microcode d0003e7",
            None,
        ),
        (
            "mce: [Hardware Error]: Run the above through 'mcelog --ascii'",
            None,
        ),
        ("mce: CPU0: Thermal monitoring enabled (TM1)", None),
        ("mce: CPU supports 20 MCE banks", None),
        (
            "[Hardware Error]: Corrected error, no action required.",
            None,
        ),
        (
            "[Hardware Error]: Unified Memory Controller Ext. Error Code: 0",
            None,
        ),
        (
            "mce: [Hardware Error]: CPU 5: Machine Check: 0 Bank 0: 90000040000f000",
            None,
        ),
        (
            "mce: [Hardware Error]: CPU 99999999999: Machine Check: 0 Bank 0: 90000040000f0005",
            None,
        ),
        (
            "app: mce: [Hardware Error]: CPU 5: Machine Check: 0 Bank 0: 90000040000f0005",
            None,
        ),
        (
            "Memory failure: 0x17c08a: already hardware poisoned",
            Some(Finding::PoisonedPage {
                frame: "0x17c08a",
                page: "already poisoned page",
                outcome: "Failed",
            }),
        ),
        ("Memory failure: x: already hardware poisoned", None),
        (
            "Memory failure: 0x17c08a: Sending SIGBUS to app:12 due to hardware memory corruption",
            None,
        ),
        (
            "Memory failure: 0x17c08a: recovery action for dirty LRU page: Maybe",
            None,
        ),
        ("RAS: Correctable Errors collector initialized.", None),
        ("CMCI storm detected: switching to interrupt mode", None),
        ("CPU3 BANK7 CMCI storm detected again", None),
        ("", None),
    ] {
        assert_eq!(find(line), expected, "{line}");
        assert!(expected.is_none() || DELIVERED.is_match(line), "{line}");
    }
}

#[test]
fn status_registers_give_severity_and_kind() {
    for (status, amd, severity, kind) in [
        (
            0x9000_0040_000f_0005,
            false,
            Severity::Corrected,
            "internal parity",
        ),
        (
            0x8c00_0040_0001_0090,
            false,
            Severity::Corrected,
            "memory controller",
        ),
        (0xbd80_0000_0010_0134, false, Severity::Uncorrected, "cache"),
        (
            0xbe00_0000_0080_0400,
            false,
            Severity::Fatal,
            "internal timer",
        ),
        (
            0xf200_0010_4000_0e0b,
            false,
            Severity::Fatal,
            "bus or interconnect",
        ),
        (0x9020_0010_0000_0010, false, Severity::Corrected, "TLB"),
        (0x9000_0000_0000_100c, false, Severity::Corrected, "cache"),
        (
            0x8400_3000_0000_0001,
            true,
            Severity::Deferred,
            "internal or unclassified",
        ),
        // On Intel, bit 44 belongs to the count of corrected errors.
        (
            0x8400_3000_0000_0001,
            false,
            Severity::Corrected,
            "internal or unclassified",
        ),
        // Without UC, PCC says nothing.
        (
            0x9200_0000_0000_0005,
            false,
            Severity::Corrected,
            "internal parity",
        ),
    ] {
        let check = Check {
            cpu: 0,
            bank: 0,
            status,
            exception: false,
            amd,
        };
        assert_eq!(
            (check.severity(), check.kind()),
            (severity, kind),
            "{status:x}"
        );
    }
}

static CORE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:mce: )?\[Hardware Error\]: CPU ([0-9]{1,9}): Machine Check( Exception)?: [0-9a-f]+ Bank ([0-9]{1,9}): ([0-9a-f]{16})$").unwrap()
});
static AMD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:mce: )?\[Hardware Error\]: CPU:([0-9]{1,9}) \([0-9a-f]+:[0-9a-f]+:[0-9a-f]+\) MC([0-9]{1,9})_STATUS\[[^\]]*\]: 0x([0-9a-f]{16})$").unwrap()
});
static OTHERS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"^(?:mce: )?\[Hardware Error\]: Machine check: .",
        r"^(?:mce: )?CMCI storm (?:detected: switching to poll mode|subsided: switching to interrupt mode)$",
        r"^(?:mce: )?CPU[0-9]{1,9} BANK[0-9]{1,9} CMCI storm (?:detected|subsided)$",
        r"^Memory failure: 0x[0-9a-f]+: recovery action for .+: (?:Recovered|Delayed|Ignored|Failed)$",
        r"^RAS: Soft-offlining pfn: 0x[0-9a-f]+$",
    ]
    .iter()
    .map(|one| Regex::new(one).unwrap())
    .collect()
});

/// Lines put together from the pieces that the rules look at, so that near misses are common.
fn made_up() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "mce: ",
        "[Hardware Error]: ",
        "CPU ",
        "CPU",
        "CPU:",
        "5",
        "17",
        ": Machine Check",
        " Exception",
        ": ",
        "0",
        " Bank ",
        "90000040000f0005",
        " (19:11:1) MC",
        "_STATUS[",
        "Over|CE",
        "]: 0x",
        "]",
        "Machine check: ",
        "x",
        " BANK",
        " CMCI storm ",
        "CMCI storm ",
        "detected",
        "subsided",
        ": switching to poll mode",
        ": switching to interrupt mode",
        "Memory failure: ",
        "0x1f",
        ": recovery action for ",
        "free buddy page",
        "Recovered",
        "Failed",
        "RAS: Soft-offlining pfn: ",
        "é",
        " ",
        "{1}",
        "event severity: ",
        "fatal",
        "Error ",
        ", type: ",
        "section_type: ",
        "fru_text: ",
        "DIMM location: ",
        "device_id: ",
        "section type: ",
        "Hardware error from APEI Generic Hardware Error Source: ",
        "CPU 5: Machine Check",
        ": 0 Bank 0: ",
        "[Hardware Error]: CPU:0 (19:11:1) MC17_STATUS[",
    ]);
    prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
}

fn agree(line: &str) -> Result<(), TestCaseError> {
    let found = find(line);
    let expected = if let Some(parts) = CORE.captures(line) {
        let status = u64::from_str_radix(&parts[4], 16).unwrap();
        checked(
            parts[1].parse().unwrap(),
            parts[3].parse().unwrap(),
            status,
            parts.get(2).is_some(),
            false,
        )
    } else if let Some(parts) = AMD.captures(line) {
        let status = u64::from_str_radix(&parts[3], 16).unwrap();
        checked(
            parts[1].parse().unwrap(),
            parts[2].parse().unwrap(),
            status,
            false,
            true,
        )
    } else {
        None
    };
    match found {
        Some(Finding::Check(_)) | None => prop_assert_eq!(found, expected),
        Some(_) => prop_assert!(OTHERS.iter().any(|one| one.is_match(line))),
    }
    prop_assert!(found.is_some() || !OTHERS.iter().any(|one| one.is_match(line)));
    if found.is_some() || FirmwareLine::parse(line).is_some() {
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
}

#[test]
fn each_pattern_has_a_line_and_a_lookalike() {
    let lines = [
        (
            "mce: [Hardware Error]: CPU 5: Machine Check: 0 Bank 0: 90000040000f0005",
            "mce: [Hardware Error]: TSC 0 ADDR 5a5a5a5a",
        ),
        (
            "CMCI storm detected: switching to poll mode",
            "mce: CMCI enabled on 5 banks",
        ),
        (
            "Memory failure: 0x1a2b3c: recovery action for dirty LRU page: Recovered",
            "Memory failure: 0x1a2b3c: unhandlable page.",
        ),
        (
            "RAS: Soft-offlining pfn: 0x1a2b3c",
            "RAS: Correctable Errors collector initialized.",
        ),
        (
            "{1}[Hardware Error]: event severity: corrected",
            "{1}[Hardware Error]: It has been corrected by h/w and requires no further action",
        ),
        (
            "{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1",
            "[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1",
        ),
    ];
    assert_eq!(lines.len(), PATTERNS.len());
    for (pattern, (line, lookalike)) in PATTERNS.iter().zip(lines) {
        let regex = Regex::new(pattern).unwrap();
        assert!(regex.is_match(line), "{pattern}: {line}");
        assert!(!regex.is_match(lookalike), "{pattern}: {lookalike}");
    }
}
