//! Splits a kernel log into records and accounts for them, without the daemon's threads.

pub use gpud_node::kmsg::*;

/// Cuts a log that arrives in pieces of `piece` bytes into records, as the reader of a file does.
pub fn records(log: &[u8], piece: usize) -> Vec<Vec<u8>> {
    let mut splitter = LineSplitter::default();
    let mut records = Vec::new();
    let mut record = Vec::new();
    for piece in log.chunks(piece.max(1)) {
        splitter.feed(piece);
        while splitter.take(&mut record) {
            records.push(std::mem::take(&mut record));
        }
    }
    // The second time, what has no line end is a record too.
    for _ in 0..2 {
        while splitter.take_at_end(&mut record) {
            records.push(std::mem::take(&mut record));
        }
    }
    records
}

/// How many records the gaps stand for once they went through the log of gaps, which merges neighbours.
pub fn lost(gaps: &[Gap]) -> u64 {
    let log = GapLog::default();
    gaps.iter().for_each(|gap| log.push(gap.clone()));
    let taken = log.take();
    assert!(taken.len() <= GapLog::LIMIT.min(gaps.len()));
    taken
        .iter()
        .fold(0, |sum, gap| sum.saturating_add(gap.count))
}
