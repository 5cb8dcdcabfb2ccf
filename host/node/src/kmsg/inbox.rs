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

/// The bounds of an inbox. Messages beyond either bound are counted, and read from the log again once there is room.
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
    /// Messages that did not fit. While there are any, no message is added, so that the order stays that of the log.
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

    /// Takes up to `max` messages. Never waits; with `max` 0 it only returns the position.
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

    /// Returns how far the log was examined and handed out; see [`Batch::high_sequence`].
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
mod tests;
