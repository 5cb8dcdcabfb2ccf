//! One JSONPath query over one decoded JSON object, in GPUd's dialect.
//!
//! GPUd takes `github.com/PaesslerAG/jsonpath` v0.1.1 on `github.com/PaesslerAG/gval` v1.0.0, so a query is an expression
//! of Go-like tokens: paths (`$.fans[0].rpm`, `$..temp`, `$.l[?(@.ok == true)]`), bare names (`fans[0]`), literals, `==`,
//! `!=`, unary minus and parentheses. Answers and error texts are compared with those versions by the records in
//! `testdata/`.
//!
//! Evaluated here and not by `jsonpath-rust`: definite steps need to distinguish its kinds of failure; slices, filters,
//! keys and scripts mean something else there; what remains is `*` and `..`. For those the crate (1.0.12) writes out
//! the path of every match: `$..*` on a document of 56 KB, a key of 16 KiB over 20,000 numbers, takes 400 MB, and
//! nothing can stop it on the way. `$.m[*][0,1]` also comes in another order. Walking costs 20 lines here and keeps to
//! a budget. The tests use the crate as a second opinion on what both understand.

mod budget;
mod error;
mod eval;
mod eval_error;
mod item;
mod literal;
mod parse;
mod parse_path;
mod path;
mod scan;
mod syntax;
mod text;

#[cfg(test)]
mod tests;

use serde_json::Value;

pub use budget::Limit;
pub use error::QueryError;

use budget::Budget;
use eval::Run;
use eval_error::EvalError;
use item::Item;
use parse::Parser;
use syntax::Expr;

/// Longest query, in bytes. GPUd has no bound.
pub const MAX_QUERY_BYTES: usize = 64 * 1024;

/// Deepest nesting of brackets, parentheses, arguments and minus signs in a query. GPUd has no bound.
pub const MAX_NESTING: usize = 64;

/// A compiled query.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    expression: Expr,
}

impl Query {
    /// Compiles a query.
    ///
    /// # Errors
    /// [`QueryError::Syntax`] for what the library refuses while parsing, in its words, and for a query beyond
    /// [`MAX_QUERY_BYTES`] or [`MAX_NESTING`].
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        if text.len() > MAX_QUERY_BYTES {
            return Err(QueryError::Syntax(format!(
                "query of {} bytes is longer than {MAX_QUERY_BYTES}",
                text.len()
            )));
        }
        Parser::new(text)
            .query()
            .map(|expression| Self { expression })
            .map_err(QueryError::Syntax)
    }

    /// The value that the query finds in a document whose numbers are 64-bit floats and whose depth the decoder
    /// bounds. `None` is "missing": a key that an object on the way does not have, or JSON null.
    ///
    /// A query with a multi-valued selector always finds a list, in the order of visit (members of an object by key).
    /// A number that JSON cannot express (`-"inf"`) becomes the text that Go prints for it.
    ///
    /// # Errors
    /// [`QueryError::Select`] for every other failure, in the library's words; [`QueryError::Limit`] for a query that
    /// visits or copies too much.
    pub fn select(&self, document: &Value) -> Result<Option<Value>, QueryError> {
        let run = Run {
            root: document,
            budget: Budget::default(),
        };
        let found = run
            .evaluate(&self.expression, &Item::NULL)
            .and_then(|found| found.into_value(&run.budget));
        match found {
            Ok(Value::Null) | Err(EvalError::Missing) => Ok(None),
            Ok(value) => Ok(Some(value)),
            Err(EvalError::Limit(limit)) => Err(QueryError::Limit(limit)),
            Err(fault) => Err(QueryError::Select(fault.to_string())),
        }
    }
}
