//! Encoded events of each component, newest first, so that `/v1/events` neither reads nor encodes what it served before.
//!
//! A list is a row of blocks. Events after any start time are a prefix of it; new events are a block in front. What has
//! been deleted makes a list void. The version of a list is asked for before its rows are read: a row that comes
//! between the two is read twice at worst, never missed.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::Mutex;

use super::{
    backend::{Backend, EventsVersion, ListedEvent, WantedEvents},
    pieces::{Piece, Pieces},
};
use crate::wire::{EncodeError, Event, append_json};

/// Text of one block, about, in bytes.
const BLOCK: usize = 64 * 1024;
/// Text of all lists together, in bytes; what is beyond is served and not kept.
const MOST: usize = 16 * 1024 * 1024;
/// A list is read anew after this: until then events that nobody asks for any more stay in it.
const RENEWED: Duration = Duration::from_secs(600);

/// The lists of all components.
#[derive(Debug, Default)]
pub(super) struct EventLists(Mutex<HashMap<String, Entry>>);

#[derive(Debug)]
struct Entry {
    list: Arc<List>,
    used: Instant,
}

/// Events of one component whose second is later than `after`.
#[derive(Debug)]
pub(super) struct List {
    version: EventsVersion,
    after: i64,
    last_row: i64,
    made: Instant,
    blocks: VecDeque<Arc<Block>>,
}

#[derive(Debug)]
struct Block {
    /// Events with commas between them.
    piece: Arc<Piece>,
    /// Of each event its second and where its text ends; seconds descend.
    ends: Vec<(i64, usize)>,
}

impl Block {
    fn newest(&self) -> i64 {
        self.ends.first().map_or(i64::MAX, |(second, _)| *second)
    }

    fn oldest(&self) -> i64 {
        self.ends.last().map_or(i64::MAX, |(second, _)| *second)
    }
}

impl EventLists {
    /// Lists of these components that reach back to `after`, in the same order; `None` where they cannot be read. One
    /// caller reads, others wait for it.
    pub(super) async fn get(
        &self,
        backend: &dyn Backend,
        names: &[String],
        after: i64,
    ) -> Vec<Option<Arc<List>>> {
        let now = Instant::now();
        let mut lists = self.0.lock().await;
        let mut wanted = Vec::new();
        let mut olds = BTreeMap::new();
        for name in names {
            let version = backend.events_version(name);
            let usable = lists.get(name).filter(|entry| {
                let list = &entry.list;
                list.version.removed == version.removed
                    && list.after <= after
                    && now.duration_since(list.made) < RENEWED
            });
            if usable.is_some_and(|entry| entry.list.version == version) {
                continue;
            }
            let old = usable.map(|entry| Arc::clone(&entry.list));
            wanted.push(WantedEvents {
                component: name.clone(),
                after: old.as_ref().map_or(after, |list| list.after),
                after_row: old.as_ref().map_or(0, |list| list.last_row),
            });
            olds.insert(name.clone(), (version, old));
        }
        if !wanted.is_empty() {
            let asked = wanted.clone();
            for name in olds.keys() {
                lists.remove(name);
            }
            match backend.listed_events(asked).await {
                Ok(found) => {
                    let made = tokio::task::spawn_blocking(move || renew(wanted, olds, found, now));
                    for (name, list) in made.await.unwrap_or_default() {
                        lists.insert(name, Entry { list, used: now });
                    }
                }
                Err(error) => tracing::error!("events could not be read: {error}"),
            }
        }
        let found = names.iter().map(|name| {
            let entry = lists.get_mut(name)?;
            entry.used = now;
            Some(Arc::clone(&entry.list))
        });
        let found = found.collect();
        let size: usize = lists.values().map(|entry| entry.list.size()).sum();
        if size > MOST {
            lists.clear();
        }
        found
    }

    /// Drops what was not used since.
    pub(super) async fn forget(&self, since: Instant) {
        let mut lists = self.0.lock().await;
        lists.retain(|_, entry| entry.used >= since);
        lists.shrink_to_fit();
    }
}

type Old = (EventsVersion, Option<Arc<List>>);

fn renew(
    wanted: Vec<WantedEvents>,
    mut olds: BTreeMap<String, Old>,
    mut found: BTreeMap<String, Vec<ListedEvent>>,
    now: Instant,
) -> Vec<(String, Arc<List>)> {
    let lists = wanted.into_iter().filter_map(|wanted| {
        let (version, old) = olds.remove(&wanted.component)?;
        let events = found.remove(&wanted.component).unwrap_or_default();
        match List::make(version, wanted.after, old.as_deref(), events, now) {
            Ok(list) => Some((wanted.component, Arc::new(list))),
            Err(error) => {
                tracing::error!("{error}");
                None
            }
        }
    });
    lists.collect()
}

