//! Vendor packs: plugins with what they ask for, their defaults and their documentation, as one folder or archive that is
//! signed as a whole.
//!
//! A pack is `pack.yaml` ([`Manifest`]), the files that it names, `SHA256SUMS` over all of them (in the form of
//! `sha256sum`), and `SHA256SUMS.minisig` over that (in the form of minisign): both can be checked without gpud.
//! [`archive`] reads and writes it, [`signature`] signs and verifies, [`installed`] puts it into the data folder,
//! [`oci`] brings it to a registry and back, [`integrity`] finds out whether an installed one is still what was signed.
//! Everything that comes in is bounded and untrusted until its signature was verified. Nothing here knows a daemon or a
//! command line.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

use gpud_node as node;
use gpud_runtime::capability;
use gpud_spec as spec;

pub mod archive;
mod content;
pub mod installed;
pub mod integrity;
mod manifest;
pub mod oci;
pub mod signature;

pub use content::{Pack, SIGNATURE_FILE, hex};
pub use installed::FOLDER as PACKS_FOLDER;
pub use manifest::{Manifest, Needs, PackPlugin, beyond};

use content::SUMS_FILE;
use manifest::MANIFEST_FILE;

/// Why a pack was refused, in words for the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PackRefusal(pub String);

impl PackRefusal {
    /// With these words.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// Largest archive, and the most that all files of a pack hold together, bytes.
pub(crate) const MAX_BYTES: usize = 256 << 20;
/// Largest single file, bytes; an interpreter with its library is about 20 MB.
pub(crate) const MAX_FILE_BYTES: usize = 128 << 20;
/// Most files.
pub(crate) const MAX_FILES: usize = 1000;
/// Longest path inside a pack, bytes: what a plain tar header holds.
pub(crate) const MAX_PATH: usize = 100;

/// Whether a path inside a pack is one: relative, of plain segments, without anything that leads elsewhere.
///
/// # Errors
/// [`PackRefusal`], naming the path.
pub(crate) fn check_path(path: &str) -> Result<(), PackRefusal> {
    let refuse = |why: &str| Err(PackRefusal(format!("path {path:?} in the pack {why}")));
    if path.is_empty() || path.len() > MAX_PATH {
        return refuse(&format!("is empty or longer than {MAX_PATH} bytes"));
    }
    if path.starts_with('/') {
        return refuse("is absolute");
    }
    for segment in path.split('/') {
        if segment == ".." {
            return refuse("leads out of it");
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte);
        if segment.is_empty()
            || segment == "."
            || segment.starts_with('-')
            || !segment.bytes().all(plain)
        {
            return refuse("is not plain: letters, digits and . _ - + only, no empty parts");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_stay_inside() {
        for path in [
            "pack.yaml",
            "plugins/a-b_c.wasm",
            "docs/x/y.md",
            ".hidden",
            "a+b",
        ] {
            check_path(path).unwrap();
        }
        for (path, why) in [
            ("", "is empty"),
            ("/etc/passwd", "is absolute"),
            ("../x", "leads out"),
            ("a/../../x", "leads out"),
            ("a//b", "is not plain"),
            ("./a", "is not plain"),
            ("a/", "is not plain"),
            ("-rf", "is not plain"),
            ("a b", "is not plain"),
            ("a\\..\\b", "is not plain"),
            ("a\0b", "is not plain"),
            ("é", "is not plain"),
        ] {
            let error = check_path(path).unwrap_err().to_string();
            assert!(error.contains(why), "{path}: {error}");
        }
        assert!(check_path(&"a".repeat(101)).is_err());
    }

    proptest! {
        #[test]
        fn what_is_taken_stays_below_any_folder(path in "[a./\\-_]{0,30}") {
            if check_path(&path).is_ok() {
                let below = std::path::Path::new("/folder").join(&path);
                prop_assert!(below.starts_with("/folder"));
                prop_assert!(below.components().all(|c| c != std::path::Component::ParentDir));
            }
        }
    }
}
