//! The server over real sockets: TLS, HTTP/1.1, HTTP/2, plain HTTP, and its end.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::{Notify, Semaphore},
    task::JoinHandle,
};
use tokio_rustls::{
    TlsAcceptor, TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
        client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        crypto::ring,
        pki_types::{CertificateDer, ServerName, UnixTime},
    },
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::{
    Access, Certificate, Reload as _, Serving, bind, from_files,
    listener::accept,
    plain_http,
    router::router,
    self_signed, serve,
    test_backend::{Fake, app},
};

struct Server {
    address: SocketAddr,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

async fn start() -> Server {
    let listener = bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let serving = Serving {
        tls: self_signed("node-1").unwrap(),
        access: Access::default(),
        profiling: false,
        reloaded: Vec::new(),
        reload_now: Arc::default(),
    };
    let task = tokio::spawn(serve(
        listener,
        serving,
        Arc::new(Fake::default()),
        shutdown.clone(),
    ));
    Server {
        address,
        shutdown,
        task,
    }
}

/// Takes any certificate, as GPUd's clients do.
#[derive(Debug)]
struct Trusting;

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

async fn connect(server: &Server, alpn: &[u8]) -> TlsStream<TcpStream> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting))
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    let stream = TcpStream::connect(server.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(alpn));
    stream
}

/// One HTTP/1.1 answer: head and body, by its content length.
async fn read_answer(stream: &mut (impl AsyncRead + Unpin)) -> (String, Vec<u8>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head
        .split("content-length: ")
        .nth(1)
        .unwrap()
        .split("\r\n")
        .next()
        .unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).await.unwrap();
    (head, body)
}

