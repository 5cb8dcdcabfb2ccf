use super::*;
use proptest::prelude::*;

fn weight(sensor: &str, words: &str) -> Option<Weight> {
    find(of_sensor(sensor), words).map(|state| state.weight)
}

/// Sensors, what machines say of them, and how grave that is.
const WORDS: &[(&str, &str, Option<Weight>)] = {
    use Weight::{Failed, Fatal, Fine, Warning};
    &[
        (
            "Memory #0x02",
            "Uncorrectable ECC (UnCorrectable ECC |  DIMMD7)",
            Some(Fatal),
        ),
        (
            "Memory #0x2b",
            "Correctable ECC logging limit reached",
            Some(Warning),
        ),
        ("Memory #0x01", "Correctable ECC", Some(Fine)),
        ("Memory #0x01", "Configuration Error", Some(Warning)),
        ("Memory #0x01", "Memory Scrub Failed", Some(Warning)),
        ("Memory #0x01", "Parity", Some(Warning)),
        (
            "Drive Slot / Bay #0x44",
            "Parity Check In Progress",
            Some(Fine),
        ),
        ("Drive Slot #0x44", "Drive Fault", Some(Failed)),
        ("Drive Slot / Bay #0x44", "Rebuild Aborted", Some(Warning)),
        ("Watchdog2 #0x71", "Hard reset", Some(Warning)),
        ("Watchdog 2 #0x71", "Power cycle", Some(Warning)),
        ("Power Unit #0x01", "Power cycle", Some(Fine)),
        ("Watchdog2 #0x71", "Power down", Some(Warning)),
        ("Power Unit #0x01", "Power off/down", Some(Fine)),
        ("Battery #0x10", "Failed", Some(Warning)),
        ("Battery #0x10", "Low", Some(Warning)),
        (
            "Power Unit #0x02",
            "Non-Redundant: Insufficient Resources",
            Some(Fatal),
        ),
        (
            "Power Supply #0x51",
            "Config Error: Vendor Mismatch",
            Some(Warning),
        ),
        ("Power Supply #0x51", "Power Supply Inactive", Some(Fine)),
        ("Processor #0x01", "Configuration Error", Some(Warning)),
        ("Processor #0x01", "Disabled", Some(Warning)),
        ("Entity Presence #0x01", "Disabled", Some(Fine)),
        (
            "Management Subsys Health #0x01",
            "Management controller unavailable",
            Some(Warning),
        ),
        (
            "Voltage #0x0d",
            "Lower Non-recoverable going low ",
            Some(Fatal),
        ),
        ("Voltage #0x0d", "Lower Non-critical going low", Some(Fine)),
        (
            "Fan #0x09",
            "TRANSITION TO CRITICAL FROM LESS SEVERE",
            Some(Warning),
        ),
        (
            "System Firmware Progress #0x01",
            "Memory initialization",
            Some(Fine),
        ),
        (
            "OS Critical Stop #0x00",
            "Run-time critical stop",
            Some(Fatal),
        ),
        ("Unknown #0xff", "", None),
        ("OEM", "something", None),
        ("Battery #0x10", "Failedness", None),
    ]
};

#[test]
fn words_of_machines() {
    use Weight::{Fine, Warning};
    for &(sensor, words, expected) in WORDS {
        assert_eq!(weight(sensor, words), expected, "{sensor} {words}");
    }
    // Of words that types share, the least grave where the type is not known.
    assert_eq!(find(None, "Disabled").unwrap().weight, Fine);
    assert_eq!(find(of_entity(3), "Disabled").unwrap().weight, Warning);
}

#[test]
fn the_table_is_whole() {
    let mut seen = std::collections::BTreeSet::new();
    for state in all() {
        let class = match state.class {
            Class::Generic(kind) => (0, kind),
            Class::Specific(kind) => (1, kind),
        };
        assert!(seen.insert((class, state.offset, state.words)), "{state:?}");
        assert!(state.offset < 16 && state.words.trim() == state.words);
        // Each finds itself by its own type.
        let sensor = match state.class {
            Class::Specific(kind) => Some(SensorType(kind)),
            Class::Generic(_) => None,
        };
        assert_eq!(find(sensor, state.words).unwrap().words, state.words);
    }
    // Types of table 42-3 that have states of their own.
    let types: Vec<u8> = all()
        .filter_map(|state| match state.class {
            Class::Specific(kind) => Some(kind),
            Class::Generic(_) => None,
        })
        .collect();
    for kind in [
        5, 6, 7, 8, 9, 0xc, 0xd, 0xf, 0x10, 0x11, 0x12, 0x13, 0x14, 0x19, 0x1b, 0x1d, 0x1e, 0x1f,
    ]
    .into_iter()
    .chain(0x20..=0x25)
    .chain(0x27..=0x2c)
    {
        assert!(types.contains(&kind), "{kind:#x}");
    }
}

/// The page that pack authors read says the same.
#[test]
fn the_documentation_shows_the_table() {
    let mut table = String::from("| type | offset | words | weight |\n|---|---|---|---|\n");
    for state in all().filter(|state| state.weight.max(state.gone) > Weight::Fine) {
        let kind = match state.class {
            Class::Generic(kind) => format!("any, {kind:02X}h"),
            Class::Specific(kind) => format!("{kind:02X}h"),
        };
        let (words, weight) = match state.weight {
            Weight::Fine => (format!("{}, over", state.words), state.gone),
            weight => (state.words.to_owned(), weight),
        };
        table.push_str(&format!(
            "| {kind} | {:02X}h | {words} | {} |\n",
            state.offset,
            weight.label()
        ));
    }
    let page = include_str!("../../../../docs/plugins/ipmi-states.md");
    assert!(page.contains(&table), "the table should be:\n{table}");
}

proptest! {
    #[test]
    fn any_text_is_survived(sensor in any::<String>(), words in any::<String>(), entity in any::<u32>()) {
        find(of_sensor(&sensor), &words);
        find(of_entity(entity), &words);
    }
}
