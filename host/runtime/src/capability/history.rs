//! `history`: events, reboots and marks that the daemon has stored for the calling component.

use std::sync::Arc;

use super::{
    Call,
    wire::{
        history::{Host, Reboot, StoredEvent},
        types::{AccessError, Event, EventType, UnixMillis},
    },
};
use crate::{model, store};

/// Most events of one answer.
const MAX_EVENTS: u32 = 10_000;

impl Host for Call {
    async fn own_events(
        &mut self,
        since: UnixMillis,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, AccessError> {
        self.enter("history.own-events")?;
        let Some(store) = self.store.clone() else {
            return Ok(Vec::new());
        };
        let limit = limit.min(MAX_EVENTS);
        let identity = Arc::clone(&self.identity);
        let events = self
            .read(store.events(&identity.component, since, Some(limit)))
            .await?;
        let events: Vec<StoredEvent> = events.into_iter().map(stored_event).collect();
        let bytes = events.iter().map(size).sum();
        self.charge("history.own-events", bytes)?;
        Ok(events)
    }

    async fn reboots(&mut self, since: UnixMillis) -> Result<Vec<Reboot>, AccessError> {
        self.enter("history.reboots")?;
        let Some(store) = self.store.clone() else {
            return Ok(Vec::new());
        };
        let reboots = self.read(store.reboots(since)).await?;
        self.charge("history.reboots", reboots.len().saturating_mul(8))?;
        Ok(reboots
            .into_iter()
            .map(|stored| Reboot {
                time: stored.event.time,
            })
            .collect())
    }

    async fn set_healthy_marks(
        &mut self,
        since: UnixMillis,
    ) -> Result<Vec<UnixMillis>, AccessError> {
        self.enter("history.set-healthy-marks")?;
        let Some(store) = self.store.clone() else {
            return Ok(Vec::new());
        };
        let identity = Arc::clone(&self.identity);
        let marks = self.read(store.marks(&identity.component, since)).await?;
        self.charge("history.set-healthy-marks", marks.len().saturating_mul(8))?;
        Ok(marks)
    }

    async fn available(&mut self) -> bool {
        self.enter("history.available").is_ok() && self.store.is_some()
    }
}

impl From<store::StoreError> for AccessError {
    fn from(error: store::StoreError) -> Self {
        Self::Other(format!("the daemon's database: {error}"))
    }
}

fn stored_event(stored: store::StoredEvent) -> StoredEvent {
    let store::StoredEvent {
        event,
        count,
        last_time,
    } = stored;
    let model::Event {
        time,
        name,
        event_type,
        message,
        subject,
        evidence,
        extra_info,
        // A checker reads its own facts: the line is for people.
        kernel_line: _,
        merge: _,
    } = event;
    StoredEvent {
        event: Event {
            time,
            name,
            event_type: match event_type {
                model::EventType::Unknown => EventType::Unknown,
                model::EventType::Info => EventType::Info,
                model::EventType::Warning => EventType::Warning,
                model::EventType::Critical => EventType::Critical,
                model::EventType::Fatal => EventType::Fatal,
                model::EventType::Other(word) => EventType::Other(word),
            },
            message,
            subject: subject.map(Into::into),
            evidence: evidence.into_iter().map(Into::into).collect(),
            extra_info,
            merge: None,
            extra: Vec::new(),
        },
        count,
        last_time,
    }
}

fn size(stored: &StoredEvent) -> usize {
    let event = &stored.event;
    let info: usize = event
        .extra_info
        .iter()
        .map(|(key, value)| key.len() + value.len())
        .sum();
    64 + event.name.len() + event.message.len() + info
}
