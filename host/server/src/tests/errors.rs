//! Tests the answers to requests that fail.

use super::{ask_with, get, post};
use crate::{routes::routes, test_backend::Fake};
use axum::body::Body;
use http::{Method, StatusCode, header};
use std::sync::Arc;

#[tokio::test]
async fn errors_are_in_their_dialects() {
    let typed = |message: &str| {
        format!(
            r#"{{"code":{{}},"message":{}}}"#,
            serde_json::Value::from(message)
        )
    };
    let unknown = typed("component not found: component x not found (not found)");
    let components = ["/v1/states", "/v1/events", "/v1/info", "/v1/metrics"];
    let mut cases: Vec<(Method, String, u16, String)> = components
        .iter()
        .map(|path| {
            (
                Method::GET,
                format!("{path}?components=cpu,x"),
                404,
                unknown.clone(),
            )
        })
        .collect();
    let get = |uri: &str, status, body: String| (Method::GET, uri.to_owned(), status, body);
    cases.extend([
        get(
            "/v1/states?components=cpu,",
            404,
            typed("component not found: component  not found (not found)"),
        ),
        get(
            "/v1/events?startTime=x",
            400,
            typed(r#"failed to parse time: strconv.ParseInt: parsing "x": invalid syntax"#),
        ),
        get(
            "/v1/info?endTime=1.5",
            400,
            typed(r#"failed to parse time: strconv.ParseInt: parsing "1.5": invalid syntax"#),
        ),
        get(
            "/v1/info?since=x",
            400,
            typed(r#"failed to parse duration: time: invalid duration "x""#),
        ),
        get(
            "/v1/metrics?since=5",
            400,
            typed(r#"failed to parse duration: time: missing unit in duration "5""#),
        ),
        get(
            "/v1/components/trigger-check",
            400,
            typed("component or tag name is required"),
        ),
        get(
            "/v1/components/trigger-check?componentName=x",
            404,
            typed("component not found"),
        ),
        get(
            "/v1/components/trigger-tag",
            400,
            r#"{"error":"tagName parameter is required"}"#.into(),
        ),
        (
            Method::DELETE,
            "/v1/components".into(),
            400,
            typed("component name is required"),
        ),
        (
            Method::DELETE,
            "/v1/components?componentName=x".into(),
            404,
            typed("component not found"),
        ),
        (
            Method::DELETE,
            "/v1/components?componentName=cpu".into(),
            400,
            typed("component is not deregisterable"),
        ),
        (
            Method::POST,
            "/v1/health-states/set-healthy?components=x".into(),
            404,
            r#"{"code":404,"message":"component x not found (not found)"}"#.into(),
        ),
    ]);
    for (method, uri, status, body) in cases {
        let got = ask_with(&Arc::default(), method, &uri, &[], Body::empty()).await;
        assert_eq!(
            (got.status.as_u16(), got.text()),
            (status, body.as_str()),
            "{uri}"
        );
        assert_eq!(
            got.header(header::CONTENT_TYPE),
            "application/json; charset=utf-8"
        );
    }
}

#[tokio::test]
async fn a_backend_that_fails_is_reported_as_such() {
    let backend = Arc::new(Fake {
        broken: true,
        ..Fake::default()
    });
    let numeric = |message: &str| format!(r#"{{"code":500,"message":"{message}"}}"#);
    for (method, uri, status, body) in [
        (
            Method::GET,
            "/v1/metrics",
            500,
            numeric("failed to read metrics: database input/output failed: disk I/O error"),
        ),
        (
            Method::DELETE,
            "/v1/components?componentName=fan-tray",
            500,
            numeric("failed to deregister component: still running"),
        ),
        (
            Method::GET,
            "/machine-info",
            500,
            r#"{"code":{},"message":"failed to get machine info: lsblk: not found"}"#.into(),
        ),
        (
            Method::POST,
            "/v1/health-states/set-healthy?components=disk",
            400,
            r#"{"code":400,"message":"failed to set any component to healthy","failed":{"disk":"failed to set healthy: database is locked"}}"#.into(),
        ),
    ] {
        let got = ask_with(&backend, method, uri, &[], Body::empty()).await;
        assert_eq!((got.status.as_u16(), got.text()), (status, body.as_str()), "{uri}");
    }
    let info = ask_with(
        &backend,
        Method::GET,
        "/v1/info?components=cpu",
        &[],
        Body::empty(),
    )
    .await;
    assert!(
        info.status == StatusCode::OK && info.text().ends_with(r#""metrics":null}}]"#),
        "{}",
        info.text()
    );
    let fault = post(&backend, "/inject-fault", r#"{"xid":{"id":79}}"#).await;
    let body =
        r#"{"code":{},"message":"failed to inject kernel message: /dev/kmsg: permission denied"}"#;
    assert_eq!((fault.status.as_u16(), fault.text()), (500, body));
}

#[tokio::test]
async fn a_panic_is_an_empty_500_with_an_id() {
    let got = get(
        "/v1/components/trigger-check?componentName=disk",
        &[("x-request-id", "mine")],
    )
    .await;
    assert_eq!(
        (got.status.as_u16(), got.text(), got.header("x-request-id")),
        (500, "", "mine")
    );
}

#[tokio::test]
async fn every_other_path_or_method_is_404_and_a_slash_too_many_leads_back() {
    let methods = [
        Method::GET,
        Method::POST,
        Method::DELETE,
        Method::PUT,
        Method::HEAD,
        Method::PATCH,
    ];
    for route in routes(false) {
        let (path, same) = (
            route.path,
            routes(false).filter(|other| other.path == route.path),
        );
        let allowed: Vec<_> = same.map(|route| route.method).collect();
        for method in &methods {
            let got = ask_with(&Arc::default(), method.clone(), path, &[], Body::empty()).await;
            // Each is really routed: no allowed method answers like a path that does not exist.
            // HEAD has no body, and no route.
            let unrouted = got.body == "404 page not found" || method == Method::HEAD;
            let allowed = allowed.contains(&method.as_str());
            assert_eq!(got.status == 404 && unrouted, !allowed, "{method} {path}");
        }
        let method = Method::from_bytes(route.method.as_bytes()).unwrap();
        let uri = format!("{path}/?a=b&c=\"<");
        let got = ask_with(
            &Arc::default(),
            method.clone(),
            &uri.replace(['"', '<'], "%22"),
            &[],
            Body::empty(),
        )
        .await;
        let in_folder = path.starts_with("/swagger/");
        let status = match (in_folder, method == Method::GET) {
            (true, _) => 404,
            (_, true) => 301,
            _ => 307,
        };
        assert_eq!(got.status.as_u16(), status, "{method} {path}/");
        if status == 301 {
            let body = format!("<a href=\"{path}?a=b&amp;c=%22%22\">Moved Permanently</a>.\n\n");
            assert_eq!(got.text(), body);
            assert_eq!(got.header(header::CONTENT_TYPE), "text/html; charset=utf-8");
        }
        if !in_folder {
            assert_eq!(got.header(header::LOCATION), format!("{path}?a=b&c=%22%22"));
        }
    }
    for path in [
        "/v1",
        "/v1/states//",
        "/V1/states",
        "/v1/components/custom-plugin",
        "/admin/pprof/heap",
        "/admin/pprof/heap/",
    ] {
        let got = get(path, &[]).await;
        assert_eq!(
            (got.status.as_u16(), got.text()),
            (404, "404 page not found"),
            "{path}"
        );
        assert_eq!(got.header(header::CONTENT_TYPE), "text/plain");
    }
}

#[tokio::test]
async fn every_answer_has_a_request_id() {
    for uri in ["/healthz", "/v1/states", "/nothing", "/v1/states/"] {
        let own = get(uri, &[("x-request-id", "mine")]).await;
        assert_eq!(own.header("x-request-id"), "mine");
        let made = get(uri, &[]).await;
        let made = uuid::Uuid::parse_str(made.header("x-request-id")).unwrap();
        assert_eq!(made.get_version_num(), 4);
    }
}
