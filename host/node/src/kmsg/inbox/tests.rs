use proptest::prelude::*;

use super::*;
use crate::kmsg::{GapCause, clock::BootClock, record::parse};

fn message(sequence: u64, text: &str) -> Arc<KernelMessage> {
    Arc::new(
        parse(
            format!("6,{sequence},0,-;{text}\n").as_bytes(),
            BootClock::booted_at(0),
        )
        .unwrap(),
    )
}

fn sequences(batch: &Batch) -> Vec<u64> {
    batch
        .messages
        .iter()
        .map(|message| message.sequence)
        .collect()
}

#[test]
fn the_cursor_never_passes_an_undelivered_message() {
    let inbox = Inbox::new(InboxLimits::default(), Some(4));
    assert_eq!(
        inbox.drain(10),
        Batch {
            high_sequence: Some(4),
            ..Batch::default()
        }
    );
    inbox.push(message(7, "a"));
    inbox.push(message(9, "b"));
    inbox.examined(20);
    assert_eq!(inbox.drain(0).high_sequence, Some(4));
    let first = inbox.drain(1);
    assert_eq!((sequences(&first), first.high_sequence), (vec![7], Some(7)));
    let second = inbox.drain(1);
    assert_eq!(
        (sequences(&second), second.high_sequence),
        (vec![9], Some(20))
    );
    inbox.examined(33);
    assert_eq!(
        inbox.drain(1),
        Batch {
            high_sequence: Some(33),
            ..Batch::default()
        }
    );
}

#[test]
fn is_bounded_by_messages_and_by_bytes() {
    for limits in [
        InboxLimits {
            messages: 2,
            bytes: 1 << 20,
        },
        InboxLimits {
            messages: 99,
            bytes: 2 * (128 + 5),
        },
    ] {
        let inbox = Inbox::new(limits, None);
        for sequence in 0..5 {
            inbox.push(message(sequence, "hello"));
        }
        let batch = inbox.drain(10);
        assert_eq!(
            (sequences(&batch), batch.overflowed, batch.high_sequence),
            (vec![0, 1], true, Some(1))
        );
        // One that is earlier in the log is still outside.
        inbox.push(message(5, "hello"));
        inbox.examined(9);
        let batch = inbox.drain(10);
        assert_eq!(
            (sequences(&batch), batch.overflowed, batch.high_sequence),
            (vec![], true, Some(1))
        );
    }
}

fn small(held: u64) -> Inbox {
    let limits = InboxLimits {
        messages: 2,
        bytes: 1 << 20,
    };
    let inbox = Inbox::new(limits, None);
    for sequence in 0..held {
        inbox.push(message(sequence, "m"));
    }
    inbox
}

#[test]
fn what_did_not_fit_comes_from_the_log_in_order_and_the_rest_is_counted() {
    let inbox = small(7);
    assert!(inbox.begin_refill().is_none(), "no room yet");
    assert_eq!(sequences(&inbox.drain(9)), [0, 1]);
    let mut refill = inbox.begin_refill().unwrap();
    assert_eq!(refill.first(), 2);
    // The log no longer holds 2 and 3.
    for sequence in 4..7 {
        refill.looked_at(sequence);
        inbox.refill(&mut refill, message(sequence, "m"));
    }
    inbox.end_refill(refill, true);
    let batch = inbox.drain(9);
    let lost = batch.lost.clone().unwrap();
    assert_eq!(
        (lost.cause, lost.first_lost, lost.last_lost, lost.count),
        (GapCause::InboxFull, 2, 3, 2)
    );
    assert_eq!((sequences(&batch), batch.overflowed), (vec![4, 5], true));
    assert_eq!(batch.high_sequence, Some(5));
    let mut refill = inbox.begin_refill().unwrap();
    refill.looked_at(6);
    inbox.refill(&mut refill, message(6, "m"));
    inbox.end_refill(refill, true);
    inbox.push(message(7, "m"));
    let batch = inbox.drain(9);
    assert_eq!((sequences(&batch), batch.lost), (vec![6, 7], None));
    assert_eq!(batch.high_sequence, Some(7));
}

#[test]
fn a_log_that_could_not_be_read_is_read_later() {
    let inbox = small(5);
    inbox.drain(9);
    let mut refill = inbox.begin_refill().unwrap();
    refill.looked_at(2);
    inbox.refill(&mut refill, message(2, "m"));
    inbox.end_refill(refill, false);
    let batch = inbox.drain(9);
    assert_eq!(
        (sequences(&batch), batch.lost, batch.high_sequence),
        (vec![2], None, Some(2))
    );
    let refill = inbox.begin_refill().unwrap();
    assert_eq!(refill.first(), 3);
    // All of it is gone.
    inbox.end_refill(refill, true);
    let batch = inbox.drain(9);
    assert_eq!(
        batch
            .lost
            .map(|lost| (lost.first_lost, lost.last_lost, lost.count)),
        Some((3, 4, 2))
    );
    assert_eq!(batch.high_sequence, Some(4));
}

#[tokio::test]
async fn wakes_its_reader_and_ends_when_closed() {
    let inbox = Inbox::new(InboxLimits::default(), None);
    let reader = tokio::spawn({
        let inbox = inbox.clone();
        async move {
            let mut seen = Vec::new();
            while inbox.readable().await {
                seen.extend(sequences(&inbox.drain(10)));
            }
            seen
        }
    });
    tokio::task::yield_now().await;
    inbox.push(message(1, "a"));
    tokio::task::yield_now().await;
    inbox.push(message(2, "b"));
    inbox.close();
    assert_eq!(reader.await.unwrap(), [1, 2]);
}

proptest! {
    /// However it is drained, everything pushed comes out once and in order, and restarting at any reported cursor
    /// would miss nothing that had not been handed out.
    #[test]
    fn cursors_are_safe(steps in proptest::collection::vec((any::<bool>(), 0usize..4), 0..100)) {
        let inbox = Inbox::new(InboxLimits::default(), None);
        let (mut next, mut pushed, mut out) = (0, Vec::new(), Vec::new());
        for (matches, max) in steps {
            if matches {
                inbox.push(message(next, "m"));
                pushed.push(next);
            }
            inbox.examined(next);
            next += 1;
            let batch = inbox.drain(max);
            out.extend(sequences(&batch));
            let done = pushed.iter().filter(|&&sequence| Some(sequence) <= batch.high_sequence).count();
            prop_assert!(done <= out.len(), "cursor {:?} covers messages that are still inside", batch.high_sequence);
        }
        out.extend(sequences(&inbox.drain(usize::MAX)));
        prop_assert_eq!(out, pushed);
    }
}
