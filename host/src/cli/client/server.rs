//! Finds out which user's process is at the other end of a command's connection. Another user can listen on gpud's port
//! before gpud does.

use std::net::SocketAddr;

use crate::node::{
    port_holder::{self, PortHolder},
    socket_owner,
    stream::WeakStream,
};

/// The server of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// Root or our own user, on this machine.
    Trusted,
    /// Another user, on this machine.
    Stranger(PortHolder),
    /// On this machine; the kernel does not say whose process it is. Behind a port that is forwarded into a container, for
    /// example.
    Unknown,
    /// Another machine.
    Elsewhere,
}

/// Finds out who serves a connection with these ends, ours first. `None` if it is closed: its addresses may be others' by
/// then. Blocks.
pub fn of(ends: Option<(SocketAddr, SocketAddr)>, weak: &WeakStream) -> Option<Server> {
    let (local, remote) = ends?;
    if !socket_owner::is_own_address(remote) {
        return Some(Server::Elsewhere);
    }
    let user = socket_owner::server_uid(local, remote);
    let server = match judge(user, socket_owner::own_uid()) {
        Ok(server) => server,
        Err(uid) => {
            let holder = port_holder::find(remote).filter(|holder| holder.uid == uid);
            Server::Stranger(holder.unwrap_or(PortHolder { uid, process: None }))
        }
    };
    weak.is_open().then_some(server)
}

/// Judges what the kernel says of a server. The error is the user that is neither root nor ours.
fn judge(user: Option<u32>, own: u32) -> Result<Server, u32> {
    match user {
        Some(uid) if uid == 0 || uid == own => Ok(Server::Trusted),
        Some(stranger) => Err(stranger),
        None => Ok(Server::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::node::stream::Stream;

    #[test]
    fn root_and_the_own_user_are_trusted() {
        for (user, judged) in [
            (Some(0), Ok(Server::Trusted)),
            (Some(1000), Ok(Server::Trusted)),
            (Some(1001), Err(1001)),
            (None, Ok(Server::Unknown)),
        ] {
            assert_eq!(judge(user, 1000), judged, "{user:?}");
        }
    }

    #[tokio::test]
    async fn our_own_server_is_known_before_and_after_it_takes_the_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap());
        let client = Stream::tcp(client.await.unwrap());
        let (ends, weak) = (client.ends(), client.downgrade());
        assert_eq!(of(ends, &weak), Some(Server::Trusted));
        let accepted = listener.accept().await.unwrap();
        assert_eq!(of(ends, &weak), Some(Server::Trusted));
        let elsewhere = Some((ends.unwrap().0, "192.0.2.1:15132".parse().unwrap()));
        assert_eq!(of(elsewhere, &weak), Some(Server::Elsewhere));
        drop(accepted);
        while weak.is_open() {
            tokio::task::yield_now().await;
        }
        assert_eq!(of(ends, &weak), None, "closed");
    }
}
