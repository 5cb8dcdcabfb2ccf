//! Calls itself until the stack is used up.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, HealthState, Report};

struct Recurse;

impl Checker for Recurse {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let depth = deeper(context.now);
        Ok(Report::of(HealthState::healthy(
            context,
            format!("came back from {depth}"),
        )))
    }
}

#[expect(unconditional_recursion, reason = "that is the point")]
#[inline(never)]
fn deeper(depth: u64) -> u64 {
    // Something to do after the call, or it becomes a loop.
    std::hint::black_box(deeper(std::hint::black_box(depth + 1))) + 1
}

gpud_sdk::export!(Recurse: Descriptor::new("recurse", "Calls itself for ever"));
