//! The single case without a file: an endpoint that gpud's own flag names, and OpenTelemetry's variables for the rest.

use std::{path::PathBuf, time::Duration};

use super::{
    pairs,
    settings::{Compression, Protocol, Settings},
};
use crate::{
    config::{Address, ConfigDuration, ExportConfig},
    kinds,
    secret::Secret,
};

/// The variable with further headers.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// Makes the export that sends everything to an endpoint. Nothing makes gpud send but the endpoint: these variables
/// are often set for everything that runs in a pod.
///
/// # Errors
/// A variable's value is not what OpenTelemetry's specification allows, or what gpud can do.
pub fn config(
    name: &str,
    endpoint: Address,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<ExportConfig, String> {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    let mut settings = Settings::new(endpoint);
    if let Some(protocol) = set("OTEL_EXPORTER_OTLP_PROTOCOL") {
        settings.protocol = Some(match protocol.trim() {
            "grpc" => Protocol::Grpc,
            "http/protobuf" => Protocol::Http,
            other => {
                return Err(format!(
                    "OTEL_EXPORTER_OTLP_PROTOCOL is {other:?}; gpud speaks grpc and http/protobuf"
                ));
            }
        });
    }
    if let Some(compression) = set("OTEL_EXPORTER_OTLP_COMPRESSION") {
        settings.compression = match compression.trim() {
            "gzip" => Compression::Gzip,
            "none" => Compression::None,
            other => {
                return Err(format!(
                    "OTEL_EXPORTER_OTLP_COMPRESSION is {other:?}, neither gzip nor none"
                ));
            }
        };
    }
    if set(HEADERS).is_some() {
        // By reference, as a file of exports would name it.
        settings.headers_from = Some(Secret::Variable(HEADERS.to_owned()));
    }
    settings.ca_file = set("OTEL_EXPORTER_OTLP_CERTIFICATE").map(PathBuf::from);
    if let Some(attributes) = set("OTEL_RESOURCE_ATTRIBUTES") {
        let pairs = pairs::parse(&attributes);
        let pairs = pairs.map_err(|why| format!("OTEL_RESOURCE_ATTRIBUTES: {why}"))?;
        settings.resource.extend(pairs);
    }
    if let Some(name) = set("OTEL_SERVICE_NAME") {
        settings.resource.insert("service.name".to_owned(), name);
    }
    if let Some(interval) = millis("OTEL_METRIC_EXPORT_INTERVAL", 3_600_000, set)? {
        settings.interval = Some(ConfigDuration(interval));
    }
    settings.check()?;
    let mut config = ExportConfig::new(name, kinds::Settings::Otlp(Box::new(settings)));
    if let Some(timeout) = millis("OTEL_EXPORTER_OTLP_TIMEOUT", 300_000, set)? {
        config.timeout = timeout;
    }
    Ok(config)
}

/// Reads a variable with milliseconds.
fn millis(
    name: &str,
    most: u64,
    set: impl Fn(&str) -> Option<String>,
) -> Result<Option<Duration>, String> {
    let Some(value) = set(name) else {
        return Ok(None);
    };
    match value.trim().parse::<u64>() {
        Ok(millis) if (10..=most).contains(&millis) => Ok(Some(Duration::from_millis(millis))),
        _ => Err(format!(
            "{name} is {value:?}, no milliseconds from 10 to {most}"
        )),
    }
}

#[cfg(test)]
mod tests;
