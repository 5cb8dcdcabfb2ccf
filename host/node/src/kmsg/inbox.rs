//! A watcher's inbox: the matching messages that it has not taken yet, bounded, and how far the log was examined for it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::{
    gaps::Gap,
    overflow::{Overflow, Refill},
    record::KernelMessage,
};

/// How much an inbox holds. What comes beyond either limit is counted, and read from the log again once there is room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxLimits {
    /// Messages.
    pub messages: usize,
    /// Bytes of text and dictionary, with a flat charge per message. Messages are shared between inboxes, so this is an
    /// upper bound of the memory.
    pub bytes: usize,
}

impl Default for InboxLimits {
    /// 8192 messages, 8 MiB.
    fn default() -> Self {
        Self {
            messages: 8192,
            bytes: 8 << 20,
        }
    }
}

/// Messages that were taken from an inbox at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// The messages, in the order of the log.
    pub messages: Vec<Arc<KernelMessage>>,
    /// Matching messages in front of these that did not fit and that the log no longer held when there was room again.
    pub lost: Option<Gap>,
    /// Matching messages after these did not fit: [`KernelLog::refill`](super::KernelLog::refill) is to be called.
    pub overflowed: bool,
    /// Every record up to this sequence number was examined for this watcher, and what matched is in this or an earlier
    /// batch (or was counted as lost): the cursor to remember once the batch is stored. `None` before the first record.
    pub high_sequence: Option<u64>,
}

/// A handle to an inbox; clones share it. Meant for one consumer.
#[derive(Debug, Clone)]
pub struct Inbox {
    shared: Arc<InboxShared>,
}

#[derive(Debug)]
struct InboxShared {
    state: Mutex<InboxState>,
    notify: Notify,
    limits: InboxLimits,
}

#[derive(Debug)]
struct InboxState {
    messages: VecDeque<Arc<KernelMessage>>,
    bytes: usize,
    /// What did not fit; nothing is put in while there is some, so that the order stays that of the log.
    overflow: Option<Overflow>,
    /// Of an overflow, what the log no longer held.
    lost: Option<Gap>,
    /// Examined by the matcher up to here.
    examined: Option<u64>,
    /// Handed out up to here.
    taken: Option<u64>,
    closed: bool,
}

impl Inbox {
    pub(super) fn new(limits: InboxLimits, cursor: Option<u64>) -> Self {
        let state = InboxState {
            messages: VecDeque::new(),
            bytes: 0,
            overflow: None,
            lost: None,
            examined: cursor,
            taken: cursor,
            closed: false,
        };
        Self {
            shared: Arc::new(InboxShared {
                state: Mutex::new(state),
                notify: Notify::new(),
                limits,
            }),
        }
    }

    /// Takes up to `max` messages. Never waits; with `max` 0 it only tells the position.
    pub fn drain(&self, max: usize) -> Batch {
        let mut state = self.lock();
        let lost = state.lost.take();
        let count = max.min(state.messages.len());
        let messages: Vec<_> = state.messages.drain(..count).collect();
        let freed: usize = messages.iter().map(|message| cost(message)).sum();
        state.bytes = state.bytes.saturating_sub(freed);
        state.taken = match messages.last() {
            _ if state.messages.is_empty() => state.examined_without_overflow(),
            Some(last) => Some(last.sequence),
            None => state.taken,
        };
        Batch {
            messages,
            lost,
            overflowed: state.overflow.is_some(),
            high_sequence: state.taken,
        }
    }

    /// How far the log was examined and handed out; see [`Batch::high_sequence`].
    pub fn position(&self) -> Option<u64> {
        let state = self.lock();
        if state.messages.is_empty() {
            state.examined_without_overflow()
        } else {
            state.taken
        }
    }

