//! The command line: what an operator may type, and what each command prints.
//!
//! Every command has a folder here: `args.rs` has its flags and validates them, `mod.rs` has its entry in the table of
//! commands (`commands.rs`) and does it. [`parse()`] finds the command in the table and returns validated plain values,
//! or an [`Exit`]. Flags, output and exit codes are GPUd's, so that its scripts and unit files work;
//! `docs/gpud-compatibility.md` lists what is better.

mod ages;
mod args;
mod argv;
mod check_args;
mod checks;
pub mod client;
mod columns;
mod command;
mod commands;
pub mod compact;
pub mod compile_builtins;
pub mod compile_component;
pub mod completion;
mod components;
mod control_plane;
pub mod custom_plugins;
mod data_dir;
mod details;
pub mod down;
mod exit;
pub mod explain;
pub mod exports;
pub mod healthcheck;
pub mod history;
pub mod inject_fault;
mod json_flags;
mod layouts;
pub mod list_plugins;
pub mod live;
mod local_socket;
pub mod machine_info;
pub mod man;
pub mod metadata;
pub mod notify;
mod options;
pub mod output;
pub mod pack;
mod paragraph;
mod parse;
pub mod plugin;
pub mod release;
pub mod root_helper;
pub mod run;
pub mod run_plugin_group;
pub mod scan;
pub mod service;
pub mod set_healthy;
mod settings;
pub mod shells;
mod site_configs;
mod sizes;
pub mod status;
pub mod table;
pub mod terminal;
mod unavailable;
pub mod up;
pub mod update;
pub mod validate_config;
mod version;
pub mod watch;

pub use checks::{
    BlockedProcesses, CheckOptions, CommandOverrides, GpuFaults, InfinibandOptions, XidCatalog,
    XidOptions,
};
pub use command::{CommandContext, Invocation, Task};
pub use components::ComponentSelection;
pub use custom_plugins::CustomPluginsOptions;
pub use exit::{Exit, Stderr};
pub use json_flags::{ExpectedPorts, NfsGroup};
pub use local_socket::LocalSocketChoice;
pub use options::FailOn;
pub use parse::parse;
pub use run::{RunAs, RunOptions, TlsFiles};
pub use scan::ScanOptions;

use crate::VERSION;
