//! A component's file as the commands of `gpud plugin` take it: read whole, measured, compiled, asked what it is.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    capability::Grants,
    node::{Node, trusted::Opener},
    pack::hex,
    plugins::wasm::MAX_COMPONENT_BYTES,
    runtime::{Compiler, Limits, LoadError, Plugin, PluginSource, Runtime, Shape, Wasm},
};

/// A component's file, in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ComponentFile {
    /// As it was named.
    pub(crate) path: PathBuf,
    /// Its content.
    pub(crate) bytes: Vec<u8>,
}

/// A compiled component with its type and, if it can be loaded, its description.
pub(crate) struct OpenedComponent {
    /// Its type.
    pub(crate) shape: Shape,
    /// The loaded component, or why it cannot be loaded.
    pub(crate) plugin: Result<Arc<Plugin>, LoadError>,
}

impl ComponentFile {
    /// Reads it.
    ///
    /// # Errors
    /// In words, naming the file. Root takes no file that another user can change.
    pub(crate) async fn read(path: &Path) -> Result<Self, String> {
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
    pub(crate) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// SHA-256 of its content, in hexadecimal digits.
    pub(crate) fn digest(&self) -> String {
        hex(&self.bytes)
    }

    /// Compiles it, reads its type, and lets it describe itself without reaching anything.
    ///
    /// # Errors
    /// [`LoadError`]: not a component at all.
    pub(crate) async fn open(&self, runtime: &Runtime) -> Result<OpenedComponent, LoadError> {
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
    pub(crate) async fn load(
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

/// How components are compiled, and where compiled code is stored.
#[derive(Debug, Clone)]
pub struct Compilation {
    /// The folder of compiled code.
    pub cache: PathBuf,
    /// The process in which compilation happens.
    pub compiler: Compiler,
}

impl Compilation {
    /// Starts WebAssembly for a machine, which may be a made-up one.
    pub(crate) fn start(&self, node: Arc<Node>) -> Result<Runtime, String> {
        Runtime::start(&self.cache, self.compiler.clone(), node).map_err(|error| error.to_string())
    }

    /// Compiles in this process into a folder of its own: a test binary is no gpud that could compile for itself.
    #[cfg(test)]
    pub(crate) fn of_test() -> (tempfile::TempDir, Self) {
        let cache = tempfile::tempdir().unwrap();
        let compilation = Self {
            cache: cache.path().to_owned(),
            compiler: Compiler::InProcess,
        };
        (cache, compilation)
    }
}
