//! Packs in OCI registries, in the layout for WebAssembly artifacts (CNCF TAG Runtime, "Wasm OCI Artifact layout"): an image
//! manifest with a config of `application/vnd.wasm.config.v0+json`, each component a layer of `application/wasm`, and what
//! else a pack has as further layers; each layer's title is its path in the pack. A registry is only talked to when a
//! command names it, and nothing that it says is believed: every digest is computed here, and the pack's own digests and
//! signature are looked at afterwards.

mod client;
mod layout;
mod login;
mod reference;
mod scope;
mod server_user;
mod transport;

pub use client::{Credentials, Registry};
pub use reference::Reference;
pub use transport::tls;

#[cfg(test)]
mod tests;
