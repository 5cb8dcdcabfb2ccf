//! The Unix socket of a database on this machine.

use std::{fmt, io, path::Path, sync::Arc, time::Duration};

use tokio::net::UnixStream;

use super::settings::DatabaseServer;
use crate::{Context, DeliveryError};

/// The user that owns the server where the settings name none.
pub(super) const OWNER: &str = "postgres";

/// Connects to a server, and makes sure that it runs as root, as the user of this process, or as the owner of the
/// settings: in a folder such as `/tmp` anybody may make a socket of its name.
///
/// # Errors
/// A transient error.
pub async fn connect(
    server: &DatabaseServer,
    context: &Context,
    limit: Duration,
) -> Result<UnixStream, DeliveryError> {
    let target = server.shown();
    let failed = |error: &dyn fmt::Display| DeliveryError::transient(format!("{target}: {error}"));
    let path = Path::new(&server.host).join(format!(".s.PGSQL.{}", server.port));
    let connected = tokio::time::timeout(limit, UnixStream::connect(&path)).await;
    let connected = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    let stream = connected
        .map_err(|error| failed(&format!("cannot connect to {}: {error}", path.display())))?;
    let uid = stream.peer_cred().map_err(|error| failed(&error))?.uid();
    let owner = server.owner.clone().unwrap_or_else(|| OWNER.to_owned());
    let secrets = Arc::clone(&context.environment.secrets);
    let named = owner.clone();
    let asked = tokio::task::spawn_blocking(move || secrets.may_receive(uid, &named)).await;
    if !asked.map_err(|error| failed(&error))? {
        return Err(failed(&format!(
            "the server at {} runs as user {uid}, not as {owner}, root or gpud's user, so nothing is sent to it; name \
             its user with owner if it is yours",
            path.display()
        )));
    }
    Ok(stream)
}
