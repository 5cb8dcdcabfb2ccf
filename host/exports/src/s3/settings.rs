//! The keys of an export to S3.

use std::{path::PathBuf, time::Duration};

use serde::Deserialize;

use crate::{
    config::ConfigDuration,
    partition, row_origin,
    secret::{Secret, SecretSource},
};

/// The kind's name in the file.
pub const KIND: &str = "s3";
/// How long records are gathered for one object.
const GATHER: Duration = Duration::from_secs(30);

/// The keys of an export to S3.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The bucket.
    pub bucket: BucketSettings,
    /// Name of the cluster.
    pub cluster: String,
    /// Name of this machine's node, or `env:NAME`; the host name without it.
    pub node: Option<String>,
    /// Beginning of all names.
    #[serde(default)]
    pub prefix: String,
    /// How records are written.
    #[serde(default)]
    pub format: Format,
    /// Folders by time.
    partition: Option<String>,
    /// How long records are gathered for one object.
    gather: Option<ConfigDuration>,
}

/// A bucket, and how to get in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketSettings {
    /// Its name.
    pub name: String,
    /// Its region; `us-east-1` if nothing says otherwise.
    pub region: Option<String>,
    /// Address of a server that is not Amazon's.
    pub endpoint: Option<String>,
    /// Whether the bucket is in the path and not in the host name; true with an endpoint if it is not said.
    pub path_style: Option<bool>,
    /// Id of the access key.
    pub access_key_id: Option<Secret>,
    /// The secret access key.
    pub secret_access_key: Option<Secret>,
    /// The token of a session, for keys that end.
    pub session_token: Option<Secret>,
    /// Where credentials are, when no keys are named.
    pub credentials: Option<CredentialSource>,
    /// Further certificates to trust, PEM.
    pub ca_file: Option<PathBuf>,
}

/// Variables that name files with credentials.
const VARIABLES_OF_FILES: [&str; 2] = [
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
];

/// The sources of credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialSource {
    /// In the variables `AWS_…`: keys, a web identity, those of a container; else as [`Self::Instance`].
    Environment,
    /// At the metadata service of the instance.
    Instance,
}

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// JSON, a line for each record.
    #[default]
    Json,
    /// Comma-separated values.
    Csv,
}

impl Format {
    /// Returns the end of names.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Json => "jsonl",
            Self::Csv => "csv",
        }
    }

    /// Returns the content type.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/x-ndjson",
            Self::Csv => "text/csv",
        }
    }
}

impl Settings {
    /// Returns the folders by time.
    pub fn partition(&self) -> &str {
        self.partition.as_deref().unwrap_or(partition::BY_HOUR)
    }

    /// Returns how long records are gathered for one object.
    pub fn gather(&self) -> Duration {
        self.gather.map_or(GATHER, |span| span.0)
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        self.bucket.check()?;
        row_origin::check_name("cluster", &self.cluster)?;
        if let Some(node) = &self.node {
            row_origin::check_name("node", node)?;
        }
        if !self.prefix.is_empty() {
            partition::check_path("prefix", &self.prefix)?;
        }
        if self.gather() > Duration::from_secs(900) {
            return Err("gather is from 0s to 15m".to_owned());
        }
        partition::check_pattern(self.partition())
    }
}

impl BucketSettings {
    /// Returns the files with secrets that the environment names.
    pub(crate) fn further_secret_files(&self, source: &dyn SecretSource) -> Vec<PathBuf> {
        let names = match self.credentials {
            Some(CredentialSource::Environment) => &VARIABLES_OF_FILES[..],
            _ => &[],
        };
        let files = names.iter().filter_map(|name| source.variable(name));
        files.map(PathBuf::from).collect()
    }

    pub(crate) fn secrets(&self) -> Vec<Option<&Secret>> {
        let keys = [
            &self.access_key_id,
            &self.secret_access_key,
            &self.session_token,
        ];
        keys.into_iter().map(Option::as_ref).collect()
    }

    /// Returns the bucket and its server, without secrets.
    pub(crate) fn shown(&self) -> String {
        match &self.endpoint {
            Some(endpoint) => format!("{} at {}", self.name, crate::http::origin(endpoint)),
            None => format!("s3://{}", self.name),
        }
    }

    /// Returns the address that the library wants: with the bucket in the host name where it is wanted there.
    pub(crate) fn address(&self) -> Option<String> {
        let endpoint = self.endpoint.as_ref()?;
        let endpoint = endpoint.trim_end_matches('/');
        if self.is_path_style() {
            return Some(endpoint.to_owned());
        }
        let (scheme, host) = endpoint.split_once("://")?;
        Some(format!("{scheme}://{}.{host}", self.name))
    }

