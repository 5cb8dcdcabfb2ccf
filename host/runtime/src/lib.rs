//! Wasmtime, and nothing but Wasmtime: loading plugins and calling them within limits.
//!
//! A [`Plugin`] is compiled (or found compiled), linked with exactly what it imports and was granted, and shared; every
//! call makes a fresh instance of it and throws it away. What a guest returns is validated here before anything else
//! sees it. This crate knows neither components' schedules nor the HTTP API.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

use gpud_model as model;
use gpud_node as node;
use gpud_store as store;

mod archive;
pub mod builtins;
mod cache;
pub mod capability;
mod code;
pub mod compiler;
mod convert;
mod engine;
pub mod error;
mod guest;
pub mod limits;
mod plugin;
mod shape;
mod ticker;
mod validate;
pub mod wasi;

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use tokio::sync::Semaphore;
use wasmtime::Engine;

pub use crate::capability::Values;
pub use cache::Cache;
pub use compiler::Compiler;
pub use error::{Blame, CallError, LoadError};
pub use limits::Limits;
pub use plugin::{CallContext, Finished, Plugin, PluginSource, Wasm};
pub use shape::Shape;

use self::ticker::Ticker;
use crate::node::Node;

/// The parts that all plugins of a process share.
#[derive(Clone)]
pub struct Runtime {
    shared: Arc<Shared>,
}

struct Shared {
    engine: Engine,
    ticker: Ticker,
    slots: Semaphore,
    cache: Cache,
    codes: Mutex<code::Codes>,
    node: Arc<Node>,
}

/// Why the runtime could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Wasmtime cannot run on this machine.
    #[error("WebAssembly cannot run on this machine: {0}")]
    Engine(String),
    /// No thread could be started.
    #[error("no thread for the epoch clock: {0}")]
    Thread(std::io::Error),
}

impl Runtime {
    /// Wasmtime with its pool, clock and cache of compiled code in `cache_folder`.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(
        cache_folder: &Path,
        compiler: Compiler,
        node: Arc<Node>,
    ) -> Result<Self, StartError> {
        let engine = engine::new();
        let engine = engine.map_err(|error| StartError::Engine(format!("{error:#}")))?;
        let ticker = Ticker::start(&engine).map_err(StartError::Thread)?;
        let cache = Cache::open(cache_folder, compiler);
        let slots = Semaphore::new(engine::SLOTS as usize);
        Ok(Self {
            shared: Arc::new(Shared {
                engine,
                ticker,
                slots,
                cache,
                codes: Mutex::default(),
                node,
            }),
        })
    }

    /// How many components were compiled since start, as opposed to loaded from the cache.
    pub fn compiled(&self) -> u64 {
        self.shared.cache.compiled()
    }

    /// The program of this process, for what is done in a child; `None` in tests.
    pub fn program(&self) -> Option<&Path> {
        self.shared.cache.compiler().program()
    }

    /// The machine that plugins see.
    pub fn node(&self) -> &Arc<Node> {
        &self.shared.node
    }
}
