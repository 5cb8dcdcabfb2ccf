//! Building guests and finding templates: shared by the `xtask` command and by the host's build script.

pub mod guests;
pub mod templates;
