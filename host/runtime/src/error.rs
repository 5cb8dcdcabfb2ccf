//! Why a plugin could not be loaded, and why a call gave no answer. Each error names the party at fault.

use std::{path::PathBuf, time::Duration};

use super::limits::RefusedGrowth;
use crate::{capability::Interface, node::error::SourceError, store::StoreError};

/// The party at fault. States, logs and metrics use the same three words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The plugin: a trap, a time-out, nonsense in a report.
    Plugin,
    /// The operator: a missing grant, a bad file.
    Operator,
    /// The machine: a source that does not answer.
    Node,
}

impl Blame {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plugin => "plugin",
            Self::Operator => "operator",
            Self::Node => "node",
        }
    }
}

/// Why a plugin could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not a WebAssembly component.
    #[error("{name}: not a WebAssembly component: {problem}")]
    NotAComponent {
        /// The plugin.
        name: String,
        /// The kind of file that it is instead, or its defect.
        problem: String,
    },
    /// Imports that were not granted.
    #[error(
        "{name}: imports {} without a grant; add {}",
        words(refused),
        grant_lines(refused)
    )]
    NotGranted {
        /// The plugin.
        name: String,
        /// Every interface that is missing.
        refused: Vec<Interface>,
    },
    /// Imports that this host does not have.
    #[error("{name}: imports what this gpud does not offer: {} (it speaks {})", unknown.join(", "), crate::capability::CONTRACT)]
    UnknownImports {
        /// The plugin.
        name: String,
        /// Their names.
        unknown: Vec<String>,
    },
    /// It does not export a checker of this contract version.
    #[error("{name}: {problem} (this gpud speaks {})", crate::capability::CONTRACT)]
    Contract {
        /// The plugin.
        name: String,
        /// The missing or different part.
        problem: String,
    },
    /// Its description of itself is not valid.
    #[error("{name}: its description: {problem}")]
    Descriptor {
        /// The plugin.
        name: String,
        /// The problem.
        problem: String,
    },
    /// It failed while describing itself.
    #[error("{name}: failed to describe itself: {source}")]
    Describe {
        /// The plugin.
        name: String,
        /// How.
        source: CallError,
    },
    /// The compiler child failed.
    #[error("{name}: could not be compiled: {problem}")]
    Compile {
        /// The plugin.
        name: String,
        /// How.
        problem: String,
    },
    /// Wasmtime refused it.
    #[error("{name}: {problem}")]
    Engine {
        /// The plugin.
        name: String,
        /// How.
        problem: String,
    },
}

fn words(refused: &[Interface]) -> String {
    refused
        .iter()
        .map(|i| format!("`{}`", i.word()))
        .collect::<Vec<_>>()
        .join(" and ")
}

fn grant_lines(refused: &[Interface]) -> String {
    let lines: Vec<_> = refused
        .iter()
        .map(|i| format!("`{}`", i.grant_line()))
        .collect();
    format!("under `grants:` {}", lines.join(", "))
}

/// Why a call gave no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// It did not end in time.
    #[error("did not finish within {} ms", .0.as_millis())]
    Deadline(Duration),
    /// It trapped.
    #[error("trapped: {0}")]
    Trap(String),
    /// It asked for more memory or table space than its limit.
    #[error("{}", refused_text(.0))]
    Memory(RefusedGrowth),
    /// It returned something that cannot be used.
    #[error("returned an unusable answer: {0}")]
    Invalid(String),
    /// It returned an error of its own.
    #[error("failed: {0}")]
    Failed(String),
    /// A source of the machine did not answer.
    #[error("{0}")]
    Source(SourceError),
    /// The daemon's database gave no answer.
    #[error("the daemon's database: {0}")]
    Database(StoreError),
    /// It has an export whose types are not the contract's.
    #[error("was built against another form of the contract: {0}")]
    Contract(String),
}

fn refused_text(refused: &RefusedGrowth) -> String {
    match refused {
        RefusedGrowth::Memory(bytes) => {
            format!("wanted {bytes} bytes of memory, more than its limit")
        }
        RefusedGrowth::Table(elements) => {
            format!("wanted {elements} table elements, more than its limit")
        }
    }
}

impl CallError {
    /// Returns the party at fault.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Source(SourceError::Denied(_)) => Blame::Operator,
            Self::Source(_) | Self::Database(_) => Blame::Node,
            _ => Blame::Plugin,
        }
    }
}
