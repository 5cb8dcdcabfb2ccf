//! The way to a receiver, by gRPC or by HTTP.

use std::{io::Write as _, sync::Arc};

use flate2::{Compression as Level, write::GzEncoder};
use prost::Message as _;
use reqwest::{
    Client, Method, RequestBuilder,
    header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use tokio::sync::Mutex;

use super::{
    grpc, pairs,
    settings::{Compression, Protocol, Settings, check_name},
};
use crate::{
    Context, DeliveryError,
    http::{self, Answer, Confidential, ExportClient},
    secret::SecretValue,
};

/// Media type of messages over HTTP.
const PROTOBUF: &str = "application/x-protobuf";
/// Most bytes of an answer that are read.
const MAX_ANSWER: usize = 64 << 10;

/// The kinds of data that are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Log records.
    Logs,
    /// Metrics.
    Metrics,
}

impl Signal {
    /// Returns the path for HTTP, below the base address.
    fn path(self) -> &'static str {
        match self {
            Self::Logs => "/v1/logs",
            Self::Metrics => "/v1/metrics",
        }
    }

    /// Returns the method of gRPC that takes it.
    fn method(self) -> &'static str {
        match self {
            Self::Logs => "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
            Self::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        }
    }
}

/// A way to a receiver. Clones share its connections.
#[derive(Debug, Clone)]
pub struct Connection {
    settings: Arc<Settings>,
    client: Arc<Mutex<ExportClient>>,
}

impl Connection {
    /// Makes one; nothing is connected yet.
    pub fn new(settings: Arc<Settings>) -> Self {
        Self {
            settings,
            client: Arc::default(),
        }
    }

    /// Sends a message. Returns the message of the answer, and what may not be shown of the words in it.
    ///
    /// # Errors
    /// [`DeliveryError`].
    pub async fn send(
        &self,
        signal: Signal,
        message: &impl prost::Message,
        context: &Context,
    ) -> Result<(Vec<u8>, Confidential), DeliveryError> {
        let receiver = self.settings.receiver(&context.environment.secrets).await;
        let (url, protocol) = receiver.map_err(DeliveryError::transient)?;
        let message = message.encode_to_vec();
        let is_compressed = self.settings.compression == Compression::Gzip;
        let message = match is_compressed {
            true => gzipped(&message)?,
            false => message,
        };
        let (url, body) = match protocol {
            Protocol::Grpc => {
                let origin = http::origin(&url);
                let body = grpc::framed(&message, is_compressed)?;
                (format!("{origin}{}", signal.method()), body)
            }
            Protocol::Http => (below(&url, signal.path()), message),
        };
        let what = http::name_of(&Method::POST, &url);
        let request = self
            .client(protocol, context)
            .await?
            .post(&url)
            .timeout(context.timeout)
            .headers(self.headers(context).await?)
            .body(body);
        let (answer, confidential) = match protocol {
            Protocol::Grpc => {
                // The address is the receiver's name and a fixed method.
                let confidential = Confidential::of_headers(&request);
                let timeout = context.timeout;
                let called = grpc::call(request, timeout, is_compressed, &what, &confidential);
                (called.await?, confidential)
            }
            Protocol::Http => {
                let confidential = Confidential::of(&request);
                let answer = post(request, is_compressed, &what, &confidential).await?;
                (answer, confidential)
            }
        };
        Ok((answer, confidential))
    }

    async fn client(&self, protocol: Protocol, context: &Context) -> Result<Client, DeliveryError> {
        let ca_file = self.settings.ca_file.as_deref();
        let mut client = self.client.lock().await;
        match protocol {
            Protocol::Grpc => client.get_http2(context, ca_file).await,
            Protocol::Http => client.get(context, ca_file).await,
        }
    }

    /// Returns the headers of the settings. Secrets are read each time.
    async fn headers(&self, context: &Context) -> Result<HeaderMap, DeliveryError> {
        let settings = &self.settings;
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            insert(&mut headers, name, value, false)?;
        }
        if let Some(list) = &settings.headers_from {
            let pairs = listed(&context.secret(list).await?);
            let pairs = pairs.map_err(|why| DeliveryError::transient(format!("{list}: {why}")))?;
            for (name, value) in pairs {
                insert(&mut headers, &name, &value, true)?;
            }
        }
        for (name, secret) in &settings.secret_headers {
            let value = context.secret(secret).await?;
            insert(&mut headers, name, value.expose(), true)?;
        }
        if let Some(token) = &settings.bearer_token {
            let value = format!("Bearer {}", context.secret(token).await?.expose());
            insert(&mut headers, AUTHORIZATION.as_str(), &value, true)?;
        }
        Ok(headers)
    }
}

