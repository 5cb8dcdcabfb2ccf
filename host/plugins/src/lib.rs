//! The operator's plugins while the daemon runs: from a spec file, or registered through the API, scripts and WebAssembly
//! alike.
//!
//! [`mod@file`] reads specs, [`wasm`] loads the component of a Wasm entry, [`Plugins`] is the set that runs, [`watch`] applies
//! edits of the spec file, `retained` stores the versions that worked and `rollback` brings one back, [`packs`] loads what
//! packs are installed and ends what is removed, [`init`] runs what has to be done before anything else.
//!
//! At start whatever is good runs, and what is wrong is said. Later changes are taken as a whole or not at all.
//! Nothing here knows HTTP or a command line.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

use gpud_component as component;
use gpud_model as model;
use gpud_node as node;
use gpud_pack as pack;
use gpud_runtime as runtime;
use gpud_runtime::capability;
use gpud_spec as spec;
use gpud_wire as wire;

pub mod file;
pub mod init;
mod pack_set;
pub mod packs;
mod retained;
mod rollback;
mod running;
mod set;
mod spec_source;
mod trouble;
pub mod wasm;
pub mod watch;

pub use retained::FOLDER as VERSIONS_FOLDER;
pub use set::{Plugins, RegisterError};
