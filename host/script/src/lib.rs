//! Script plugins at run time: the steps of a check are run, what they printed is read, and a verdict is made of it.
//!
//! [`run`] runs the steps. [`judge`] makes the verdict: [`json`] finds the JSON object in the output, [`query`] (GPUd's
//! dialect) or [`jsonpath`] (RFC 9535) takes values out of it, [`text`] writes them as text, [`pattern`] matches them. [`log_file`] says what is logged where.
//! All but [`run`] are pure. The crate `gpud-spec` reads and checks spec files.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

use gpud_model as model;
use gpud_node as node;
use gpud_wire as wire;

pub mod base64;
mod check;
pub mod json;
pub mod jsonpath;
pub mod judge;
pub mod log_file;
pub mod pattern;
pub mod query;
pub mod run;
pub mod text;

pub use check::{CheckOutput, Script, scripts};
pub use judge::{Execution, Mismatch, Verdict};
pub use run::MAX_OUTPUT;
