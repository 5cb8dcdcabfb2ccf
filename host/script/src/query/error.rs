//! The errors of a query without an answer.

use super::budget::Limit;

/// A query that does not compile or cannot be answered. Displayed in the library's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The text is not a query. With the query and the place, as the library prints it.
    #[error("parsing error: {0}")]
    Syntax(String),
    /// The document is not what the query expects: an index out of bounds, a key asked of a text …
    #[error("{0}")]
    Select(String),
    /// The query costs too much. GPUd has no such bound.
    #[error("{0}")]
    Limit(Limit),
}
