//! The connection to a database by TCP.

use std::{fmt, io, time::Duration};

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

use super::{
    settings::{DatabaseServer, TlsMode},
    socket,
};
use crate::{Context, DeliveryError, names::Names};

/// How long a connection is silent before its peer is asked for a sign of life.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Connects to a server, `limit` for each of its addresses. Unless TLS proves the server's name, it must run as root, as
/// the user of this process, as the `peer_user` of the export, or else as `postgres`, if it is on this machine.
///
/// # Errors
/// A transient error.
pub async fn connect(
    server: &DatabaseServer,
    context: &Context,
    limit: Duration,
) -> Result<TcpStream, DeliveryError> {
    let target = server.shown();
    let failed = |error: &dyn fmt::Display| DeliveryError::transient(format!("{target}: {error}"));
    let names = context.environment.http.names();
    let connected = to_any_address(server, names, limit).await;
    let stream =
        connected.map_err(|error| failed(&format!("error connecting to server: {error}")))?;
    set_up(&stream, context.timeout).map_err(|error| failed(&error))?;
    if server.tls == TlsMode::VerifyFull {
        return Ok(stream);
    }
    let ends = stream
        .local_addr()
        .and_then(|local| Ok((local, stream.peer_addr()?)));
    let (local, remote) = ends.map_err(|error| failed(&error))?;
    let checked = context.peers_or(socket::OWNER).check(local, remote).await;
    checked.map_err(|why| failed(&why))?;
    Ok(stream)
}

/// Connects to the first address of a server that answers, `limit` for each of them.
async fn to_any_address(
    server: &DatabaseServer,
    names: &Names,
    limit: Duration,
) -> Result<TcpStream, String> {
    let addresses = names.addresses(&server.host).await;
    let mut why = String::new();
    for address in addresses.map_err(|error| error.to_string())? {
        let connecting = TcpStream::connect((address, server.port));
        let connected = tokio::time::timeout(limit, connecting).await;
        match connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(stream) => return Ok(stream),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

/// Sets what ends a connection whose server has disappeared.
fn set_up(stream: &TcpStream, timeout: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    socket.set_tcp_user_timeout(Some(timeout))?;
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE))
}
