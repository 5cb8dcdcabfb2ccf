//! Limits the cost of one answer, so that `$..*..*..*` on a large document ends in an error and not in a dead daemon.

use std::cell::Cell;

/// Most nodes that a query may put into lists or copy. 64 bytes of copied text count as one.
const MAX_NODES: usize = 1_000_000;

/// Most evaluations and comparisons. 64 bytes of compared text count as one.
const MAX_STEPS: usize = 10_000_000;

/// Deepest list of lists that a query may make by itself, in addition to the document's own depth.
pub(super) const MAX_LIST_DEPTH: u8 = 64;

const TEXT_UNIT: usize = 64;

/// The bound that a query ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    /// Too many nodes visited or copied.
    #[error("query visits more than {MAX_NODES} nodes")]
    Nodes,
    /// Too many evaluations and comparisons.
    #[error("query takes more than {MAX_STEPS} steps")]
    Steps,
    /// Too many lists within lists.
    #[error("query nests lists deeper than {MAX_LIST_DEPTH}")]
    Lists,
}

/// The budget that is left for one answer.
#[derive(Debug)]
pub(super) struct Budget {
    nodes: Cell<usize>,
    steps: Cell<usize>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            nodes: Cell::new(MAX_NODES),
            steps: Cell::new(MAX_STEPS),
        }
    }
}

impl Budget {
    /// Counts one result node with `text` bytes of text.
    pub fn keep(&self, text: usize) -> Result<(), Limit> {
        take(&self.nodes, 1 + text / TEXT_UNIT).ok_or(Limit::Nodes)
    }

    /// One step, over `text` bytes of text.
    pub fn step(&self, text: usize) -> Result<(), Limit> {
        take(&self.steps, 1 + text / TEXT_UNIT).ok_or(Limit::Steps)
    }
}

fn take(left: &Cell<usize>, cost: usize) -> Option<()> {
    left.set(left.get().checked_sub(cost)?);
    Some(())
}
