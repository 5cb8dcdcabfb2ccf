//! x
#![forbid(unsafe_code)]
mod component;
mod error;
mod module;
mod space;
pub use error::Error;
