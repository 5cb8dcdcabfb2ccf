//! The table of products as constants. Made by `builtin-plugins/nvidia-common/products.py`; do not edit.

/// Contain errors, take pages out of use and remap rows.
pub const ALL_THREE: [&str; 13] = ["a100", "a800", "a30", "h100", "h800", "h200", "h20", "gh200", "b100", "b200", "gb200", "b300", "gb300"];

/// Remap rows only.
pub const ROWS_ONLY: [&str; 8] = ["a2", "a10", "a16", "a40", "l2", "l4", "l20", "l40"];

/// Have NVLink switches, and their manager, on the same node.
pub const SWITCHED: [&str; 9] = ["a100", "a800", "h100", "h800", "h200", "h20", "b100", "b200", "b300"];

/// Know their state in an NVLink fabric.
pub const FABRIC: [&str; 9] = ["h100", "h800", "h200", "h20", "b100", "b200", "gb200", "b300", "gb300"];

/// Words of cards for PCIe slots.
pub const SLOT_WORDS: [&str; 2] = ["pcie", "nvl"];

/// Models for PCIe slots.
pub const SLOT_MODELS: [&str; 1] = ["a100x"];

/// Ends of names of products that share the host's memory.
pub const UNIFIED: [&str; 1] = ["GB10"];
