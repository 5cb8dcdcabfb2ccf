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
