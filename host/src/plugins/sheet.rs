//! Where specs stand.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::file;
use crate::{
    pack::{Refused, intact::InstalledPack},
    spec::{Place, Plugin},
};

/// What the specs in a request are called in messages.
pub const REQUEST: &str = "request body";

/// Where specs stand.
pub struct Sheet {
    /// In messages.
    pub name: String,
    /// Relative paths start from here.
    pub folder: PathBuf,
    /// The pack that the specs are of, or why it is not used; `None` for specs of the operator.
    pub pack: Option<Result<Arc<InstalledPack>, Refused>>,
}

impl Sheet {
    pub fn of_file(path: &Path) -> Self {
        Self {
            name: path.display().to_string(),
            folder: file::folder(path),
            pack: None,
        }
    }

    pub fn of_pack(path: &Path, pack: Result<Arc<InstalledPack>, Refused>) -> Self {
        Self {
            pack: Some(pack),
            ..Self::of_file(path)
        }
    }

    /// Whether a component is what its pack's vendor signed; whatever an operator names is.
    ///
    /// # Errors
    /// Why it is not.
    pub fn check(&self, plugin: &Plugin, wasm: &[u8]) -> Result<(), Refused> {
        let (Some(pack), Some(entry)) = (&self.pack, &plugin.spec.wasm) else {
            return Ok(());
        };
        pack.as_ref()
            .map_err(Refused::clone)?
            .check(&entry.path, wasm)
    }

    pub fn of_request() -> Self {
        Self {
            name: REQUEST.to_owned(),
            folder: PathBuf::from("/"),
            pack: None,
        }
    }

    pub fn at(&self, place: Place) -> String {
        format!("{}:{}:{}", self.name, place.line, place.column)
    }
}
