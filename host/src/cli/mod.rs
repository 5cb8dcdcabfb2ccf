//! The command line: what an operator may type, and what each command prints.
//!
//! [`parse()`] turns arguments into validated plain values or into an [`Exit`]; every command that does not run the
//! daemon has a file here with its body. Flags, output and exit codes are GPUd's, so that its scripts and unit files
//! work; `docs/gpud-compatibility.md` lists what is better.

mod ages;
mod args;
mod argv;
mod check_args;
mod checks;
pub mod client;
mod client_args;
mod columns;
pub mod compact;
pub mod compile_builtins;
mod components;
pub mod custom_plugins;
mod data_dir;
mod details;
mod exit;
pub mod explain;
pub mod exports;
mod exports_args;
pub mod healthcheck;
pub mod history;
mod history_args;
mod hosted_args;
pub mod inject_fault;
mod json_flags;
mod layouts;
pub mod list_plugins;
pub mod live;
mod local_socket;
pub mod machine_info;
pub mod metadata;
mod of_service;
mod options;
pub mod output;
pub mod pack;
mod pack_args;
mod paragraph;
mod parse;
pub mod plugin;
mod plugin_args;
pub mod root_helper;
pub mod run;
mod run_args;
pub mod run_as;
pub mod run_plugin_group;
pub mod scan;
pub mod service;
mod service_args;
pub mod set_healthy;
mod settings;
pub mod shells;
mod site_configs;
mod sizes;
pub mod status;
pub mod table;
pub mod terminal;
pub mod update;
mod update_args;
mod version;
pub mod watch;

pub use checks::{
    BlockedProcesses, CheckOptions, CommandOverrides, GpuFaults, InfinibandOptions, XidCatalog,
    XidOptions,
};
pub use components::ComponentSelection;
pub use exit::{Exit, Stderr};
pub use json_flags::{ExpectedPorts, NfsGroup};
pub use local_socket::LocalSocketChoice;
pub use options::{
    Action, CustomPluginsOptions, FailOn, Invocation, RunOptions, ScanOptions, TlsFiles,
};
pub use parse::parse;

use crate::VERSION;
