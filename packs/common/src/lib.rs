//! What the packs' plugins share.

pub mod ask;
pub mod hold;
pub mod names;
