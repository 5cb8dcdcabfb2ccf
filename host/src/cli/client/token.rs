//! The bearer token that commands show to the daemon.
//!
//! One that the operator names goes to the server that the operator names. One that is found in the data folder belongs
//! to this machine's daemon: it goes over the loopback, and only to a process of root or of our own user. Another user
//! another process that listens on the daemon's port does not get it.

use std::path::{Path, PathBuf};

use super::server::Server;
use crate::{
    cli::data_dir::data_dir,
    server::{TOKEN_FILE, TokenError, read_token},
};

/// A token, and who may see it.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientToken {
    text: String,
    /// It was found in the data folder, as opposed to named.
    is_found: bool,
}

/// The text stays out of whatever is printed.
impl std::fmt::Debug for ClientToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ClientToken")
            .field("is_found", &self.is_found)
            .finish_non_exhaustive()
    }
}

impl ClientToken {
    /// The token of this file; without one, that of the data folder, if it is there and can be read.
    ///
    /// # Errors
    /// A file that was named holds none.
    pub fn find(file: Option<&Path>) -> Result<Option<Self>, TokenError> {
        match file {
            Some(file) => Ok(Some(Self {
                text: read_token(file)?,
                is_found: false,
            })),
            None => Ok(data_dir(None).ok().and_then(own)),
        }
    }

    /// Returns the token, if this server may see it.
    pub fn shown_to(&self, server: Server) -> Option<&str> {
        let may_see = !self.is_found || server == Server::Trusted;
        may_see.then_some(self.text.as_str())
    }
}

fn own(folder: PathBuf) -> Option<ClientToken> {
    let text = read_token(&folder.join(TOKEN_FILE)).ok()?;
    Some(ClientToken {
        text,
        is_found: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_was_found_is_shown_to_the_daemon_of_this_machine_only() {
        for is_found in [true, false] {
            let text = "correct-horse-battery".to_owned();
            let token = ClientToken { text, is_found };
            assert!(!format!("{token:?}").contains("horse"));
            assert!(token.shown_to(Server::Trusted).is_some());
            for other in [Server::Elsewhere, Server::Unknown] {
                assert_eq!(token.shown_to(other).is_none(), is_found);
            }
        }
    }

    #[test]
    fn a_file_that_was_named_has_to_hold_one() {
        let folder = tempfile::tempdir().unwrap();
        assert!(ClientToken::find(Some(&folder.path().join("missing"))).is_err());
        assert_eq!(own(folder.path().to_owned()), None);
    }
}
