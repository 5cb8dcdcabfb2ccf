//! The HTTP client of one export, which follows the file of the authorities that it trusts.

use std::{path::Path, sync::Arc};

use reqwest::Client;

use super::{Http, HttpError};
use crate::{Context, DeliveryError, peer::PeerCheck};

/// Makes a client that trusts these authorities, or those of the system, and checks the programs of this machine.
type MakeClient = fn(&Http, Option<&[u8]>, &PeerCheck) -> Result<Client, HttpError>;

/// The HTTP client of an export. The export's `ca_file` is read at each use, and after it was replaced the client is made
/// again.
#[derive(Debug, Default)]
pub struct ExportClient {
    made: Option<BuiltClient>,
    count: u64,
}

/// A client, and the authorities that it trusts beside the system's, PEM.
#[derive(Debug)]
struct BuiltClient {
    client: Client,
    authorities: Option<Vec<u8>>,
}

impl ExportClient {
    /// Returns the client: the one that all exports share, or one that trusts the certificates of `ca_file` as well.
    ///
    /// # Errors
    /// A transient error: the operator may fix the file.
    pub async fn get(
        &mut self,
        context: &Context,
        ca_file: Option<&Path>,
    ) -> Result<Client, DeliveryError> {
        self.get_by(Http::client, context, ca_file).await
    }

    /// Does the same for a client that speaks HTTP/2 and nothing else. One `ExportClient` is used for one of both.
    ///
    /// # Errors
    /// As above.
    #[cfg(feature = "otlp")]
    pub async fn get_http2(
        &mut self,
        context: &Context,
        ca_file: Option<&Path>,
    ) -> Result<Client, DeliveryError> {
        self.get_by(Http::http2_client, context, ca_file).await
    }

    /// Returns the number of clients made so far; a caller notices a new client by it.
    pub fn count(&self) -> u64 {
        self.count
    }

    async fn get_by(
        &mut self,
        make: MakeClient,
        context: &Context,
        ca_file: Option<&Path>,
    ) -> Result<Client, DeliveryError> {
        let authorities = match ca_file {
            Some(path) => Some(read(context, path).await?),
            None => None,
        };
        if let Some(made) = &self.made
            && made.authorities == authorities
        {
            return Ok(made.client.clone());
        }
        let (http, peers) = (context.environment.http.clone(), context.peers());
        let shown = ca_file.map(|path| format!("{}: ", path.display()));
        let client = tokio::task::spawn_blocking(move || {
            let client = make(&http, authorities.as_deref(), &peers);
            client.map(|client| BuiltClient {
                client,
                authorities,
            })
        });
        let made = match client.await {
            Ok(made) => made.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let made = made.map_err(|why| {
            DeliveryError::transient(format!("{}{why}", shown.unwrap_or_default()))
        })?;
        let client = made.client.clone();
        self.made = Some(made);
        self.count = self.count.wrapping_add(1);
        Ok(client)
    }
}

/// Reads a file of certificates.
async fn read(context: &Context, path: &Path) -> Result<Vec<u8>, DeliveryError> {
    let (secrets, path) = (Arc::clone(&context.environment.secrets), path.to_owned());
    let read = tokio::task::spawn_blocking(move || secrets.file(&path)).await;
    read.unwrap_or_else(|error| Err(error.to_string()))
        .map_err(DeliveryError::transient)
}
