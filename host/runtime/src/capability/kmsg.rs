//! `kmsg`: a look back at the kernel log's ring buffer.

use std::time::Duration;

use regex::RegexSetBuilder;

use super::{
    Call,
    wire::{
        kmsg::{Host, LookBack, Message},
        types::AccessError,
    },
};
use crate::node::kmsg::{KernelMessage, without_layout};

/// Most messages of one answer.
const MAX_MESSAGES: u32 = 4096;
/// Most patterns, and the longest one in bytes.
const MAX_PATTERNS: (usize, usize) = (64, 1024);
/// Memory that the compiled patterns may take, bytes.
const COMPILED_LIMIT: usize = 4 * 1024 * 1024;
/// Longest that a look back takes.
const DEADLINE: Duration = Duration::from_secs(10);

impl Host for Call {
    async fn read_back(
        &mut self,
        patterns: Vec<String>,
        max_messages: u32,
    ) -> Result<LookBack, AccessError> {
        self.enter("kmsg.read-back")?;
        if patterns.len() > MAX_PATTERNS.0 || patterns.iter().any(|p| p.len() > MAX_PATTERNS.1) {
            let (count, length) = MAX_PATTERNS;
            return Err(AccessError::InvalidArgument(format!(
                "kmsg.read-back: at most {count} patterns of {length} bytes each"
            )));
        }
        let filter = RegexSetBuilder::new(&patterns)
            .size_limit(COMPILED_LIMIT)
            .dfa_size_limit(COMPILED_LIMIT)
            .build()
            .map_err(|error| AccessError::InvalidArgument(format!("kmsg.read-back: {error}")))?;
        let deadline = DEADLINE.min(self.remaining());
        let limit = max_messages.min(MAX_MESSAGES) as usize;
        let node = std::sync::Arc::clone(&self.node);
        let found = self
            .wait(node.kmsg_read_back(filter, limit, deadline))
            .await?;
        let bytes = found
            .messages
            .iter()
            .map(|message| message.text.len() + 32)
            .sum();
        self.charge("kmsg.read-back", bytes)?;
        Ok(LookBack {
            messages: found.messages.iter().map(Message::from).collect(),
            scanned: found.scanned,
            unparsable: found.unparsable,
        })
    }
}

impl From<&KernelMessage> for Message {
    fn from(message: &KernelMessage) -> Self {
        Self {
            sequence: message.sequence,
            time: message.time,
            level: message.level,
            facility: message.facility,
            text: without_layout(&message.text).to_owned(),
            dictionary: (!message.dictionary.is_empty()).then(|| message.dictionary.clone()),
        }
    }
}
