use super::*;
use proptest::prelude::*;

const STAT: &str = "entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop icmp_error  expect_new expect_create expect_delete search_restart\n\
        00000112  00000000 00000000 00000000 00000003 00000000 00000000 00000000 00000000 00000002 0000000a 00000000 00000000  00000000 00000000 00000000 00000000\n\
        00000112  00000000 00000000 00000000 00000003 00000000 00000000 00000000 00000000 00000000 00000001 00000000 00000000  00000000 00000000 00000000 00000000\n";

#[test]
fn files() {
    let table = |count, max, drops: Option<u64>| {
        Some(Conntrack {
            count,
            max,
            drops,
            failed: drops.map(|_| 2),
        })
    };
    for (count, max, stat, expected) in [
        ("274\n", "262144\n", STAT, table(274, 262_144, Some(11))),
        ("0", "1", "", table(0, 1, None)),
        ("0", "1", "entries found\n1 2\n", table(0, 1, None)),
        ("0", "0", STAT, None),
    ] {
        assert_eq!(Conntrack::new(count, max, stat), Ok(expected));
    }
    for (count, max) in [("x", "1"), ("1", ""), ("1", "99999999999999999999")] {
        assert!(Conntrack::new(count, max, STAT).is_err());
    }
}

#[test]
fn what_was_dropped_for_want_of_an_entry() {
    for (before, now, expected) in [
        ((5, 5), (5, 5), 0),
        ((5, 5), (8, 5), 3),
        // Two look-ups of a name at once.
        ((5, 5), (8, 8), 0),
        ((5, 5), (9, 8), 1),
        ((5, 5), (5, 9), 0),
        // A counter that restarted.
        ((5, 5), (0, 0), 0),
    ] {
        let before = PreviousCounters {
            drops: before.0,
            failed: before.1,
        };
        let table = Conntrack {
            count: 0,
            max: 1,
            drops: Some(now.0),
            failed: Some(now.1),
        };
        let before = PreviousCounters::restore(&before.save("b"), "b");
        assert!(before.is_some());
        assert_eq!(table.new_drops(before), expected, "{now:?}");
    }
    let other = PreviousCounters {
        drops: 1,
        failed: 1,
    };
    assert_eq!(PreviousCounters::restore(&other.save("b"), "c"), None);
    assert_eq!(PreviousCounters::restore("b 5", "b"), None);
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "[ -~\n]{0,200}") {
        sum(&text, "drop");
        sum(&format!("drop\n{text}"), "drop");
    }
}
