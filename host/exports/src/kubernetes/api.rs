//! The five requests to the API server.

#[cfg(test)]
mod tests;

use reqwest::{Client, Method, StatusCode, header};
use serde::Deserialize;
use serde_json::Value;

use super::{
    access,
    events::NAMESPACE,
    kubeconfig::{Cluster, InlineOrFile},
    settings::Settings,
    view::{FIELD_MANAGER, NodeView},
};
use crate::{
    Context, DeliveryError,
    http::{self, Answer, Tls},
    secret::SecretValue,
};

const JSON: &str = "application/json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";
const MERGE_PATCH: &str = "application/merge-patch+json";
/// Largest node, bytes: one with many images and field managers has about 100 KiB.
const MAX_NODE: usize = 4 << 20;

/// The API server.
pub struct Api {
    client: Client,
    server: String,
    token: Option<InlineOrFile>,
    node: String,
}

/// Why a request did not do what it should.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ApiError {
    /// There is no such object.
    #[error("{0}")]
    NotFound(DeliveryError),
    /// The object is another one than was read, or is there already.
    #[error("{0}")]
    Conflict(DeliveryError),
    /// The server will not take this: its rules, or gpud's rights, forbid it.
    #[error("{0}")]
    Refused(DeliveryError),
    /// Anything else.
    #[error("{0}")]
    Other(DeliveryError),
}

impl From<ApiError> for DeliveryError {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::NotFound(error)
            | ApiError::Conflict(error)
            | ApiError::Refused(error)
            | ApiError::Other(error) => error,
        }
    }
}

impl From<DeliveryError> for ApiError {
    fn from(error: DeliveryError) -> Self {
        Self::Other(error)
    }
}

/// The part of an error that says why.
#[derive(Deserialize)]
struct ErrorBody {
    message: String,
}

impl Api {
    /// Reads all credentials but the token, which is read for each request.
    ///
    /// # Errors
    /// A transient error: files may be corrected or appear.
    pub async fn connect(settings: &Settings, context: &Context) -> Result<Self, DeliveryError> {
        let environment = &context.environment;
        let variable = |name: &str| environment.secrets.variable(name);
        let node = access::node_name(settings, &environment.node, variable)
            .map_err(DeliveryError::transient)?;
        let Cluster {
            server,
            authority,
            token,
            identity,
        } = access::cluster(settings, context).await?;
        let authority = match &authority {
            Some(authority) => Some(access::read(context, authority).await?),
            None => None,
        };
        let identity = match &identity {
            Some((certificate, key)) => Some((
                access::read(context, certificate).await?,
                access::read(context, key).await?,
            )),
            None => None,
        };
        let (http, peers) = (environment.http.clone(), context.peers());
        let made = tokio::task::spawn_blocking(move || {
            let identity = identity.as_ref();
            let tls = Tls {
                roots: authority.as_deref(),
                only_those: authority.is_some(),
                identity: identity
                    .map(|(certificate, key)| (certificate.as_slice(), key.as_slice())),
            };
            http.client_with(tls, &peers)
        });
        let made = made.await.map_err(|error| error.to_string());
        let client = made
            .and_then(|made| made.map_err(|error| error.to_string()))
            .map_err(|why| DeliveryError::transient(format!("{server}: credentials: {why}")))?;
        Ok(Self {
            client,
            server,
            token,
            node,
        })
    }

    /// Reads the node.
    ///
    /// # Errors
    /// [`ApiError`]; that there is no node is said in the words of an operator.
    pub async fn node(&self, context: &Context) -> Result<NodeView, ApiError> {
        let path = format!("/api/v1/nodes/{}", self.node);
        let answer = self.call(context, Method::GET, &path, None).await;
        match answer {
            Err(ApiError::NotFound(_)) => {
                let (node, server) = (&self.node, &self.server);
                Err(ApiError::Other(DeliveryError::transient(format!(
                    "{server}: there is no node {node:?}; it may have been deleted, or set `node` in the file of exports"
                ))))
            }
            answer => self.view(&answer?),
        }
    }

