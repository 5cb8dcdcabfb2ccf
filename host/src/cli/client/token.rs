//! The bearer token that commands show to the daemon.
//!
//! One that the operator names goes to the server that the operator names. One that is found in the data folder belongs
//! to this machine's daemon: it goes over the loopback, and only to a process of root or of the file's owner. Whoever
//! else listens on the daemon's port does not get it.

use std::{
    net::SocketAddr,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::{
    cli::data_dir::data_dir,
    node::socket_owner,
    server::{TOKEN_FILE, TokenError, read_token},
};

/// A token, and who may see it.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientToken {
    text: String,
    /// The user whose process it may be shown to, besides root's; `None` for any.
    owner: Option<u32>,
}

/// The text stays out of whatever is printed.
impl std::fmt::Debug for ClientToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ClientToken")
            .field("owner", &self.owner)
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
                owner: None,
            })),
            None => Ok(data_dir(None).ok().and_then(own)),
        }
    }

    /// The token, if the server at `remote` may see it; `local` is our end of the connection.
    pub fn shown_to(&self, local: SocketAddr, remote: SocketAddr) -> Option<&str> {
        let may_see = match self.owner {
            None => true,
            Some(owner) => {
                socket_owner::uid(local, remote).is_some_and(|uid| uid == 0 || uid == owner)
            }
        };
        may_see.then_some(self.text.as_str())
    }
}

fn own(folder: PathBuf) -> Option<ClientToken> {
    let file = folder.join(TOKEN_FILE);
    let text = read_token(&file).ok()?;
    let owner = std::fs::metadata(&file).ok()?.uid();
    Some(ClientToken {
        text,
        owner: Some(owner),
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_token_that_was_found_is_shown_to_its_owner_only() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _server = listener.accept().unwrap();
        let (local, remote) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
        let shown = |owner, remote| {
            let text = "correct-horse-battery".to_owned();
            let token = ClientToken { text, owner };
            assert!(!format!("{token:?}").contains("horse"));
            token.shown_to(local, remote).is_some()
        };
        let me = socket_owner::own_uid();
        assert!(shown(Some(me), remote));
        assert_eq!(shown(Some(me + 1), remote), me == 0);
        let elsewhere = "192.0.2.1:15132".parse().unwrap();
        assert!(!shown(Some(me), elsewhere) && shown(None, elsewhere));
    }

    #[test]
    fn a_file_that_was_named_has_to_hold_one() {
        let folder = tempfile::tempdir().unwrap();
        assert!(ClientToken::find(Some(&folder.path().join("missing"))).is_err());
        assert_eq!(own(folder.path().to_owned()), None);
    }
}
