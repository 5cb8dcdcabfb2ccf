//! Caches reads of the database in memory, so that a check that finds nothing new needs no connection.

use super::negative_cache::NegativeCache;
use super::values::Values;

/// The caches of one store. They change after a commit and before its answer: a caller that has the answer to a write
/// reads what was written.
#[derive(Debug, Default)]
pub(super) struct Caches {
    /// Values of checkers that were read since they were written.
    pub(super) values: Values,
    /// Components without events.
    pub(super) absent_events: NegativeCache,
    /// Components without marks.
    pub(super) absent_marks: NegativeCache,
}

impl Caches {
    /// Forgets everything, and stays empty.
    pub(super) fn close(&self) {
        self.values.close();
        self.absent_events.close();
        self.absent_marks.close();
    }
}
