//! gpud watches one GPU machine: is it healthy, what went wrong, what should be done about it.
//!
//! A small native host gives sandboxed WebAssembly checkers narrow, typed access to the machine. Data flows downwards
//! through the rooms of this crate: [`cli`] and [`server`] ask [`component`], which calls guests through [`runtime`];
//! guests reach [`node`] (the machine) and [`store`] (what is remembered) only through [`capability`].
//! `docs/ARCHITECTURE.md` has the map.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

pub mod capability;
pub mod capture;
pub mod cli;
pub mod component;
pub mod daemon;
pub mod executor;
pub mod exports;
pub mod logging;
pub mod machine_info;
pub mod metrics;
pub mod model;
pub mod node;
pub mod pack;
pub mod plugins;
pub mod runtime;
pub mod script;
pub mod server;
pub mod service;
pub mod spec;
pub mod store;
pub mod summary;
pub mod wire;
