//! Where the specs of plugins come from: a file, a pack or a request.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::file;
use crate::{
    pack::{PackRefusal, integrity::InstalledPack},
    spec::{Plugin, Position},
};

/// The name of a request's specs in messages.
pub(crate) const REQUEST: &str = "request body";

/// The file, pack or request that specs come from.
pub(crate) struct SpecSource {
    /// What messages call it.
    pub(crate) name: String,
    /// The folder from which relative paths start.
    pub(crate) folder: PathBuf,
    /// The pack that contains the specs, or why it is not used; `None` for specs of the operator.
    pub(crate) pack: Option<Result<Arc<InstalledPack>, PackRefusal>>,
}

impl SpecSource {
    pub(crate) fn of_file(path: &Path) -> Self {
        Self {
            name: path.display().to_string(),
            folder: file::folder(path),
            pack: None,
        }
    }

    pub(crate) fn of_pack(path: &Path, pack: Result<Arc<InstalledPack>, PackRefusal>) -> Self {
        Self {
            pack: Some(pack),
            ..Self::of_file(path)
        }
    }

    /// Checks that a component is the one that its pack's vendor signed. The operator's own entries always pass.
    ///
    /// # Errors
    /// [`PackRefusal`]: the component is not in the pack, or differs.
    pub(crate) fn check(&self, plugin: &Plugin, wasm: &[u8]) -> Result<(), PackRefusal> {
        let (Some(pack), Some(entry)) = (&self.pack, &plugin.spec.wasm) else {
            return Ok(());
        };
        pack.as_ref()
            .map_err(PackRefusal::clone)?
            .check(&entry.path, wasm)
    }

    /// Checks that a script is the operator's own: a vendor signs components, so a pack has no scripts.
    ///
    /// # Errors
    /// [`PackRefusal`]: the script is in the spec of a pack.
    pub(crate) fn check_script(&self, plugin: &Plugin) -> Result<(), PackRefusal> {
        match &self.pack {
            None => Ok(()),
            Some(Err(refusal)) => Err(refusal.clone()),
            Some(Ok(_)) => Err(PackRefusal(format!(
                "`{}` is a script, and a pack has components only",
                plugin.component
            ))),
        }
    }

    pub(crate) fn of_request() -> Self {
        Self {
            name: REQUEST.to_owned(),
            folder: PathBuf::from("/"),
            pack: None,
        }
    }

    pub(crate) fn at(&self, place: Position) -> String {
        format!("{}:{}:{}", self.name, place.line, place.column)
    }
}