impl List {
    /// From all events after `after`, or from those that are newer than an old list.
    fn make(
        version: EventsVersion,
        after: i64,
        old: Option<&Self>,
        events: Vec<ListedEvent>,
        now: Instant,
    ) -> Result<Self, EncodeError> {
        let last_row = events.iter().map(|event| event.row).max();
        let blocks = old.map(|old| old.blocks.clone()).unwrap_or_default();
        Ok(Self {
            version,
            after,
            last_row: last_row.or(old.map(|old| old.last_row)).unwrap_or(0),
            made: old.map_or(now, |old| old.made),
            blocks: in_front(blocks, events)?,
        })
    }

    fn size(&self) -> usize {
        // The compressed form is small beside it.
        self.blocks
            .iter()
            .map(|block| block.piece.text().len())
            .sum()
    }

    /// Adds the JSON list of events later than `after` to an answer, or `null`.
    pub(super) fn write(&self, after: i64, answer: &mut Pieces) {
        let mut first = true;
        for block in &self.blocks {
            if block.newest() <= after {
                break;
            }
            answer.push(if first { "[" } else { "," });
            first = false;
            if block.oldest() > after {
                answer.share(&block.piece);
                continue;
            }
            let later = block.ends.partition_point(|(second, _)| *second > after);
            let end = later.checked_sub(1).and_then(|last| block.ends.get(last));
            let text = block.piece.text();
            answer.push(text.slice(..end.map_or(0, |(_, end)| *end)));
            break;
        }
        answer.push(if first { "null" } else { "]" });
    }
}

/// Puts events, newest first, in front of blocks of older ones. Where they do not belong in front (an event that was
/// stored late), the blocks that they reach into are made anew.
fn in_front(
    mut blocks: VecDeque<Arc<Block>>,
    events: Vec<ListedEvent>,
) -> Result<VecDeque<Arc<Block>>, EncodeError> {
    if events.is_empty() {
        return Ok(blocks);
    }
    let mut merged = Merge::default();
    let mut events = events.into_iter().peekable();
    while let Some(event) = events.peek() {
        // Within one second the later row comes first, and these are later rows.
        let second = event.second();
        match blocks.front() {
            Some(front) if second < front.oldest() => {
                // The whole block is newer.
                merged.block(front);
                blocks.pop_front();
            }
            Some(front) if second < front.newest() => {
                let (newer, older) = front.split(second);
                blocks.pop_front();
                blocks.push_front(Arc::new(older));
                merged.block(&newer);
            }
            _ => {
                if let Some(event) = events.next() {
                    merged.event(event)?;
                }
            }
        }
    }
    // Small blocks grow together.
    if let Some(front) = blocks
        .front()
        .filter(|front| front.piece.text().len() < BLOCK / 2)
    {
        merged.block(front);
        blocks.pop_front();
    }
    for block in merged.finish().into_iter().rev() {
        blocks.push_front(block);
    }
    Ok(blocks)
}

impl Block {
    /// Events at `second` and later ones, and the rest. Neither is empty if the second lies between the block's ends.
    fn split(&self, second: i64) -> (Self, Self) {
        let at = self.ends.partition_point(|(s, _)| *s > second);
        let (newer, older) = self.ends.split_at(at);
        let end = newer.last().map_or(0, |(_, end)| *end);
        let text = self.piece.text();
        // Past the comma.
        let begin = (end + 1).min(text.len());
        let shifted = older.iter().map(|(s, end)| (*s, end - begin));
        let part = |text, ends| Self {
            piece: Piece::new(text),
            ends,
        };
        (
            part(text.slice(..end), newer.to_vec()),
            part(text.slice(begin..), shifted.collect()),
        )
    }
}

/// Makes blocks.
#[derive(Default)]
struct Merge {
    done: Vec<Arc<Block>>,
    text: Vec<u8>,
    ends: Vec<(i64, usize)>,
}

impl Merge {
    fn event(&mut self, event: ListedEvent) -> Result<(), EncodeError> {
        let second = event.second();
        self.separate();
        append_json(&mut self.text, &Event::from(event.event))?;
        self.ends.push((second, self.text.len()));
        Ok(())
    }

    fn block(&mut self, block: &Block) {
        if self.ends.is_empty() && block.piece.text().len() >= BLOCK / 2 {
            self.done.push(Arc::new(Block {
                piece: Arc::clone(&block.piece),
                ends: block.ends.clone(),
            }));
            return;
        }
        self.separate();
        let begin = self.text.len();
        self.text.extend_from_slice(block.piece.text());
        let shifted = block
            .ends
            .iter()
            .map(|(second, end)| (*second, end + begin));
        self.ends.extend(shifted);
    }

    /// Ends a block that is full, or writes a comma.
    fn separate(&mut self) {
        if self.text.len() >= BLOCK {
            self.end();
        } else if !self.ends.is_empty() {
            self.text.push(b',');
        }
    }

    fn end(&mut self) {
        let mut text = std::mem::take(&mut self.text);
        text.shrink_to_fit();
        self.done.push(Arc::new(Block {
            piece: Piece::new(text),
            ends: std::mem::take(&mut self.ends),
        }));
    }

    fn finish(mut self) -> Vec<Arc<Block>> {
        if !self.ends.is_empty() {
            self.end();
        }
        self.done
    }
}

#[cfg(test)]
#[path = "event_lists_tests.rs"]
mod tests;
