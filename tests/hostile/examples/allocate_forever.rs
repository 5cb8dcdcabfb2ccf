//! Takes memory without end.

use gpud_sdk::{CheckContext, Checker, Descriptor, Error, Report};

struct AllocateForever;

impl Checker for AllocateForever {
    fn check(_context: &CheckContext) -> Result<Report, Error> {
        let mut hoard = Vec::new();
        loop {
            hoard.push(std::hint::black_box(vec![1u8; 64 << 10]));
        }
    }
}

gpud_sdk::export!(AllocateForever: Descriptor::new("allocate-forever", "Takes memory without end"));
