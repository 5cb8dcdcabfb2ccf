//! Settings from gpuid's variables, for those who move from it.

use std::time::Duration;

#[cfg(feature = "s3")]
use super::settings::S3Target;
use super::settings::{HttpTarget, Settings};
#[cfg(feature = "postgres")]
use super::settings::{PostgresTarget, default_table};
#[cfg(feature = "postgres")]
use crate::postgres::{self, DatabaseServer, TlsMode};
#[cfg(feature = "s3")]
use crate::s3::{BucketSettings, CredentialSource, Format};
use crate::{config::Address, secret::Secret};

/// The time limit of one delivery that gpuid has.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Why the variables make no export.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VariableError {
    /// A variable is missing.
    #[error("the environment variable {0} is not set")]
    Missing(&'static str),
    /// A value is none that fits. It is not repeated.
    #[error("the environment variable {name} is no {wanted}")]
    Wrong {
        /// The variable.
        name: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// The values do not fit together.
    #[error("the environment's settings of the inventory: {0}")]
    Unfit(String),
}

/// Reads gpuid's variables, each by `variable`. Returns the settings, and the time limit of one delivery.
///
/// # Errors
/// [`VariableError`].
pub fn settings(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(Settings, Duration), VariableError> {
    let get = |name: &'static str| variable(name).filter(|value| !value.trim().is_empty());
    let required = |name| get(name).ok_or(VariableError::Missing(name));
    let pod = get("POD_NAME").map(|pod| match get("POD_NAMESPACE") {
        Some(namespace) => format!("{namespace}/{pod}"),
        None => pod,
    });
    let mut settings = Settings {
        cluster: required("CLUSTER_NAME")?,
        node: get("NODE_NAME"),
        source: pod,
        ..Settings::default()
    };
    let mut timeout = TIMEOUT;
    match get("EXPORTER_TYPE").as_deref() {
        None | Some("stdout") => settings.stdout = true,
        Some("http") => {
            if let Some(text) = get("HTTP_TIMEOUT") {
                timeout = duration(&text).ok_or(VariableError::Wrong {
                    name: "HTTP_TIMEOUT",
                    wanted: "duration from 10ms to 5m, such as 30s or 1m30s",
                })?;
            }
            settings.http = Some(HttpTarget {
                url: Address::parse(&required("HTTP_ENDPOINT")?).ok_or(VariableError::Wrong {
                    name: "HTTP_ENDPOINT",
                    wanted: "address such as https://host/path",
                })?,
                bearer_token: secret(&get, "HTTP_AUTH_TOKEN"),
                ca_file: None,
            });
        }
        #[cfg(feature = "postgres")]
        Some("postgres") => settings.postgres = Some(postgres_target(&get)?),
        #[cfg(feature = "s3")]
        Some("s3") => {
            settings.s3 = Some(S3Target {
                bucket: BucketSettings {
                    name: required("S3_BUCKET")?,
                    region: get("S3_REGION"),
                    endpoint: None,
                    path_style: None,
                    access_key_id: None,
                    secret_access_key: None,
                    session_token: None,
                    credentials: Some(CredentialSource::Environment),
                    ca_file: None,
                },
                prefix: get("S3_PREFIX")
                    .map(|prefix| prefix.trim_matches('/').to_owned())
                    .unwrap_or_default(),
                format: Format::Csv,
                partition: get("S3_PARTITION_PATTERN"),
            });
        }
        Some(_) => {
            return Err(VariableError::Wrong {
                name: "EXPORTER_TYPE",
                wanted: "stdout, http, postgres or s3",
            });
        }
    }
    settings.check().map_err(VariableError::Unfit)?;
    Ok((settings, timeout))
}

/// Names a variable as the place of a secret, if it is set.
fn secret(get: &impl Fn(&'static str) -> Option<String>, name: &'static str) -> Option<Secret> {
    get(name).map(|_| Secret::Variable(name.to_owned()))
}

#[cfg(feature = "postgres")]
fn postgres_target(
    get: &impl Fn(&'static str) -> Option<String>,
) -> Result<PostgresTarget, VariableError> {
    let required = |name| get(name).ok_or(VariableError::Missing(name));
    let port = match get("POSTGRES_PORT") {
        None => postgres::default_port(),
        Some(text) => text.trim().parse().map_err(|_| VariableError::Wrong {
            name: "POSTGRES_PORT",
            wanted: "port from 1 to 65535",
        })?,
    };
    let tls = match get("POSTGRES_SSLMODE").as_deref() {
        None | Some("require") => TlsMode::Require,
        Some("disable") => TlsMode::Disable,
        Some("verify-ca") => TlsMode::VerifyCa,
        Some("verify-full") => TlsMode::VerifyFull,
        Some(_) => {
            return Err(VariableError::Wrong {
                name: "POSTGRES_SSLMODE",
                wanted: "disable, require, verify-ca or verify-full",
            });
        }
    };
    let migrate = get("POSTGRES_AUTO_MIGRATE");
    Ok(PostgresTarget {
        server: DatabaseServer {
            host: required("POSTGRES_HOST")?,
            port,
            database: required("POSTGRES_DB")?,
            user: required("POSTGRES_USER")?,
            password: secret(get, "POSTGRES_PASSWORD"),
            tls,
            ca_file: None,
            owner: None,
        },
        schema: postgres::default_schema(),
        // Without quotation marks the database has it in small letters.
        table: get("POSTGRES_TABLE").map_or_else(default_table, |name| name.to_ascii_lowercase()),
        create_tables: !migrate.is_some_and(|text| text.eq_ignore_ascii_case("false")),
    })
}

/// Reads a duration of Go, such as `30s`, `1m30s` or `500ms`, within the bounds of a time limit.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut whole = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at_checked(digits)?;
        let end = behind
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(behind.len());
        let (unit, next) = behind.split_at_checked(end)?;
        let seconds = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 0.001,
            _ => return None,
        };
        let number: f64 = number.parse().ok()?;
        whole = whole.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        rest = next;
    }
    let bounds = Duration::from_millis(10)..=Duration::from_secs(300);
    bounds.contains(&whole).then_some(whole)
}

#[cfg(test)]
mod tests;
