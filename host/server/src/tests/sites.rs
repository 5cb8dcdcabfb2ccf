//! Tests the requests that browsers may send.

use super::{TestResponse, ask_router};
use crate::{
    Sites,
    router::router,
    routes::routes,
    test_backend::{Fake, app},
};
use axum::body::Body;
use http::{Request, header};
use std::sync::Arc;

async fn ask(method: &str, path: &str, headers: &[(&str, &str)]) -> TestResponse {
    let mut app = app(Arc::<Fake>::default());
    app.sites = Arc::new(Sites {
        origins: vec!["https://grafana.example".into()],
        ..Sites::default()
    });
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    ask_router(&router(app), request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn foreign_pages_and_names_are_refused_on_every_route() {
    let host = ("host", "localhost:15132");
    for route in routes(false) {
        for foreign in [
            &[("host", "evil.example")][..],
            &[host, ("origin", "https://evil.example")],
            &[host, ("origin", "null")],
            &[host, ("sec-fetch-site", "cross-site")],
            &[host, ("sec-fetch-site", "same-site")],
        ] {
            let got = ask(route.method, route.path, foreign).await;
            let place = format!("{} {} {foreign:?}", route.method, route.path);
            assert_eq!(got.status, 403, "{place}");
            assert!(got.text().contains("--allowed-"), "{place}: {}", got.text());
            assert_eq!(got.header(header::ACCESS_CONTROL_ALLOW_ORIGIN), "");
        }
    }
    // As curl, Go's client and a page of our own ask.
    for own in [
        &[host][..],
        &[],
        &[("host", "10.0.0.7:15132")],
        &[host, ("origin", "https://localhost:15132")],
        &[host, ("sec-fetch-site", "none")],
    ] {
        assert_eq!(ask("GET", "/v1/components", own).await.status, 200);
    }
}

#[tokio::test]
async fn an_allowed_site_reads_and_its_browser_is_answered() {
    let origin = ("origin", "https://grafana.example");
    let headers = [
        ("host", "localhost"),
        origin,
        ("sec-fetch-site", "cross-site"),
    ];
    let got = ask("GET", "/v1/components", &headers).await;
    assert_eq!(got.status, 200);
    assert_eq!(got.header(header::ACCESS_CONTROL_ALLOW_ORIGIN), origin.1);
    assert!(
        got.headers
            .get_all(header::VARY)
            .iter()
            .any(|vary| vary == "origin")
    );
    let preflight = [
        headers[0],
        origin,
        ("access-control-request-method", "POST"),
    ];
    let got = ask("OPTIONS", "/v1/health-states/set-healthy", &preflight).await;
    assert_eq!(got.status, 204);
    assert!(
        got.header(header::ACCESS_CONTROL_ALLOW_METHODS)
            .contains("POST")
    );
    // Without the site's name it is any other method that nobody knows.
    assert_eq!(
        ask("OPTIONS", "/v1/components", &headers[..1]).await.status,
        404
    );
}
