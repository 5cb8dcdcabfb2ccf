//! The signature over a release's checksums, in the form of minisign.

use std::path::Path;

use minisign_verify::{Error as VerifyError, PublicKey, Signature};

use crate::node::trusted::Opener;

/// Largest file of a key, bytes.
const MAX_KEY: usize = 4096;

/// Why a signature proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureFault {
    /// It is no signature.
    #[error("its signature is none of minisign: {0}")]
    Unreadable(String),
    /// Another key made it.
    #[error("it is signed by another key than the one that is trusted")]
    OtherKey,
    /// It is not over this content.
    #[error("its signature is bad: it was changed after it was signed")]
    Bad,
}

/// Reads the public key of releases, which no other user may be able to change.
///
/// # Errors
/// There is none, others can change it, or it is no key.
pub fn read_key(path: &Path) -> Result<PublicKey, String> {
    let bytes = Opener::of_command().read(path, MAX_KEY).map_err(|error| {
        let hint = match error.is_not_found() {
            true => ": name the public key of those who build your releases with --public-key, or put it there",
            false => "",
        };
        format!("{error}{hint}")
    })?;
    PublicKey::decode(&String::from_utf8_lossy(&bytes))
        .map_err(|error| format!("{} is no public key of minisign: {error}", path.display()))
}

/// Checks that the key made the signature over this content.
///
/// # Errors
/// [`SignatureFault`].
pub fn verify(key: &PublicKey, content: &[u8], signature: &[u8]) -> Result<(), SignatureFault> {
    let signature = Signature::decode(&String::from_utf8_lossy(signature))
        .map_err(|error| SignatureFault::Unreadable(error.to_string()))?;
    key.verify(content, &signature, false)
        .map_err(|error| match error {
            VerifyError::UnexpectedKeyId => SignatureFault::OtherKey,
            _ => SignatureFault::Bad,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::signature::SecretKey;

    #[test]
    fn only_the_trusted_key_over_this_content_counts() {
        let (ours, other) = (
            SecretKey::generate().unwrap(),
            SecretKey::generate().unwrap(),
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("release.pub");
        let missing = read_key(&path).unwrap_err();
        assert!(missing.contains("--public-key"), "{missing}");
        std::fs::write(&path, ours.public()).unwrap();
        let key = read_key(&path).unwrap();
        let signed = |by: &SecretKey| by.sign(b"sums", "gpud 0.2.0").into_bytes();
        assert_eq!(verify(&key, b"sums", &signed(&ours)), Ok(()));
        assert_eq!(
            verify(&key, b"Sums", &signed(&ours)),
            Err(SignatureFault::Bad)
        );
        assert_eq!(
            verify(&key, b"sums", &signed(&other)),
            Err(SignatureFault::OtherKey)
        );
        assert!(matches!(
            verify(&key, b"sums", b"text"),
            Err(SignatureFault::Unreadable(_))
        ));
        std::fs::write(&path, "text").unwrap();
        assert!(
            read_key(&path)
                .unwrap_err()
                .contains("is no public key of minisign")
        );
    }
}
