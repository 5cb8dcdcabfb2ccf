use super::*;

fn settings(yaml: &str) -> Result<Settings, String> {
    let read: Settings = serde_yaml::from_str(yaml)
        .map_err(|error: serde_yaml::Error| error.without_snippet().to_string())?;
    read.check().map(|()| read)
}

#[test]
fn defaults_verify_the_server() {
    let read = settings("server: {host: db, database: d, user: u}").unwrap();
    assert_eq!(read.server.tls, TlsMode::VerifyFull);
    assert_eq!(read.server.shown(), "db:5432/d");
    assert_eq!(
        (read.schema.as_str(), read.table_prefix.as_str()),
        ("public", "gpud_")
    );
    assert!(read.create_tables);
}

#[test]
fn what_does_not_fit_is_refused() {
    let server = |more: &str| format!("server: {{host: db, database: d, user: u{more}}}");
    for (yaml, problem) in [
        ("cluster: c".to_owned(), "server"),
        (server(", password: hunter2"), "env:NAME or file:"),
        (server(", port: 0"), "port is from 1"),
        (server(", tls: prefer"), "prefer"),
        (server(", tls: require, ca_file: /ca.pem"), "ca_file is for"),
        (server(", ca_file: ca.pem"), "no absolute path"),
        (server(", owner: pg"), "owner is for"),
        (server("") + "\ntable_prefix: 'a; drop'", "table_prefix"),
        (server("") + "\nschema: 1a", "schema"),
        (server("") + "\nnode: ''", "node is a name"),
    ] {
        let found = settings(&yaml).unwrap_err();
        assert!(found.contains(problem), "{yaml}: {found}");
        assert!(!found.contains("hunter2"), "{found}");
    }
    settings(&(server(", tls: verify-ca, ca_file: /ca.pem") + "\ntable_prefix: ''")).unwrap();
}
