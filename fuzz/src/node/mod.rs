//! The machine's side, as far as the targets need it.

pub mod kmsg;
