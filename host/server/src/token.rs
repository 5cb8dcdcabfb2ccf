//! The bearer token: a file that only its owner reads, made at the first start that needs one.

use std::{
    hint::black_box,
    io,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
};

use sha2::{Digest as _, Sha256};
use tokio_rustls::rustls::crypto::ring;

use super::reload::Reload;
use crate::node::{
    local_file,
    trusted::{self, Opener},
};

/// Name of the file inside the data folder.
pub const TOKEN_FILE: &str = "token";
/// Random bytes of a token that gpud makes; twice as many hexadecimal digits.
const RANDOM_BYTES: usize = 32;
/// Characters of a token, so that none can be guessed.
const SHORTEST: usize = 16;
/// Bytes of the file.
const MAX_BYTES: usize = 4096;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("cannot read the token file: {0}")]
    Read(String),
    /// The file holds something else.
    #[error(
        "the token file {} holds no token: it is one line of {SHORTEST} to {MAX_BYTES} visible ASCII characters. Remove the file, and gpud makes a new one",
        .0.display()
    )]
    Content(PathBuf),
    /// The file cannot be made.
    #[error("cannot make the token file {}: {source}. Name another with --token-file", path.display())]
    Make {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The token that clients have to show. Only its SHA-256 is kept.
#[derive(Debug)]
pub struct Token {
    file: PathBuf,
    digest: RwLock<[u8; 32]>,
}

impl Token {
    /// Reads the file, or makes it with a new token. Blocks.
    ///
    /// # Errors
    /// As [`TokenError`] lists them.
    pub fn open(file: &Path) -> Result<Self, TokenError> {
        let text = match Opener::of_daemon().open(file) {
            Err(error) if !error.is_refusal() && local_file::stamp(file).is_none() => {
                let text = make(file).map_err(|source| TokenError::Make {
                    path: file.to_owned(),
                    source,
                })?;
                tracing::info!(file = %file.display(), "a token for the API is made");
                text
            }
            Ok(_) | Err(_) => read_own(file)?,
        };
        warn_if_open(file);
        Ok(Self {
            file: file.to_owned(),
            digest: RwLock::new(digest(text.as_bytes())),
        })
    }

    /// Whether this is the token. Takes the same time for every wrong one.
    pub(super) fn is(&self, shown: &[u8]) -> bool {
        let shown = digest(shown);
        let wanted = *self.digest.read().unwrap_or_else(PoisonError::into_inner);
        let difference = shown
            .iter()
            .zip(wanted)
            .fold(0, |sum, (a, b)| sum | (a ^ b));
        black_box(difference) == 0
    }
}

impl Reload for Token {
    fn what(&self) -> &'static str {
        "token"
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.file.clone()]
    }

    fn reload(&self) -> Result<(), String> {
        let text = read_own(&self.file).map_err(|error| error.to_string())?;
        warn_if_open(&self.file);
        *self.digest.write().unwrap_or_else(PoisonError::into_inner) = digest(text.as_bytes());
        Ok(())
    }
}

/// Reads a token file, for clients of the daemon. Blocks.
///
/// # Errors
/// [`TokenError::Read`] and [`TokenError::Content`].
pub fn read(file: &Path) -> Result<String, TokenError> {
    read_with(Opener::of_command(), file)
}

/// The daemon takes no token from a file that another user can change.
fn read_own(file: &Path) -> Result<String, TokenError> {
    read_with(Opener::of_daemon(), file)
}

fn read_with(opener: Opener, file: &Path) -> Result<String, TokenError> {
    let bytes = opener
        .read(file, MAX_BYTES)
        .map_err(|error| TokenError::Read(error.to_string()))?;
    let text = bytes.trim_ascii();
    if text.len() < SHORTEST || !text.iter().all(u8::is_ascii_graphic) {
        return Err(TokenError::Content(file.to_owned()));
    }
    String::from_utf8(text.to_owned()).map_err(|_| TokenError::Content(file.to_owned()))
}

/// Makes the file, which must not be there, and its folder.
fn make(file: &Path) -> io::Result<String> {
    let mut random = [0; RANDOM_BYTES];
    ring::default_provider()
        .secure_random
        .fill(&mut random)
        .map_err(|_| io::Error::other("the system gives no random numbers"))?;
    let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    if let Some(folder) = file.parent().filter(|folder| *folder != Path::new("")) {
        trusted::make_folder(folder, 0o700)?;
    }
    trusted::make_file(file, format!("{text}\n").as_bytes())?;
    Ok(text)
}

fn warn_if_open(file: &Path) {
    if let Some(mode) = trusted::open_mode(file) {
        tracing::warn!(
            file = %file.display(),
            "others than its owner may use the token file (mode {mode:o}); 600 keeps it secret"
        );
    }
}

fn digest(text: &[u8]) -> [u8; 32] {
    Sha256::digest(text).into()
}

#[cfg(test)]
mod tests;
