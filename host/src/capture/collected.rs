//! Where the messages of a capture go: all into memory, or one after another to somebody who takes them.

use crate::node::kmsg::KernelMessage;

/// Takes a message and its number.
pub(super) type Take<'s> = Box<dyn FnMut(usize, KernelMessage) + 's>;

/// The messages that were read.
pub(super) enum Collected<'s> {
    /// All of them.
    All(Vec<KernelMessage>),
    /// The last one, to which further lines may belong; the others were handed on.
    Passing {
        /// How many there were, the last one included.
        count: usize,
        /// The last one.
        last: Option<KernelMessage>,
        /// Gets the others.
        take: Take<'s>,
    },
}

impl<'s> Collected<'s> {
    /// Hands messages on as soon as they are complete.
    pub fn passing(take: Take<'s>) -> Self {
        Self::Passing {
            count: 0,
            last: None,
            take,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::All(messages) => messages.len(),
            Self::Passing { count, .. } => *count,
        }
    }

    /// The last one.
    pub fn last(&self) -> Option<&KernelMessage> {
        match self {
            Self::All(messages) => messages.last(),
            Self::Passing { last, .. } => last.as_ref(),
        }
    }

    /// The last one, which further lines may complete.
    pub fn last_mut(&mut self) -> Option<&mut KernelMessage> {
        match self {
            Self::All(messages) => messages.last_mut(),
            Self::Passing { last, .. } => last.as_mut(),
        }
    }

    /// Adds a message; the one before is complete.
    pub fn push(&mut self, message: KernelMessage) {
        match self {
            Self::All(messages) => messages.push(message),
            Self::Passing { count, last, take } => {
                if let Some(complete) = last.replace(message) {
                    take(*count - 1, complete);
                }
                *count += 1;
            }
        }
    }

    /// Ends: the last message is complete as well. Gives those that are in memory.
    pub fn end(self) -> Vec<KernelMessage> {
        match self {
            Self::All(messages) => messages,
            Self::Passing {
                count,
                last,
                mut take,
            } => {
                if let Some(complete) = last {
                    take(count.saturating_sub(1), complete);
                }
                Vec::new()
            }
        }
    }
}
