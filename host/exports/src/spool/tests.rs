use std::{fs, os::unix::fs::PermissionsExt as _};

use proptest::prelude::*;

use super::*;
use crate::worker::tests::record;

fn records(range: std::ops::Range<u64>) -> Vec<Arc<Record>> {
    range.map(|n| Arc::new(record(n))).collect()
}

fn open(folder: &Path) -> (Spool, Vec<String>) {
    Spool::open(folder, 1 << 20).unwrap()
}

fn times(batch: &SpoolBatch) -> Vec<u64> {
    batch.records.iter().map(|record| record.time).collect()
}

/// Delivers everything, in batches of `max`.
fn drain(spool: &mut Spool, max: usize) -> Vec<u64> {
    let mut all = Vec::new();
    loop {
        let batch = spool.read(max).unwrap();
        if batch.records.is_empty() && batch.damaged == 0 {
            return all;
        }
        all.extend(times(&batch));
        let count = batch.records.len() as u64;
        // A full disk has no room for the position; then records come once more after a restart.
        let _ = spool.acknowledge(batch.end, count);
    }
}

/// A file system that is taken away at the end.
struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0).status();
    }
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn what_is_not_acknowledged_comes_again_after_a_restart_with_the_same_ids() {
    let folder = tempfile::tempdir().unwrap();
    let sent = records(0..10);
    let (mut spool, _) = open(folder.path());
    assert_eq!(spool.append(&sent).unwrap(), 0);
    let first = spool.read(4).unwrap();
    spool.acknowledge(first.end, 4).unwrap();
    assert_eq!(spool.read(2).unwrap().records[0], *sent[4]);
    // As after kill -9: nothing is closed in good order.
    drop(spool);
    let (mut spool, problems) = open(folder.path());
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(spool.waiting(), 6);
    let again = spool.read(100).unwrap();
    let ids: Vec<_> = again.records.iter().map(|record| record.id).collect();
    let expected: Vec<_> = sent[4..].iter().map(|record| record.id).collect();
    assert_eq!(ids, expected);
    spool.acknowledge(again.end, 6).unwrap();
    assert_eq!((spool.waiting(), spool.bytes()), (0, 0));
    assert_eq!(
        files(folder.path()),
        ["delivered"],
        "an empty spool has no files"
    );
    let (spool, _) = open(folder.path());
    assert_eq!(spool.waiting(), 0);
    let mode = fs::metadata(folder.path().join("delivered")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_lost_or_odd_position_means_repeats_and_no_loss() {
    for position in [
        None,
        Some("nonsense"),
        Some("1 7\n"),
        Some("1 99999999\n"),
        Some(""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (mut spool, _) = open(folder.path());
        spool.append(&records(0..3)).unwrap();
        let batch = spool.read(1).unwrap();
        spool.acknowledge(batch.end, 1).unwrap();
        drop(spool);
        let file = folder.path().join("delivered");
        match position {
            Some(text) => fs::write(file, text).unwrap(),
            None => fs::remove_file(file).unwrap(),
        }
        assert_eq!(
            drain(&mut open(folder.path()).0, 10),
            [0, 1, 2],
            "{position:?}"
        );
    }
}

#[test]
fn a_write_that_was_cut_off_is_removed_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let (mut spool, _) = open(folder.path());
    spool.append(&records(0..3)).unwrap();
    drop(spool);
    let file = segment::path(folder.path(), 1);
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 5]).unwrap();
    let (mut spool, problems) = open(folder.path());
    assert!(problems[0].contains("was cut off"), "{problems:?}");
    spool.append(&records(3..4)).unwrap();
    assert_eq!(drain(&mut spool, 10), [0, 1, 3]);
}

#[test]
fn a_pipe_in_the_place_of_a_file_stops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = |name: &str| {
        let made = std::process::Command::new("mkfifo")
            .arg(folder.path().join(name))
            .status();
        assert!(made.unwrap().success());
    };
    pipe(position::FILE);
    assert!(position::read(folder.path()).is_none());
    pipe("0000000000000001.spool");
    assert!(segment::open(folder.path(), 1, 0).is_err());
    assert!(segment::create(&segment::path(folder.path(), 1), true).is_err());
}

