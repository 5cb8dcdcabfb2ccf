//! Selected messages of one host in the order of the file, with repeats counted.
//!
//! Messages of one shape (see [`Selection::shape`]) come one by one at first. Of the later ones within [`WINDOW_MS`],
//! the first and the last are retained, and the last counts those between. In a flood that lasts, the window is
//! [`LONG_WINDOW_MS`]. So a flood of any size becomes few messages, and the order of the last messages of two shapes is
//! preserved.

use std::collections::HashMap;

use super::{file_tracker::MessagePosition, select::Selection};
use crate::node::kmsg::KernelMessage;

/// Repeats within so much of the log's own time are counted, in milliseconds.
const WINDOW_MS: u64 = 5_000;
/// The same after [`MANY_WINDOWS`].
const LONG_WINDOW_MS: u64 = 60_000;
const MANY_WINDOWS: u32 = 100;
/// The most repeats that one message counts, whatever the time: logs may have none.
const MAX_RUN: u64 = 10_000;
/// The most shapes that are remembered; then all are forgotten.
const MAX_SHAPES: usize = 16_384;
/// The memory of a shape, bytes.
const SHAPE_SIZE: usize = 96;
/// Empty rows are removed once there are so many.
const MANY_HOLES: usize = 4096;

/// A selected message, not dated yet.
#[derive(Debug)]
pub(super) struct Row<T> {
    pub place: MessagePosition,
    pub message: KernelMessage,
    pub tag: T,
    /// How many messages it represents.
    pub count: u64,
}

impl<T> Row<T> {
    fn size(&self) -> usize {
        let pairs = self.message.dictionary.iter();
        let pairs = pairs.map(|(key, value)| key.len() + value.len() + 64);
        size_of::<Self>() + 64 + self.message.text.len() + pairs.sum::<usize>()
    }
}

/// The known facts about a shape.
#[derive(Debug, Default)]
struct Shape {
    /// The number of boots when it was last seen: a new boot begins without any repeats.
    boots: u32,
    /// How many messages came one by one, and windows after them.
    singles: u32,
    /// The moment of the first message of the window.
    since: (u8, u64),
    run: u64,
    /// The row of the last message of the window, if it is not the first.
    last: Option<usize>,
}

/// The selected messages of one host, in which a count replaces most repeats.
#[derive(Debug)]
pub(super) struct DedupedMessages<T> {
    rows: Vec<Option<Row<T>>>,
    shapes: HashMap<u64, Shape>,
    holes: usize,
    size: usize,
}

impl<T> Default for DedupedMessages<T> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            shapes: HashMap::new(),
            holes: 0,
            size: 0,
        }
    }
}

impl<T> DedupedMessages<T> {
    /// Adds the next message.
    pub fn push(
        &mut self,
        place: MessagePosition,
        message: KernelMessage,
        selection: Selection<T>,
    ) {
        if self.shapes.len() >= MAX_SHAPES {
            self.size = self.size.saturating_sub(self.shapes.len() * SHAPE_SIZE);
            self.shapes.clear();
        }
        let mut row = Row {
            place,
            message,
            tag: selection.tag,
            count: 1,
        };
        let shape = self.shapes.entry(selection.shape).or_insert_with(|| {
            self.size += SHAPE_SIZE;
            Shape::default()
        });
        let moment = place.moment();
        if shape.boots != place.boots {
            *shape = Shape {
                boots: place.boots,
                ..Shape::default()
            };
        }
        let windows = shape.singles.checked_sub(selection.singles);
        let window = match windows {
            Some(windows) if windows > MANY_WINDOWS => LONG_WINDOW_MS,
            _ => WINDOW_MS,
        };
        let is_repeat = windows.is_some()
            && shape.run < MAX_RUN
            && shape.since.0 == moment.0
            && shape.since.1.abs_diff(moment.1) < window;
        if is_repeat {
            shape.run += 1;
            let before = shape.last.and_then(|at| self.rows.get_mut(at)?.take());
            if let Some(before) = before {
                row.count += before.count;
                self.holes += 1;
                self.size = self.size.saturating_sub(before.size());
            }
            shape.last = Some(self.rows.len());
        } else {
            shape.singles = shape.singles.saturating_add(1);
            shape.since = moment;
            shape.run = 0;
            shape.last = None;
        }
        self.size += row.size();
        self.rows.push(Some(row));
        if self.holes > MANY_HOLES && self.holes * 2 > self.rows.len() {
            self.close_holes();
        }
    }

    fn close_holes(&mut self) {
        let mut places = Vec::with_capacity(self.rows.len());
        let mut count = 0;
        for row in &self.rows {
            places.push(count);
            count += usize::from(row.is_some());
        }
        self.rows.retain(Option::is_some);
        self.holes = 0;
        for shape in self.shapes.values_mut() {
            shape.last = shape.last.and_then(|at| places.get(at).copied());
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len() - self.holes
    }

    /// About how many bytes they take.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Takes all messages out; later ones are repeats of theirs as before.
    pub fn take(&mut self) -> Vec<Row<T>> {
        for shape in self.shapes.values_mut() {
            shape.last = None;
        }
        self.holes = 0;
        self.size = self.shapes.len() * SHAPE_SIZE;
        std::mem::take(&mut self.rows)
            .into_iter()
            .flatten()
            .collect()
    }
}
