//! What several built-in checkers have in common. Not a component by itself: the checkers link it, and what one of them
//! does not use is not in its guest.

pub mod boots;
pub mod coded;
pub mod driver;
pub mod numbers;
pub mod patterns;
pub mod samples;
#[cfg(feature = "story")]
pub mod story;
pub mod time;
