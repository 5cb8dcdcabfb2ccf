//! Signatures in the form of minisign: Ed25519 over the BLAKE2b-512 of what is signed, and a second one over the first
//! and a comment that can be trusted. Keys and signatures are files that `minisign` reads and writes as well (its manual
//! page has the formats); only secret keys without a password are used here.
#![allow(clippy::disallowed_methods, reason = "keys that the operator named")]

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use blake2b_simd::Params;
use minisign_verify::{Error as VerifyError, PublicKey, Signature};
use ring::{
    rand::{SecureRandom as _, SystemRandom},
    signature::{Ed25519KeyPair, KeyPair as _},
};

use super::{Pack, PackRefusal, SIGNATURE_FILE};
use crate::node::trusted::Opener;

/// Where trusted keys are stored unless configured otherwise.
pub const TRUSTED_KEYS: &str = "/etc/gpud/trusted-keys";
/// Largest file of a key, bytes.
const MAX_KEY_FILE: usize = 4096;
/// Most keys that are tried.
const MAX_KEYS: usize = 256;

/// `Ed`: Ed25519, as keys say it.
const ALGORITHM: [u8; 2] = *b"Ed";
/// `ED`: Ed25519 over a BLAKE2b-512.
const PREHASHED: [u8; 2] = *b"ED";
/// `B2`: the checksum of a secret key is a BLAKE2b-256.
const CHECKSUM: [u8; 2] = *b"B2";
/// Bytes of a secret key's file: algorithms, salt and limits of a password, key number, key, checksum.
const SECRET_BYTES: usize = 158;

/// Keys that are trusted.
#[derive(Debug, Default)]
pub struct TrustedKeys {
    folder: PathBuf,
    keys: Vec<(String, PublicKey)>,
}

/// Why a signature is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The content is not signed.
    #[error("{0}")]
    Unsigned(String),
    /// The signature was made with a key that is not trusted.
    #[error("{0}")]
    UnknownKey(String),
    /// The signature is malformed, or does not match the content: one of them was changed.
    #[error("{0}")]
    Bad(String),
}

/// The signer.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Signer {
    /// The file of the key among those that are trusted.
    pub key: String,
    /// What the signer said with it.
    pub comment: String,
}

