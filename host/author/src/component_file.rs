//! A component's file as the commands of `gpud plugin` take it: read whole, measured, compiled, asked what it is.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use sha2::{Digest as _, Sha256};

use crate::{
    capability::Grants,
    cli::scan::cache_folder,
    node::{Node, trusted::Opener},
    plugins::wasm::MAX_COMPONENT_BYTES,
    runtime::{Compiler, Limits, LoadError, Plugin, PluginSource, Runtime, Shape, Wasm},
};

/// A component's file, in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentFile {
    /// As it was named.
    pub path: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// A compiled component with its type and, if it can be loaded, its description.
pub struct OpenedComponent {
    /// Its type.
    pub shape: Shape,
    /// The loaded component, or why it cannot be loaded.
    pub plugin: Result<Arc<Plugin>, LoadError>,
}

impl ComponentFile {
    /// Reads it.
    ///
    /// # Errors
    /// In words, naming the file. Root takes no file that another user can change.
    pub async fn read(path: &Path) -> Result<Self, String> {
        let owned = path.to_owned();
        let reading = tokio::task::spawn_blocking(move || {
            let read = Opener::of_command().read(&owned, MAX_COMPONENT_BYTES);
            read.map_err(|error| error.to_string())
        });
        let bytes = reading.await.map_err(|error| error.to_string())??;
        Ok(Self {
            path: path.to_owned(),
            bytes,
        })
    }

    /// What it is called in messages: the file's name without its folder.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// SHA-256 of its content, in hexadecimal digits.
    pub fn digest(&self) -> String {
        digest(&self.bytes)
    }

    /// Compiles it, reads its type, and lets it describe itself without reaching anything.
    ///
    /// # Errors
    /// [`LoadError`]: not a component at all.
    pub async fn open(&self, runtime: &Runtime) -> Result<OpenedComponent, LoadError> {
        let name = self.name();
        let shape = runtime.shape(&name, &self.bytes).await?;
        let grants = Grants::without_scope(&shape.interfaces());
        let plugin = self.load(runtime, grants, Limits::default()).await;
        Ok(OpenedComponent { shape, plugin })
    }

    /// Loads it with these grants.
    ///
    /// # Errors
    /// [`LoadError`], naming what to grant.
    pub async fn load(
        &self,
        runtime: &Runtime,
        grants: Grants,
        limits: Limits,
    ) -> Result<Arc<Plugin>, LoadError> {
        let name = self.name();
        let source = PluginSource {
            name: &name,
            wasm: Wasm::Bytes(&self.bytes),
            grants,
            limits,
        };
        runtime.load(source).await.map(Arc::new)
    }
}

/// SHA-256 in hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    let sum = Sha256::digest(bytes);
    sum.iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// WebAssembly for this machine, or for one that is made up.
///
/// # Errors
/// In words.
pub fn runtime(node: Arc<Node>) -> Result<Runtime, String> {
    // A test binary is no gpud that could compile for itself.
    let compiler = match cfg!(test) {
        true => Compiler::InProcess,
        false => Compiler::of_this_program(),
    };
    Runtime::start(&cache_folder(), compiler, node).map_err(|error| error.to_string())
}
