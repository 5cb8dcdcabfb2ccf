//! The table of products as constants. Made by `builtin-plugins/nvidia-common/products.py`; do not edit.

/// Word of the product's name, ports, Gbit/s.
pub const DEFAULTS: [(&str, u64, u64); 5] = [
    ("A100", 1, 200),
    ("H100", 8, 400),
    ("H200", 8, 400),
    ("B200", 8, 400),
    ("GB200", 4, 400),
];

/// Words of cards that are sold alone.
pub const CARDS: [&str; 3] = ["PCIE", "NVL", "RTX"];
