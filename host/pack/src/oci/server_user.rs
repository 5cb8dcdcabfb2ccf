//! Whose program gets the password of a registry without TLS. Any user of this machine can listen on a port of it.

use std::net::SocketAddr;

use tokio::net::TcpStream;

use crate::node::{
    port_holder::{self, PortHolder},
    socket_owner,
};

/// Checks, before a password or a token is sent without TLS, that a connection to this machine leads to a program of root or
/// of our own user.
///
/// # Errors
/// Whose program it is.
pub(super) async fn check(tcp: &TcpStream) -> Result<(), String> {
    let ends = tcp
        .local_addr()
        .and_then(|local| Ok((local, tcp.peer_addr()?)));
    let (local, remote) = ends.map_err(|error| error.to_string())?;
    let asked = tokio::task::spawn_blocking(move || ask(local, remote)).await;
    asked.map_err(|error| error.to_string())?
}

fn ask(local: SocketAddr, remote: SocketAddr) -> Result<(), String> {
    if !socket_owner::is_own_address(remote) {
        return Ok(());
    }
    let user = socket_owner::server_uid(local, remote);
    if judge(user, socket_owner::own_uid()) {
        return Ok(());
    }
    let holder = user.map(|uid| {
        let found = port_holder::find(remote).filter(|holder| holder.uid == uid);
        found.unwrap_or(PortHolder { uid, process: None })
    });
    let served_by = match holder {
        Some(holder) => format!("{remote} is served by {holder}, who is neither root nor you"),
        None => format!("the kernel does not say which user serves {remote}"),
    };
    Err(format!(
        "{served_by}; no password is sent to it without TLS: leave out --plain-http"
    ))
}

/// Whether a user may have the password of another one.
fn judge(user: Option<u32>, own: u32) -> bool {
    user.is_some_and(|uid| uid == 0 || uid == own)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn our_own_registry_gets_the_password() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let tcp = TcpStream::connect(listener.local_addr().unwrap());
        let tcp = tcp.await.unwrap();
        assert_eq!(check(&tcp).await, Ok(()));
        let accepted = listener.accept().await.unwrap();
        assert_eq!(check(&tcp).await, Ok(()));
        drop(accepted);
        for (user, is_good) in [
            (Some(0), true),
            (Some(1000), true),
            (Some(1001), false),
            (None, false),
        ] {
            assert_eq!(judge(user, 1000), is_good, "{user:?}");
        }
    }
}
