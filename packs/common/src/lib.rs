//! What the packs' plugins share.

pub mod ask;
pub mod dell;
pub mod hold;
pub mod names;
