//! Servers that send more than an answer, or request data that they may not get.

use axum::http::StatusCode;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, UnixListener},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

use crate::server::{Bench, record};

/// What a server says: first this, and then that without an end.
#[derive(Clone, Default)]
struct ServerMessages {
    first: Vec<u8>,
    endless: Vec<u8>,
}

/// Reads the beginning of a request, answers, and returns what is sent after that.
async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    speech: ServerMessages,
) -> Vec<u8> {
    let mut buffer = [0; 4096];
    let _ = stream.read(&mut buffer).await;
    let mut open = stream.write_all(&speech.first).await.is_ok();
    while open && !speech.endless.is_empty() {
        open = stream.write_all(&speech.endless).await.is_ok();
    }
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    rest
}

fn serve_and_tell<S>(stream: S, speech: &ServerMessages, rest: &UnboundedSender<Vec<u8>>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (speech, rest) = (speech.clone(), rest.clone());
    tokio::spawn(async move {
        let _ = rest.send(serve(stream, speech).await);
    });
}

/// Listens on a port. What clients send after the answer comes by the channel.
async fn listen(speech: ServerMessages) -> (u16, UnboundedReceiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, rest) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            serve_and_tell(stream, &speech, &sender);
        }
    });
    (port, rest)
}

/// A message of PostgreSQL.
fn message(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len() + 4).unwrap();
    [&[tag][..], &length.to_be_bytes(), content].concat()
}

/// The question for the password in clear text.
fn question() -> ServerMessages {
    ServerMessages {
        first: message(b'R', &3_u32.to_be_bytes()),
        endless: Vec::new(),
    }
}

/// An export to a database with a password, and a record for it.
async fn postgres(folder: &std::path::Path, server: &str) -> Bench {
    postgres_of(folder, server, "").await
}

