//! Delivers records in batches.

use std::time::{Duration, Instant};

use super::Worker;
use crate::{DeliveryError, Export, Record, buffer::Batch, retry::Backoff};

/// How often it is looked whether a batch has become full while records are gathered.
const LOOK: Duration = Duration::from_millis(100);

/// Works until the stop, and then until nothing waits or a delivery fails.
pub(super) async fn run(export: &mut impl Export, worker: &Worker) {
    let mut backoff = worker.backoff();
    // Whether the records that wait were gathered, or have been waiting for a failed delivery.
    let mut is_gathered = false;
    loop {
        let batch = if worker.stop.is_cancelled() {
            match worker.buffer.try_next(worker.batch_records).await {
                Some(batch) => batch,
                None => return,
            }
        } else {
            tokio::select! {
                batch = worker.buffer.next(worker.batch_records) => batch,
                () = worker.stop.cancelled() => continue,
            }
        };
        let gather = export.gather();
        let is_full = batch.records.len() >= worker.batch_records;
        if !gather.is_zero() && !is_gathered && !is_full && !worker.stop.is_cancelled() {
            worker.buffer.release(batch).await;
            self::gather(worker, gather).await;
            is_gathered = true;
            continue;
        }
        is_gathered = false;
        match deliver(export, worker, &mut backoff, &batch).await {
            Ok(()) => worker.buffer.acknowledge(batch).await,
            Err((message, asked)) => {
                // Looked at again afterwards: old records may have made room for new ones.
                worker.buffer.release(batch).await;
                worker.pause(&mut backoff, &message, asked).await;
                is_gathered = true;
                if worker.stop.is_cancelled() {
                    return;
                }
            }
        }
    }
}

/// Waits for more records: for this long, until a batch is full, or until the stop.
async fn gather(worker: &Worker, time: Duration) {
    let end = tokio::time::Instant::now() + time;
    while tokio::time::Instant::now() < end && worker.buffer.waiting() < worker.batch_records as u64
    {
        let left = end.saturating_duration_since(tokio::time::Instant::now());
        tokio::select! {
            () = tokio::time::sleep(left.min(LOOK)) => {}
            () = worker.stop.cancelled() => return,
        }
    }
}

/// Delivers a batch, apart from records that the engine refuses.
async fn deliver(
    export: &mut impl Export,
    worker: &Worker,
    backoff: &mut Backoff,
    batch: &Batch,
) -> Result<(), (String, Option<Duration>)> {
    // Parts that are left, the last one first.
    let mut parts: Vec<Vec<Record>> = vec![batch.records.clone()];
    while let Some(part) = parts.pop() {
        let began = Instant::now();
        let done = worker.attempt(export.deliver(&part, &worker.context)).await;
        match done {
            Ok(()) => worker.succeeded(backoff, part.len(), began),
            Err(DeliveryError::Transient {
                message,
                retry_after,
            }) => return Err((message, retry_after)),
            Err(DeliveryError::PartlyTaken { message, left_out }) => {
                let left_out = left_out.min(part.len());
                give_up(worker, left_out, &message);
                worker.succeeded(backoff, part.len() - left_out, began);
            }
            Err(DeliveryError::Refused { message, records }) => {
                let (refused, left) = split(part, &records);
                if refused > 0 {
                    give_up(worker, refused, &message);
                }
                parts.extend(left.into_iter().rev());
            }
        }
    }
    Ok(())
}

/// Returns how many records of a part are refused, and the parts to try next.
fn split(part: Vec<Record>, refused: &[usize]) -> (usize, Vec<Vec<Record>>) {
    let length = part.len();
    if refused.is_empty() && length == 1 {
        return (1, Vec::new());
    }
    if refused.is_empty() {
        // Halves: one bad record among a hundred costs a dozen requests.
        let mut first = part;
        let second = first.split_off(length / 2);
        return (0, vec![first, second]);
    }
    let left = part.into_iter().enumerate();
    let left = left.filter(|(index, _)| !refused.contains(index));
    let left: Vec<Record> = left.map(|(_, record)| record).collect();
    let count = length - left.len();
    // An engine that names records that are not there would be asked for ever.
    if count == 0 {
        return (length, Vec::new());
    }
    let parts = if left.is_empty() {
        Vec::new()
    } else {
        vec![left]
    };
    (count, parts)
}

fn give_up(worker: &Worker, count: usize, message: &str) {
    let context = &worker.context;
    context.status.refused(count, message, context.now());
    tracing::error!(
        export = context.export,
        records = count,
        "refused and dropped: {message}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::tests::record;

    fn times(parts: Vec<Vec<Record>>) -> Vec<Vec<u64>> {
        let times = |part: Vec<Record>| part.iter().map(|record| record.time).collect();
        parts.into_iter().map(times).collect()
    }

    #[test]
    fn a_refused_batch_is_split_until_the_bad_record_is_found() {
        let part = |count| (0..count).map(record).collect::<Vec<_>>();
        for (count, refused, expected) in [
            (1, vec![], (1, vec![])),
            (4, vec![], (0, vec![vec![0, 1], vec![2, 3]])),
            (3, vec![], (0, vec![vec![0], vec![1, 2]])),
            (3, vec![1], (1, vec![vec![0, 2]])),
            (2, vec![0, 1], (2, vec![])),
            (2, vec![7], (2, vec![])),
        ] {
            let (given_up, parts) = split(part(count), &refused);
            assert_eq!((given_up, times(parts)), expected, "{count} {refused:?}");
        }
    }
}
