use axum::http::StatusCode;
use gpud_exports::{ComponentHealth, Health, HealthView, Snapshot, Subject};

use crate::server::{Bench, Server, node};

fn snapshot(health: Health) -> Snapshot {
    let state = |component: &str, health| ComponentHealth {
        component: component.into(),
        states: vec![HealthView {
            name: component.into(),
            health,
            reason: "why".into(),
            suggested_actions: Vec::new(),
            subject: Some(Subject::Node),
            since: 1_000,
        }],
    };
    Snapshot {
        node: node(),
        components: vec![state("cpu", Health::Degraded), state("disk", health)],
        ..Snapshot::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alert_fires_and_is_resolved() {
    let server = Server::start(0, |_| StatusCode::OK).await;
    let bench = Bench::new(None);
    let port = server.port;
    bench
        .apply(&format!(
            "exports:\n  - {{name: alerts, kind: alertmanager, url: 'http://127.0.0.1:{port}/', resend: 1h, select: {{components: [-cpu]}}}}\n"
        ))
        .await;
    assert!(bench.exports.wants_snapshots());
    bench.exports.show(snapshot(Health::Unhealthy));
    let got = server.wait(1).await;
    assert_eq!(got[0].path, "/api/v2/alerts");
    let alerts = got[0].json();
    assert_eq!(alerts.as_array().unwrap().len(), 1, "{alerts}");
    assert_eq!(alerts[0]["labels"]["alertname"], "GpudUnhealthy");
    bench.exports.show(snapshot(Health::Unhealthy));
    bench.exports.show(snapshot(Health::Healthy));
    let got = server.wait(2).await;
    let alerts = got[1].json();
    assert_eq!(alerts[0]["labels"]["alertname"], "GpudUnhealthy");
    assert_eq!(alerts[0]["endsAt"], "2026-09-21T14:13:20.000Z");
    bench.exports.stop().await;
    assert_eq!(
        server.got().len(),
        2,
        "the same state is not sent again at once"
    );
}
