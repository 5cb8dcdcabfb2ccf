use std::time::{Duration, Instant};

use axum::http::StatusCode;
use gpud_exports::spool::Spool;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::server::{Bench, Server, closed_port, eventually, ids, record};

fn webhook(name: &str, port: u16) -> String {
    format!(
        "  - {{name: {name}, kind: webhook, url: 'http://127.0.0.1:{port}', timeout: 500ms, longest_pause: 50ms}}\n"
    )
}

fn one(port: u16) -> String {
    format!("exports:\n{}", webhook("ops", port))
}

#[tokio::test(flavor = "multi_thread")]
async fn records_arrive_when_an_endpoint_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench::new(Some(folder.path().to_owned()));
    let port = closed_port().await;
    bench.apply(&one(port)).await;
    let sent: Vec<_> = (0..250).map(record).collect();
    sent.iter().for_each(|record| bench.push(record));
    let reason = bench.says("ops", "250 records wait").await;
    assert!(reason.contains("refused"), "{reason}");
    eventually(|| (bench.view("ops").failures > 3).then_some(())).await;
    let server = Server::start(port, |_| StatusCode::OK).await;
    eventually(|| (bench.view("ops").waiting() == 0).then_some(())).await;
    let expected: Vec<_> = sent.iter().map(|record| record.id.to_string()).collect();
    assert_eq!(ids(&server.got()), expected);
    bench.says("ops", "250 delivered").await;
    bench.exports.stop().await;
}

/// Servers that accept and then say nothing, nonsense, or half an answer; another export is not held up by them.
#[tokio::test(flavor = "multi_thread")]
async fn odd_servers_hold_up_their_own_export_only() {
    let good = Server::start(0, |_| StatusCode::OK).await;
    for answer in [
        "",
        "nonsense\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "SSH-2.0-OpenSSH_9.6\r\n",
    ] {
        let before = good.got().len();
        let odd = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = odd.local_addr().unwrap().port();
        let serving = tokio::spawn(async move {
            loop {
                let (mut stream, _) = odd.accept().await.unwrap();
                tokio::spawn(async move {
                    let mut buffer = [0; 1024];
                    let _ = stream.read(&mut buffer).await;
                    let _ = stream.write_all(answer.as_bytes()).await;
                    // Half open: it stays, and says nothing more.
                    tokio::time::sleep(Duration::from_secs(60)).await;
                });
            }
        });
        let bench = Bench::new(None);
        bench
            .apply(&format!("{}{}", one(port), webhook("good", good.port)))
            .await;
        bench.push(&record(1));
        good.wait(before + 1).await;
        bench.says("ops", "nothing could be delivered").await;
        assert_eq!(bench.view("ops").waiting(), 1, "{answer:?}");
        assert_eq!(bench.view("good").waiting(), 0);
        let began = Instant::now();
        bench.exports.stop().await;
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "the stop is bounded"
        );
        serving.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_decide_whether_records_wait_or_are_given_up() {
    let server = Server::start(0, |got| {
        let text = String::from_utf8_lossy(&got.body).into_owned();
        match text.contains("change 3") {
            true => StatusCode::BAD_REQUEST,
            false => StatusCode::OK,
        }
    })
    .await;
    let bench = Bench::new(None);
    bench.apply(&one(server.port)).await;
    (0..8).map(record).for_each(|record| bench.push(&record));
    eventually(|| (bench.view("ops").waiting() == 0).then_some(())).await;
    let view = bench.view("ops");
    assert_eq!((view.delivered, view.refused, view.dropped), (7, 1, 0));
    let reason = bench.says("ops", "1 record was lost").await;
    assert!(
        reason.contains("400 Bad Request: what the server says"),
        "{reason}"
    );
    bench.exports.stop().await;

    for status in [
        StatusCode::UNAUTHORIZED,
        StatusCode::INTERNAL_SERVER_ERROR,
        StatusCode::FOUND,
    ] {
        let server = Server::start(0, move |_| status).await;
        let bench = Bench::new(None);
        bench.apply(&one(server.port)).await;
        bench.push(&record(1));
        bench.says("ops", status.as_str()).await;
        eventually(|| (bench.view("ops").failures >= 2).then_some(())).await;
        assert_eq!(bench.view("ops").waiting(), 1, "{status}");
        bench.exports.stop().await;
    }
}

/// The process ends between send and acknowledgement: the records come again, with the same ids.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_crash_repeats_have_the_same_ids() {
    let folder = tempfile::tempdir().unwrap();
    let port = closed_port().await;
    let bench = Bench::new(Some(folder.path().to_owned()));
    bench.apply(&one(port)).await;
    let sent: Vec<_> = (0..5).map(record).collect();
    sent.iter().for_each(|record| bench.push(record));
    bench.says("ops", "5 records wait").await;
    bench.exports.stop().await;
    // A crash leaves the disk as it is at this moment.
    let copy = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("ops"), copy.path().join("ops"));
    std::fs::create_dir(&to).unwrap();
    for entry in std::fs::read_dir(&from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    let server = Server::start(port, |_| StatusCode::OK).await;
    for folder in [folder.path(), copy.path()] {
        let bench = Bench::new(Some(folder.to_owned()));
        bench.apply(&one(port)).await;
        eventually(|| (bench.view("ops").delivered == 5).then_some(())).await;
        bench.exports.stop().await;
        let (spool, _) = Spool::open(&folder.join("ops"), 1 << 20).unwrap();
        assert_eq!(spool.waiting(), 0);
    }
    let expected: Vec<_> = sent.iter().map(|record| record.id.to_string()).collect();
    let got = ids(&server.got());
    assert_eq!(got[..5], expected);
    assert_eq!(got[5..], expected);
    let headers: Vec<_> = server
        .got()
        .iter()
        .map(|got| got.header("webhook-id").to_owned())
        .collect();
    assert_eq!(
        headers[0], headers[1],
        "the id of the request is the same, too"
    );
}
