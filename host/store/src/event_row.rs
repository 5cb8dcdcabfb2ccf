//! An event as a row: its identity, and the facts that are stored as JSON.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::StoreError;
use crate::model::{Event, EventType, Evidence, Pairs, Subject, UnixMillis};

/// Most bytes of one row's texts. Guests' strings were already limited to far less.
const ROW_LIMIT: usize = 1024 * 1024;

/// The columns of an event that are not plain copies.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EventRow {
    pub(super) event: Event,
    pub(super) detail: String,
    pub(super) dedup: Vec<u8>,
    /// The number of equal events that it represents, and the time of the last.
    pub(super) count: u64,
    pub(super) last_time: UnixMillis,
    /// What repeats of it share, in whatever window; `None` for those that are not condensed.
    pub(super) kin: Option<Vec<u8>>,
}

impl EventRow {
    /// Makes the row. With the boot of its kernel message, its repeats can be condensed.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`].
    pub(super) fn new(event: Event, boot_id: Option<&str>) -> Result<Self, StoreError> {
        let detail = encode(&event)?;
        let size = event.name.len() + event.message.len() + detail.len();
        super::check_size("event in bytes", size, ROW_LIMIT)?;
        let dedup = identity(&event)?;
        let kin = boot_id.and_then(|boot| kin(&event, boot));
        Ok(Self {
            last_time: event.time,
            count: 1,
            event,
            detail,
            dedup,
            kin,
        })
    }

    /// Makes the rows of events that are stored together: equal ones, of which a flood brings hundreds, share a row. Also
    /// says which row each event went into.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(super) fn all(
        events: Vec<Event>,
        boot_id: Option<&str>,
    ) -> Result<(Vec<Self>, Vec<usize>), StoreError> {
        let mut rows: Vec<Self> = Vec::new();
        let mut known: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut places = Vec::with_capacity(events.len());
        for event in events {
            let row = Self::new(event, boot_id)?;
            let place = *known.entry(row.dedup.clone()).or_insert(rows.len());
            places.push(place);
            match rows.get_mut(place) {
                Some(first) => {
                    first.count += 1;
                    first.last_time = first.last_time.max(row.last_time);
                    if first.event.add_repeat(&row.event) {
                        first.detail = encode(&first.event)?;
                    }
                }
                None => rows.push(row),
            }
        }
        Ok((rows, places))
    }
}

#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct Detail {
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<Subject>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<Evidence>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extra: Pairs,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<String>,
}

fn json<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Sql(error.to_string()))
}

/// The `detail` column of an event.
pub(super) fn encode(event: &Event) -> Result<String, StoreError> {
    json(&Detail {
        subject: event.subject.clone(),
        evidence: event.evidence.clone(),
        extra: event.extra_info.clone(),
        line: event.kernel_line.clone(),
    })
}

/// Puts the facts of the `detail` column back into an event. A damaged column gives none: it must not hide the event.
pub(super) fn decode_into(event: &mut Event, detail: &str) {
    let detail: Detail = serde_json::from_str(detail).unwrap_or_default();
    event.subject = detail.subject;
    event.evidence = detail.evidence;
    event.extra_info = detail.extra;
    event.kernel_line = detail.line;
}

/// The word of the `type` column. Unlike on the wire, a later version's word is preserved.
pub(super) fn type_word(event_type: &EventType) -> &str {
    match event_type {
        EventType::Other(word) => word,
        known => known.as_str(),
    }
}

/// The type of a stored word.
pub(super) fn type_from_word(word: String) -> EventType {
    match EventType::from(word.as_str()) {
        EventType::Unknown if word != EventType::Unknown.as_str() => EventType::Other(word),
        known => known,
    }
}

/// What makes two events of one component the same: 16 bytes of SHA-256 over the name and the merge window and key, or
/// over all that is shown and kept of it but the evidence and the kernel line, at the resolution of a second.
fn identity(event: &Event) -> Result<Vec<u8>, StoreError> {
    let seconds = event.time / 1000;
    let mut hash = Identity::default();
    let mut part = |bytes: &[u8]| hash.part(bytes);
    part(event.name.as_bytes());
    match &event.merge {
        Some(merge) => {
            let window = u64::from(merge.window_seconds.max(1));
            part(b"merged");
            part(merge.key.as_bytes());
            part(&window.to_le_bytes());
            part(&(seconds / window).to_le_bytes());
        }
        None => {
            let extra: BTreeMap<&str, &str> = event
                .extra_info
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str()))
                .collect();
            part(b"equal");
            part(&seconds.to_le_bytes());
            part(type_word(&event.event_type).as_bytes());
            part(event.message.as_bytes());
            part(json(&event.subject)?.as_bytes());
            part(json(&extra)?.as_bytes());
        }
    }
    Ok(hash.finish())
}

/// What events of one boot share that repeat one another: name and merge key. Only of those that are counted by the
/// minute or faster: where a checker chose a longer window, the number of rows may mean something to it.
fn kin(event: &Event, boot_id: &str) -> Option<Vec<u8>> {
    let merge = event.merge.as_ref()?;
    if merge.window_seconds > 60 {
        return None;
    }
    let mut hash = Identity::default();
    for text in [boot_id, &event.name, &merge.key] {
        hash.part(text.as_bytes());
    }
    Some(hash.finish())
}

/// 16 bytes of a hash over several texts.
#[derive(Default)]
struct Identity(Sha256);

impl Identity {
    fn part(&mut self, bytes: &[u8]) {
        // With its length, so that the border between two parts counts.
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn finish(self) -> Vec<u8> {
        self.0.finalize().iter().take(16).copied().collect()
    }
}
