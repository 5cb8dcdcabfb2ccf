use super::*;
use crate::{elist, log};
use proptest::prelude::*;

/// Takes logs one after another, each the whole log at that time; gives what is open after each.
fn run(logs: &[&str]) -> Vec<Vec<String>> {
    let (mut seen, mut open) = (log::SeenEntries::default(), Open::default());
    seen.take(&[]);
    let mut found = Vec::new();
    for (minute, text) in logs.iter().enumerate() {
        let all = log::parse(text);
        let new = seen.take(&all);
        open.take(minute as u64 * 60_000, 3_600_000, &all, &new);
        open = serde_json::from_str(&serde_json::to_string(&open).unwrap()).unwrap();
        found.push(open.0.keys().cloned().collect());
    }
    found
}

fn after(entries: &[&str]) -> Vec<String> {
    let text: String = entries
        .iter()
        .enumerate()
        .map(|(number, entry)| format!("{number:x},04/12/2024,10:20:30,{entry}\n"))
        .collect();
    run(&[&text]).remove(0)
}

#[test]
fn a_state_of_the_same_sensor_ends_the_one_before() {
    for (entries, open) in [
        (
            vec![
                "Power Supply #0x77,Redundancy Lost,Asserted",
                "Power Supply #0x77,Fully Redundant,Asserted",
            ],
            vec![],
        ),
        (
            vec![
                "Fan #0x09,Transition to Critical from less severe,Asserted",
                "Fan #0x09,Transition to OK,Asserted",
            ],
            vec![],
        ),
        (
            vec![
                "Fan #0x09,Transition to Non-recoverable,Asserted",
                "Fan #0x09,Transition to Critical from Non-recoverable,Asserted",
            ],
            vec!["Fan #0x09 Transition to Critical from Non-recoverable"],
        ),
        (
            vec![
                "Fan #0x09,Transition to Critical from less severe,Asserted",
                "Fan #0x0a,Transition to OK,Asserted",
            ],
            vec!["Fan #0x09 Transition to Critical from less severe"],
        ),
        (
            vec![
                "Voltage #0x0d,Lower Critical going low ,Asserted",
                "Voltage #0x0d,Lower Critical going high,Asserted",
            ],
            vec![],
        ),
        (
            vec![
                "Voltage #0x0d,Lower Critical going low ,Asserted",
                "Voltage #0x0d,Upper Critical going low ,Asserted",
            ],
            vec!["Voltage #0x0d Lower Critical going low"],
        ),
        (
            vec![
                "Temperature #0x0d,Limit Exceeded,Asserted",
                "Temperature #0x0d,Limit Not Exceeded,Asserted",
            ],
            vec![],
        ),
        (
            vec![
                "Power Supply #0x51,Presence detected,Deasserted",
                "Power Supply #0x51,Presence detected,Asserted",
            ],
            vec![],
        ),
        (
            vec!["Power Supply #0x51,Presence detected,Deasserted"],
            vec!["Power Supply #0x51 Presence detected (over)"],
        ),
        (
            vec![
                "Drive Slot / Bay #0x44,Drive Fault,Asserted",
                "Drive Slot / Bay #0x44,Drive Present,Deasserted",
                "Drive Slot / Bay #0x44,Drive Present,Asserted",
            ],
            vec![],
        ),
        // Where the log writes names instead of numbers.
        (
            vec![
                "Memory Mem ECC Warning,Transition to Critical from less severe,Asserted",
                "Memory Mem ECC Warning,Transition to OK,Asserted",
                "Battery CMOS Battery,Failed,Asserted",
            ],
            vec!["Battery CMOS Battery Failed"],
        ),
        (
            vec![
                "Memory #0x01,Uncorrectable ECC,Asserted",
                "Event Logging Disabled #0x72,Log area reset/cleared,Asserted",
            ],
            vec![],
        ),
    ] {
        assert_eq!(after(&entries), open, "{entries:?}");
    }
}

#[test]
fn redundancy_that_is_back_ends_what_the_controller_does_not() {
    let lost = [
        "Power Supply #0x3c,Failure detected,Asserted",
        "Power Supply #0x3c,Power Supply AC lost,Asserted",
        "Power Supply #0x3d,Predictive failure,Asserted",
        "Fan #0x30,Transition to Critical from less severe,Asserted",
        "Power Supply #0x3e,Redundancy Lost,Asserted",
    ];
    assert_eq!(after(&lost).len(), 5);
    let left = vec![
        "Fan #0x30 Transition to Critical from less severe".to_owned(),
        "Power Supply #0x3d Predictive failure".to_owned(),
    ];
    for end in [
        "Power Supply #0x3e,Redundancy Lost,Deasserted",
        "Power Supply #0x3e,Fully Redundant,Asserted",
    ] {
        assert_eq!(after(&[&lost[..], &[end]].concat()), left, "{end}");
    }
    // That is how it begins on other boards.
    let begins = "Power Supply #0x3e,Fully Redundant,Deasserted";
    assert_eq!(after(&[&lost[..4], &[begins]].concat()).len(), 4);
    // Another unit still lacks it.
    let other = "Power Unit #0x02,Redundancy Lost,Asserted";
    let end = "Power Supply #0x3e,Redundancy Lost,Deasserted";
    assert_eq!(after(&[&lost[..], &[other, end]].concat()).len(), 5);
    // The fans' redundancy says nothing of the supplies.
    let fans = "Fan #0x75,Fully Redundant,Asserted";
    assert_eq!(after(&[&lost[..], &[fans]].concat()).len(), 4);
}

