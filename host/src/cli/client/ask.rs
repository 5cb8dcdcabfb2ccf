//! Documents of the daemon's API.

use http::Method;
use serde::de::DeserializeOwned;

use super::{Answer, Client, ClientError, reason_of};

/// Why the daemon gave no document.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The daemon cannot be asked.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// It refuses: the status and its words.
    #[error("{0}")]
    Refused(String),
    /// The server that answers is not gpud, or another version of it.
    #[error("this is not an answer of gpud: {0}")]
    Unknown(#[from] serde_json::Error),
}

/// Asks for one document.
///
/// # Errors
/// [`AskError`].
pub async fn ask<T: DeserializeOwned>(client: &Client, target: &str) -> Result<T, AskError> {
    let answer = get(client, target).await?;
    Ok(serde_json::from_slice(&answer.body)?)
}

/// Asks for an answer that is a success, whatever is in it.
///
/// # Errors
/// The daemon cannot be asked, or refuses.
pub async fn get(client: &Client, target: &str) -> Result<Answer, AskError> {
    let answer = client.send(Method::GET, target).await?;
    match answer.status.is_success() {
        true => Ok(answer),
        false => Err(AskError::Refused(reason_of(&answer))),
    }
}
