//! Errors of an evaluation. Their text is made on demand: most of them happen inside filters and wildcards, where they
//! only mean that an element is left out.

use std::fmt;

use super::budget::Limit;
use super::item::Item;

/// Why an evaluation fails, displayed in the library's words.
#[derive(Debug, Clone)]
pub(super) enum EvalError<'a> {
    /// An object does not have the key.
    Missing,
    /// A list is not that long.
    OutOfBounds(i64),
    /// Neither list nor object.
    NotSelectable(Item<'a>),
    /// Minus something that is not a number.
    NotNegatable(Item<'a>),
    /// A list's key is not a number.
    BadIndex(Item<'a>),
    /// The key of a step cannot be evaluated.
    Key(Box<EvalError<'a>>),
    /// Below something that is neither list nor object, among bare names. The path so far.
    UnknownParameter(String),
    /// The function of a call cannot be evaluated.
    Function(Box<EvalError<'a>>),
    /// The called value is not a function.
    NotAFunction(&'a str, Item<'a>),
    /// A number within a list that JSON cannot express.
    NotJson(f64),
    /// Too expensive.
    Limit(Limit),
}

impl From<Limit> for EvalError<'_> {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

impl<'a> EvalError<'a> {
    /// The fault of a step whose key has this fault. What is missing or too expensive stays so.
    pub fn in_key(self) -> Self {
        match self {
            Self::Missing | Self::Limit(_) => self,
            fault => Self::Key(Box::new(fault)),
        }
    }

    /// Likewise for a call whose function has this fault.
    pub fn in_call(self) -> Self {
        match self {
            Self::Missing | Self::Limit(_) => self,
            fault => Self::Function(Box::new(fault)),
        }
    }
}

impl fmt::Display for EvalError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("unknown key"),
            Self::OutOfBounds(index) => write!(f, "index {index} out of bounds"),
            Self::NotSelectable(item) => write!(
                f,
                "unsupported value type {} for select, expected map[string]interface{{}} or []interface{{}}",
                item.go_type()
            ),
            Self::NotNegatable(item) => write!(
                f,
                "unexpected {}({}) expected number",
                item.excerpt(),
                item.go_type()
            ),
            Self::BadIndex(item) => write!(
                f,
                "expected number but got {} ({})",
                item.excerpt(),
                item.go_type()
            ),
            Self::Key(fault) => write!(f, "could not select value, invalid key: {fault}"),
            Self::UnknownParameter(path) => write!(f, "unknown parameter {path}"),
            Self::Function(fault) => write!(f, "could not call function: {fault}"),
            Self::NotAFunction(name, item) => {
                write!(f, "could not call '{name}' type {}", item.go_type())
            }
            Self::NotJson(number) => {
                write!(
                    f,
                    "json: unsupported value: {}",
                    super::text::number(*number)
                )
            }
            Self::Limit(limit) => limit.fmt(f),
        }
    }
}
