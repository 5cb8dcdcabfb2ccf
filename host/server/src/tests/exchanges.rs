//! Whole answers, head and body, to requests that are right and wrong: `golden/exchanges/`. Read the difference after
//! regenerating them.

use super::{ask_router, compare, peer};
use crate::{
    router::router,
    test_backend::{Fake, app},
};
use axum::body::Body;
use http::Request;
use std::{fmt::Write as _, sync::Arc};

/// Name of the file, method, target, headers, body.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
);

const HTML: &[(&str, &str)] = &[("content-type", "text/html")];

const CASES: &[Case] = &[
    ("healthz", "GET", "/healthz", &[], ""),
    ("healthz_any_type", "GET", "/healthz", HTML, ""),
    ("healthz_head", "HEAD", "/healthz", &[], ""),
    ("wrong_method", "POST", "/v1/states", &[], ""),
    ("slash_too_many", "GET", "/v1/events/?startTime=1", &[], ""),
    ("slash_too_many_post", "POST", "/inject-fault/", &[], ""),
    ("unknown_path", "GET", "/nothing", &[], ""),
    ("components_wrong_type", "GET", "/v1/components", HTML, ""),
    (
        "deregister",
        "DELETE",
        "/v1/components?componentName=fan-tray",
        &[],
        "",
    ),
    ("deregister_no_name", "DELETE", "/v1/components", &[], ""),
    (
        "deregister_unknown",
        "DELETE",
        "/v1/components?componentName=x",
        &[],
        "",
    ),
    (
        "deregister_built_in",
        "DELETE",
        "/v1/components?componentName=cpu",
        &[],
        "",
    ),
    (
        "trigger_check_nothing",
        "GET",
        "/v1/components/trigger-check",
        &[],
        "",
    ),
    (
        "trigger_check_unknown",
        "GET",
        "/v1/components/trigger-check?componentName=x",
        &[],
        "",
    ),
    (
        "trigger_check_any_type",
        "GET",
        "/v1/components/trigger-check?tagName=good",
        HTML,
        "",
    ),
    (
        "trigger_check_panics",
        "GET",
        "/v1/components/trigger-check?componentName=disk",
        &[],
        "",
    ),
    (
        "trigger_tag_nothing",
        "GET",
        "/v1/components/trigger-tag?tagName=",
        &[],
        "",
    ),
    (
        "trigger_tag_mixed",
        "GET",
        "/v1/components/trigger-tag?tagName=mixed",
        &[],
        "",
    ),
    (
        "states_unknown",
        "GET",
        "/v1/states?components=cpu,x",
        &[],
        "",
    ),
    (
        "states_trailing_comma",
        "GET",
        "/v1/states?components=cpu,",
        &[],
        "",
    ),
    (
        "states_twice",
        "GET",
        "/v1/states?components=cpu,cpu&components=x",
        &[],
        "",
    ),
    (
        "states_unsupported",
        "GET",
        "/v1/states?components=accelerator-nvidia-memory",
        &[],
        "",
    ),
    (
        "states_unknown_and_wrong_type",
        "GET",
        "/v1/states?components=x",
        HTML,
        "",
    ),
    (
        "events_default_window",
        "GET",
        "/v1/events?components=cpu",
        &[],
        "",
    ),
    (
        "events_window",
        "GET",
        "/v1/events?components=cpu&startTime=1741060000&endTime=0",
        &[],
        "",
    ),
    (
        "events_bad_start",
        "GET",
        "/v1/events?startTime=2025-03-04T05:06:07Z",
        &[],
        "",
    ),
    (
        "events_start_out_of_range",
        "GET",
        "/v1/events?startTime=99999999999999999999",
        &[],
        "",
    ),
    ("events_unknown", "GET", "/v1/events?components=x", &[], ""),
    ("info_bad_since", "GET", "/v1/info?since=1d", &[], ""),
    (
        "info_one",
        "GET",
        "/v1/info?components=disk&startTime=1741064767",
        &[],
        "",
    ),
    ("metrics_bad_since", "GET", "/v1/metrics?since=%22", &[], ""),
    ("metrics_wrong_type", "GET", "/v1/metrics", HTML, ""),
    ("metrics_one", "GET", "/v1/metrics?components=disk", &[], ""),
    ("plugins_wrong_type", "GET", "/v1/plugins", HTML, ""),
    ("plugins_add_stranger", "POST", "/v1/plugins", &[], "[]"),
    ("plugins_put_stranger", "PUT", "/v1/plugins", &[], "[]"),
    (
        "set_healthy",
        "POST",
        "/v1/health-states/set-healthy?components=disk,cpu",
        &[],
        "",
    ),
    (
        "set_healthy_all",
        "POST",
        "/v1/health-states/set-healthy",
        &[],
        "ignored",
    ),
    (
        "set_healthy_none",
        "POST",
        "/v1/health-states/set-healthy?components=cpu",
        &[],
        "",
    ),
    (
        "set_healthy_unknown",
        "POST",
        "/v1/health-states/set-healthy?components=x",
        &[],
        "",
    ),
    (
        "inject_xid",
        "POST",
        "/inject-fault",
        &[],
        "{\"xid\":{\"id\":79}}",
    ),
    ("inject_empty", "POST", "/inject-fault", &[], ""),
    ("inject_nothing", "POST", "/inject-fault", &[], "{}"),
    (
        "inject_truncated",
        "POST",
        "/inject-fault",
        &[],
        "{\"xid\":",
    ),
    (
        "inject_wrong_kind",
        "POST",
        "/inject-fault",
        &[],
        "{\"xid\":{\"id\":\"x\"}}",
    ),
    (
        "inject_announced_too_large",
        "POST",
        "/inject-fault",
        &[("content-length", "9999999")],
        "",
    ),
    ("machine_info", "GET", "/machine-info", HTML, ""),
    ("prometheus", "GET", "/metrics", &[], ""),
    ("admin_config", "GET", "/admin/config", HTML, ""),
    ("admin_packages", "GET", "/admin/packages", &[], ""),
    ("swagger_unknown", "GET", "/swagger/nothing", &[], ""),
    ("swagger_post", "POST", "/swagger/index.html", &[], ""),
];

