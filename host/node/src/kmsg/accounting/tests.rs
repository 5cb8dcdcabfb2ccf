use proptest::prelude::*;

use super::*;

fn gap(first_lost: u64, last_lost: u64, count: u64) -> Gap {
    Gap {
        cause: GapCause::Overrun,
        first_lost,
        last_lost,
        count,
        time: 7,
    }
}

fn gaps_of(accounting: &mut Accounting, sequences: &[u64]) -> Vec<Gap> {
    sequences
        .iter()
        .filter_map(|&sequence| match accounting.observe(sequence, 7) {
            Observation::New(gap) => gap,
            Observation::Replayed => None,
        })
        .collect()
}

#[test]
fn finds_gaps() {
    let cases: [(Option<u64>, &[u64], Vec<Gap>); 9] = [
        (None, &[0, 1, 2], vec![]),
        (None, &[50, 51], vec![]),
        (None, &[5, 7, 8, 12], vec![gap(6, 6, 1), gap(9, 11, 3)]),
        (Some(9), &[10, 11], vec![]),
        (Some(9), &[15, 16], vec![gap(10, 14, 5)]),
        (Some(9), &[3, 4, 11], vec![gap(10, 10, 1)]),
        (Some(9), &[3, 6, 9, 10], vec![]),
        (None, &[90, 91, 0, 1, 3], vec![gap(2, 2, 1)]),
        (Some(u64::MAX), &[u64::MAX], vec![]),
    ];
    for (resume, sequences, expected) in cases {
        assert_eq!(
            gaps_of(&mut Accounting::new(resume), sequences),
            expected,
            "{resume:?} {sequences:?}"
        );
    }
}

#[test]
fn a_nameless_record_is_not_lost_as_well() {
    let mut accounting = Accounting::new(None);
    assert_eq!(accounting.observe(1, 7), Observation::New(None));
    accounting.observe_nameless();
    assert_eq!(accounting.observe(3, 7), Observation::New(None));
    accounting.observe_nameless();
    assert_eq!(
        accounting.observe(7, 7),
        Observation::New(Some(gap(4, 6, 2)))
    );
    assert_eq!(
        accounting.observe(9, 7),
        Observation::New(Some(gap(8, 8, 1)))
    );
}

#[test]
fn a_reopened_source_repeats_without_being_counted_again() {
    let mut accounting = Accounting::new(None);
    gaps_of(&mut accounting, &[0, 1, 2, 3]);
    accounting.reopened();
    assert_eq!(accounting.observe(2, 7), Observation::Replayed);
    assert_eq!(accounting.observe(3, 7), Observation::Replayed);
    assert_eq!(
        accounting.observe(6, 7),
        Observation::New(Some(gap(4, 5, 2)))
    );
}

#[test]
fn a_remembered_number_of_another_boot_hides_nothing() {
    let mut accounting = Accounting::new(Some(1000));
    assert_eq!(gaps_of(&mut accounting, &[0, 1]), vec![]);
    accounting.caught_up();
    assert_eq!(
        accounting.observe(4, 7),
        Observation::New(Some(gap(2, 3, 2)))
    );
}

proptest! {
    /// Whatever is overwritten, seen plus lost is the whole range, and a reopening in between changes nothing.
    #[test]
    fn seen_and_lost_add_up(kept in proptest::collection::vec(any::<bool>(), 1..200), reopen_at in 0usize..200) {
        let mut accounting = Accounting::new(Some(9));
        let (mut seen, mut lost) = (0u64, 0u64);
        let mut end = 10;
        let sequences: Vec<u64> = (10..).zip(&kept).filter(|(_, kept)| **kept).map(|(sequence, _)| sequence).collect();
        for (index, &sequence) in sequences.iter().enumerate() {
            if index == reopen_at {
                accounting.reopened();
                for &old in sequences.iter().take(index) {
                    prop_assert_eq!(accounting.observe(old, 0), Observation::Replayed);
                }
            }
            if let Observation::New(gap) = accounting.observe(sequence, 0) {
                seen += 1;
                lost += gap.map_or(0, |gap| gap.count);
            }
            end = sequence + 1;
        }
        prop_assert_eq!(seen + lost, end - 10);
    }
}
