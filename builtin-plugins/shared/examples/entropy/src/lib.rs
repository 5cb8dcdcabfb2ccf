//! `entropy`: random bits that the kernel has ready.
//!
//! Source: `Documentation/admin-guide/sysctl/kernel.rst`.

pub mod evaluate;

use gpud_sdk::files;
use gpud_sdk::findings;
use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

/// The checker.
pub struct Entropy;

impl Checker for Entropy {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let text = files::read_optional(evaluate::FILE, files::SHORT)?;
        findings::check(|before| Ok(evaluate::judge(context, text.as_deref(), before)))
    }
}

gpud_sdk::member!("entropy" => Entropy: Descriptor::new(
    "entropy",
    "Random bits that the kernel has ready",
)
.metric(evaluate::AVAILABLE, "Random bits that the kernel has ready (bits)"));
