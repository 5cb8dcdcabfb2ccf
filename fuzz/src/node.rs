//! The pure part of gpud's module of the same name: what understands the kernel log, without what reads it.

pub mod kmsg;
