use std::io::Write as _;

use super::*;

const SOON: Duration = Duration::from_secs(30);

fn texts(found: &ReadBack) -> Vec<&str> {
    found
        .messages
        .iter()
        .map(|message| message.text.as_str())
        .collect()
}

#[test]
fn keeps_the_newest_and_counts_the_bad() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(
        b"6,1,1,-;Xid 1\n6,2,2,-;other\nbroken\n6,3,3,-;Xid 2\n SUBSYSTEM=pci\n6,4,4,-;Xid 3",
    )
    .unwrap();
    let clock = BootClock::booted_at(0);
    let cases: [(&[&str], usize, &[&str]); 4] = [
        (&["Xid"], 2, &["Xid 2", "Xid 3"]),
        (&["Xid", "oth"], 9, &["Xid 1", "other", "Xid 2", "Xid 3"]),
        (&[], 3, &["other", "Xid 2", "Xid 3"]),
        (&["Xid"], 0, &[]),
    ];
    for (patterns, max, expected) in cases {
        let found = read_back(
            file.path(),
            &RegexSet::new(patterns).unwrap(),
            max,
            SOON,
            clock,
        )
        .unwrap();
        assert_eq!(texts(&found), expected, "{patterns:?}");
        assert_eq!((found.scanned, found.unparsable), (5, 1));
    }
}

#[test]
fn a_piece_of_a_line_is_left_out() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"6,1,1,-;oom-kill:cpuset=\n6,2,2,c;Xid 1\n6,3,3,+;Xid 2\n6,4,4,-;Xid 3\n")
        .unwrap();
    let clock = BootClock::booted_at(0);
    let cases: [(&[&str], &[&str]); 2] = [
        (&["Xid"], &["Xid 3"]),
        (&[], &["oom-kill:cpuset=", "Xid 3"]),
    ];
    for (patterns, expected) in cases {
        let filter = RegexSet::new(patterns).unwrap();
        let found = read_back(file.path(), &filter, 9, SOON, clock).unwrap();
        assert_eq!(texts(&found), expected, "{patterns:?}");
        assert_eq!((found.scanned, found.unparsable), (4, 0));
    }
}

#[test]
fn the_oldest_message_is_the_first_that_is_one() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let clock = BootClock::booted_at(1_000_000);
    assert_eq!(oldest(file.path(), SOON, clock), Ok(None));
    file.write_all(b"broken\n6,2,5000000,-;first\n6,3,7000000,-;second\n")
        .unwrap();
    assert_eq!(oldest(file.path(), SOON, clock), Ok(Some(1_005_000)));
    assert!(oldest(Path::new("/nonexistent"), SOON, clock).is_err());
}

#[test]
fn says_what_went_wrong() {
    let (all, clock) = (RegexSet::empty(), BootClock::booted_at(0));
    let missing = read_back(Path::new("/nonexistent"), &all, 1, SOON, clock);
    assert_eq!(missing, Err(SourceError::NotFound("/nonexistent".into())));
    let nothing = read_back(Path::new("/dev/null"), &all, 1, SOON, clock);
    assert_eq!(nothing, Ok(ReadBack::default()));
    // A device that never ends.
    let endless = read_back(
        Path::new("/dev/zero"),
        &all,
        1,
        Duration::from_millis(20),
        clock,
    );
    assert!(
        matches!(endless, Err(SourceError::TimedOut { .. })),
        "{endless:?}"
    );
}

#[test]
fn a_probe_says_whether_the_log_can_be_read() {
    assert_eq!(probe(Path::new("/dev/null"), SOON), Ok(()));
    let missing = Path::new("/nonexistent/kmsg");
    assert!(matches!(
        probe(missing, SOON),
        Err(SourceError::NotFound(_))
    ));
}

#[test]
fn reads_the_real_ring() {
    let path = Path::new("/dev/kmsg");
    if let Err(error) = Source::open(path) {
        eprintln!("skipped: {error}");
        return;
    }
    let found = read_back(path, &RegexSet::empty(), 5, SOON, BootClock::read()).unwrap();
    assert!(found.scanned >= found.messages.len() as u64);
    assert_eq!(found.unparsable, 0);
    assert!(found.messages.is_sorted_by_key(|message| message.sequence));
}
