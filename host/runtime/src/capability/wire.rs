//! The bindings of contract version 0.1. Nothing else calls `bindgen!`.
#![allow(
    missing_docs,
    unsafe_code,
    clippy::all,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "generated code"
)]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "everything",
    imports: { default: async },
    exports: { default: async },
    with: { "gpud:plugin/nvml.device": crate::node::nvml::Device },
});

pub use exports::gpud::plugin::{checker, kmsg_watcher, scanner};
pub use gpud::plugin::{config, exec, history, kmsg, log, net, nvml, state, sysfs, types};
