use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const MINUTE: u64 = 60_000;
const NOW: u64 = 1_800_000_000_000;

/// A machine with processes of pids 1 to `count`, every hundredth a zombie.
fn states(count: u32, turn: &SweepPart) -> Vec<FileContent> {
    let pids = (1..=count).filter(|pid| turn.has(*pid));
    let stat = |pid: u32| {
        let state = if pid.is_multiple_of(100) { 'Z' } else { 'S' };
        FileContent {
            path: format!("/proc/{pid}/stat"),
            content: Ok(format!("{pid} (x) {state} 1").into_bytes()),
        }
    };
    pids.map(stat).collect()
}

/// Each with two open files.
fn files(count: u32, turn: &SweepPart) -> Vec<EntryCount> {
    let pids = (1..=count).filter(|pid| turn.has(*pid));
    let counted = |pid: u32| EntryCount {
        path: format!("/proc/{pid}/fd"),
        count: Ok(2),
    };
    pids.map(counted).collect()
}

/// One check of the schedule: whose turn it was, what is known of the others, and how many were looked at and counted.
fn look(sweep: &mut Sweep, count: u32, now: u64) -> (SweepPart, OtherProcesses, usize, usize) {
    let now = NOW + now;
    let turn = sweep.turn();
    let seen = states(count, &turn);
    let looked_at = seen.len();
    sweep.take(&turn, &Ok(seen));
    let files_turn = sweep.files_turn(now);
    let mut counted = 0;
    if let Some(turn) = &files_turn {
        let counts = files(count, turn);
        counted = counts.len();
        sweep.take_files(turn, &Ok(counts), None, now);
    }
    let elsewhere = sweep.elsewhere(&turn, files_turn.as_ref(), Vec::new());
    // As from check to check.
    *sweep = Sweep::restore(Some(&sweep.save("b")), "b");
    (turn, elsewhere, looked_at, counted)
}

#[test]
fn few_processes_are_all_looked_at_and_their_files_counted_in_every_fifth_check() {
    let mut sweep = Sweep::default();
    let mut saved = BTreeSet::new();
    for check in 1..=10 {
        let (turn, elsewhere, looked_at, counted) = look(&mut sweep, 300, check * MINUTE);
        assert_eq!((turn, looked_at), (SweepPart::All, 300));
        assert_eq!(elsewhere.total, 0);
        let due = check % 5 == 1;
        let expected = if due { (300, 0) } else { (0, 600) };
        assert_eq!((counted, elsewhere.open_files), expected, "{check}");
        saved.insert(sweep.save("b"));
    }
    assert_eq!(saved.len(), 2, "written only when files were counted");
}

#[test]
fn many_processes_take_turns_and_the_sums_stay() {
    let mut sweep = Sweep::default();
    let (turn, elsewhere, ..) = look(&mut sweep, 10_000, MINUTE);
    assert_eq!((turn, elsewhere.open_files), (SweepPart::All, 16_000));
    let mut looked_at = BTreeSet::new();
    for check in 2..=6 {
        let (turn, elsewhere, count, counted) = look(&mut sweep, 10_000, check * MINUTE);
        let SweepPart::Digits(digits) = turn else {
            panic!("all at once")
        };
        assert_eq!((digits.len(), count), (2, 2_000));
        let zombies = if digits.contains(&0) { 0 } else { 100 };
        assert_eq!((elsewhere.total, elsewhere.zombies), (8_000, zombies));
        let expected = if check == 6 {
            (2_000, 16_000)
        } else {
            (0, 20_000)
        };
        assert_eq!((counted, elsewhere.open_files), expected, "{check}");
        looked_at.extend(digits);
    }
    assert_eq!(looked_at.len(), 10, "all within five checks");
    // They end, and it is noticed.
    let mut check = 7;
    while let (SweepPart::Digits(_), ..) = look(&mut sweep, 300, check * MINUTE) {
        check += 1;
    }
    assert!(check < 13, "{check}");
}