#[test]
fn a_damaged_file_is_set_aside_and_its_good_records_stay() {
    let folder = tempfile::tempdir().unwrap();
    let (mut spool, _) = open(folder.path());
    spool.append(&records(0..5)).unwrap();
    let batch = spool.read(1).unwrap();
    spool.acknowledge(batch.end, 1).unwrap();
    drop(spool);
    let file = segment::path(folder.path(), 1);
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let (mut spool, problems) = open(folder.path());
    assert!(
        problems[0].contains("set aside as") && problems[0].contains("its 3 good records"),
        "{problems:?}"
    );
    let aside = folder.path().join("0000000000000001.damaged");
    assert_eq!(fs::read(aside).unwrap(), bytes);
    assert_eq!(drain(&mut spool, 10), [1, 3, 4]);
}

#[test]
fn a_line_that_the_disk_changed_later_is_counted_and_does_not_stop_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let (mut spool, _) = open(folder.path());
    spool.append(&records(0..3)).unwrap();
    let file = segment::path(folder.path(), 1);
    let mut bytes = fs::read(&file).unwrap();
    bytes[20] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let batch = spool.read(10).unwrap();
    assert_eq!((times(&batch), batch.damaged), (vec![1, 2], 1));
    spool.acknowledge(batch.end, 2).unwrap();
    assert_eq!(spool.waiting(), 0);
}

#[test]
fn a_full_spool_drops_its_oldest_file_and_counts_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let (mut spool, _) = Spool::open(folder.path(), LEAST_BYTES).unwrap();
    let mut dropped = 0;
    for n in 0..2000 {
        dropped += spool.append(&records(n..n + 1)).unwrap();
        assert!(spool.bytes() <= LEAST_BYTES);
    }
    assert!(dropped > 0);
    assert_eq!(spool.waiting() + dropped, 2000);
    let left = drain(&mut spool, 50);
    assert_eq!(left, (dropped..2000).collect::<Vec<_>>());
}

#[test]
fn records_under_way_are_counted_once_when_their_file_is_removed() {
    for is_delivered in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (mut spool, _) = Spool::open(folder.path(), LEAST_BYTES).unwrap();
        spool.append(&records(0..5)).unwrap();
        let batch = spool.read(3).unwrap();
        let mut dropped = 0;
        for n in 5..2000 {
            dropped += spool.append(&records(n..n + 1)).unwrap();
        }
        let delivered = if is_delivered {
            spool.acknowledge(batch.end, 3).unwrap();
            3
        } else {
            dropped += spool.release();
            0
        };
        assert_eq!(spool.waiting() + dropped + delivered, 2000);
        assert_eq!(
            drain(&mut spool, 100).len() as u64 + dropped + delivered,
            2000
        );
    }
}

/// Needs root: a file system of its own that is full.
#[test]
fn a_full_disk_is_an_error_and_leaves_no_half_line() {
    let folder = tempfile::tempdir().unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(folder.path())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("left out: no file system can be mounted here");
        return;
    }
    let _mounted = Mounted(folder.path());
    let (mut spool, _) = open(folder.path());
    let mut taken = 0;
    let problem = loop {
        match spool.append(&records(taken..taken + 1)) {
            Ok(_) => taken += 1,
            Err(error) => break error.to_string(),
        }
    };
    assert!(problem.contains("No space left"), "{problem}");
    assert_eq!(drain(&mut spool, 50), (0..taken).collect::<Vec<_>>());
    // A program that another test is starting has the removed file open for a moment.
    let next = records(taken..taken + 2);
    let has_room = (0..1000).any(|_| {
        let written = spool.append(&next).is_ok();
        if !written {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        written
    });
    assert!(has_room);
    drop(spool);
    let (mut spool, problems) = open(folder.path());
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(drain(&mut spool, 50), [taken, taken + 1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the files contain, opening and reading them ends, and records that are whole arrive.
    #[test]
    fn any_files_are_opened(
        contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..4),
        good in 0_u64..3,
        position in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let folder = tempfile::tempdir().unwrap();
        for (number, content) in contents.iter().enumerate() {
            let mut bytes = content.clone();
            bytes.push(b'\n');
            for n in 0..good {
                bytes.extend(line::encode(&record(n)).unwrap());
            }
            fs::write(segment::path(folder.path(), number as u64), &bytes).unwrap();
        }
        fs::write(folder.path().join("delivered"), &position).unwrap();
        let (mut spool, _) = open(folder.path());
        spool.append(&records(100..101)).unwrap();
        let all = drain(&mut spool, 2);
        prop_assert_eq!(all.last(), Some(&100));
        prop_assert_eq!(all.len() as u64, good * contents.len() as u64 + 1);
    }
}