/// As `METHOD target`, request headers and body, and the answer: status, headers by name, body.
async fn exchange(backend: &Arc<Fake>, case: &Case) -> String {
    let (name, method, target, headers, body) = *case;
    let mut request = Request::builder()
        .method(method)
        .uri(target)
        .header("x-request-id", "golden");
    let mut text = format!("{method} {target}\n");
    for (header, value) in headers {
        request = request.header(*header, *value);
        let _ = writeln!(text, "{header}: {value}");
    }
    if !body.is_empty() {
        let _ = writeln!(text, "> {body}");
    }
    let mut request = request.body(Body::from(body)).unwrap();
    if name.ends_with("_stranger") {
        request.extensions_mut().insert(peer(12345));
    }
    let got = ask_router(&router(app(Arc::clone(backend))), request).await;
    let _ = writeln!(text, "\n{}", got.status.as_u16());
    let mut heads: Vec<_> = got
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap()))
        .collect();
    heads.sort();
    text + &heads.concat() + "\n" + got.text()
}

#[tokio::test]
async fn whole_answers_are_those_of_the_golden_files() {
    std::fs::create_dir_all(super::golden().join("exchanges")).unwrap();
    for case in CASES {
        let got = exchange(&Arc::default(), case).await;
        compare(&format!("exchanges/{}.http", case.0), got.as_bytes());
    }
}

#[tokio::test]
async fn whole_answers_of_a_backend_that_fails() {
    let broken = Arc::new(Fake {
        broken: true,
        ..Fake::default()
    });
    let cases: &[Case] = &[
        ("broken_metrics", "GET", "/v1/metrics", &[], ""),
        (
            "broken_events",
            "GET",
            "/v1/events?components=cpu&startTime=1",
            &[],
            "",
        ),
        ("broken_machine_info", "GET", "/machine-info", &[], ""),
        (
            "broken_deregister",
            "DELETE",
            "/v1/components?componentName=fan-tray",
            &[],
            "",
        ),
        (
            "broken_set_healthy",
            "POST",
            "/v1/health-states/set-healthy?components=disk",
            &[],
            "",
        ),
        (
            "broken_inject",
            "POST",
            "/inject-fault",
            &[],
            "{\"xid\":{\"id\":79}}",
        ),
    ];
    for case in cases {
        compare(
            &format!("exchanges/{}.http", case.0),
            exchange(&broken, case).await.as_bytes(),
        );
    }
}