#[tokio::test]
async fn http1_keeps_the_connection_and_compresses() {
    let server = start().await;
    let mut stream = connect(&server, b"http/1.1").await;
    for _ in 0..2 {
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            .await
            .unwrap();
        let (head, body) = read_answer(&mut stream).await;
        assert!(
            head.starts_with("http/1.1 200 ok\r\n") && head.contains("x-request-id: "),
            "{head}"
        );
        assert_eq!(body, br#"{"status":"ok","version":"v1"}"#);
    }
    stream
        .write_all(b"GET /v1/states HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n")
        .await
        .unwrap();
    let (head, body) = read_answer(&mut stream).await;
    assert!(head.contains("content-encoding: gzip"), "{head}");
    assert_eq!(body[..2], [0x1f, 0x8b]);
}

#[tokio::test]
async fn http2_is_offered_and_spoken() {
    let server = start().await;
    let stream = connect(&server, b"h2").await;
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    let connection = tokio::spawn(connection);
    // As many at once over one connection as may be under way.
    let asked = (0..16).map(|n| {
        let mut sender = sender.clone();
        async move {
            let uri = match n % 4 {
                0 => "https://localhost/healthz",
                1 => "https://localhost/v1/events?components=cpu&startTime=1",
                2 => "https://localhost/v1/nothing",
                _ => "https://localhost/v1/metrics",
            };
            let request = Request::get(uri)
                .header("accept-encoding", "gzip")
                .body(Empty::<Bytes>::new())
                .unwrap();
            let answer = sender.send_request(request).await.unwrap();
            let status = answer.status().as_u16();
            let gzip = answer.headers().contains_key("content-encoding");
            let length = answer.headers()["content-length"]
                .to_str()
                .unwrap()
                .to_owned();
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(length, body.len().to_string());
            let listed = n % 4 == 1 || n % 4 == 3;
            assert_eq!((status == 200, gzip), (n % 4 != 2, listed), "{uri}");
        }
    });
    futures_util::future::join_all(asked).await;
    drop(sender);
    connection.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_connection_too_many_waits_until_one_ends() {
    let listener = bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (shutdown, slots) = (CancellationToken::new(), Arc::new(Semaphore::new(2)));
    let app = app(Arc::<Fake>::default());
    let clients = Arc::clone(&app.clients);
    let acceptor = TlsAcceptor::from(self_signed("node-1").unwrap());
    let task = tokio::spawn(accept(
        listener,
        acceptor,
        router(app),
        clients,
        Arc::clone(&slots),
        shutdown.clone(),
    ));
    let server = Server {
        address,
        shutdown,
        task,
    };
    // One that never speaks, and one that does.
    let silent = TcpStream::connect(address).await.unwrap();
    let _speaks = connect(&server, b"http/1.1").await;
    let third = connect(&server, b"http/1.1");
    tokio::pin!(third);
    let early = tokio::time::timeout(Duration::from_millis(200), &mut third).await;
    assert!(early.is_err(), "there is no slot");
    drop(silent);
    let mut third = third.await;
    third
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    read_answer(&mut third).await;
}

#[tokio::test]
async fn a_new_certificate_is_for_new_connections() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("c"), folder.path().join("k"));
    let write = || {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    };
    write();
    let (tls, files): (_, Arc<Certificate>) = from_files(&certificate, &key).unwrap();
    let listener = bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let reload_now = Arc::new(Notify::new());
    let serving = Serving {
        tls,
        access: Access::default(),
        profiling: false,
        reloaded: vec![files.clone()],
        reload_now: Arc::clone(&reload_now),
    };
    let backend = Arc::new(Fake::default());
    let task = tokio::spawn(serve(listener, serving, backend, shutdown.clone()));
    let server = Server {
        address,
        shutdown,
        task,
    };
    let leaf = async || {
        let stream = connect(&server, b"http/1.1").await;
        stream.get_ref().1.peer_certificates().unwrap()[0].clone()
    };
    let first = leaf().await;
    write();
    // As SIGHUP does; without it the file is seen within two seconds.
    reload_now.notify_one();
    let mut second = leaf().await;
    for _ in 0..200 {
        if second != first {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        second = leaf().await;
    }
    assert_ne!(second, first);
    std::fs::write(&certificate, "broken").unwrap();
    assert!(files.reload().unwrap_err().contains("no usable PEM"));
    assert_eq!(leaf().await, second, "the one of before stays");
}

#[tokio::test]
async fn a_request_too_many_waits_and_is_then_refused() {
    let mut app = app(Arc::<Fake>::default());
    app.queue_time = Duration::from_millis(50);
    let in_flight = Arc::clone(&app.in_flight);
    let router = router(app);
    let ask = async |path: &str| {
        let request = Request::get(path).body(axum::body::Body::empty()).unwrap();
        router
            .clone()
            .oneshot(request)
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    let all = in_flight.acquire_many(64).await.unwrap();
    assert_eq!((ask("/healthz").await, ask("/v1/states").await), (200, 503));
    drop(all);
    assert_eq!(ask("/v1/states").await, 200);
}

#[tokio::test]
async fn plain_http_is_told_what_is_wrong_and_tls_goes_on() {
    let server = start().await;
    let mut plain = TcpStream::connect(server.address).await.unwrap();
    plain
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    plain.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, plain_http::ANSWER);
    connect(&server, b"http/1.1").await;
}

#[tokio::test]
async fn too_large_a_head_is_refused() {
    let server = start().await;
    let mut stream = connect(&server, b"http/1.1").await;
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n")
        .await
        .unwrap();
    let line = format!("X: {}\r\n", "y".repeat(10_000));
    // The server may close before all is sent.
    for _ in 0..20 {
        if stream.write_all(line.as_bytes()).await.is_err() {
            break;
        }
    }
    // A server that takes any head would now answer 404.
    let _: io::Result<()> = stream.write_all(b"\r\n").await;
    let mut answer = Vec::new();
    let _: io::Result<usize> = stream.read_to_end(&mut answer).await;
    assert!(
        answer.is_empty() || answer.starts_with(b"HTTP/1.1 431"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
}

#[tokio::test]
async fn shutdown_ends_idle_connections_and_refuses_new_ones() {
    let server = start().await;
    let mut idle = connect(&server, b"http/1.1").await;
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    read_answer(&mut idle).await;
    server.shutdown.cancel();
    server.task.await.unwrap();
    let mut rest = Vec::new();
    let _: io::Result<usize> = idle.read_to_end(&mut rest).await;
    assert!(rest.is_empty());
    let refused = TcpStream::connect(server.address).await.unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
}