#[test]
fn parts_by_the_number_of_processes() {
    for (count, parts, files) in [
        (301, 9, 10),
        (500, 6, 10),
        (2_500, 2, 10),
        (5_000, 2, 5),
        (10_000, 2, 2),
        (20_001, 1, 1),
        (60_000, 1, 1),
    ] {
        let mut sweep = Sweep::default();
        sweep.take(&SweepPart::All, &Ok(states(count, &SweepPart::All)));
        let number = |turn: SweepPart| match turn {
            SweepPart::All => 10,
            SweepPart::Digits(digits) => digits.len(),
        };
        let found = (number(sweep.turn()), sweep.files_turn(u64::MAX).map(number));
        assert_eq!(found, (parts, Some(files)), "{count}");
    }
}

#[test]
fn files_are_counted_again_when_the_clock_is_set_back() {
    let mut sweep = Sweep::default();
    sweep.take_files(&SweepPart::All, &Ok(Vec::new()), None, 60 * MINUTE);
    assert_eq!(sweep.files_turn(61 * MINUTE), None);
    assert_eq!(sweep.files_turn(59 * MINUTE), Some(SweepPart::All));
}

#[test]
fn what_is_missing_from_the_files_is_said_until_they_are_counted_again() {
    let mut sweep = Sweep::default();
    sweep.take_files(&SweepPart::All, &Ok(Vec::new()), Some("of 3\nof 4"), MINUTE);
    let sweep = Sweep::restore(Some(&sweep.save("b")), "b");
    let note = |turn: Option<&SweepPart>| sweep.elsewhere(&SweepPart::All, turn, Vec::new()).note;
    assert_eq!(note(None).as_deref(), Some("of 3 of 4"));
    assert_eq!(note(Some(&SweepPart::All)), None);
}

#[test]
fn more_than_can_be_looked_at_is_estimated() {
    let mut sweep = Sweep::default();
    let turn = sweep.one_part();
    assert_eq!(turn.pattern("stat"), "/proc/*[0]/stat");
    sweep.take(&turn, &Ok(states(80_000, &turn)));
    let files_turn = sweep.files_of_one_part();
    sweep.take_files(&files_turn, &Ok(files(80_000, &files_turn)), None, 1);
    let elsewhere = sweep.elsewhere(&turn, Some(&files_turn), Vec::new());
    assert_eq!((elsewhere.total, elsewhere.open_files), (72_000, 144_000));
    assert!(matches!(sweep.turn(), SweepPart::Digits(_)));
}

#[test]
fn what_cannot_be_read_changes_nothing() {
    let mut sweep = Sweep::default();
    look(&mut sweep, 5_000, MINUTE);
    let before = sweep.clone();
    let denied = || AccessError::Denied("/proc".into());
    sweep.take(&SweepPart::All, &Err(denied()));
    sweep.take_files(&SweepPart::All, &Err(denied()), None, 2 * MINUTE);
    assert_eq!(sweep, before);
    let saved = sweep.save("b");
    assert_eq!(Sweep::restore(Some(&saved), "b"), sweep);
    for (text, boot) in [
        (saved.as_str(), "c"),
        ("b\n1 1 1\n", "b"),
        ("", "b"),
        ("b\nx\n-\n", "b"),
    ] {
        assert_eq!(Sweep::restore(Some(text), boot), Sweep::default(), "{text}");
    }
    assert_eq!(Sweep::restore(None, "b"), Sweep::default());
}

proptest! {
    #[test]
    fn any_text_is_survived(saved in "(b\n)?[0-9 -]{0,30}\n([0-9 -]{0,40}\n){0,12}", now: u64) {
        let mut sweep = Sweep::restore(Some(&saved), "b");
        let (turn, files_turn) = (sweep.turn(), sweep.files_turn(now));
        sweep.elsewhere(&turn, files_turn.as_ref(), Vec::new());
        for turn in [Some(turn), files_turn].into_iter().flatten() {
            if let SweepPart::Digits(digits) = turn {
                prop_assert!((1..10).contains(&digits.len()));
            }
        }
    }
}
