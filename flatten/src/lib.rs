//! Makes WebAssembly components quicker to instantiate: of many core modules it makes few.
//!
//! Components that are linked of many parts, as those made with `componentize-py`, instantiate dozens of core modules
//! with thousands of imports among them. A runtime connects all of them anew for every instance. [`flatten`] merges
//! the modules beforehand: imports among them become plain indices, and globals whose value never changes become
//! constants, so that a runtime can prepare tables and memories once.
//!
//! What the component imports and exports, its types and its canonical options stay the same.
//!
//! And quicker to run: [`touch_first`] lets a program write to pages of its memory before it reads them.

#![forbid(unsafe_code)]

mod component;
mod emit;
mod error;
mod group;
mod members;
mod merge;
mod module;
mod names;
mod nested;
mod program;
mod reach;
mod rewrite;
mod sections;
mod space;
#[cfg(test)]
mod tests;
mod touch;
mod types;
mod value;

use wasmparser::Validator;

use crate::component::{Component, Instance};
pub use crate::error::Error;
pub use crate::group::{LeftOut, Reason};
use crate::members::Members;
pub use crate::program::Untouchable;
pub use crate::touch::{PAGE, StartMemory, start_memory, touch_first};

/// A component with up to so many instances of core modules stays as it is: a shim, a program and a fix-up are what
/// `wit-component` makes of a program in one piece.
const FEW: usize = 3;

/// What became of a component.
#[derive(Debug)]
pub enum Outcome {
    /// There is nothing to merge: the component is to be used as it was given.
    Unchanged(Unchanged),
    /// Modules were merged.
    Flattened(Flattened),
}

/// Why a component stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unchanged {
    /// It has three instances of core modules or fewer.
    #[error("it has no more than {FEW} instances of core modules")]
    FewInstances,
    /// No two of its core instances can become one.
    #[error("no two of its core instances can become one")]
    NoGroup,
}

/// A component whose core modules were merged, and how.
#[derive(Debug)]
pub struct Flattened {
    /// The new component.
    pub component: Vec<u8>,
    /// How many core instances became one.
    pub merged: usize,
    /// The core instances that stay by themselves, by their numbers in the component that they are in.
    pub left_out: Vec<LeftOut>,
    /// How many imports the merged module has.
    pub imports: usize,
    /// How many exports the merged module has.
    pub exports: usize,
    /// How many functions of the merged modules were left out because nothing can call them.
    pub dropped_funcs: usize,
}

impl Flattened {
    /// Of two parts of a component, of which this one has the bytes.
    fn and(mut self, other: Self) -> Self {
        self.merged += other.merged;
        self.left_out.extend(other.left_out);
        self.imports += other.imports;
        self.exports += other.exports;
        self.dropped_funcs += other.dropped_funcs;
        self
    }
}

/// Merges the core modules of a component, as far as that cannot be noticed from outside; those of components within it
/// as well, each for itself.
///
/// Both what is given and what is returned are validated. The same bytes always give the same result.
pub fn flatten(bytes: &[u8]) -> Result<Outcome, Error> {
    flatten_at(bytes, 0)
}

/// The same for a component that lies so deep in others.
fn flatten_at(bytes: &[u8], depth: u32) -> Result<Outcome, Error> {
    Validator::new()
        .validate_all(bytes)
        .map_err(Error::Invalid)?;
    let within = nested::flatten_within(bytes, depth)?;
    let bytes = within.as_ref().map_or(bytes, |within| &within.component);
    Ok(match (flatten_top(bytes)?, within) {
        (Outcome::Flattened(top), Some(within)) => Outcome::Flattened(top.and(within)),
        (Outcome::Unchanged(_), Some(within)) => Outcome::Flattened(within),
        (top, None) => top,
    })
}

/// The core modules of the top level.
fn flatten_top(bytes: &[u8]) -> Result<Outcome, Error> {
    let component = Component::parse(bytes)?;
    if component
        .instances
        .iter()
        .filter(|instance| matches!(instance, Instance::Real(_)))
        .count()
        <= FEW
    {
        return Ok(Outcome::Unchanged(Unchanged::FewInstances));
    }
    let Some(group) = group::choose(&component)? else {
        return Ok(Outcome::Unchanged(Unchanged::NoGroup));
    };
    let values = value::initial_values(&component)?;
    let members = Members::new(&component, &group.members, &values);
    let merged = merge::merge(&members, &emit::wanted(&component, &members))?;
    let output = emit::emit(&component, &group, &members, &merged)?;
    Validator::new()
        .validate_all(&output)
        .map_err(Error::Output)?;
    Ok(Outcome::Flattened(Flattened {
        component: output,
        merged: group.members.len(),
        left_out: group.left_out,
        imports: merged.imports.len(),
        exports: merged.exports.len(),
        dropped_funcs: merged.dropped_funcs,
    }))
}
