//! Never comes back from a check.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

struct LoopForever;

impl Checker for LoopForever {
    fn check(_context: &CheckContext) -> Result<Report, Error> {
        loop {
            std::hint::spin_loop();
        }
    }
}

gpud_sdk::export!(LoopForever: Descriptor::new("loop-forever", "Never comes back from a check"));
