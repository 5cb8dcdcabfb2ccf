//! Building guests and finding templates: shared by the `xtask` command and by the host's build script.

#[cfg(feature = "guests")]
pub mod guests;
pub mod templates;

/// The target that guests are built for.
pub const GUEST_TARGET: &str = "wasm32-unknown-unknown";

/// The variable with further flags for guests: a release takes the names of this machine's folders out of them.
pub const FURTHER_GUEST_FLAGS: &str = "GPUD_GUEST_RUSTFLAGS";
