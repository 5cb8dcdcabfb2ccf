//! The keys of an export to PostgreSQL.

use std::path::PathBuf;

use serde::Deserialize;

use crate::{row_origin, secret::Secret};

/// The kind's name in the file.
pub const KIND: &str = "postgres";
/// Longest identifier of settings; PostgreSQL's limit is 63 bytes, and names of indexes have more behind it.
const MAX_IDENTIFIER: usize = 32;

/// The keys of an export to PostgreSQL.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The database.
    pub server: DatabaseServer,
    /// Name of the cluster, for the column `cluster`.
    #[serde(default)]
    pub cluster: String,
    /// Name of this machine's node, or `env:NAME`; the host name without it.
    pub node: Option<String>,
    /// Schema of the tables.
    #[serde(default = "default_schema")]
    pub schema: String,
    /// Beginning of the tables' names.
    #[serde(default = "default_prefix")]
    pub table_prefix: String,
    /// Whether missing tables are made.
    #[serde(default = "yes")]
    pub create_tables: bool,
}

/// A database, and how to log in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseServer {
    /// Host name or address; or the folder of a Unix socket.
    pub host: String,
    /// Port.
    #[serde(default = "default_port")]
    pub port: u16,
    /// Name of the database.
    pub database: String,
    /// Name of the role.
    pub user: String,
    /// Its password.
    pub password: Option<Secret>,
    /// Whether the connection is encrypted, and the server verified.
    #[serde(default)]
    pub tls: TlsMode,
    /// Further certificates to trust, PEM.
    pub ca_file: Option<PathBuf>,
    /// User of the server behind a Unix socket, by name or number; `postgres` without it.
    pub owner: Option<String>,
}

/// Whether a connection is encrypted and the server verified, with libpq's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// Not encrypted.
    Disable,
    /// Encrypted; any server that answers is believed.
    Require,
    /// The certificate must be of a trusted authority, for whatever name.
    VerifyCa,
    /// The certificate must be of a trusted authority and for the server's name.
    #[default]
    VerifyFull,
}

pub(crate) fn yes() -> bool {
    true
}

pub(crate) fn default_port() -> u16 {
    5432
}

pub(crate) fn default_schema() -> String {
    "public".to_owned()
}

fn default_prefix() -> String {
    "gpud_".to_owned()
}

impl Settings {
    pub(crate) fn check(&self) -> Result<(), String> {
        self.server.check()?;
        if !self.cluster.is_empty() {
            row_origin::check_name("cluster", &self.cluster)?;
        }
        if let Some(node) = &self.node {
            row_origin::check_name("node", node)?;
        }
        check_identifier("schema", &self.schema)?;
        if self.table_prefix.is_empty() {
            return Ok(());
        }
        check_identifier("table_prefix", &self.table_prefix)
    }
}

impl DatabaseServer {
    /// Returns true if `host` is the folder of a Unix socket.
    pub(crate) fn is_socket(&self) -> bool {
        self.host.starts_with('/')
    }

    /// Returns host, port and database, without secrets.
    pub(crate) fn shown(&self) -> String {
        let (host, port, database) = (&self.host, self.port, &self.database);
        match self.host.contains(':') {
            true => format!("[{host}]:{port}/{database}"),
            false => format!("{host}:{port}/{database}"),
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        for (key, value) in [
            ("host", &self.host),
            ("database", &self.database),
            ("user", &self.user),
        ] {
            row_origin::check_name(key, value)?;
        }
        if self.port == 0 {
            return Err("port is from 1 to 65535".to_owned());
        }
        if self
            .ca_file
            .as_ref()
            .is_some_and(|path| !path.is_absolute())
        {
            return Err("ca_file is no absolute path".to_owned());
        }
        if self.owner.is_some() && !self.is_socket() {
            return Err("owner is for a host that is the folder of a Unix socket".to_owned());
        }
        let is_verified = matches!(self.tls, TlsMode::VerifyCa | TlsMode::VerifyFull);
        if self.ca_file.is_some() && !is_verified {
            return Err("ca_file is for tls: verify-ca or verify-full".to_owned());
        }
        Ok(())
    }
}

/// Checks the name of a schema, a table or the beginning of one.
pub(crate) fn check_identifier(key: &str, name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins_well = !name.starts_with(|c: char| c.is_ascii_digit());
    if name.is_empty() || name.len() > MAX_IDENTIFIER || !name.chars().all(fits) || !begins_well {
        return Err(format!(
            "{key} {name:?} is not 1 to {MAX_IDENTIFIER} small letters, digits and underscores"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
