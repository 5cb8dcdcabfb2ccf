//! What `wit-bindgen` makes of the contract in `wit/`: the imports and types once, and each export in a world of its
//! own, so that a plugin exports only what it implements. That `wit/` is a copy, so that the crate needs nothing else.
#![allow(
    missing_docs,
    unsafe_code,
    clippy::all,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::allow_attributes_without_reason,
    unused,
    reason = "generated code"
)]

wit_bindgen::generate!({
    path: "wit",
    world: "capabilities",
    additional_derives: [PartialEq],
    generate_unused_types: true,
});

macro_rules! export_world {
    ($name:ident, $world:literal, $macro_name:literal $(, $interface:literal: $module:ident)?) => {
        pub mod $name {
            wit_bindgen::generate!({
                path: "wit",
                world: $world,
                with: {
                    "gpud:plugin/types@0.1.0": crate::bindings::gpud::plugin::types,
                    $($interface: crate::bindings::gpud::plugin::$module,)?
                },
                pub_export_macro: true,
                export_macro_name: $macro_name,
                additional_derives: [PartialEq],
            });
        }
    };
}
export_world!(checker, "checker-only", "export_checker");
export_world!(scanner, "scanner-only", "export_scanner");
export_world!(
    kmsg_watcher,
    "kmsg-watcher-only",
    "export_kmsg_watcher",
    "gpud:plugin/kmsg@0.1.0": kmsg
);
