//! gpud watches one GPU machine: is it healthy, what went wrong, what should be done about it.
//!
//! A small native host gives sandboxed WebAssembly checkers narrow, typed access to the machine. Data flows downwards
//! through the crates of `host/`, which have their short names here: [`cli`] and [`server`] ask [`component`], which
//! calls guests through [`runtime`]; guests reach [`node`] (the machine) and [`store`] (what is remembered) only through
//! [`capability`].
//! `docs/ARCHITECTURE.md` has the map.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

pub mod backend;
pub use gpud_capture as capture;
pub use gpud_runtime::capability;
pub mod cli;
pub use gpud_component as component;
pub mod daemon;
pub mod executor;
pub mod exports;
pub mod logging;
pub use gpud_machine_info as machine_info;
pub use gpud_metrics as metrics;
pub use gpud_model as model;
pub use gpud_node as node;
pub use gpud_pack as pack;
pub use gpud_plugins as plugins;
pub use gpud_runtime as runtime;
pub use gpud_script as script;
pub use gpud_server as server;
pub mod service;
pub use gpud_spec as spec;
pub use gpud_store as store;
pub use gpud_summary as summary;
pub use gpud_wire as wire;
use gpud_wire::text;

/// The version of this build, as `--version` and the API report it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
