//! The real binary on a real machine: real sockets, the real kernel log, a real database.
//!
//! Each test has a daemon of its own on a free port with a data folder of its own. What needs root (the kernel log)
//! says so and is left out elsewhere.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test that cannot go on stops"
)]

mod api;
mod bad_clients;
mod builtin_code;
mod children;
mod component_configs;
mod custom_plugins;
mod daemon;
mod database;
mod disk_commands;
mod explain;
mod exports;
mod foreign_configs;
mod foreign_files;
mod healthcheck;
mod hostile_clients;
mod hostile_files;
mod hostile_machine;
mod hostile_packs;
mod hostile_plugins;
mod hot_swap;
mod http2_frames;
mod kernel_log;
mod kernel_log_cases;
mod kernel_log_lines;
mod kernel_log_verdicts;
mod least_privilege;
mod local_socket;
mod nvidia;
mod nvlinks;
mod open_data_folder;
mod packs;
mod plugin_commands;
mod plugin_projects;
mod plugins;
mod pods;
mod runtimes;
mod scan;
mod security;
mod service;
mod shadow;
mod spec_file;
mod specs;
mod starting;
mod status;
mod stopping;
mod summary;
mod systemd;
mod takeover;
mod tools;
mod trust;
mod unread_answers;
mod update;
mod variables;
