//! What can go wrong.

use wasm_encoder::reencode;

use crate::program::Untouchable;

/// Why a component cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input is no valid component.
    #[error("this is no valid component: {0}")]
    Invalid(#[source] wasmparser::Error),

    /// The input is a core module.
    #[error("this is a core module, not a component")]
    NotAComponent,

    /// A core module is instantiated twice: merging would make two copies of its code.
    #[error("core module {module} is instantiated twice, as core instances {first} and {second}")]
    InstantiatedTwice {
        /// Index of the core module.
        module: u32,
        /// Index of the core instance that is made of it first.
        first: u32,
        /// Index of the core instance that is made of it again.
        second: u32,
    },

    /// The component imports, exports, aliases or hands on a core module, so that more than its own text depends on
    /// the numbers of its modules.
    #[error("core modules must belong to the component alone, but {0}")]
    SharedModule(String),

    /// The memory of the component's program has to stay as it is.
    #[error("{0}")]
    Untouchable(Untouchable),

    /// The changed component would not be valid. That is a fault of this crate.
    #[error("the changed component is not valid (a fault of gpud-flatten): {0}")]
    Output(#[source] wasmparser::Error),

    /// A part of the component cannot be written again.
    #[error("a part of the component cannot be written again: {0}")]
    Encode(String),

    /// What the validator accepted does not add up here. That is a fault of this crate.
    #[error("core {what} {index} was not found (a fault of gpud-flatten)")]
    Missing {
        /// What was looked up.
        what: &'static str,
        /// Its index.
        index: u32,
    },
}

impl Error {
    /// Something of which an index exists, but that is not there.
    pub(crate) fn missing(what: &'static str, index: u32) -> Self {
        Self::Missing { what, index }
    }
}

// Everything is parsed after the validator has accepted it.
impl From<wasmparser::Error> for Error {
    fn from(error: wasmparser::Error) -> Self {
        Self::Invalid(error)
    }
}

impl From<reencode::Error<Self>> for Error {
    fn from(error: reencode::Error<Self>) -> Self {
        match error {
            reencode::Error::UserError(error) => error,
            reencode::Error::ParseError(error) => Self::Invalid(error),
            other => Self::Encode(other.to_string()),
        }
    }
}

impl From<Error> for reencode::Error<Error> {
    fn from(error: Error) -> Self {
        Self::UserError(error)
    }
}
