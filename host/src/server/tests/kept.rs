//! Large answers that are kept: the same as if they were made anew.

use super::ask_router;
use crate::server::{
    router::router,
    test_backend::{Fake, app},
};
use axum::body::Body;
use http::Request;
use std::{
    io::Read as _,
    sync::{Arc, atomic::Ordering},
};

fn request(uri: &str, gzip: bool) -> Request<Body> {
    let mut request = Request::get(uri);
    if gzip {
        request = request.header("accept-encoding", "gzip");
    }
    request.body(Body::empty()).unwrap()
}

#[tokio::test]
async fn events_are_read_once_and_new_ones_are_added() {
    let backend = Arc::<Fake>::default();
    let router = router(app(Arc::clone(&backend)));
    let uri = "/v1/events?components=cpu&startTime=1741060000&endTime=5";
    let shows = async |texts: &[&str]| {
        let (plain, packed) = (
            ask_router(&router, request(uri, false)).await,
            ask_router(&router, request(uri, true)).await,
        );
        let mut unpacked = String::new();
        flate2::read::GzDecoder::new(&packed.body[..])
            .read_to_string(&mut unpacked)
            .unwrap();
        assert_eq!(unpacked, plain.text());
        let messages: Vec<&str> = plain.text().split("\"message\":\"").skip(1).collect();
        assert_eq!(messages.len(), texts.len(), "{}", plain.text());
        assert!(
            messages
                .iter()
                .zip(texts)
                .all(|(got, text)| got.starts_with(text))
        );
        assert!(
            plain
                .text()
                .starts_with(r#"[{"component":"cpu","startTime":"#)
        );
        serde_json::from_str::<serde_json::Value>(plain.text()).unwrap();
        backend.asked_events.lock().unwrap().len()
    };
    assert_eq!(shows(&["second"]).await, 1);
    assert_eq!(shows(&["second"]).await, 1, "nothing has changed");
    backend
        .events
        .lock()
        .unwrap()
        .push((1_741_060_007, "new".into()));
    backend.events_version.lock().unwrap().added += 1;
    assert_eq!(shows(&["new", "second"]).await, 2);
    // A row that was stored late belongs in the middle.
    backend
        .events
        .lock()
        .unwrap()
        .push((1_741_060_003, "late".into()));
    backend.events_version.lock().unwrap().added += 1;
    assert_eq!(shows(&["new", "late", "second"]).await, 3);
    backend.events.lock().unwrap().clear();
    backend.events_version.lock().unwrap().removed += 1;
    assert_eq!(shows(&["second"]).await, 4);
}

#[tokio::test]
async fn events_that_cannot_be_read_are_null_and_asked_for_again() {
    let backend = Arc::new(Fake {
        broken: true,
        ..Fake::default()
    });
    let router = router(app(Arc::clone(&backend)));
    let uri = "/v1/events?components=cpu,cpu&startTime=5&endTime=5";
    for _ in 0..2 {
        let got = ask_router(&router, request(uri, false)).await;
        let one = r#"{"component":"cpu","startTime":"1970-01-01T00:00:05Z","endTime":"1970-01-01T00:00:05Z","events":null}"#;
        assert_eq!(got.text(), format!("[{one},{one}]"));
    }
    assert_eq!(backend.asked_events.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn samples_are_read_again_when_they_change() {
    let backend = Arc::<Fake>::default();
    let router = router(app(Arc::clone(&backend)));
    let mut first = None;
    for (uri, reads) in [
        ("/v1/metrics?since=1h", 1),
        ("/v1/metrics?since=1h", 1),
        ("/v1/metrics?since=1h1s", 1),
        ("/v1/metrics?since=2h", 2),
        ("/v1/metrics?components=cpu&since=1h", 3),
    ] {
        let got = ask_router(&router, request(uri, true)).await;
        assert_eq!(backend.asked_samples.lock().unwrap().len(), reads, "{uri}");
        let first = first.get_or_insert_with(|| got.body.clone());
        if reads < 3 {
            assert_eq!(*first, got.body);
        }
    }
    backend.samples_version.fetch_add(1, Ordering::Relaxed);
    ask_router(&router, request("/v1/metrics?since=1h", true)).await;
    assert_eq!(backend.asked_samples.lock().unwrap().len(), 4);
}
