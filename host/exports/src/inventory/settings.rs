//! The keys of an export of the inventory.

use std::{path::PathBuf, time::Duration};

use serde::Deserialize;

#[cfg(feature = "postgres")]
use crate::postgres::{self, DatabaseServer};
use crate::{
    config::{Address, ConfigDuration},
    row_origin,
    secret::Secret,
};
#[cfg(feature = "s3")]
use crate::{
    partition,
    s3::{BucketSettings, Format},
};

/// The kind's name in the file.
pub const KIND: &str = "inventory";
/// How often the inventory is exported without a change.
const INTERVAL: Duration = Duration::from_secs(24 * 3600);

/// The keys of an export of the inventory. One of the targets is named.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Name of the cluster.
    pub cluster: String,
    /// Name of this machine's node, or `env:NAME`; the host name without it.
    pub node: Option<String>,
    /// The machine behind the node, such as the instance's id; the id of the operating system without it.
    pub machine: Option<String>,
    /// The program that reads the serial numbers; default `gpud`.
    pub source: Option<String>,
    /// How often the inventory is exported without a change.
    pub interval: Option<ConfigDuration>,
    /// To the standard output.
    #[serde(default)]
    pub stdout: bool,
    /// To an HTTP endpoint.
    pub http: Option<HttpTarget>,
    /// To a table of a database.
    #[cfg(feature = "postgres")]
    pub postgres: Option<PostgresTarget>,
    /// To a bucket.
    #[cfg(feature = "s3")]
    pub s3: Option<S3Target>,
}

/// An HTTP endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpTarget {
    /// Where to send to.
    pub url: Address,
    /// A token for the header `Authorization`.
    pub bearer_token: Option<Secret>,
    /// Further certificates to trust, PEM.
    pub ca_file: Option<PathBuf>,
}

/// A table of a database.
#[cfg(feature = "postgres")]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PostgresTarget {
    /// The database.
    pub server: DatabaseServer,
    /// Schema of the table.
    #[serde(default = "postgres::default_schema")]
    pub schema: String,
    /// Name of the table.
    #[serde(default = "default_table")]
    pub table: String,
    /// Whether the table is made if it is missing.
    #[serde(default = "postgres::yes")]
    pub create_tables: bool,
}

/// A place in a bucket.
#[cfg(feature = "s3")]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct S3Target {
    /// The bucket.
    pub bucket: BucketSettings,
    /// Beginning of all names.
    #[serde(default)]
    pub prefix: String,
    /// How readings are written; as comma-separated values without it, as gpuid does.
    #[serde(default = "csv")]
    pub format: Format,
    /// Folders by time.
    pub partition: Option<String>,
}

#[cfg(feature = "postgres")]
pub(super) fn default_table() -> String {
    "serials".to_owned()
}

#[cfg(feature = "s3")]
fn csv() -> Format {
    Format::Csv
}

#[cfg(feature = "s3")]
impl S3Target {
    /// Returns the folders by time.
    pub fn partition(&self) -> &str {
        self.partition.as_deref().unwrap_or(partition::BY_HOUR)
    }
}

impl Settings {
    /// Returns how often the inventory is exported without a change.
    pub fn interval(&self) -> Duration {
        self.interval.map_or(INTERVAL, |span| span.0)
    }

    /// Returns gpuid's name of the target.
    pub fn exporter_type(&self) -> &'static str {
        #[cfg(feature = "postgres")]
        if self.postgres.is_some() {
            return "postgres";
        }
        #[cfg(feature = "s3")]
        if self.s3.is_some() {
            return "s3";
        }
        match self.http {
            Some(_) => "http",
            None => "stdout",
        }
    }

    pub(crate) fn target(&self) -> String {
        #[cfg(feature = "postgres")]
        if let Some(target) = &self.postgres {
            return target.server.shown();
        }
        #[cfg(feature = "s3")]
        if let Some(target) = &self.s3 {
            return target.bucket.shown();
        }
        match &self.http {
            Some(target) => target.url.shown(),
            None => "the standard output".to_owned(),
        }
    }

    pub(crate) fn secrets(&self) -> Vec<Option<&Secret>> {
        let mut secrets = Vec::new();
        if let Some(target) = &self.http {
            secrets.extend([target.url.secret(), target.bearer_token.as_ref()]);
        }
        #[cfg(feature = "postgres")]
        if let Some(target) = &self.postgres {
            secrets.push(target.server.password.as_ref());
        }
        #[cfg(feature = "s3")]
        if let Some(target) = &self.s3 {
            secrets.extend(target.bucket.secrets());
        }
        secrets
    }

    fn targets(&self) -> usize {
        let mut targets = usize::from(self.stdout) + usize::from(self.http.is_some());
        #[cfg(feature = "postgres")]
        {
            targets += usize::from(self.postgres.is_some());
        }
        #[cfg(feature = "s3")]
        {
            targets += usize::from(self.s3.is_some());
        }
        targets
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        row_origin::check_name("cluster", &self.cluster)?;
        for (key, name) in [
            ("node", &self.node),
            ("machine", &self.machine),
            ("source", &self.source),
        ] {
            if let Some(name) = name {
                row_origin::check_name(key, name)?;
            }
        }
        if self.targets() != 1 {
            return Err(
                "name one target: `stdout: true`, or one of http, postgres and s3".to_owned(),
            );
        }
        if !(60..=604_800).contains(&self.interval().as_secs()) {
            return Err("interval is from 1m to 168h".to_owned());
        }
        if let Some(target) = &self.http
            && target
                .ca_file
                .as_ref()
                .is_some_and(|path| !path.is_absolute())
        {
            return Err("ca_file is no absolute path".to_owned());
        }
        #[cfg(feature = "postgres")]
        if let Some(target) = &self.postgres {
            target.server.check()?;
            postgres::check_identifier("schema", &target.schema)?;
            postgres::check_identifier("table", &target.table)?;
        }
        #[cfg(feature = "s3")]
        if let Some(target) = &self.s3 {
            target.bucket.check()?;
            if !target.prefix.is_empty() {
                partition::check_path("prefix", &target.prefix)?;
            }
            partition::check_pattern(target.partition())?;
        }
        Ok(())
    }
}