impl TrustedKeys {
    /// Reads all `*.pub` files of a folder. A folder that is not there has none.
    ///
    /// # Errors
    /// [`PackRefusal`]: a file that is no key, so that none is left out in silence; a folder or a file that somebody else can
    /// change.
    pub fn read(folder: &Path) -> Result<Self, PackRefusal> {
        let opener = Opener::of_command();
        let wrong = |error: std::io::Error| PackRefusal(format!("{}: {error}", folder.display()));
        // The daemon looks for the key again, from a working folder of its own.
        let folder = &std::path::absolute(folder).map_err(wrong)?;
        let mut keys = Vec::new();
        match opener.check_folder(folder) {
            Ok(()) => {}
            Err(error) if error.is_not_found() => {
                return Ok(Self {
                    folder: folder.to_owned(),
                    keys,
                });
            }
            Err(error) => return Err(PackRefusal(error.to_string())),
        }
        for entry in fs::read_dir(folder).map_err(wrong)? {
            let path = entry.map_err(wrong)?.path();
            if path.extension().is_none_or(|extension| extension != "pub") {
                continue;
            }
            if keys.len() >= MAX_KEYS {
                return Err(PackRefusal(format!(
                    "more than {MAX_KEYS} keys in {}",
                    folder.display()
                )));
            }
            keys.push(read_key(&path, opener)?);
        }
        keys.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Self {
            folder: folder.to_owned(),
            keys,
        })
    }

    /// Reads one key, which an installed pack was verified with. One that is not there any more is none.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn read_one(file: &Path) -> Result<Self, PackRefusal> {
        let folder = file.parent().unwrap_or(Path::new("/")).to_owned();
        let keys = match Opener::of_command().open(file) {
            Err(error) if error.is_not_found() => Vec::new(),
            _ => vec![read_key(file, Opener::of_command())?],
        };
        Ok(Self { folder, keys })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Who of them signed a pack.
    ///
    /// # Errors
    /// [`SignatureError`]: there is no signature, no trusted key made it, or it does not match the content.
    pub fn verify(&self, pack: &Pack) -> Result<Signer, SignatureError> {
        let what = format!("pack {} {}", pack.manifest.name, pack.manifest.version);
        self.verify_sums(&what, &pack.sums(), pack.signature.as_deref())
    }

    /// Who of them signed these digests of `what`.
    ///
    /// # Errors
    /// As [`Self::verify`].
    pub(crate) fn verify_sums(
        &self,
        what: &str,
        sums: &str,
        signature: Option<&str>,
    ) -> Result<Signer, SignatureError> {
        let Some(text) = signature else {
            return Err(SignatureError::Unsigned(format!("{what} is not signed")));
        };
        let signature = Signature::decode(text).map_err(|error| {
            SignatureError::Bad(format!(
                "{what}: {SIGNATURE_FILE} is no signature of minisign: {error}"
            ))
        })?;
        let mut bad = None;
        for (file, key) in &self.keys {
            match key.verify(sums.as_bytes(), &signature, false) {
                Ok(()) => {
                    return Ok(Signer {
                        key: file.clone(),
                        comment: signature.trusted_comment().to_owned(),
                    });
                }
                Err(VerifyError::UnexpectedKeyId) => {}
                // Another key may have the same number: who makes a key chooses it.
                Err(error) => {
                    bad = Some(format!(
                        "{what}: its signature is bad ({error}, key {file}): it was changed after it was signed"
                    ));
                }
            }
        }
        if let Some(bad) = bad {
            return Err(SignatureError::Bad(bad));
        }
        let folder = self.folder.display();
        Err(SignatureError::UnknownKey(match self.keys.is_empty() {
            true => format!(
                "{what} is signed, and no key is trusted: put the vendor's public key into {folder}"
            ),
            false => format!(
                "{what} is signed by a key that is not trusted: none of those in {folder} made the signature"
            ),
        }))
    }
}

fn read_key(path: &Path, opener: Opener) -> Result<(String, PublicKey), PackRefusal> {
    let bytes = opener
        .read(path, MAX_KEY_FILE)
        .map_err(|error| PackRefusal(error.to_string()))?;
    let text = String::from_utf8_lossy(&bytes);
    let key = PublicKey::decode(&text).map_err(|error| {
        PackRefusal(format!(
            "{} is no public key of minisign: {error}",
            path.display()
        ))
    })?;
    Ok((path.display().to_string(), key))
}

/// A secret key.
pub struct SecretKey {
    number: [u8; 8],
    pair: Ed25519KeyPair,
    seed: [u8; 32],
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretKey")
    }
}

impl SecretKey {
    /// A new one.
    ///
    /// # Errors
    /// [`PackRefusal`]: the system gives no random numbers.
    pub fn generate() -> Result<Self, PackRefusal> {
        let random = SystemRandom::new();
        let (mut seed, mut number) = ([0; 32], [0; 8]);
        random
            .fill(&mut seed)
            .and_then(|()| random.fill(&mut number))
            .map_err(|_| PackRefusal::new("the system gives no random numbers"))?;
        Self::of(seed, number)
    }

