//! The API through its real router, over a fake backend. Bodies are compared with the files in `golden/`; run with
//! `GPUD_WRITE_GOLDEN=1` to write them anew, and read the difference.

use std::{
    fs,
    io::Read as _,
    path::Path,
    sync::{Arc, atomic::Ordering},
};

use axum::{
    body::{Body, to_bytes},
    response::Response,
};
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use tower::ServiceExt as _;

use super::{
    router,
    router::PATHS,
    test_backend::{Fake, GPU, NOW, XID, app},
};

struct Asked {
    status: StatusCode,
    headers: http::HeaderMap,
    body: Bytes,
}

impl Asked {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    fn header(&self, name: impl header::AsHeaderName) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}

async fn ask_with(
    backend: &Arc<Fake>,
    method: Method,
    uri: &str,
    headers: &[(&str, &str)],
    body: Body,
) -> Asked {
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(body).unwrap();
    let response: Response = router(app(Arc::clone(backend)))
        .oneshot(request)
        .await
        .unwrap();
    let (parts, body) = response.into_parts();
    Asked {
        status: parts.status,
        headers: parts.headers,
        body: to_bytes(body, usize::MAX).await.unwrap(),
    }
}

async fn get(uri: &str, headers: &[(&str, &str)]) -> Asked {
    ask_with(&Arc::default(), Method::GET, uri, headers, Body::empty()).await
}

async fn post(backend: &Arc<Fake>, uri: &str, body: &str) -> Asked {
    ask_with(backend, Method::POST, uri, &[], Body::from(body.to_owned())).await
}

/// File, address, request headers.
type Case = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const YAML: (&str, &str) = ("content-type", "application/yaml");
const INDENT: (&str, &str) = ("json-indent", "true");

