//! The OpenAPI document and its page.

use super::{ask_router, get, golden};
use crate::component::schema;
use crate::{
    openapi,
    router::router,
    routes::{find, routes},
    test_backend::{Fake, app},
};
use axum::body::Body;
use http::{Method, Request, header};
use serde_json::{Value, json};
use std::{fs, sync::Arc};

/// Whether a document is as the schema of this name says.
fn check(schema: &str, document: &Value) {
    let mut whole = openapi::document(true);
    whole["$ref"] = json!(format!("#/components/schemas/{schema}"));
    let problems = schema::faults(&whole, document, 10).unwrap();
    assert!(problems.is_empty(), "{schema}: {problems:?}\n{document}");
}

#[test]
fn golden_documents_are_as_described() {
    let mut seen = 0;
    for (file, path) in [
        ("healthz", "/healthz"),
        ("components", "/v1/components"),
        ("states", "/v1/states"),
        ("states_of_two", "/v1/states"),
        ("events", "/v1/events"),
        ("summary", "/v1/summary"),
        ("history", "/v1/history"),
        ("history_event", "/v1/history/event"),
        ("info", "/v1/info"),
        ("metrics", "/v1/metrics"),
        ("plugins", "/v1/plugins"),
        ("machine_info", "/machine-info"),
        ("admin_config", "/admin/config"),
        ("admin_packages", "/admin/packages"),
        ("trigger_check", "/v1/components/trigger-check"),
        ("trigger_check_no_match", "/v1/components/trigger-check"),
        ("trigger_tag", "/v1/components/trigger-tag"),
    ] {
        let text = fs::read(golden().join(format!("{file}.json"))).unwrap();
        let route = find(&Method::GET, path).unwrap();
        check(
            route.answers[0].schema,
            &serde_json::from_slice(&text).unwrap(),
        );
        seen += 1;
    }
    assert!(seen > 10);
}

#[tokio::test]
async fn a_comparison_of_versions_is_as_described() {
    for (uri, status, part) in [
        ("/v1/plugins/shadow?componentName=fan-tray", 200, ""),
        (
            "/v1/plugins/shadow?componentName=cpu",
            404,
            "`shadow:` in its entry",
        ),
        (
            "/v1/plugins/shadow?componentName=no",
            404,
            "component not found",
        ),
        ("/v1/plugins/shadow", 400, "component name is required"),
    ] {
        let got = get(uri, &[]).await;
        assert_eq!(got.status.as_u16(), status, "{uri}");
        assert!(got.text().contains(part), "{uri}: {}", got.text());
        let document: Value = serde_json::from_str(got.text()).unwrap();
        check(
            if status == 200 {
                "Shadow"
            } else {
                "TypedError"
            },
            &document,
        );
    }
    let got = get("/v1/plugins/shadow?componentName=fan-tray", &[]).await;
    let shown: Value = serde_json::from_str(got.text()).unwrap();
    assert_eq!(
        shown["comparisons"][0]["differences"][0]["shadow"],
        "Degraded"
    );
    assert_eq!(shown["comparisons"][0]["time"], "2025-03-04T05:06:07Z");
}

/// `golden/exchanges/`: requests and whole answers.
#[test]
fn golden_answers_are_as_described() {
    let mut seen = 0;
    for entry in fs::read_dir(golden().join("exchanges")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let (asked, answered) = text.split_once("\n\n").unwrap();
        let (method, uri) = asked.lines().next().unwrap().split_once(' ').unwrap();
        let path = uri.split('?').next().unwrap();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let Some(route) = find(&method, path) else {
            continue;
        };
        let status: u16 = answered.lines().next().unwrap().parse().unwrap();
        let answer = openapi::answers(route).find(|answer| answer.status == status);
        let answer = answer.unwrap_or_else(|| panic!("{method} {uri}: {status} is not described"));
        let (head, body) = answered.split_once("\n\n").unwrap();
        if head.contains("application/json") && !head.contains("content-encoding") {
            check(answer.schema, &serde_json::from_str(body).unwrap());
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn every_route_is_described_and_every_schema_is_used() {
    let document = openapi::document(true);
    let text = document["paths"].to_string() + &document["components"].to_string();
    for schema in document["components"]["schemas"]
        .as_object()
        .unwrap()
        .keys()
    {
        assert!(
            text.contains(&format!("#/components/schemas/{schema}\"")),
            "{schema}"
        );
    }
    let mut names = Vec::new();
    for route in routes(true) {
        let operation = &document["paths"][route.path][route.method.to_ascii_lowercase()];
        assert!(
            !operation["summary"].as_str().unwrap().is_empty(),
            "{}",
            route.path
        );
        names.push(operation["operationId"].as_str().unwrap().to_owned());
        for answer in openapi::answers(route) {
            let schemas = &document["components"]["schemas"];
            assert!(answer.schema.is_empty() || schemas[answer.schema].is_object());
        }
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), routes(true).count());
    assert!(openapi::document(false)["paths"]["/admin/pprof/heap"].is_null());
}

#[tokio::test]
async fn the_page_needs_nothing_but_itself() {
    let page = get("/swagger/index.html", &[]).await;
    assert_eq!(
        page.header(header::CONTENT_TYPE),
        "text/html; charset=utf-8"
    );
    let text = page.text();
    for route in routes(false) {
        assert!(text.contains(&format!("<code>{}</code>", route.path)));
    }
    for outside in [
        "http:", "https:", "//", "<script", "<link", "<img", "@import", "url(",
    ] {
        assert!(!text.contains(outside), "{outside}");
    }
    let document = get("/swagger/doc.json", &[("accept-encoding", "gzip")]).await;
    assert_eq!(
        document.header(header::CONTENT_TYPE),
        "application/json; charset=utf-8"
    );
    let document: Value = serde_json::from_str(document.text()).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
}

#[tokio::test]
async fn the_folder_of_the_page() {
    for path in ["/swagger", "/swagger/"] {
        let got = get(path, &[]).await;
        assert_eq!(
            (got.status.as_u16(), got.header(header::LOCATION)),
            (301, "/swagger/index.html")
        );
    }
    let got = get("/swagger/nothing.js", &[]).await;
    assert_eq!((got.status.as_u16(), got.text()), (404, "Not Found"));
}

#[tokio::test]
async fn profiles_are_left_to_perf() {
    let mut app = app(Arc::<Fake>::default());
    app.profiling = true;
    let router = router(app);
    for name in ["profile?seconds=1", "heap", "trace"] {
        let request = Request::get(format!("/admin/pprof/{name}")).body(Body::empty());
        let got = ask_router(&router, request.unwrap()).await;
        assert_eq!(got.status, 501, "{name}");
        assert!(got.text().starts_with(r#"{"code":{},"message":""#));
        assert!(got.text().contains("perf record"), "{}", got.text());
    }
}