    fn of(seed: [u8; 32], number: [u8; 8]) -> Result<Self, PackRefusal> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed)
            .map_err(|_| PackRefusal::new("it is no key of Ed25519"))?;
        Ok(Self { number, pair, seed })
    }

    /// Reads the text of a secret key's file.
    ///
    /// # Errors
    /// [`PackRefusal`]: it is none, or has a password.
    pub fn decode(text: &str) -> Result<Self, PackRefusal> {
        let refuse = |why: &str| PackRefusal(format!("it is no secret key of minisign: {why}"));
        let encoded = text
            .lines()
            .nth(1)
            .ok_or_else(|| refuse("it has no second line"))?;
        let bytes = BASE64
            .decode(encoded.trim())
            .map_err(|_| refuse("its second line is not base64"))?;
        if bytes.len() != SECRET_BYTES {
            return Err(refuse(&format!(
                "{} bytes, not {SECRET_BYTES}",
                bytes.len()
            )));
        }
        let part = |from: usize, to: usize| bytes.get(from..to).unwrap_or_default();
        if part(0, 2) != ALGORITHM || part(4, 6) != CHECKSUM {
            return Err(refuse("another algorithm"));
        }
        if part(2, 4) != [0, 0] {
            return Err(PackRefusal::new(
                "it has a password, which gpud does not ask for: sign with minisign and give `--signature FILE`, or use a key \
                 without password",
            ));
        }
        let (number, seed, public, checksum) =
            (part(54, 62), part(62, 94), part(94, 126), part(126, 158));
        let fitting = || Some((seed.try_into().ok()?, number.try_into().ok()?));
        let (seed, number) = fitting().ok_or_else(|| refuse("it is cut short"))?;
        let key = Self::of(seed, number)?;
        // minisign itself writes no checksum into a key without password.
        let unchecked = checksum.iter().all(|byte| *byte == 0);
        let intact = unchecked || key.checksum().as_slice() == checksum;
        if key.pair.public_key().as_ref() != public || !intact {
            return Err(refuse("its checksum is wrong"));
        }
        Ok(key)
    }

    /// The text of its file.
    pub fn encode(&self) -> String {
        let mut bytes = Vec::with_capacity(SECRET_BYTES);
        bytes.extend(ALGORITHM);
        bytes.extend([0, 0]);
        bytes.extend(CHECKSUM);
        bytes.extend([0; 48]);
        bytes.extend(self.number);
        bytes.extend(self.seed);
        bytes.extend(self.pair.public_key().as_ref());
        bytes.extend(self.checksum());
        format!(
            "untrusted comment: minisign secret key {}\n{}\n",
            self.name(),
            BASE64.encode(bytes)
        )
    }

    /// The text of the public key's file.
    pub fn public(&self) -> String {
        let mut bytes = ALGORITHM.to_vec();
        bytes.extend(self.number);
        bytes.extend(self.pair.public_key().as_ref());
        format!(
            "untrusted comment: minisign public key {}\n{}\n",
            self.name(),
            BASE64.encode(bytes)
        )
    }

    /// Its number, as minisign shows it.
    pub fn name(&self) -> String {
        format!("{:016X}", u64::from_le_bytes(self.number))
    }

    /// The text of a signature's file. The comment is signed as well; it is one line.
    pub fn sign(&self, content: &[u8], comment: &str) -> String {
        let comment: String = comment.chars().filter(|c| !c.is_control()).collect();
        let hash = Params::new().hash_length(64).hash(content);
        let signature = self.pair.sign(hash.as_bytes());
        let mut bytes = PREHASHED.to_vec();
        bytes.extend(self.number);
        bytes.extend(signature.as_ref());
        let whole = [signature.as_ref(), comment.as_bytes()].concat();
        let global = self.pair.sign(&whole);
        format!(
            "untrusted comment: signature from minisign secret key {}\n{}\ntrusted comment: {comment}\n{}\n",
            self.name(),
            BASE64.encode(bytes),
            BASE64.encode(global.as_ref()),
        )
    }

    fn checksum(&self) -> Vec<u8> {
        let hash = Params::new()
            .hash_length(32)
            .to_state()
            .update(&ALGORITHM)
            .update(&self.number)
            .update(&self.seed)
            .update(self.pair.public_key().as_ref())
            .finalize();
        hash.as_bytes().to_vec()
    }
}

impl Pack {
    /// Signs it.
    pub fn sign(&mut self, key: &SecretKey) {
        let comment = format!("gpud pack {} {}", self.manifest.name, self.manifest.version);
        self.signature = Some(key.sign(self.sums().as_bytes(), &comment));
    }
}

#[cfg(test)]
mod tests;
