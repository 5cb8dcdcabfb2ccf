//! What `gpud plugin` and `gpud pack` do for authors: projects, builds, components, and tests on made-up machines.
//!
//! [`new_project`] and [`new_pack`] make folders from templates, [`mod@build`] builds a project, [`test_project`] tries its
//! component with [`cases`], [`dry_run`] checks once, [`mod@inspect`], [`mod@validate`] and [`diff`] say what a component is,
//! [`pack_components`] looks at those of a pack. Arguments, and what is printed of the results, are the command line's, of which
//! nothing here knows.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

use gpud_capture as capture;
use gpud_component as component;
use gpud_model as model;
use gpud_node as node;
use gpud_pack as pack;
use gpud_plugins as plugins;
use gpud_runtime as runtime;
use gpud_runtime::capability;
use gpud_wire as wire;

pub mod build;
pub mod cases;
pub mod check_result;
mod component_file;
pub mod diff;
pub mod dry_run;
mod encode;
pub mod inspect;
pub mod new_pack;
pub mod new_project;
pub mod pack_components;
mod project;
mod sdk;
mod templates;
pub mod test_project;
mod tools;
pub mod validate;

pub use component_file::Compilation;

/// The version of this build, which is that of the SDKs that it brings.
const VERSION: &str = env!("CARGO_PKG_VERSION");