    /// Applies conditions (`is_status`), or labels and annotations. Returns the node as it is then.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn apply(
        &self,
        context: &Context,
        body: &Value,
        is_status: bool,
        is_dry_run: bool,
    ) -> Result<NodeView, ApiError> {
        let part = if is_status { "/status" } else { "" };
        let dry = if is_dry_run { "&dryRun=All" } else { "" };
        // Forced: nobody else has business with these fields.
        let path = format!(
            "/api/v1/nodes/{}{part}?fieldManager={FIELD_MANAGER}&force=true{dry}",
            self.node
        );
        let body = Some((APPLY_PATCH, body));
        self.view(&self.call(context, Method::PATCH, &path, body).await?)
    }

    /// Patches the node under the version that the patch names. Returns the node as it is then.
    ///
    /// # Errors
    /// [`ApiError`]; a conflict if the node has changed.
    pub async fn patch(&self, context: &Context, body: &Value) -> Result<NodeView, ApiError> {
        let path = format!("/api/v1/nodes/{}?fieldManager={FIELD_MANAGER}", self.node);
        let body = Some((MERGE_PATCH, body));
        self.view(&self.call(context, Method::PATCH, &path, body).await?)
    }

    /// Makes an Event.
    ///
    /// # Errors
    /// [`ApiError`]; a conflict if it is there already.
    pub async fn create_event(&self, context: &Context, event: &Value) -> Result<(), ApiError> {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/events");
        let answer = self.call(context, Method::POST, &path, Some((JSON, event)));
        answer.await.map(|_| ())
    }

    /// Changes the count of an Event.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn patch_event(
        &self,
        context: &Context,
        name: &str,
        body: &Value,
    ) -> Result<(), ApiError> {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/events/{name}");
        let answer = self.call(context, Method::PATCH, &path, Some((MERGE_PATCH, body)));
        answer.await.map(|_| ())
    }

    /// Returns the API server's address and the node's name.
    pub fn target(&self) -> String {
        format!("node {} of {}", self.node, self.server)
    }

    fn view(&self, answer: &Answer) -> Result<NodeView, ApiError> {
        let read = NodeView::parse(answer.body.as_bytes());
        read.map_err(|error| {
            let server = &self.server;
            let why = format!("{server}: the answer is no node: {error}");
            ApiError::Other(DeliveryError::transient(why))
        })
    }

    async fn call(
        &self,
        context: &Context,
        method: Method,
        path: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<Answer, ApiError> {
        let (resource, _) = path.split_once('?').unwrap_or((path, ""));
        let what = format!("{method} {}{resource}", self.server);
        let mut request = self
            .client
            .request(method, format!("{}{path}", self.server))
            .timeout(context.timeout)
            .header(header::ACCEPT, JSON);
        if let Some(token) = &self.token {
            request = request.bearer_auth(bearer(context, token).await?.expose());
        }
        if let Some((kind, body)) = body {
            request = request
                .header(header::CONTENT_TYPE, kind)
                .body(body.to_string());
        }
        judge(http::send_for(request, &what, MAX_NODE).await?, &what)
    }
}

/// Returns the token as it is now: it is replaced before it expires.
async fn bearer(context: &Context, token: &InlineOrFile) -> Result<SecretValue, DeliveryError> {
    let bytes = access::read(context, token).await?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    let text = text.trim();
    let is_token = |c: char| c.is_ascii_graphic();
    if text.is_empty() || !text.chars().all(is_token) {
        return Err(DeliveryError::transient(
            "the token's file holds no token; write one into it",
        ));
    }
    Ok(SecretValue::new(text))
}

/// Judges an answer.
fn judge(mut answer: Answer, what: &str) -> Result<Answer, ApiError> {
    let status = answer.status;
    if status.is_success() {
        return Ok(answer);
    }
    if let Ok(ErrorBody { message }) = serde_json::from_str(&answer.body) {
        answer.body = message;
    }
    let Err(error) = answer.clone().into_delivered(what) else {
        return Ok(answer);
    };
    Err(match status {
        StatusCode::NOT_FOUND => ApiError::NotFound(error),
        StatusCode::CONFLICT => ApiError::Conflict(error),
        StatusCode::FORBIDDEN => ApiError::Refused(error),
        _ if matches!(error, DeliveryError::Refused { .. }) => ApiError::Refused(error),
        _ => ApiError::Other(error),
    })
}
