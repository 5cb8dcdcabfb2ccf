//! Whole answers, compared with the files in `golden/`.

use super::{INDENT, YAML, ask_with, compare, get};
use crate::test_backend::{Fake, GPU};
use axum::body::Body;
use http::{Method, StatusCode, header};
use std::{path::Path, sync::Arc};

/// File, address, request headers.
type DocumentCase = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const DOCUMENTS: &[DocumentCase] = &[
    ("healthz.json", "/healthz", &[]),
    ("healthz_indented.json", "/healthz", &[INDENT]),
    ("healthz.yaml", "/healthz", &[YAML]),
    ("components.json", "/v1/components", &[]),
    ("components.yaml", "/v1/components", &[YAML]),
    ("states.json", "/v1/states", &[]),
    (
        "states_indented.json",
        "/v1/states",
        &[INDENT, ("content-type", "application/json")],
    ),
    ("states.yaml", "/v1/states", &[YAML, INDENT]),
    (
        "states_of_two.json",
        "/v1/states?components=disk%2Ccpu",
        &[],
    ),
    (
        "events.json",
        "/v1/events?startTime=1741000000&endTime=-5",
        &[],
    ),
    (
        "events.yaml",
        "/v1/events?components=cpu&startTime=1741000000",
        &[YAML],
    ),
    ("summary.json", "/v1/summary", &[INDENT]),
    ("summary.yaml", "/v1/summary", &[YAML]),
    ("history.json", "/v1/history", &[INDENT]),
    ("history_event.json", "/v1/history/event?id=e3", &[INDENT]),
    (
        "info.json",
        "/v1/info?since=1h30m&startTime=1741000000",
        &[],
    ),
    (
        "info.yaml",
        "/v1/info?components=disk,cpu&startTime=1741000000",
        &[YAML],
    ),
    ("metrics.json", "/v1/metrics", &[]),
    ("metrics.yaml", "/v1/metrics", &[YAML]),
    ("plugins.json", "/v1/plugins", &[]),
    ("plugins.yaml", "/v1/plugins", &[YAML]),
    ("machine_info.json", "/machine-info", &[YAML]),
    (
        "admin_config.json",
        "/admin/config",
        &[("content-type", "text/html")],
    ),
    ("admin_config.yaml", "/admin/config", &[YAML]),
    ("admin_packages.json", "/admin/packages", &[]),
    (
        "trigger_check.json",
        "/v1/components/trigger-check?componentName=fan-tray&tagName=good",
        &[YAML, INDENT],
    ),
    (
        "trigger_check_tag.json",
        "/v1/components/trigger-check?tagName=mixed",
        &[],
    ),
    (
        "trigger_check_no_match.json",
        "/v1/components/trigger-check?tagName=none",
        &[],
    ),
    (
        "trigger_tag.json",
        "/v1/components/trigger-tag?tagName=mixed",
        &[],
    ),
    (
        "trigger_tag_good.json",
        "/v1/components/trigger-tag?tagName=good",
        &[],
    ),
    (
        "trigger_tag_no_match.json",
        "/v1/components/trigger-tag?tagName=none",
        &[],
    ),
    ("prometheus.txt", "/metrics", &[]),
];

#[tokio::test]
async fn documents_are_those_of_the_golden_files() {
    for (file, uri, headers) in DOCUMENTS {
        let got = get(uri, headers).await;
        assert_eq!(got.status, StatusCode::OK, "{uri}: {}", got.text());
        let content_type = match Path::new(file).extension().unwrap().to_str().unwrap() {
            "json" => "application/json; charset=utf-8",
            "yaml" => "text/plain; charset=utf-8",
            _ => "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
        };
        assert_eq!(got.header(header::CONTENT_TYPE), content_type, "{uri}");
        compare(file, &got.body);
    }
}

#[tokio::test]
async fn healthz_is_thirty_bytes_to_the_letter() {
    assert_eq!(
        get("/healthz", &[]).await.text(),
        r#"{"status":"ok","version":"v1"}"#
    );
}

#[tokio::test]
async fn nothing_is_null_or_an_empty_list_as_clients_know_it() {
    let backend = Arc::new(Fake {
        empty: true,
        ..Fake::default()
    });
    for (uri, body) in [
        ("/v1/states", "null"),
        ("/v1/events", "null"),
        ("/v1/info", "null"),
        ("/v1/plugins", "null"),
        ("/v1/components", "[]"),
        ("/v1/metrics", "[]"),
    ] {
        let got = ask_with(&backend, Method::GET, uri, &[], Body::empty()).await;
        assert_eq!((got.status, got.text()), (StatusCode::OK, body), "{uri}");
        let got = ask_with(&backend, Method::GET, uri, &[YAML], Body::empty()).await;
        assert_eq!(got.text(), format!("{body}\n"), "{uri}");
    }
    let unsupported = get(&format!("/v1/states?components={GPU}"), &[]).await;
    assert_eq!(
        (unsupported.status, unsupported.text()),
        (StatusCode::OK, "null")
    );
}

#[tokio::test]
async fn in_a_long_list_a_component_is_answered_once() {
    let once = get("/v1/states?components=cpu,disk", &[]).await;
    let names = ["cpu", "disk"].repeat(2_000).join(",");
    let often = get(&format!("/v1/states?components={names}"), &[]).await;
    assert_eq!(often.status, StatusCode::OK);
    assert_eq!(often.text(), once.text());
    // A name that nobody has is still an error, wherever it is.
    let unknown = get(&format!("/v1/states?components={names},x"), &[]).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
}
