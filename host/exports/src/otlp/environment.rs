//! The single case without a file: an endpoint that gpud's own flag names, and OpenTelemetry's variables for the rest.

use std::{path::PathBuf, time::Duration};

use super::{
    pairs,
    settings::{Compression, Protocol, Settings},
};
use crate::{
    config::{Address, ExportConfig, Span},
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
        settings.interval = Some(Span(interval));
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
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<(Settings, Duration), String> {
        let endpoint = Address::parse("http://collector:4317").unwrap();
        let variable = |name: &str| {
            let mut found = variables.iter().filter(|(known, _)| *known == name);
            found.next().map(|(_, value)| (*value).to_owned())
        };
        let config = config("otlp", endpoint, variable)?;
        assert_eq!(config.name, "otlp");
        let kinds::Settings::Otlp(settings) = config.settings else {
            panic!("another kind");
        };
        Ok((*settings, config.timeout))
    }

    #[test]
    fn opentelemetrys_variables_say_the_rest() {
        let (settings, timeout) = read(&[]).unwrap();
        assert_eq!(
            settings,
            Settings::new(Address::parse("http://collector:4317").unwrap())
        );
        assert_eq!(timeout, Duration::from_secs(10));
        let (settings, timeout) = read(&[
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "none"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=hunter2"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/etc/ca.pem"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "15000"),
            (
                "OTEL_RESOURCE_ATTRIBUTES",
                "deployment.environment.name=prod,service.name=other",
            ),
            ("OTEL_SERVICE_NAME", "node health"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://never.used"),
        ])
        .unwrap();
        assert_eq!(settings.protocol, Some(Protocol::Http));
        assert_eq!(settings.compression, Compression::None);
        assert_eq!(settings.interval(), Duration::from_secs(15));
        assert_eq!(timeout, Duration::from_millis(2500));
        assert_eq!(settings.target(), "http://collector:4317");
        assert_eq!(
            settings.ca_file.as_deref(),
            Some(std::path::Path::new("/etc/ca.pem"))
        );
        let resource: Vec<_> = settings.resource.iter().collect();
        assert_eq!(
            format!("{resource:?}"),
            r#"[("deployment.environment.name", "prod"), ("service.name", "node health")]"#
        );
        let shown = format!("{settings:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("env:OTEL_EXPORTER_OTLP_HEADERS"), "{shown}");
    }

    #[test]
    fn what_gpud_cannot_do_is_refused() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "ca.pem"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "0"),
            ("OTEL_RESOURCE_ATTRIBUTES", "prod"),
        ] {
            assert!(read(&[(name, value)]).is_err(), "{name}");
            assert!(read(&[(name, " ")]).is_ok(), "{name} that is empty");
        }
    }
}
