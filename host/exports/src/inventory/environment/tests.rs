use super::*;

fn read(variables: &[(&str, &str)]) -> Result<(Settings, Duration), VariableError> {
    settings(|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn standard_output_is_the_default() {
    let (settings, timeout) = read(&[
        ("CLUSTER_NAME", "c1"),
        ("NODE_NAME", "n1"),
        ("POD_NAME", "p"),
        ("POD_NAMESPACE", "ns"),
    ])
    .unwrap();
    assert_eq!(settings.exporter_type(), "stdout");
    assert_eq!(settings.node.as_deref(), Some("n1"));
    assert_eq!(settings.source.as_deref(), Some("ns/p"));
    assert_eq!(timeout.as_secs(), 30);
    assert_eq!(read(&[]), Err(VariableError::Missing("CLUSTER_NAME")));
    let odd = read(&[("CLUSTER_NAME", "c"), ("EXPORTER_TYPE", "kafka")]);
    assert!(odd.unwrap_err().to_string().contains("stdout, http"));
}

#[test]
fn http() {
    let base = [("CLUSTER_NAME", "c1"), ("EXPORTER_TYPE", "http")];
    let with = |more: &[(&'static str, &'static str)]| read(&[&base[..], more].concat());
    assert_eq!(with(&[]), Err(VariableError::Missing("HTTP_ENDPOINT")));
    let (settings, timeout) = with(&[
        ("HTTP_ENDPOINT", "https://h/x"),
        ("HTTP_TIMEOUT", "1m30s"),
        ("HTTP_AUTH_TOKEN", "hunter2"),
    ])
    .unwrap();
    assert_eq!(timeout.as_secs(), 90);
    let secrets: Vec<String> = settings
        .secrets()
        .into_iter()
        .flatten()
        .map(ToString::to_string)
        .collect();
    assert_eq!(secrets, ["env:HTTP_AUTH_TOKEN"]);
    assert!(!format!("{settings:?}").contains("hunter2"));
    for timeout in ["30", "1d", "-1s", "0s", "", "10m", "1e9s"] {
        let odd = with(&[("HTTP_ENDPOINT", "https://h"), ("HTTP_TIMEOUT", timeout)]);
        assert_eq!(odd.is_err(), !timeout.is_empty(), "{timeout}");
    }
}

#[cfg(feature = "postgres")]
#[test]
fn postgres() {
    let base = [
        ("CLUSTER_NAME", "c1"),
        ("EXPORTER_TYPE", "postgres"),
        ("POSTGRES_HOST", "db"),
        ("POSTGRES_DB", "gpuid"),
        ("POSTGRES_USER", "u"),
        ("POSTGRES_PASSWORD", "hunter2"),
    ];
    let with = |more: &[(&'static str, &'static str)]| read(&[&base[..], more].concat());
    let target = with(&[]).unwrap().0.postgres.unwrap();
    assert_eq!(target.server.shown(), "db:5432/gpuid");
    assert_eq!(target.server.tls, TlsMode::Require);
    assert_eq!(
        (target.table.as_str(), target.create_tables),
        ("serials", true)
    );
    let target = with(&[
        ("POSTGRES_TABLE", "GPUs"),
        ("POSTGRES_SSLMODE", "verify-full"),
        ("POSTGRES_PORT", "6432"),
        ("POSTGRES_AUTO_MIGRATE", "false"),
    ]);
    let target = target.unwrap().0.postgres.unwrap();
    assert_eq!((target.table.as_str(), target.server.port), ("gpus", 6432));
    assert!(!target.create_tables);
    for (name, value) in [
        ("POSTGRES_PORT", "0"),
        ("POSTGRES_PORT", "99999"),
        ("POSTGRES_SSLMODE", "prefer"),
        ("POSTGRES_TABLE", "a; drop"),
    ] {
        assert!(with(&[(name, value)]).is_err(), "{name}={value}");
    }
    let missing = read(&base[..3]);
    assert_eq!(missing, Err(VariableError::Missing("POSTGRES_DB")));
}

#[cfg(feature = "s3")]
#[test]
fn s3() {
    let (settings, _) = read(&[
        ("CLUSTER_NAME", "c1"),
        ("EXPORTER_TYPE", "s3"),
        ("S3_BUCKET", "gpuids"),
        ("S3_PREFIX", "/serial-numbers/"),
        ("S3_PARTITION_PATTERN", "year=%Y/month=%m"),
    ])
    .unwrap();
    let target = settings.s3.unwrap();
    assert_eq!(target.prefix, "serial-numbers");
    assert_eq!(target.partition(), "year=%Y/month=%m");
    assert_eq!(target.bucket.shown(), "s3://gpuids");
    assert_eq!(
        target.bucket.credentials,
        Some(CredentialSource::Environment)
    );
}
