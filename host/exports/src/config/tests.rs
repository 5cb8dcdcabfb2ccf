use super::*;

fn problem(text: &str) -> String {
    parse("f.yaml", text).unwrap_err().to_string()
}

const WHOLE: &str = r#"
exports:
  - name: ops
    kind: webhook
    url: https://hooks.example.com/gpud
    secret: file:/etc/gpud/webhook.key
    mode: structured
    headers: {x-team: gpu}
    timeout: 3s
    queue_records: 50
    batch_records: 10
    spool: 1MiB
    longest_pause: 2m
    peer_user: otel
    select:
      records: events
      min_severity: warning
      components: ["accelerator-*", "-disk"]
  - {name: chat, kind: webhook, url: "env:CHAT_URL", spool: 0, template: '{"text": "{{ summary }}"}'}
  - kind: alertmanager
    name: alerts
    url: http://alertmanager:9093
    labels: {cluster: c1}
"#;

#[test]
fn a_whole_file_is_read() {
    let configs = parse("f", WHOLE).unwrap();
    let names: Vec<_> = configs
        .iter()
        .map(|c| (c.name.as_str(), c.settings.kind()))
        .collect();
    assert_eq!(
        names,
        [
            ("ops", "webhook"),
            ("chat", "webhook"),
            ("alerts", "alertmanager")
        ]
    );
    let ops = &configs[0];
    assert_eq!(
        (
            ops.timeout.as_secs(),
            ops.queue_records,
            ops.batch_records,
            ops.spool_bytes
        ),
        (3, 50, 10, Some(1 << 20))
    );
    assert_eq!(ops.longest_pause.as_secs(), 120);
    assert_eq!(ops.peer_user.as_deref(), Some("otel"));
    assert_eq!(ops.select.components, ["accelerator-*", "-disk"]);
    assert_eq!(ops.settings.target(), "https://hooks.example.com");
    let files: Vec<_> = configs
        .iter()
        .flat_map(|c| c.settings.secrets())
        .map(ToString::to_string)
        .collect();
    assert_eq!(files, ["file:/etc/gpud/webhook.key", "env:CHAT_URL"]);
    assert_eq!(configs[1].spool_bytes, None);
    assert_eq!(configs[1].settings.target(), "env:CHAT_URL");
    assert!(
        !format!("{configs:?}").contains("/gpud\""),
        "paths of addresses may be secrets"
    );
    for empty in ["", "# nothing\n", "exports:\n", "exports: []", "{}"] {
        assert_eq!(parse("f", empty), Ok(Vec::new()), "{empty:?}");
    }
}

#[test]
fn errors_have_a_place_and_a_remedy() {
    for (text, expected) in [
        ("exports: [\n", ""),
        (
            "export: []\n",
            "unknown key `export`; the keys here are: exports",
        ),
        ("exports: 5\n", ""),
        ("exports: [5]\n", ""),
        (
            "exports:\n  - kind: webhook\n    url: http://a\n",
            "the key `name` is missing",
        ),
        ("exports:\n  - name: a\n", "the key `kind` is missing"),
        (
            "exports:\n  - name: a\n    kind: webhok\n",
            "f.yaml:3:11: there is no kind \"webhok\"; the kinds are alertmanager, inventory, kubernetes, otlp, postgres, s3, webhook",
        ),
        (
            "exports:\n  - name: A b\n    kind: webhook\n    url: http://a\n",
            "f.yaml:2:11: the name \"A b\" is not 1 to 40 small letters",
        ),
        (
            "exports:\n  - {name: a, kind: webhook, url: 'http://a'}\n  - {name: a, kind: webhook, url: 'http://b'}\n",
            "f.yaml:3:12: two exports have the name \"a\"",
        ),
    ] {
        let found = problem(text);
        assert!(
            found.starts_with("f.yaml:") && found.contains(expected),
            "{text}: {found}"
        );
    }
}

#[test]
fn errors_in_the_keys_of_an_export() {
    for (keys, expected) in [
        (
            "urll: http://a",
            "f.yaml:4:5: unknown key `urll`; the keys here are: name, kind, select",
        ),
        ("url: hooks.example/secret-path", "an address such as"),
        (
            "url: http://a\n    secret: hunter2",
            "env:NAME or file:/absolute/path",
        ),
        ("url: http://a\n    timeout: 10", "a duration such as"),
        (
            "url: http://a\n    timeout: 1h",
            "timeout is from 10ms to 300s",
        ),
        (
            "url: http://a\n    queue_records: 0",
            "queue_records is from 1 to 100000",
        ),
        ("url: http://a\n    queue_records: many", ""),
        (
            "url: http://a\n    spool: 1KiB",
            "spool is 0 (no spool), or from 65536 bytes",
        ),
        (
            "url: http://a\n    select: {component: x}",
            "unknown key `component`; the keys here are: records, min_severity, components",
        ),
        (
            "url: http://a\n    template: '{{ sumary }}'",
            "there is no field {{ sumary }}",
        ),
        (
            "url: http://a\n    template: '{\"text\": {{ summary }}}'",
            "the body is no JSON",
        ),
        (
            "url: http://a\n    headers: {Host: x}",
            "the header Host is set by gpud",
        ),
        ("secret: env:A", "the key `url` is missing"),
        ("url: http://a\n    url: http://b", "duplicate"),
    ] {
        let found = problem(&format!(
            "exports:\n  - name: a\n    kind: webhook\n    {keys}\n"
        ));
        assert!(
            found.starts_with("f.yaml:") && found.contains(expected),
            "{keys}: {found}"
        );
    }
}

#[test]
fn no_secret_of_a_wrong_file_is_repeated() {
    for text in [
        "exports:\n  - {name: a, kind: webhook, url: hunter2}\n",
        "exports:\n  - {name: a, kind: webhook, url: 'http://a', secret: hunter2}\n",
        "exports:\n  - {name: a, kind: webhook, url: 'http://a', bearer_token: hunter2}\n",
        "exports:\n  - {name: a, kind: otlp, secret_headers: {x-key: hunter2}}\n",
        "exports:\n  - {name: a, kind: otlp, headers_from: 'x-key=hunter2'}\n",
        "exports:\n  - {name: a, kind: alertmanager, url: 'http://a', bearer_token: [hunter2]}\n",
    ] {
        let problem = problem(text);
        assert!(!problem.contains("hunter2"), "{problem}");
    }
}

#[test]
fn the_example_of_the_documentation_is_good() {
    let text = include_str!("../../../../examples/exports/exports.yaml");
    let names: Vec<_> = parse("example", text)
        .unwrap()
        .into_iter()
        .map(|c| c.name)
        .collect();
    assert_eq!(
        names,
        [
            "fleet",
            "chat",
            "alerts",
            "cluster",
            "telemetry",
            "database",
            "lake",
            "serials"
        ]
    );
}