/// Reads a list of headers.
fn listed(list: &SecretValue) -> Result<Vec<(String, String)>, String> {
    let pairs = pairs::parse(list.expose())?;
    pairs.iter().try_for_each(|(name, _)| check_name(name))?;
    Ok(pairs)
}

/// Inserts a header. Its value is in no error.
fn insert(
    headers: &mut HeaderMap,
    name: &str,
    value: &str,
    is_secret: bool,
) -> Result<(), DeliveryError> {
    let wrong = || DeliveryError::transient(format!("the header {name} cannot be sent"));
    let key = HeaderName::try_from(name).map_err(|_| wrong())?;
    let mut value = HeaderValue::try_from(value).map_err(|_| wrong())?;
    value.set_sensitive(is_secret);
    headers.insert(key, value);
    Ok(())
}

/// Appends a path to a base address.
fn below(base: &str, path: &str) -> String {
    format!("{}{path}", base.trim_end_matches('/'))
}

fn gzipped(bytes: &[u8]) -> Result<Vec<u8>, DeliveryError> {
    let mut encoder = GzEncoder::new(Vec::new(), Level::default());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.map_err(|error| DeliveryError::transient(error.to_string()))
}

/// Sends a message by HTTP. Returns the message of the answer.
async fn post(
    request: RequestBuilder,
    is_compressed: bool,
    what: &str,
    confidential: &Confidential,
) -> Result<Vec<u8>, DeliveryError> {
    let mut request = request.header(CONTENT_TYPE, PROTOBUF);
    if is_compressed {
        request = request.header(CONTENT_ENCODING, "gzip");
    }
    let sent = request.send().await;
    let mut answer = sent.map_err(|error| {
        let why = http::chain(&error);
        DeliveryError::transient(format!("{what}: {why}"))
    })?;
    let (status, headers) = (answer.status(), answer.headers().clone());
    let mut body = Vec::new();
    // The status is what counts; a body that breaks off changes nothing.
    while let Ok(Some(chunk)) = answer.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER {
            break;
        }
    }
    let retry_after = headers.get(reqwest::header::RETRY_AFTER);
    let retry_after = retry_after.and_then(|value| http::seconds(value.to_str().ok()?));
    let is_message = headers
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(PROTOBUF.as_bytes()));
    let words = match is_message {
        false => String::from_utf8_lossy(&body).into_owned(),
        true => grpc::RpcStatus::decode(body.as_slice())
            .map(|status| status.message)
            .unwrap_or_default(),
    };
    let judged = Answer {
        status,
        retry_after,
        body: confidential.hide(words),
    };
    judged.into_delivered(what)?;
    Ok(match is_message {
        true => body,
        false => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_appended_to_the_base() {
        for base in ["https://c/otlp", "https://c/otlp/"] {
            assert_eq!(
                below(base, Signal::Logs.path()),
                "https://c/otlp/v1/logs",
                "{base}"
            );
        }
        assert_eq!(
            below("http://c:4318", Signal::Metrics.path()),
            "http://c:4318/v1/metrics"
        );
    }

    #[test]
    fn lists_of_headers_name_no_header_of_gpud() {
        let list = SecretValue::new("x-key=a%20b,authorization=Basic x");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            listed(&list),
            Ok(vec![pair("x-key", "a b"), pair("authorization", "Basic x")])
        );
        assert!(listed(&SecretValue::new("Host=x")).is_err());
        assert!(listed(&SecretValue::new("hunter2")).is_err());
        let mut headers = HeaderMap::new();
        let problem = insert(&mut headers, "x-key", "hunter2\n", true).unwrap_err();
        assert!(!problem.to_string().contains("hunter2"), "{problem}");
        insert(&mut headers, "x-key", "hunter2", true).unwrap();
        assert!(!format!("{headers:?}").contains("hunter2"));
    }
}
