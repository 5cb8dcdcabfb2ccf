//! Tests the parameters and the effects of requests.

use super::{ask_router, ask_with, peer, post};
use crate::{
    limits,
    router::router,
    shares::{Bounds, Quota, Shares},
    test_backend::{Fake, NOW, XID, app},
};
use axum::body::{Body, to_bytes};
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tower::ServiceExt as _;

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
async fn set_healthy_reports_changed_and_unchanged_components() {
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
async fn who_may_not_ask_is_refused_before_the_body_is_read() {
    let router = router(app(Arc::default()));
    for (method, path, part) in [
        (
            Method::POST,
            "/v1/plugins",
            "only root and gpud's own user may register",
        ),
        (
            Method::PUT,
            "/v1/plugins",
            "only root and gpud's own user may register",
        ),
        (
            Method::POST,
            "/inject-fault",
            "only root and gpud's own user may ask",
        ),
    ] {
        // A body that never comes would be waited for.
        let body =
            Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .body(body)
            .unwrap();
        request.extensions_mut().insert(peer(12345));
        let got = ask_router(&router, request).await;
        assert_eq!(got.status, 403);
        assert!(got.text().contains(part), "{}", got.text());
    }
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

/// Repeating a name must not multiply what the daemon holds.
#[tokio::test]
async fn a_component_that_is_named_twice_is_listed_once() {
    for path in ["/v1/events", "/v1/info"] {
        let uri = format!("{path}?components=cpu,disk,cpu&startTime=1741000000");
        let got = ask_with(&Arc::default(), Method::GET, &uri, &[], Body::empty()).await;
        let listed: Vec<serde_json::Value> = serde_json::from_str(got.text()).unwrap();
        let names: Vec<_> = listed.iter().map(|item| &item["component"]).collect();
        assert_eq!(names, ["cpu", "disk"], "{path}");
    }
}

/// However many clients ask for much and read nothing, what they hold is bounded.
#[tokio::test]
async fn large_answers_that_nobody_reads_keep_further_ones_waiting() {
    let mut app = app(Arc::new(Fake {
        large: true,
        ..Fake::default()
    }));
    app.queue_time = Duration::from_millis(20);
    let room = Quota {
        all: 2 << 20,
        others: 2 << 20,
        each: 2 << 20,
    };
    app.shares = Arc::new(Shares::new(Bounds {
        answers: room,
        ..limits::PORT
    }));
    let router = router(app);
    let ask = async |uri: &str| {
        let request = Request::get(uri).body(Body::empty()).unwrap();
        router.clone().oneshot(request).await.unwrap()
    };
    let large = "/v1/events?startTime=1741000000";
    let mut unread = Vec::new();
    loop {
        let response = ask(large).await;
        if response.status() != 200 {
            assert_eq!(response.status(), 503);
            break;
        }
        unread.push(response);
        assert!(unread.len() <= 10, "more than 200 KiB each");
    }
    assert!(!unread.is_empty());
    assert_eq!(ask("/v1/states").await.status(), 200, "small ones go on");
    let read = to_bytes(unread.pop().unwrap().into_body(), usize::MAX);
    assert!(read.await.unwrap().len() > 200 * 1024);
    let response = ask(large).await;
    assert_eq!(response.status(), 200);
    let length = &response.headers()["content-length"];
    assert!(length.to_str().unwrap().parse::<usize>().unwrap() > 200 * 1024);
}

/// One large answer is made at a time. Once it is made, it keeps nobody from theirs.
#[tokio::test]
async fn a_large_answer_that_waits_for_room_lets_others_be_made() {
    let mut app = app(Arc::new(Fake {
        large: true,
        ..Fake::default()
    }));
    let one_place = Quota {
        all: 1,
        others: 1,
        each: 1,
    };
    let bounds = Bounds {
        documents: one_place,
        answers: one_place,
        ..limits::PORT
    };
    app.shares = Arc::new(Shares::new(bounds));
    let router = router(app);
    let ask = |uri: &'static str| {
        let request = Request::get(uri).body(Body::empty()).unwrap();
        router.clone().oneshot(request)
    };
    let large = "/v1/events?startTime=1741000000";
    let unread = ask(large).await.unwrap();
    assert_eq!(unread.status(), 200);
    let mut waiting = std::pin::pin!(ask(large));
    let short = Duration::from_millis(200);
    assert!(tokio::time::timeout(short, &mut waiting).await.is_err());
    let other = ask("/v1/history").await.unwrap();
    assert_eq!(other.status(), 200);
    drop(unread);
    assert_eq!(waiting.await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_history_is_asked_for_as_it_is_wanted() {
    use crate::store::{Cursor, EntryId, TimelineRead};
    let backend = Arc::<Fake>::default();
    for uri in [
        "/v1/history",
        "/v1/history?since=2d&limit=7&component=cpu,%20gone&before=5-e3",
    ] {
        let got = ask_with(&backend, Method::GET, uri, &[], Body::empty()).await;
        assert_eq!(got.status, StatusCode::OK, "{uri}");
    }
    let all = TimelineRead {
        limit: 100,
        ..TimelineRead::default()
    };
    let some = TimelineRead {
        components: Some(vec!["cpu".to_owned(), "gone".to_owned()]),
        since: (NOW as u64 - 2 * 86_400) * 1000,
        before: Some(Cursor {
            time: 5,
            id: EntryId::Event(3),
        }),
        limit: 7,
    };
    assert_eq!(*backend.asked_timeline.lock().unwrap(), [all, some]);
    for query in [
        "since=x",
        "limit=0",
        "limit=1001",
        "limit=-1",
        "before=5-x3",
    ] {
        let uri = format!("/v1/history?{query}");
        let got = ask_with(&backend, Method::GET, &uri, &[], Body::empty()).await;
        assert_eq!(got.status, StatusCode::BAD_REQUEST, "{query}");
        let name = query.split('=').next().unwrap();
        assert!(
            got.text().contains(&format!("\"{name}: ")),
            "{}",
            got.text()
        );
    }
    let broken = Arc::new(Fake {
        broken: true,
        ..Fake::default()
    });
    let got = ask_with(&broken, Method::GET, "/v1/history", &[], Body::empty()).await;
    assert_eq!(got.status, StatusCode::INTERNAL_SERVER_ERROR);
    let got = ask_with(&broken, Method::GET, "/v1/summary", &[], Body::empty()).await;
    assert_eq!(got.status, StatusCode::OK, "states come from memory");
}

#[tokio::test]
async fn only_an_event_that_is_stored_is_explained() {
    let backend = Arc::<Fake>::default();
    for (query, status, part) in [
        ("?id=e3", 200, "\"kernel_line\":\"NVRM: Xid "),
        ("?id=e4", 404, "no such event is stored"),
        ("?id=c3", 400, "only events are explained"),
        ("?id=e3x", 400, "such as e12"),
        ("", 400, "such as e12"),
    ] {
        let uri = format!("/v1/history/event{query}");
        let got = ask_with(&backend, Method::GET, &uri, &[], Body::empty()).await;
        assert_eq!(got.status.as_u16(), status, "{uri}");
        assert!(got.text().contains(part), "{uri}: {}", got.text());
    }
    let broken = Arc::new(Fake {
        broken: true,
        ..Fake::default()
    });
    let uri = "/v1/history/event?id=e3";
    let got = ask_with(&broken, Method::GET, uri, &[], Body::empty()).await;
    assert_eq!(got.status, StatusCode::INTERNAL_SERVER_ERROR);
}

#[tokio::test]
async fn components_in_detail_say_why_one_does_not_apply() {
    let backend = Arc::<Fake>::default();
    for uri in ["/v1/components?detail", "/v1/components?detail=true"] {
        let asked = ask_with(&backend, Method::GET, uri, &[], Body::empty()).await;
        assert_eq!(asked.status, StatusCode::OK);
        let text = asked.text();
        for part in [
            r#"{"component":"accelerator-nvidia-memory","component_type":"","applicable":false,"reason":"not applicable here: no GPU"}"#,
            r#"{"component":"cpu","component_type":"","applicable":true,"reason":""}"#,
            r#"{"component":"fan-tray","component_type":"custom-plugin","applicable":true,"reason":""}"#,
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
