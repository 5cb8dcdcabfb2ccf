//! Functions and types that several built-in checkers share. Not a component by itself: the checkers link it, and what one of them
//! does not use is not in its guest.

pub mod boots;
pub mod cached;
pub mod coded;
pub mod driver;
pub mod files;
pub mod kernel_lines;
pub mod listing;
pub mod mounts;
pub mod patterns;
pub mod policy;
pub mod program;
pub mod samples;
pub mod service;
pub mod settings;
#[cfg(feature = "story")]
pub mod story;
pub mod time;