#[tokio::test]
async fn documents_are_those_of_the_golden_files() {
    let cases: &[Case] = &[
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
        ("info.json", "/v1/info?since=1h30m", &[]),
        ("info.yaml", "/v1/info?components=disk,cpu", &[YAML]),
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
    let folder = Path::new(file!()).parent().unwrap();
    let folder = [
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/server"),
        folder.to_owned(),
    ]
    .into_iter()
    .find(|folder| folder.join("golden").is_dir())
    .unwrap();
    for (file, uri, headers) in cases {
        let got = get(uri, headers).await;
        assert_eq!(got.status, StatusCode::OK, "{uri}: {}", got.text());
        let content_type = match Path::new(file).extension().unwrap().to_str().unwrap() {
            "json" => "application/json; charset=utf-8",
            "yaml" => "text/plain; charset=utf-8",
            _ => "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
        };
        assert_eq!(got.header(header::CONTENT_TYPE), content_type, "{uri}");
        let path = folder.join("golden").join(file);
        if std::env::var_os("GPUD_WRITE_GOLDEN").is_some() {
            fs::write(&path, &got.body).unwrap();
        }
        assert_eq!(got.text(), fs::read_to_string(&path).unwrap(), "{file}");
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
async fn a_backend_that_fails_is_told_as_such() {
    let backend = Arc::new(Fake {
        broken: true,
        ..Fake::default()
    });
    let numeric = |message: &str| format!(r#"{{"code":500,"message":"{message}"}}"#);
    for (method, uri, status, body) in [
        (Method::GET, "/v1/metrics", 500, numeric("failed to read metrics: disk I/O error")),
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
async fn content_type_is_judged_to_the_letter_and_last() {
    for path in [
        "/v1/components",
        "/v1/states",
        "/v1/events",
        "/v1/info",
        "/v1/metrics",
        "/v1/plugins",
    ] {
        for wrong in [
            "text/html",
            "application/json; charset=utf-8",
            "Application/JSON",
        ] {
            let got = get(path, &[("content-type", wrong)]).await;
            let body = r#"{"code":{},"message":"invalid content type"}"#;
            assert_eq!(
                (got.status.as_u16(), got.text()),
                (400, body),
                "{path} {wrong}"
            );
        }
        assert_eq!(
            get(path, &[("content-type", "")]).await.status,
            StatusCode::OK
        );
    }
    let unknown = get("/v1/states?components=x", &[("content-type", "text/html")]).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn v1_is_compressed_whatever_its_size_and_nothing_else_is() {
    let unpack = |body: &Bytes| {
        let mut text = String::new();
        flate2::read::GzDecoder::new(&body[..])
            .read_to_string(&mut text)
            .unwrap();
        text
    };
    let gzip = ("accept-encoding", "deflate, gzip;q=0");
    for uri in [
        "/v1/states",
        "/v1/states?components=x",
        "/v1/components/trigger-tag",
        "/v1/plugins",
    ] {
        let (plain, packed) = (get(uri, &[]).await, get(uri, &[gzip]).await);
        assert_eq!(packed.header(header::CONTENT_ENCODING), "gzip", "{uri}");
        assert_eq!(packed.header(header::VARY), "Accept-Encoding");
        assert_eq!(
            (packed.status, unpack(&packed.body)),
            (plain.status, plain.text().to_owned())
        );
        assert_eq!(plain.header(header::CONTENT_ENCODING), "");
        assert_eq!(
            get(uri, &[gzip, ("connection", "Upgrade")])
                .await
                .header(header::CONTENT_ENCODING),
            ""
        );
    }
    for uri in [
        "/healthz",
        "/machine-info",
        "/admin/config",
        "/v1/nothing",
        "/v1/states/",
        "/metrics",
    ] {
        assert_eq!(
            get(uri, &[gzip]).await.header(header::CONTENT_ENCODING),
            "",
            "{uri}"
        );
    }
    let metrics = get("/metrics", &[("accept-encoding", "gzip")]).await;
    assert_eq!(metrics.header(header::CONTENT_ENCODING), "gzip");
    assert!(unpack(&metrics.body).starts_with("cpu_used_percent{"));
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
    for (path, allowed) in PATHS {
        for method in methods.iter().filter(|method| !allowed.contains(method)) {
            let got = ask_with(&Arc::default(), method.clone(), path, &[], Body::empty()).await;
            assert_eq!(got.status, StatusCode::NOT_FOUND, "{method} {path}");
        }
        for method in *allowed {
            let got = ask_with(
                &Arc::default(),
                method.clone(),
                &format!("{path}/?a=b"),
                &[],
                Body::empty(),
            )
            .await;
            let status = if method == Method::GET { 301 } else { 307 };
            assert_eq!(got.status.as_u16(), status, "{method} {path}/");
            assert_eq!(got.header(header::LOCATION), format!("{path}?a=b"));
        }
        // Each is really routed: no allowed method answers like a path that does not exist.
        for method in *allowed {
            let got = ask_with(&Arc::default(), method.clone(), path, &[], Body::empty()).await;
            assert_ne!(got.body, "404 page not found", "{method} {path}");
        }
    }
    for path in [
        "/",
        "/v1",
        "/v1/states//",
        "/V1/states",
        "/v1/components/custom-plugin",
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
async fn windows_are_counted_from_where_clients_expect() {
    let backend = Arc::<Fake>::default();
    for uri in [
        "/v1/metrics?startTime=5",
        "/v1/metrics?components=disk&since=-1h",
        "/v1/info?components=disk&startTime=1000&since=90s",
        "/v1/events",
        "/v1/events?startTime=-7",
    ] {
        assert_eq!(
            ask_with(&backend, Method::GET, uri, &[], Body::empty())
                .await
                .status,
            StatusCode::OK
        );
    }
    let disk = || Some(vec!["disk".to_owned()]);
    assert_eq!(
        *backend.asked_samples.lock().unwrap(),
        [
            (None, (NOW - 1800) * 1000),
            (disk(), (NOW + 3600) * 1000),
            (disk(), 910_000)
        ]
    );
    assert_eq!(*backend.asked_events.lock().unwrap(), [1000, NOW, -7]);
}

#[tokio::test]
async fn set_healthy_says_what_was_set_and_what_not() {
    let done = r#""message":"set healthy states completed","successful""#;
    let unsupported = "component does not support setting healthy state";
    for (query, status, body) in [
        (
            "",
            200,
            format!(r#"{{"code":200,{done}:["{XID}","disk"]}}"#),
        ),
        (
            "?components=",
            200,
            format!(r#"{{"code":200,{done}:["{XID}","disk"]}}"#),
        ),
        (
            "?components=disk,cpu",
            200,
            format!(r#"{{"code":200,{done}:["disk"],"failed":{{"cpu":"{unsupported}"}}}}"#),
        ),
        (
            "?components=cpu",
            400,
            format!(
                r#"{{"code":400,"message":"failed to set any component to healthy","failed":{{"cpu":"{unsupported}"}}}}"#
            ),
        ),
    ] {
        let got = post(
            &Arc::default(),
            &format!("/v1/health-states/set-healthy{query}"),
            "ignored",
        )
        .await;
        assert_eq!(
            (got.status.as_u16(), got.text()),
            (status, body.as_str()),
            "{query}"
        );
    }
    let empty = Arc::new(Fake {
        empty: true,
        ..Fake::default()
    });
    let got = post(&empty, "/v1/health-states/set-healthy", "").await;
    assert_eq!(
        got.text(),
        r#"{"code":200,"message":"set healthy states completed"}"#
    );
}

#[tokio::test]
async fn a_plugin_is_deregistered() {
    let uri = "/v1/components?componentName=fan-tray";
    let got = ask_with(&Arc::default(), Method::DELETE, uri, &[], Body::empty()).await;
    assert_eq!(
        got.text(),
        r#"{"code":200,"component":"fan-tray","message":"component deregistered"}"#
    );
}

#[tokio::test]
async fn faults_are_injected_as_asked() {
    let backend = Arc::<Fake>::default();
    let longest = "x".repeat(976);
    for body in [
        r#"{"xid":{"id":79},"kernel_message":{"message":"not this"}}"#.to_owned(),
        format!(r#"{{"kernel_message":{{"priority":"kern.warn","message":"{longest}"}}}}"#),
    ] {
        let got = post(&backend, "/inject-fault", &body).await;
        assert_eq!(
            (got.status.as_u16(), got.text()),
            (200, r#"{"message":"fault injected"}"#)
        );
    }
    for (body, status, message) in [
        (String::new(), 400, "failed to decode request body: EOF"),
        (
            "{}".into(),
            400,
            "invalid request: no fault injection entry found",
        ),
        (
            r#"{"xid":{"id":0},"kernel_message":{}}"#.into(),
            400,
            "invalid request: no fault injection entry found",
        ),
        (
            format!(r#"{{"kernel_message":{{"message":"{longest}x"}}}}"#),
            400,
            "invalid request: message length exceeds the maximum length of 976",
        ),
        (
            " ".repeat(1024 * 1024 + 1),
            413,
            "request body is larger than 1048576 bytes",
        ),
    ] {
        let got = post(&backend, "/inject-fault", &body).await;
        let wanted = format!(r#"{{"code":{{}},"message":"{message}"}}"#);
        assert_eq!((got.status.as_u16(), got.text()), (status, wanted.as_str()));
    }
    let injected = backend.injected.lock().unwrap();
    let (xid, literal) = (&injected[0], &injected[1]);
    assert_eq!(xid.0, "KERN_ERR");
    assert!(xid.1.contains(": 79, "));
    assert_eq!(
        (literal.0.as_str(), &literal.1, injected.len()),
        ("kern.warn", &longest, 2)
    );
}

#[tokio::test]
async fn a_body_of_unknown_length_is_bounded_too() {
    let chunks = futures_util::stream::repeat_with(|| {
        Ok::<_, std::io::Error>(Bytes::from_static(&[b' '; 4096]))
    });
    let got = ask_with(
        &Arc::default(),
        Method::POST,
        "/inject-fault",
        &[],
        Body::from_stream(chunks),
    )
    .await;
    assert_eq!(got.status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn a_burst_of_machine_info_requests_takes_one_inventory() {
    let backend = Arc::<Fake>::default();
    let router = router(app(Arc::clone(&backend)));
    for _ in 0..3 {
        let request = Request::get("/machine-info").body(Body::empty()).unwrap();
        assert_eq!(
            router.clone().oneshot(request).await.unwrap().status(),
            StatusCode::OK
        );
    }
    assert_eq!(backend.inventories.load(Ordering::Relaxed), 1);
}
