//! Who is at the other end of a request's connection.

use std::net::SocketAddr;

use crate::node::socket_owner;

/// The two ends of a request's connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    /// Ours.
    pub local: SocketAddr,
    /// The client's.
    pub remote: SocketAddr,
}

/// Whether the kernel says that root or gpud's own user is the client, on this machine. A request that came over no
/// connection is nobody's.
pub(super) async fn is_owner(ends: Option<Ends>) -> bool {
    let Some(Ends { local, remote }) = ends else {
        return false;
    };
    let owner = tokio::task::spawn_blocking(move || socket_owner::uid(local, remote)).await;
    matches!(owner, Ok(Some(uid)) if uid == 0 || uid == socket_owner::own_uid())
}
