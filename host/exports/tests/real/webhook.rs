use axum::http::StatusCode;
use gpud_exports::{secret::SecretValue, webhook::signature};
use std::sync::atomic::Ordering;

use crate::server::{Bench, ReceivedRequest, Server, ids, record};

fn is_signed_with(got: &ReceivedRequest, key: &str) -> bool {
    let (id, time) = (got.header("webhook-id"), got.header("webhook-timestamp"));
    let expected = signature(&SecretValue::new(key), id, time, &got.body).unwrap();
    got.header("webhook-signature") == expected
}

#[tokio::test(flavor = "multi_thread")]
async fn records_arrive_signed_and_in_order() {
    let server = Server::start(0, |_| StatusCode::ACCEPTED).await;
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    let token = folder.path().join("token");
    std::fs::write(&key, "one\n").unwrap();
    std::fs::write(&token, "bearer-1\n").unwrap();
    let bench = Bench::new(Some(folder.path().join("spool")));
    let (port, key_at, token_at) = (server.port, key.display(), token.display());
    let yaml = format!(
        "exports:\n  - name: ops\n    kind: webhook\n    url: http://127.0.0.1:{port}/hook?x=1\n    secret: file:{key_at}\n    \
         bearer_token: file:{token_at}\n    headers: {{X-Team: gpu}}\n"
    );
    bench.apply(&yaml).await;
    bench.push(&record(1));
    let got = server.wait(1).await;
    assert_eq!(got[0].path, "/hook");
    assert!(is_signed_with(&got[0], "one"));
    assert_eq!(got[0].header("authorization"), "Bearer bearer-1");
    assert_eq!(got[0].header("x-team"), "gpu");
    assert_eq!(got[0].header("user-agent"), "gpud/test");
    assert_eq!(got[0].header("webhook-timestamp"), "1790000000");
    assert_eq!(got[0].json()[0]["data"]["health"]["reason"], "change 1");

    // Both are replaced while gpud runs, and the clock jumps back.
    std::fs::write(&key, "two").unwrap();
    std::fs::write(&token, "bearer-2").unwrap();
    bench.now.store(1_000_000, Ordering::SeqCst);
    bench.push(&record(2));
    let got = server.wait(2).await;
    assert!(is_signed_with(&got[1], "two"));
    assert_eq!(got[1].header("authorization"), "Bearer bearer-2");
    bench.exports.stop().await;
    assert_eq!(ids(&server.got()).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_gone_holds_records_back_and_is_named() {
    let server = Server::start(0, |_| StatusCode::OK).await;
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    let bench = Bench::new(None);
    let (port, key_at) = (server.port, key.display());
    bench
        .apply(&format!(
            "exports:\n  - {{name: ops, kind: webhook, url: 'http://127.0.0.1:{port}', secret: 'file:{key_at}', longest_pause: 50ms}}\n"
        ))
        .await;
    bench.push(&record(1));
    bench.says("ops", "the secret cannot be read").await;
    assert_eq!(server.got().len(), 0, "nothing goes out unsigned");
    std::fs::write(&key, "one").unwrap();
    assert!(is_signed_with(&server.wait(1).await[0], "one"));
    bench.exports.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_keeps_what_waits_and_an_unchanged_export_goes_on() {
    let server = Server::start(0, |_| StatusCode::OK).await;
    let folder = tempfile::tempdir().unwrap();
    for spool in [None, Some(folder.path().to_owned())] {
        let before = server.got().len();
        let bench = Bench::new(spool);
        let port = crate::server::closed_port().await;
        let yaml = |port: u16| {
            format!(
                "exports:\n  - {{name: moved, kind: webhook, url: 'http://127.0.0.1:{port}', longest_pause: 50ms}}\n  - \
                 {{name: same, kind: webhook, url: 'http://127.0.0.1:1', longest_pause: 1m}}\n"
            )
        };
        bench.apply(&yaml(port)).await;
        bench.push(&record(1));
        bench.push(&record(2));
        bench.says("moved", "nothing could be delivered").await;
        bench.says("same", "nothing could be delivered").await;
        bench.apply(&yaml(server.port)).await;
        let got = server.wait(before + 1).await;
        assert_eq!(ids(&got[before..]).len(), 2);
        assert_eq!(bench.view("same").waiting(), 2);
        bench.apply("exports: []").await;
        assert!(bench.exports.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_gets_the_selected_records_without_its_own_state() {
    let server = Server::start(0, |_| StatusCode::OK).await;
    let bench = Bench::new(None);
    let port = server.port;
    bench
        .apply(&format!(
            "exports:\n  - {{name: ops, kind: webhook, url: 'http://127.0.0.1:{port}', mode: structured, select: {{components: [-cpu]}}}}\n"
        ))
        .await;
    let of = |component: &str| {
        let mut record = record(1);
        if let gpud_exports::Finding::Health(change) = &mut record.finding {
            change.component = component.to_owned();
        }
        record
    };
    for component in ["cpu", "export-ops", "export-other", "disk"] {
        bench.push(&of(component));
    }
    let got = server.wait(2).await;
    let components: Vec<_> = got
        .iter()
        .map(|got| got.json()["component"].clone())
        .collect();
    assert_eq!(components, ["export-other", "disk"]);
    bench.exports.stop().await;
    assert_eq!(server.got().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_may_not_have_it_gets_nothing_without_tls() {
    let server = Server::start(0, |_| StatusCode::OK).await;
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "one\n").unwrap();
    let (port, key) = (server.port, key.display());
    for settings in [
        format!("kind: webhook, url: 'http://127.0.0.1:{port}', bearer_token: 'file:{key}'"),
        // By name as well: what counts is the address that was connected.
        format!("kind: webhook, url: 'http://localhost:{port}'"),
        format!("kind: otlp, endpoint: 'http://127.0.0.1:{port}', protocol: http/protobuf"),
        format!("kind: otlp, endpoint: 'http://127.0.0.1:{port}', protocol: grpc"),
    ] {
        let bench = Bench::new(None);
        bench
            .apply(&format!(
                "exports:\n  - {{name: ops, {settings}, longest_pause: 50ms, peer_user: nobody}}\n"
            ))
            .await;
        bench.push(&record(1));
        bench.says("ops", "gets nothing").await;
        assert_eq!(server.got().len(), 0, "{settings}");
        bench.exports.stop().await;
    }
    let bench = Bench::new(None);
    bench
        .apply(&format!(
            "exports:\n  - {{name: ops, kind: webhook, url: 'http://127.0.0.1:{port}', peer_user: somebody}}\n"
        ))
        .await;
    bench.push(&record(1));
    server.wait(1).await;
    bench.exports.stop().await;
}
