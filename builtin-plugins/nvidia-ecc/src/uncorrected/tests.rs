use super::*;
use crate::reading::{Counters, Pair};
use crate::testing::{NO_SRAM_ERRORS, SEVEN_SRAM_ERRORS};
use proptest::prelude::*;

fn counters(errors: [Option<u64>; PLACE_COUNT]) -> Counters {
    Counters {
        places: errors.map(|uncorrected| Pair {
            corrected: Some(9),
            uncorrected,
        }),
        ..Counters::default()
    }
}

#[test]
fn places_kinds_and_units() {
    let none = [None; PLACE_COUNT];
    let dram = [None, None, Some(2), Some(0), None, None, None];
    let registers = [None, None, None, None, None, None, Some(4)];
    let all = [
        Some(1),
        Some(2),
        Some(3),
        Some(4),
        Some(5),
        Some(6),
        Some(7),
    ];
    for (aggregate, volatile, sram, words, sum) in [
        (none, none, None, "", 0),
        (dram, none, None, "DRAM 2", 2),
        (dram, none, Some(NO_SRAM_ERRORS), "DRAM 2", 2),
        (
            dram,
            // What is counted since the last reset counts only where there is nothing else.
            all,
            Some(SEVEN_SRAM_ERRORS),
            "L1 cache 1, L2 cache 2, DRAM 2, SRAM 7 (parity 2, SEC-DED 5; L2 cache 4, SM 3), texture memory 5, texture shared memory 6, register file 7",
            30,
        ),
        (none, registers, None, "register file 4", 4),
        (
            all,
            none,
            None,
            "L1 cache 1, L2 cache 2, DRAM 3, SRAM 4, texture memory 5, texture shared memory 6, register file 7",
            28,
        ),
    ] {
        let reading = Reading {
            aggregate: counters(aggregate),
            volatile: counters(volatile),
            sram,
            ..Reading::default()
        };
        let errors = Uncorrected::of(&reading);
        assert_eq!((errors.words("").as_str(), errors.sum()), (words, sum));
    }
}

fn dram(errors: Option<u64>) -> Uncorrected {
    let places = [None, None, errors, None, None, None, None];
    Uncorrected {
        places,
        ..Uncorrected::default()
    }
}

#[test]
fn rises() {
    for (before, now, rise) in [
        (Some(2), Some(2), ""),
        (Some(2), Some(5), "DRAM +3"),
        (None, Some(5), ""),
        (Some(5), None, ""),
        // The counters were cleared.
        (Some(5), Some(0), ""),
        (Some(5), Some(1), "DRAM +1"),
    ] {
        let rises = dram(now).since(&dram(before));
        assert_eq!(rises.words("+"), rise, "{before:?} {now:?}");
        assert_eq!(rises.on_chip().sum(), 0);
    }
    assert_eq!(dram(None).or_before(&dram(Some(5))), dram(Some(5)));
    assert_eq!(dram(Some(6)).or_before(&dram(Some(5))), dram(Some(6)));
    let both = Uncorrected {
        kinds: [Some(1), None],
        ..dram(Some(1))
    };
    assert_eq!((both.sum(), both.on_chip().sum()), (2, 1));
    assert_eq!(both.names(), "DRAM, SRAM");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_counters_have_words_and_a_sum(
        places: [Option<u64>; PLACE_COUNT], kinds: [Option<u64>; 2], units: [Option<u64>; 5]
    ) {
        let errors = Uncorrected { places, kinds, units };
        prop_assert_eq!(errors.sum() == 0, errors.words("").is_empty());
        prop_assert_eq!(errors.since(&errors).sum(), 0);
        prop_assert_eq!(errors.or_before(&Uncorrected::default()), errors);
    }
}