    /// Returns true if the bucket is in the path.
    pub(crate) fn is_path_style(&self) -> bool {
        self.path_style.unwrap_or(self.endpoint.is_some())
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let length = self.name.len();
        if !(3..=255).contains(&length) || !self.name.chars().all(fits) {
            return Err(format!("{:?} is no name of a bucket", self.name));
        }
        if let Some(region) = &self.region
            && (region.is_empty() || !region.chars().all(fits))
        {
            return Err(format!("{region:?} is no region"));
        }
        if let Some(endpoint) = &self.endpoint {
            let url = reqwest::Url::parse(endpoint);
            let is_address = |url: &reqwest::Url| {
                matches!(url.scheme(), "http" | "https")
                    && url.has_host()
                    && url.username().is_empty()
                    && url.password().is_none()
                    && url.query().is_none()
            };
            if !url.is_ok_and(|url| is_address(&url)) {
                return Err("endpoint is no address such as https://host:9000".to_owned());
            }
        }
        if self
            .ca_file
            .as_ref()
            .is_some_and(|path| !path.is_absolute())
        {
            return Err("ca_file is no absolute path".to_owned());
        }
        let keys = (&self.access_key_id, &self.secret_access_key);
        match (keys, self.credentials) {
            ((Some(_), Some(_)), None) => Ok(()),
            ((None, None), Some(_)) if self.session_token.is_none() => Ok(()),
            _ => Err("the bucket wants access_key_id and secret_access_key, or \
                      credentials: environment or instance"
                .to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(yaml: &str) -> Result<Settings, String> {
        let read: Settings = serde_yaml::from_str(yaml)
            .map_err(|error: serde_yaml::Error| error.without_snippet().to_string())?;
        read.check().map(|()| read)
    }

    const KEYS: &str = "access_key_id: env:A, secret_access_key: file:/b";

    #[test]
    fn addresses_are_of_the_style_that_is_wanted() {
        for (more, shown, address) in [
            ("", "s3://bkt", None),
            (
                "endpoint: 'http://minio:9000/'",
                "bkt at http://minio:9000",
                Some("http://minio:9000"),
            ),
            (
                "endpoint: 'https://s3.example.com', path_style: false",
                "bkt at https://s3.example.com",
                Some("https://bkt.s3.example.com"),
            ),
        ] {
            let yaml = format!("{{bucket: {{name: bkt, {KEYS}, {more}}}, cluster: c}}");
            let read = settings(&yaml).unwrap();
            assert_eq!(read.bucket.shown(), shown);
            assert_eq!(read.bucket.address().as_deref(), address);
            assert_eq!(read.gather().as_secs(), 30);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (yaml, problem) in [
            (
                "{bucket: {name: bkt, credentials: environment}}".to_owned(),
                "cluster",
            ),
            (
                "{bucket: {name: bkt}, cluster: c}".to_owned(),
                "wants access_key_id",
            ),
            (
                format!("{{bucket: {{name: bkt, {KEYS}, credentials: instance}}, cluster: c}}"),
                "wants",
            ),
            (
                "{bucket: {name: bkt, access_key_id: AKIA}, cluster: c}".to_owned(),
                "env:NAME or file:",
            ),
            (
                "{bucket: {name: 'a b', credentials: instance}, cluster: c}".to_owned(),
                "no name of a bucket",
            ),
            (
                format!("{{bucket: {{name: bkt, {KEYS}, endpoint: minio}}, cluster: c}}"),
                "endpoint is no address",
            ),
            (
                format!(
                    "{{bucket: {{name: bkt, {KEYS}, endpoint: 'http://u:hunter2@h'}}, cluster: c}}"
                ),
                "endpoint is no address",
            ),
            (
                format!("{{bucket: {{name: bkt, {KEYS}}}, cluster: c, prefix: /a}}"),
                "prefix",
            ),
            (
                format!("{{bucket: {{name: bkt, {KEYS}}}, cluster: c, partition: '%S'}}"),
                "partition",
            ),
            (
                format!("{{bucket: {{name: bkt, {KEYS}}}, cluster: c, gather: 1h}}"),
                "gather is from",
            ),
            (
                format!("{{bucket: {{name: bkt, {KEYS}}}, cluster: c, format: parquet}}"),
                "parquet",
            ),
        ] {
            let found = settings(&yaml).unwrap_err();
            assert!(found.contains(problem), "{yaml}: {found}");
            assert!(
                !found.contains("hunter2") && !found.contains("AKIA"),
                "{found}"
            );
        }
    }
}
