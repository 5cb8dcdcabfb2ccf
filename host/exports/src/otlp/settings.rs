//! The keys of an export by OTLP.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use reqwest::{
    Url,
    header::{HeaderName, HeaderValue},
};
use serde::Deserialize;

use crate::{
    config::{Address, ConfigDuration},
    secret::{Secret, SecretSource},
};

/// The kind's name in the file.
pub const KIND: &str = "otlp";
/// The port on which receivers take gRPC.
const GRPC_PORT: u16 = 4317;
/// The default endpoint of gRPC.
const LOCAL_GRPC: &str = "http://localhost:4317";
/// The default endpoint of HTTP.
const LOCAL_HTTP: &str = "http://localhost:4318";
/// How often metrics are sent.
const INTERVAL: Duration = Duration::from_secs(60);
/// Headers that gpud sets itself, besides `grpc-…`.
const RESERVED: [&str; 7] = [
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "te",
    "transfer-encoding",
    "user-agent",
];

/// The keys of an export by OTLP.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Base address of the receiver.
    pub endpoint: Option<Address>,
    /// How it is spoken to; without it the port decides.
    pub protocol: Option<Protocol>,
    /// How requests are compressed.
    #[serde(default)]
    pub compression: Compression,
    /// Further headers. They are no place for secrets.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Further headers whose values are secrets.
    #[serde(default)]
    pub secret_headers: BTreeMap<String, Secret>,
    /// A list of further headers, as `OTEL_EXPORTER_OTLP_HEADERS` has it.
    pub headers_from: Option<Secret>,
    /// A token for the header `Authorization`.
    pub bearer_token: Option<Secret>,
    /// Further certificates to trust, PEM.
    pub ca_file: Option<PathBuf>,
    /// Whether metrics are sent.
    #[serde(default = "yes")]
    pub metrics: bool,
    /// Whether changes of health and events are sent, as log records.
    #[serde(default = "yes")]
    pub logs: bool,
    /// How often metrics are sent.
    pub(super) interval: Option<ConfigDuration>,
    /// Further attributes of the resource; they replace those that gpud sets.
    #[serde(default)]
    pub resource: BTreeMap<String, String>,
}

/// How a receiver is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Protocol {
    /// gRPC over HTTP/2.
    #[serde(rename = "grpc")]
    Grpc,
    /// Protobuf over HTTP/1.1.
    #[serde(rename = "http/protobuf")]
    Http,
}

/// How requests are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// With gzip.
    #[default]
    Gzip,
    /// Not at all.
    None,
}

fn yes() -> bool {
    true
}

impl Settings {
    /// Makes those that send everything to an address.
    pub fn new(endpoint: Address) -> Self {
        Self {
            endpoint: Some(endpoint),
            protocol: None,
            compression: Compression::default(),
            headers: BTreeMap::new(),
            secret_headers: BTreeMap::new(),
            headers_from: None,
            bearer_token: None,
            ca_file: None,
            metrics: true,
            logs: true,
            interval: None,
            resource: BTreeMap::new(),
        }
    }

    /// Returns how often metrics are sent.
    pub fn interval(&self) -> Duration {
        self.interval.map_or(INTERVAL, |span| span.0)
    }

    /// Returns the address as it is now, and how it is spoken to.
    ///
    /// # Errors
    /// The address cannot be read.
    pub async fn receiver(
        &self,
        secrets: &Arc<dyn SecretSource>,
    ) -> Result<(String, Protocol), String> {
        let url = match &self.endpoint {
            Some(endpoint) => endpoint.read(secrets).await?,
            None => self.local().to_owned(),
        };
        let protocol = self.protocol.unwrap_or_else(|| protocol_of(&url));
        Ok((url, protocol))
    }

    fn local(&self) -> &'static str {
        match self.protocol {
            Some(Protocol::Grpc) => LOCAL_GRPC,
            _ => LOCAL_HTTP,
        }
    }

    pub(crate) fn target(&self) -> String {
        match &self.endpoint {
            Some(endpoint) => endpoint.shown(),
            None => self.local().to_owned(),
        }
    }

    pub(crate) fn secrets(&self) -> Vec<Option<&Secret>> {
        let endpoint = self.endpoint.as_ref().and_then(Address::secret);
        let single = [
            endpoint,
            self.headers_from.as_ref(),
            self.bearer_token.as_ref(),
        ];
        let headers = self.secret_headers.values().map(Some);
        single.into_iter().chain(headers).collect()
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, value) in &self.headers {
            check_name(name)?;
            if name.eq_ignore_ascii_case("authorization") {
                return Err(
                    "the header authorization is a secret; use bearer_token or secret_headers"
                        .to_owned(),
                );
            }
            if HeaderValue::try_from(value).is_err() {
                return Err(format!("the header {name} is no valid header"));
            }
        }
        self.secret_headers.keys().try_for_each(|n| check_name(n))?;
        if self.ca_file.as_ref().is_some_and(|p| !p.is_absolute()) {
            return Err("ca_file is no absolute path".to_owned());
        }
        if !self.metrics && !self.logs {
            return Err("metrics and logs are both off: nothing would be sent".to_owned());
        }
        if !(1..=3600).contains(&self.interval().as_secs()) {
            return Err("interval is from 1s to 1h".to_owned());
        }
        if self.resource.keys().any(String::is_empty) {
            return Err("an attribute of resource has no name".to_owned());
        }
        Ok(())
    }
}