    /// Waits until there is something to drain (messages, or a loss); `false` when there is nothing and
    /// the watcher was removed or the kernel log shut down. Cancel-safe.
    pub async fn readable(&self) -> bool {
        loop {
            // Registered before looking, so that a message that comes in between wakes us.
            let notified = self.shared.notify.notified();
            {
                let state = self.lock();
                if !state.messages.is_empty() || state.lost.is_some() {
                    return true;
                }
                if state.closed {
                    return false;
                }
            }
            notified.await;
        }
    }

    /// Is it surely wide enough for so many messages? An empty one and one that no watcher reads any more are.
    pub(super) fn has_room(&self, messages: usize) -> bool {
        let state = self.lock();
        let limits = &self.shared.limits;
        state.closed
            || state.messages.is_empty()
            || (state.messages.len() + messages <= limits.messages
                && state.bytes < limits.bytes / 2)
    }

    pub(super) fn push(&self, message: Arc<KernelMessage>) {
        let mut state = self.lock();
        state.examined = Some(message.sequence);
        let Err(message) = state.put(message, &self.shared.limits) else {
            drop(state);
            self.shared.notify.notify_one();
            return;
        };
        Overflow::add(&mut state.overflow, &message);
    }

    /// Begins to fill the inbox with what did not fit before, if there is room by now.
    pub(super) fn begin_refill(&self) -> Option<Refill> {
        let mut state = self.lock();
        let limits = &self.shared.limits;
        let roomy = state.messages.len() <= limits.messages / 2 && state.bytes <= limits.bytes / 2;
        if !roomy || state.closed {
            return None;
        }
        state.overflow.take().map(Refill::new)
    }

    /// Takes a message that did not fit before, in the order of the log.
    pub(super) fn refill(&self, refill: &mut Refill, message: Arc<KernelMessage>) {
        let mut state = self.lock();
        match state.put(message, &self.shared.limits) {
            Ok(()) => refill.found(),
            Err(message) => Overflow::add(&mut state.overflow, &message),
        }
    }

    /// Ends what [`begin_refill`](Self::begin_refill) began. Messages that were not found are lost, unless the log
    /// could not be read.
    pub(super) fn end_refill(&self, refill: Refill, complete: bool) {
        let mut state = self.lock();
        let rest = state.overflow.as_ref().map_or(0, |overflow| overflow.count);
        if complete {
            let earlier = state.lost.take();
            state.lost = match (earlier, refill.lost(rest)) {
                (Some(earlier), Some(lost)) => Some(earlier.and(&lost)),
                (earlier, lost) => earlier.or(lost),
            };
        } else {
            let last = state.messages.back().map(|message| message.sequence);
            state.overflow = refill.unread(last);
        }
        let wake = state.lost.is_some() || !state.messages.is_empty();
        drop(state);
        if wake {
            self.shared.notify.notify_one();
        }
    }

    /// Notes that the log was examined up to here.
    pub(super) fn examined(&self, sequence: u64) {
        self.lock().examined = Some(sequence);
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.shared.notify.notify_one();
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    fn lock(&self) -> MutexGuard<'_, InboxState> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl InboxState {
    /// Puts a message in, or gives it back when there is no room or an earlier one is outside.
    fn put(
        &mut self,
        message: Arc<KernelMessage>,
        limits: &InboxLimits,
    ) -> Result<(), Arc<KernelMessage>> {
        let bytes = self.bytes + cost(&message);
        let full = self.messages.len() >= limits.messages || bytes > limits.bytes;
        if full || self.overflow.is_some() {
            return Err(message);
        }
        self.bytes = bytes;
        self.messages.push_back(message);
        Ok(())
    }

    /// How far everything that matched was put in.
    fn examined_without_overflow(&self) -> Option<u64> {
        match &self.overflow {
            Some(overflow) => overflow.first.checked_sub(1).max(self.taken),
            None => self.examined,
        }
    }
}

fn cost(message: &KernelMessage) -> usize {
    let dictionary: usize = message
        .dictionary
        .iter()
        .map(|(key, value)| key.len() + value.len() + 48)
        .sum();
    128 + message.text.len() + dictionary
}

#[cfg(test)]
mod tests {
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
}