/// The same with further keys.
async fn postgres_of(folder: &std::path::Path, server: &str, keys: &str) -> Bench {
    let password = folder.join("password");
    std::fs::write(&password, "hunter2").unwrap();
    let password = password.display();
    let bench = Bench::new(None);
    bench
        .apply(&format!(
            "exports:\n  - name: db\n    kind: postgres\n    longest_pause: 50ms\n    timeout: 30s\n{keys}    \
             server: {{database: d, user: u, password: 'file:{password}', {server}}}\n"
        ))
        .await;
    bench.push(&record(1));
    bench
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_answer_of_a_bucket_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "hunter2").unwrap();
    let key = key.display();
    let head = format!(
        "HTTP/1.1 {}\r\nTransfer-Encoding: chunked\r\n\r\n",
        StatusCode::FORBIDDEN
    );
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let (port, _rest) = listen(ServerMessages {
        first: head.into_bytes(),
        endless: chunk.into_bytes(),
    })
    .await;
    let bench = Bench::new(None);
    bench
        .apply(&format!(
            "exports:\n  - name: lake\n    kind: s3\n    longest_pause: 50ms\n    timeout: 30s\n    cluster: c1\n    gather: 0s\n    \
             bucket: {{name: bkt, endpoint: 'http://127.0.0.1:{port}', access_key_id: 'file:{key}', secret_access_key: 'file:{key}'}}\n"
        ))
        .await;
    bench.push(&record(1));
    bench.says("lake", "403 Forbidden").await;
    bench.exports.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_answer_of_a_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (port, _rest) = listen(ServerMessages {
        // It announces a gibibyte.
        first: b"E\x40\0\0\0".to_vec(),
        endless: vec![b'x'; 1 << 16],
    })
    .await;
    let server = format!("host: 127.0.0.1, port: {port}, tls: disable");
    let bench = postgres(folder.path(), &server).await;
    bench.says("db", "the answer has more than").await;
    bench.exports.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_error_of_a_database_leaves_room_for_the_advice() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(100_000);
    let fields = format!("SFATAL\0C28P01\0M{long}\0D{long}\0\0");
    let (port, _rest) = listen(ServerMessages {
        first: message(b'E', fields.as_bytes()),
        endless: Vec::new(),
    })
    .await;
    let server = format!("host: 127.0.0.1, port: {port}, tls: disable");
    let bench = postgres(folder.path(), &server).await;
    bench.says("db", "look at user and password").await;
    bench.exports.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_password_is_sent_in_clear_text_without_tls() {
    let folder = tempfile::tempdir().unwrap();
    let (port, mut rest) = listen(question()).await;
    let server = format!("host: 127.0.0.1, port: {port}, tls: disable");
    let bench = postgres(folder.path(), &server).await;
    assert_eq!(rest.recv().await.unwrap(), b"");
    bench.says("db", "in clear text").await;
    bench.exports.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_of_another_user_gets_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
    let (sender, mut rest) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // All that is sent, from the first byte on.
            let mut buffer = [0; 4096];
            let length = stream.read(&mut buffer).await.unwrap_or_default();
            let _ = sender.send(buffer[..length].to_vec());
            let ServerMessages { first, .. } = question();
            let _ = stream.write_all(&first).await;
            let length = stream.read(&mut buffer).await.unwrap_or_default();
            let _ = sender.send(buffer[..length].to_vec());
        }
    });
    let host = folder.path().display();
    // The secrets of these tests are for all users but `nobody`.
    let other = postgres(folder.path(), &format!("host: '{host}', owner: nobody")).await;
    assert_eq!(rest.recv().await.unwrap(), b"");
    other.says("db", "not as nobody").await;
    other.exports.stop().await;
    while rest.try_recv().is_ok() {}

    let known = postgres(folder.path(), &format!("host: '{host}'")).await;
    let is_password = |sent: &Vec<u8>| sent.windows(7).any(|part| part == b"hunter2");
    while !is_password(&rest.recv().await.unwrap()) {}
    known.exports.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_of_another_user_gets_nothing_without_a_proven_name() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, mut rest) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 4096];
            let length = stream.read(&mut buffer).await.unwrap_or_default();
            let _ = sender.send(length);
        }
    });
    for tls in ["disable", "require", "verify-ca"] {
        let server = format!("host: 127.0.0.1, port: {port}, tls: {tls}");
        let other = postgres_of(folder.path(), &server, "    peer_user: nobody\n").await;
        other.says("db", "gets nothing").await;
        assert_eq!(rest.recv().await, Some(0), "{tls}");
        other.exports.stop().await;
        while rest.try_recv().is_ok() {}
    }
    let server = format!("host: 127.0.0.1, port: {port}, tls: require");
    let known = postgres(folder.path(), &server).await;
    while rest.recv().await.unwrap() == 0 {}
    known.exports.stop().await;
}

#[cfg(feature = "otlp")]
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_repeats_a_secret_is_not_shown() {
    const PATH: &str = "/services/T00000001/Xy7Zq9Lm";
    for (kind, address) in [("webhook", "url"), ("otlp", "endpoint")] {
        let page = format!("Cannot POST {PATH}, authorization: Bearer hunter2");
        let length = page.len();
        let answer = format!(
            "HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{page}"
        );
        let (port, _rest) = listen(ServerMessages {
            first: answer.into_bytes(),
            endless: Vec::new(),
        })
        .await;
        let folder = tempfile::tempdir().unwrap();
        let token = folder.path().join("token");
        std::fs::write(&token, "hunter2").unwrap();
        let token = token.display();
        let bench = Bench::new(None);
        bench
            .apply(&format!(
                "exports:\n  - {{name: x, kind: {kind}, {address}: 'http://127.0.0.1:{port}{PATH}', \
                 bearer_token: 'file:{token}', longest_pause: 50ms}}\n"
            ))
            .await;
        bench.push(&record(1));
        let said = bench.says("x", "answered 404").await;
        for secret in ["hunter2", "Xy7Zq9Lm"] {
            assert!(!said.contains(secret), "{kind}: {said}");
        }
        bench.exports.stop().await;
    }
}