/// Checks the name of a header.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let lower = name.to_ascii_lowercase();
    if RESERVED.contains(&lower.as_str()) || lower.starts_with("grpc-") {
        return Err(format!("the header {name} is set by gpud"));
    }
    match HeaderName::try_from(name) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("the header {name} is no valid header")),
    }
}

/// Returns the protocol that receivers speak on the port of an address.
fn protocol_of(url: &str) -> Protocol {
    match Url::parse(url).ok().and_then(|url| url.port()) {
        Some(GRPC_PORT) => Protocol::Grpc,
        _ => Protocol::Http,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::tests::AnyFile;

    fn settings(yaml: &str) -> Result<Settings, String> {
        let read: Settings = serde_yaml::from_str(yaml).map_err(|error| error.to_string())?;
        read.check().map(|()| read)
    }

    #[tokio::test]
    async fn the_protocol_is_that_of_the_settings_or_of_the_port() {
        let secrets: Arc<dyn SecretSource> = Arc::new(AnyFile);
        for (yaml, url, protocol) in [
            ("{}", "http://localhost:4318", Protocol::Http),
            ("protocol: grpc", "http://localhost:4317", Protocol::Grpc),
            ("endpoint: http://c:4317", "http://c:4317", Protocol::Grpc),
            ("endpoint: http://c:4318", "http://c:4318", Protocol::Http),
            ("endpoint: https://c/otlp", "https://c/otlp", Protocol::Http),
            (
                "endpoint: https://c:443\nprotocol: grpc",
                "https://c:443",
                Protocol::Grpc,
            ),
            (
                "endpoint: http://c:4317\nprotocol: http/protobuf",
                "http://c:4317",
                Protocol::Http,
            ),
        ] {
            let found = settings(yaml).unwrap().receiver(&secrets).await.unwrap();
            assert_eq!(found, (url.to_owned(), protocol), "{yaml}");
        }
    }

    #[test]
    fn everything_may_be_left_out() {
        let settings = settings("{}").unwrap();
        assert!(settings.metrics && settings.logs);
        assert_eq!(settings.interval(), Duration::from_secs(60));
        assert_eq!(settings.compression, Compression::Gzip);
        assert_eq!(settings.target(), "http://localhost:4318");
        assert!(settings.secrets().into_iter().flatten().next().is_none());
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        for (yaml, problem) in [
            ("endpoint: collector:4317", "an address such as"),
            ("protocol: http/json", "unknown variant"),
            ("compression: zstd", "unknown variant"),
            ("headers: {TE: x}", "the header TE is set by gpud"),
            ("headers: {grpc-timeout: x}", "is set by gpud"),
            ("headers: {a b: x}", "is no valid header"),
            ("headers: {Authorization: x}", "use bearer_token"),
            ("secret_headers: {x-key: hunter2}", "env:NAME or file:"),
            ("secret_headers: {Host: 'env:A'}", "is set by gpud"),
            ("ca_file: ca.pem", "no absolute path"),
            ("metrics: false\nlogs: false", "nothing would be sent"),
            ("interval: 500ms", "interval is from"),
            ("interval: 2h", "interval is from"),
            ("resource: {'': x}", "has no name"),
            ("url: http://c", "unknown field"),
        ] {
            let found = settings(yaml).unwrap_err();
            assert!(found.contains(problem), "{yaml}: {found}");
        }
        let yaml = "secret_headers: {authorization: 'env:A', x-key: 'file:/b'}\nheaders_from: env:C\nbearer_token: env:D";
        let settings = settings(yaml).unwrap();
        let named: Vec<String> = settings
            .secrets()
            .into_iter()
            .flatten()
            .map(ToString::to_string)
            .collect();
        assert_eq!(named, ["env:C", "env:D", "env:A", "file:/b"]);
    }
}
