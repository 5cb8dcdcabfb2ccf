//! Looks through everything that the kernel log holds right now, on a descriptor of its own, beside the reader.

use std::{
    collections::VecDeque,
    ops::ControlFlow,
    path::Path,
    time::{Duration, Instant},
};

use regex::RegexSet;
use rustix::io::Errno;

use super::{
    clock::BootClock,
    record::{KernelMessage, RawRecord},
    source::{Source, Step},
    text::without_layout,
};
use crate::error::SourceError;

/// How many reads in a row may fail before a scan gives up. A record that the kernel will not hand out fails alone.
const MAX_FAILURES: u32 = 8;

/// The result of reading through the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadBack {
    /// The newest matching messages, in the order of the log.
    pub messages: Vec<KernelMessage>,
    /// How many records were looked at, unparsable ones included.
    pub scanned: u64,
    /// How many of them could not be taken apart; they are skipped.
    pub unparsable: u64,
}

/// Reads the whole log once and keeps the newest `max_messages` messages whose text matches a pattern of `filter` (every
/// message when the set is empty). Holds at most `max_messages` messages of up to [`MAX_RECORD`](super::record::MAX_RECORD)
/// bytes.
///
/// # Errors
/// The log cannot be opened or read, or reading it took longer than `deadline`.
pub fn read_back(
    path: &Path,
    filter: &RegexSet,
    max_messages: usize,
    deadline: Duration,
    clock: BootClock,
) -> Result<ReadBack, SourceError> {
    let mut found = ReadBack::default();
    let mut newest = VecDeque::new();
    scan(path, deadline, |raw| {
        found.scanned += 1;
        let Ok(record) = RawRecord::split(raw) else {
            found.unparsable += 1;
            return ControlFlow::Continue(());
        };
        if max_messages > 0
            && (filter.is_empty() || filter.is_match(without_layout(&record.text())))
        {
            if newest.len() >= max_messages {
                newest.pop_front();
            }
            newest.push_back(record.to_message(clock));
        }
        ControlFlow::Continue(())
    })?;
    found.messages = newest.into();
    Ok(found)
}

/// Returns the time of the oldest message that the log holds, Unix milliseconds; `None` for an empty log.
///
/// # Errors
/// As [`read_back`].
pub fn oldest(
    path: &Path,
    deadline: Duration,
    clock: BootClock,
) -> Result<Option<u64>, SourceError> {
    let mut found = None;
    scan(path, deadline, |raw| match RawRecord::split(raw) {
        Ok(record) => {
            found = Some(record.to_message(clock).time);
            ControlFlow::Break(())
        }
        Err(_) => ControlFlow::Continue(()),
    })?;
    Ok(found)
}

/// Opens the log and reads one record, to see whether that works.
///
/// # Errors
/// The log cannot be opened or read.
pub fn probe(path: &Path, deadline: Duration) -> Result<(), SourceError> {
    scan(path, deadline, |_| ControlFlow::Break(()))
}

/// Hands every record that the log holds to `visit`, oldest first, until that breaks off.
///
/// # Errors
/// As [`read_back`].
pub(super) fn scan(
    path: &Path,
    deadline: Duration,
    mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<(), SourceError> {
    let start = Instant::now();
    let mut source = Source::open(path)?;
    let mut record = Vec::new();
    let (mut idle, mut failures) = (false, 0);
    loop {
        if start.elapsed() >= deadline {
            return Err(SourceError::TimedOut {
                what: format!("{}: reading it from the beginning", path.display()),
                after: deadline,
                last_good: None,
            });
        }
        record.clear();
        match source.next(&mut record) {
            Ok(Step::Record) => {
                (idle, failures) = (false, 0);
                if visit(&record).is_break() {
                    return Ok(());
                }
            }
            // A file gives out an unfinished last line when it is asked again.
            Ok(Step::Idle) if !idle => idle = true,
            Ok(Step::Idle | Step::End) => return Ok(()),
            Ok(Step::Overrun | Step::Restarted) => {}
            Err(Errno::INVAL) if failures < MAX_FAILURES => failures += 1,
            Err(errno) => {
                return Err(SourceError::from_io(
                    path.display().to_string(),
                    &errno.into(),
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
}
