//! Collects the records that were read into batches for the queue, and accounts for each of them.

use super::{
    accounting::{Accounting, Observation},
    clock::BootClock,
    counters::add,
    gaps::{Gap, GapCause},
    queue::RecordBatch,
    reader::ReaderShared,
    record::RawRecord,
};

/// Collects records into a batch and accounts for them.
pub(super) struct Intake {
    clock: BootClock,
    pub(super) accounting: Accounting,
    /// Records that were not passed on yet. The next record is read into the tail.
    pub(super) batch: RecordBatch,
    /// First and last number, and the last time, of the batch.
    span: Option<(u64, u64, u64)>,
}

impl Intake {
    pub(super) fn new(resume_after: Option<u64>, clock: BootClock) -> Self {
        Self {
            clock,
            accounting: Accounting::new(resume_after),
            batch: RecordBatch::default(),
            span: None,
        }
    }

    /// Takes the record in the batch's tail.
    pub(super) fn take(&mut self, shared: &ReaderShared) {
        let counters = &shared.counters;
        let raw = self.batch.unsealed();
        let size = raw.len() as u64;
        let Ok(record) = RawRecord::split(raw) else {
            add(&counters.records_read, 1);
            add(&counters.bytes_read, size);
            add(&counters.unparsable, 1);
            self.accounting.observe_nameless();
            self.batch.discard();
            return;
        };
        let (sequence, time) = (record.sequence, self.clock.unix_ms(record.monotonic_micros));
        match self.accounting.observe(sequence, time) {
            Observation::Replayed => self.batch.discard(),
            Observation::New(gap) => {
                if let Some(gap) = gap {
                    add(&counters.lost_overrun, gap.count);
                    add(&counters.gaps, 1);
                    shared.gaps.push(gap);
                }
                add(&counters.records_read, 1);
                add(&counters.bytes_read, size);
                let first = self.span.map_or(sequence, |(first, ..)| first);
                self.span = Some((first, sequence, time));
                self.batch.seal();
            }
        }
    }

    /// Puts the batch into the queue; a full queue gives it back.
    pub(super) fn offer(&mut self, shared: &ReaderShared) -> Result<(), RecordBatch> {
        if self.batch.is_empty() {
            return Ok(());
        }
        shared.queue.push(std::mem::take(&mut self.batch))?;
        self.span = None;
        Ok(())
    }

    /// Counts a batch that there was no room for.
    pub(super) fn drop_batch(&mut self, batch: &RecordBatch, shared: &ReaderShared) {
        let count = batch.len() as u64;
        add(&shared.counters.lost_queue, count);
        if let Some((first_lost, last_lost, time)) = self.span.take() {
            add(&shared.counters.gaps, 1);
            shared.gaps.push(Gap {
                cause: GapCause::QueueFull,
                first_lost,
                last_lost,
                count,
                time,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_costs_records_and_each_is_counted_once() {
        let shared = ReaderShared::new("/dev/null".into(), 2000).unwrap();
        let mut intake = Intake::new(None, BootClock::booted_at(0));
        for sequence in (0..100).chain(110..200) {
            let record = format!("6,{sequence},1000,-;{}\n", "x".repeat(80));
            intake.batch.tail().extend_from_slice(record.as_bytes());
            intake.take(&shared);
            if sequence % 5 == 4
                && let Err(batch) = intake.offer(&shared)
            {
                intake.drop_batch(&batch, &shared);
            }
        }
        intake.batch.tail().extend_from_slice(b"garbage");
        intake.take(&shared);
        let values = shared.counters.values();
        assert_eq!(
            (values.records_read, values.unparsable, values.lost_overrun),
            (191, 1, 10)
        );
        assert!(
            values.lost_queue > 0,
            "a queue of 2000 bytes took everything"
        );
        let mut queued = 0;
        while !shared.queue.is_empty() {
            if let crate::kmsg::queue::MatcherWork::Records(batch) = shared.queue.next() {
                queued += batch.len() as u64;
            }
        }
        assert_eq!(
            values.records_read,
            queued + values.unparsable + values.lost_queue
        );
        let gaps = shared.gaps.take();
        let lost = |cause| {
            gaps.iter()
                .filter(|gap| gap.cause == cause)
                .map(|gap| gap.count)
                .sum::<u64>()
        };
        assert_eq!(
            (lost(GapCause::Overrun), lost(GapCause::QueueFull)),
            (10, values.lost_queue)
        );
        let last = gaps.last().unwrap();
        assert_eq!((last.last_lost, last.time), (199, 1));
    }

    #[test]
    fn after_a_reopening_nothing_is_taken_twice() {
        let shared = ReaderShared::new("/dev/null".into(), 1 << 20).unwrap();
        let mut intake = Intake::new(None, BootClock::booted_at(0));
        let read = |intake: &mut Intake, sequences: std::ops::Range<u64>| {
            for sequence in sequences {
                intake
                    .batch
                    .tail()
                    .extend_from_slice(format!("6,{sequence},0,-;x\n").as_bytes());
                intake.take(&shared);
            }
        };
        read(&mut intake, 0..4);
        intake.accounting.reopened();
        read(&mut intake, 1..6);
        assert_eq!(intake.batch.len(), 6);
        assert_eq!(shared.counters.values().records_read, 6);
        assert_eq!(shared.counters.values().lost_overrun, 0);
    }
}
