//! Where the specs of plugins come from: a file, a pack or a request.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::file;
use crate::{
    pack::{PackRefusal, intact::InstalledPack},
    spec::{Plugin, Position},
};

/// The name of a request's specs in messages.
pub const REQUEST: &str = "request body";

/// The file, pack or request that specs come from.
pub struct SpecSource {
    /// What messages call it.
    pub name: String,
    /// The folder from which relative paths start.
    pub folder: PathBuf,
    /// The pack that contains the specs, or why it is not used; `None` for specs of the operator.
    pub pack: Option<Result<Arc<InstalledPack>, PackRefusal>>,
}

impl SpecSource {
    pub fn of_file(path: &Path) -> Self {
        Self {
            name: path.display().to_string(),
            folder: file::folder(path),
            pack: None,
        }
    }

    pub fn of_pack(path: &Path, pack: Result<Arc<InstalledPack>, PackRefusal>) -> Self {
        Self {
            pack: Some(pack),
            ..Self::of_file(path)
        }
    }

    /// Checks that a component is the one that its pack's vendor signed. The operator's own entries always pass.
    ///
    /// # Errors
    /// [`PackRefusal`]: the component is not in the pack, or differs.
    pub fn check(&self, plugin: &Plugin, wasm: &[u8]) -> Result<(), PackRefusal> {
        let (Some(pack), Some(entry)) = (&self.pack, &plugin.spec.wasm) else {
            return Ok(());
        };
        pack.as_ref()
            .map_err(PackRefusal::clone)?
            .check(&entry.path, wasm)
    }

    pub fn of_request() -> Self {
        Self {
            name: REQUEST.to_owned(),
            folder: PathBuf::from("/"),
            pack: None,
        }
    }

    pub fn at(&self, place: Position) -> String {
        format!("{}:{}:{}", self.name, place.line, place.column)
    }
}
