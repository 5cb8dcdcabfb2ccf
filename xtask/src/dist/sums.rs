//! Checksums of what is given to others, and the signature over them.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use anyhow::{Context, Result, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use minisign::{PublicKey, SecretKey, SecretKeyBox, SignatureBox};
use sha2::{Digest as _, Sha256};

/// Bytes of the checksum at the end of a secret key.
const CHECKSUM_BYTES: usize = 32;

/// Returns the SHA-256 as text.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut text, byte| {
        // Writing into text does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the lines that `sha256sum --check` reads, sorted by name.
pub fn lines(sums: &BTreeMap<String, String>) -> String {
    let lines = sums.iter().map(|(name, sum)| format!("{sum}  {name}\n"));
    lines.collect()
}

/// Reads such lines.
pub fn read(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.split_once("  "));
    lines
        .map(|(sum, name)| (name.to_owned(), sum.to_owned()))
        .collect()
}

/// Signs with a key of minisign, without password. The comment, which is signed too, names the version.
///
/// # Errors
/// The key cannot be read, has a password, or does not sign.
pub fn sign(key: &Path, text: &str, version: &str) -> Result<String> {
    let content = std::fs::read_to_string(key).with_context(|| key.display().to_string())?;
    let signature = sign_with(&content, text, version).with_context(|| {
        format!(
            "{}: a secret key of minisign without password is needed (minisign -G -W)",
            key.display()
        )
    })?;
    Ok(signature.into_string())
}

fn sign_with(key: &str, text: &str, version: &str) -> Result<SignatureBox> {
    let key = secret_key(key)?;
    // With the public key the result is verified: a damaged secret key gives none.
    let public = PublicKey::from_secret_key(&key)?;
    let signature = minisign::sign(
        Some(&public),
        &key,
        text.as_bytes(),
        Some(&format!("gpud {version}")),
        Some("signature of gpud's releases"),
    )?;
    Ok(signature)
}

/// Reads a key without password. Those of the program minisign have a checksum of zeros, which the crate calls damaged.
fn secret_key(text: &str) -> Result<SecretKey> {
    let encoded = text.lines().nth(1).context("it has no second line")?;
    let bytes = BASE64_STANDARD.decode(encoded.trim())?;
    ensure!(
        bytes.get(2..4) == Some([0_u8, 0].as_slice()),
        "it has a password"
    );
    let checksum = bytes.len().checked_sub(CHECKSUM_BYTES);
    let checksum = checksum.and_then(|start| bytes.get(start..));
    if checksum.is_some_and(|checksum| checksum.iter().all(|byte| *byte == 0)) {
        return Ok(SecretKey::from_bytes(&bytes)?);
    }
    Ok(SecretKeyBox::from_string(text)?.into_unencrypted_secret_key()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use minisign::{KeyPair, PublicKeyBox};
    use std::io::Cursor;

    #[test]
    fn sums_are_those_of_sha256sum() {
        let sum = sha256(b"abc");
        assert_eq!(
            sum,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        let sums = BTreeMap::from([
            ("b.deb".to_owned(), sum.clone()),
            ("a b.rpm".to_owned(), sum.clone()),
        ]);
        let text = lines(&sums);
        assert_eq!(text, format!("{sum}  a b.rpm\n{sum}  b.deb\n"));
        assert_eq!(read(&text), sums);
    }

    #[test]
    fn signatures_are_verified_with_the_public_key() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let pair = KeyPair::generate_unencrypted_keypair().unwrap();
        std::fs::write(&file, pair.sk.to_box(None).unwrap().into_string()).unwrap();
        let signature = sign(&file, "sums\n", "1.2.3").unwrap();
        assert!(
            signature.contains("trusted comment: gpud 1.2.3\n"),
            "{signature}"
        );
        let key = PublicKeyBox::from_string(&pair.pk.to_box().unwrap().into_string())
            .unwrap()
            .into_public_key()
            .unwrap();
        let signature = SignatureBox::from_string(&signature).unwrap();
        minisign::verify(&key, &signature, Cursor::new("sums\n"), true, false, false).unwrap();
        minisign::verify(&key, &signature, Cursor::new("other"), true, false, false).unwrap_err();
    }

    /// As `minisign -G -W` of version 0.11 writes them.
    #[test]
    fn keys_of_the_program_minisign_have_no_checksum() {
        let pair = KeyPair::generate_unencrypted_keypair().unwrap();
        let mut bytes = pair.sk.to_bytes();
        let start = bytes.len() - CHECKSUM_BYTES;
        bytes[start..].fill(0);
        let text = |bytes: &[u8]| format!("comment\n{}\n", BASE64_STANDARD.encode(bytes));
        let signature = sign_with(&text(&bytes), "sums\n", "1").unwrap();
        minisign::verify(
            &pair.pk,
            &signature,
            Cursor::new("sums\n"),
            true,
            false,
            false,
        )
        .unwrap();
        // A damaged one does not sign, and one with a checksum is checked.
        bytes[start - 1] ^= 1;
        let refused = |bytes: &[u8]| {
            let signature = sign_with(&text(bytes), "sums\n", "1");
            signature.map(SignatureBox::into_string).unwrap_err()
        };
        refused(&bytes);
        let mut bytes = pair.sk.to_bytes();
        bytes[start] ^= 1;
        refused(&bytes);
        bytes[2] = b'S';
        let error = refused(&bytes);
        assert!(error.to_string().contains("password"), "{error}");
    }

    #[test]
    fn keys_with_a_password_and_other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, "no key\n").unwrap();
        let error = sign(&file, "", "1").unwrap_err().to_string();
        assert!(error.contains("without password"), "{error}");
        let missing = sign(&folder.path().join("none"), "", "1").unwrap_err();
        assert!(missing.to_string().contains("none"), "{missing}");
    }
}
