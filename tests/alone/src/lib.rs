//! Nothing: the plugins are the examples of this crate.
