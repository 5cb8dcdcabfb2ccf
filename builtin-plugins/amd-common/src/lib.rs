//! Functions and types that the checkers of AMD GPUs share. Not a component by itself: the checkers link it, and what one of them
//! does not use is not in its guest.
//!
//! Everything comes from files of the `amdgpu` driver in sysfs. Such a checker names the files it wants ([`CardFile`]),
//! gets them by GPU ([`Card`]), and its `evaluate` makes a report of them with a [`Round`].

pub mod card;
pub mod check;
pub mod pci;
pub mod ras;
pub mod retained_state;
pub mod round;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tree;

pub use card::{Card, CardFile};
pub use retained_state::{RetainedState, Streaks};
pub use round::Round;

/// Tags of a component of AMD GPUs.
pub const fn tags(component: &str) -> [&str; 4] {
    ["accelerator", "gpu", "amd", component]
}
