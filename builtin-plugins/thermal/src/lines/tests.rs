use std::sync::LazyLock;

use proptest::prelude::*;
use regex::{Regex, RegexSet};

use super::*;

static DELIVERED: LazyLock<RegexSet> = LazyLock::new(|| RegexSet::new(PATTERNS).unwrap());

#[test]
fn lines_of_real_kernels() {
    let throttled = |cpu, level, total| MatchedLine::Throttled { cpu, level, total };
    let normal = |cpu, level| MatchedLine::Normal { cpu, level };
    let critical = |zone, degrees| MatchedLine::Critical { zone, degrees };
    for (line, expected) in [
        (
            "CPU0: Core temperature above threshold, cpu clock throttled (total events = 22034)",
            throttled("0", Level::Core, "22034"),
        ),
        (
            "mce: CPU6: Package temperature above threshold, cpu clock throttled (total events = 1)",
            throttled("6", Level::Package, "1"),
        ),
        (
            "CPU11: Core temperature is above threshold, cpu clock is throttled (total events = 3)",
            throttled("11", Level::Core, "3"),
        ),
        (
            "CPU11: Package temperature is above threshold, cpu clock is throttled",
            throttled("11", Level::Package, ""),
        ),
        (
            "CPU3: Core temperature/speed normal",
            normal("3", Level::Core),
        ),
        (
            "CPU191: Package temperature/speed normal (total events = 9)",
            normal("191", Level::Package),
        ),
        (
            "thermal thermal_zone4: critical temperature reached (128 C), shutting down",
            critical("thermal_zone4", "128"),
        ),
        (
            "thermal thermal_zone0: acpitz: critical temperature reached, shutting down",
            critical("thermal_zone0: acpitz", ""),
        ),
        (
            "thermal thermal_zone0: x86_pkg_temp: critical temperature reached",
            critical("thermal_zone0: x86_pkg_temp", ""),
        ),
        (
            "Critical temperature reached (105 C), shutting down.",
            critical("", "105"),
        ),
        (
            "reboot: HARDWARE PROTECTION shutdown (Temperature too high)",
            critical("", ""),
        ),
    ] {
        assert_eq!(find(line), Some(expected), "{line}");
        assert!(DELIVERED.is_match(line), "{line}");
    }
}

#[test]
fn lookalikes() {
    for line in [
        "",
        "CPU0: Thermal monitoring enabled (TM1)",
        "CPU: Core temperature above threshold, cpu clock throttled",
        "CPU3: Core power limit notification (total events = 1)",
        "CPUx: Core temperature/speed normal",
        "CPU3: Die temperature/speed normal",
        "app: CPU3: Core temperature/speed normal",
        "thermal LNXTHERM:00: registered as thermal_zone0",
        "ACPI: thermal: Thermal Zone [TZ00] (28 C)",
        "thermal thermal_zone0: failed to read out thermal zone (-61)",
        "thermal thermal_zone: critical temperature reached",
        "Error: Critical temperature reached",
        "Critical temperature reached (hot C), shutting down.",
        "Critical temperature reached, switching lamp off",
        "reboot: HARDWARE PROTECTION shutdown (Regulator failure)",
        "reboot: Power down",
    ] {
        assert_eq!(find(line), None, "{line}");
    }
}

/// Lines put together from the pieces that the rules look at, so that near misses are common.
fn line() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "mce: ",
        "CPU",
        "7",
        ": ",
        "Core temperature",
        "Package temperature",
        "/speed normal",
        " above threshold, cpu clock throttled",
        " is above threshold, cpu clock is throttled",
        " (total events = ",
        "9)",
        "thermal ",
        "thermal_zone",
        "0",
        ": critical temperature reached",
        " (95 C)",
        ", shutting down",
        "Critical temperature reached ",
        "(95 C)",
        "reboot: HARDWARE PROTECTION ",
        "(Temperature too high)",
        "é",
        " ",
    ]);
    prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

    /// What is understood is delivered.
    #[test]
    fn the_prefilter_is_no_narrower(line in line()) {
        if find(&line).is_some() {
            prop_assert!(DELIVERED.is_match(&line), "{}", line);
        }
    }

    #[test]
    fn processors_as_by_regular_expression(line in line()) {
        static FORM: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new("^(?:mce: )?CPU([0-9]+): (Core|Package) temperature(/speed normal| above threshold, cpu clock throttled| is above threshold, cpu clock is throttled)").unwrap()
        });
        let expected = FORM.captures(&line).map(|c| (c[1].to_owned(), c[2].to_lowercase(), c[3].starts_with('/')));
        let found = processor(&line).map(|found| match found {
            MatchedLine::Normal { cpu, level } => (cpu.to_owned(), level.word().to_owned(), true),
            MatchedLine::Throttled { cpu, level, .. } => (cpu.to_owned(), level.word().to_owned(), false),
            MatchedLine::Critical { .. } => panic!("no processor"),
        });
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn anything_goes(line in any::<String>()) {
        let _ = find(&line);
    }
}