#[test]
fn the_sensor_itself_shows_the_end() {
    let logged = [
        "Power Supply #0x3c,Failure detected,Asserted",
        "Power Supply #0x3d,Presence detected,Deasserted",
        "Memory #0x01,Uncorrectable ECC,Asserted",
        "Fan #0x30,Lower Critical going low,Asserted",
    ];
    let text: String = logged
        .iter()
        .enumerate()
        .map(|(number, entry)| format!("{number},04/12/2024,10:20:30,{entry}\n"))
        .collect();
    let all = log::parse(&text);
    let new: Vec<&Entry> = all.iter().collect();
    let open = |sensors: &str| {
        let mut open = Open::default();
        open.take(1, 1_000, &all, &new);
        assert!(open.is_any_lasting());
        open.compare(&elist::parse(sensors));
        let keys = open
            .0
            .keys()
            .map(|key| key.split(' ').next().unwrap().to_owned());
        keys.collect::<Vec<_>>().join(" ")
    };
    for (sensors, left) in [
        ("", "Fan Memory Power Power"),
        (
            "PS1 | 3Ch | ok | 10.1 | Presence detected",
            "Fan Memory Power",
        ),
        (
            "PS1 | 3Ch | ok | 10.1 | Presence detected, Failure detected",
            "Fan Memory Power Power",
        ),
        (
            "PS1 | 3Ch | ns | 10.1 | No Reading",
            "Fan Memory Power Power",
        ),
        (
            "PS1 | 3Ch | ok | 10.1 | Presence detected\nOther | 3Ch | ok | 10.1 | Power Supply AC lost",
            "Fan Memory Power Power",
        ),
        (
            "PS2 | 3Dh | ok | 10.2 | Presence detected",
            "Fan Memory Power",
        ),
        ("PS2 | 3Dh | ok | 10.2 | ", "Fan Memory Power Power"),
        ("Fan1 | 30h | ok | 29.1 | 5000 RPM", "Memory Power Power"),
        (
            "Fan1 | 30h | lcr | 29.1 | 100 RPM",
            "Fan Memory Power Power",
        ),
        // An error that was is no state that a sensor leaves.
        (
            "ECC | 01h | ok | 34.1 | Presence Detected",
            "Fan Memory Power Power",
        ),
    ] {
        assert_eq!(open(sensors), left, "{sensors}");
    }
}

#[test]
fn a_sensor_is_known_by_its_name_where_the_log_writes_it() {
    let all = log::parse("1,04/12/2024,10:20:30,Battery CMOS Battery,Failed,Asserted\n");
    let mut open = Open::default();
    open.take(1, 1_000, &all, &[&all[0]]);
    open.compare(&elist::parse(
        "ROMB Battery | 11h | ok | 26.3 | Presence Detected",
    ));
    open.compare(&elist::parse("CMOS Battery | 10h | ok | 40.1 | Failed"));
    assert_eq!(open.0.len(), 1);
    open.compare(&elist::parse(
        "CMOS Battery | 10h | ok | 40.1 | Presence Detected",
    ));
    assert!(open.0.is_empty());
}

#[test]
fn time_and_a_cleared_log_end_it() {
    let one = "1,04/12/2024,10:21:30,Memory #0x01,Uncorrectable ECC,Asserted\n";
    let found = run(&[one, one, ""]);
    assert_eq!((found[0].len(), found[1].len(), found[2].len()), (1, 1, 0));
    let mut open = Open::default();
    let all = log::parse(one);
    open.take(1, 100, &all, &[&all[0]]);
    open.take(100, 100, &all, &[]);
    assert_eq!(open.0.len(), 1);
    open.take(101, 100, &all, &[]);
    assert!(open.0.is_empty());
}

proptest! {
    #[test]
    fn bounded_whatever_the_log_says(numbers in prop::collection::vec(any::<u16>(), 0..200), now in any::<u64>()) {
        let line = |number: &u16| format!("{number:x},04/12/2024,10:20:30,Memory #{number:#x},Uncorrectable ECC,Asserted\n");
        let all = log::parse(&numbers.iter().map(line).collect::<String>());
        let new: Vec<&Entry> = all.iter().collect();
        let mut open = Open::default();
        open.take(now, u64::MAX, &all, &new);
        prop_assert!(open.0.len() <= MAX_OPEN);
        open.compare(&[]);
    }

    #[test]
    fn any_key_is_survived(key in "[ -~]{0,40}") {
        let (sensor, words, _) = parts(&key);
        prop_assert!(key.starts_with(sensor) && key.contains(words));
    }
}
