//! The server over real sockets: TLS, HTTP/1.1, HTTP/2, plain HTTP, and its end.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};

use futures_util::FutureExt as _;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, UnixStream},
    sync::Notify,
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
    Access, Certificate, Listeners, Reload as _, Serving, Sites, Token, bind, from_files,
    limits::PORT,
    listener::{Endpoint, Listener, accept},
    plain_http,
    router::router,
    self_signed, serve,
    shares::{Bounds, Quota, Shares},
    test_backend::{Fake, app},
};
use crate::node::local_socket::LocalSocket;

pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) shutdown: CancellationToken,
    pub(super) task: JoinHandle<()>,
}

async fn start() -> Server {
    let listener = bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let serving = Serving {
        tls: self_signed("node-1").unwrap(),
        access: Access::default(),
        sites: Sites::default(),
        profiling: false,
        reloaded: Vec::new(),
        reload_now: Arc::default(),
    };
    let listeners = Listeners {
        port: std::future::ready(listener).boxed(),
        local_socket: None,
    };
    let task = tokio::spawn(serve(
        listeners,
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

pub(super) fn port(listener: TcpListener, shares: Arc<Shares>) -> Endpoint {
    Endpoint {
        listener: Listener::Port(listener),
        tls: Some(TlsAcceptor::from(self_signed("node-1").unwrap())),
        shares,
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

pub(super) async fn connect(server: &Server, alpn: &[u8]) -> TlsStream<TcpStream> {
    try_connect(server, alpn).await.unwrap()
}

async fn try_connect(server: &Server, alpn: &[u8]) -> io::Result<TlsStream<TcpStream>> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting))
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    let stream = TcpStream::connect(server.address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await?;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(alpn));
    Ok(stream)
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
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
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
        .write_all(b"GET /v1/states HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n")
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
async fn a_connection_too_many_is_closed_until_one_ends() {
    let listener = bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let two = Quota {
        all: 2,
        others: 2,
        each: 2,
    };
    let shares = Arc::new(Shares::new(Bounds {
        connections: two,
        ..PORT
    }));
    let task = tokio::spawn(accept(
        port(listener, shares),
        router(app(Arc::<Fake>::default())),
        shutdown.clone(),
    ));
    let server = Server {
        address,
        shutdown,
        task,
    };
    // One that never speaks, and one that does.
    let silent = TcpStream::connect(address).await.unwrap();
    let mut speaks = connect(&server, b"http/1.1").await;
    let mut third = TcpStream::connect(address).await.unwrap();
    assert_eq!(third.read(&mut [0]).await.unwrap_or(0), 0);
    speaks
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    read_answer(&mut speaks).await;
    drop(silent);
    // It takes the daemon a moment to notice.
    let mut third = loop {
        if let Ok(stream) = try_connect(&server, b"http/1.1").await {
            break stream;
        }
        tokio::task::yield_now().await;
    };
    third
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    read_answer(&mut third).await;
}

/// The bodies of 64 requests never come; others are answered all the same.
#[tokio::test]
async fn bodies_that_never_arrive_delay_no_other_client() {
    let server = start().await;
    let mut slow = Vec::new();
    for _ in 0..64 {
        let mut stream = connect(&server, b"http/1.1").await;
        stream
            .write_all(
                b"POST /inject-fault HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
            )
            .await
            .unwrap();
        slow.push(stream);
    }
    let mut stream = connect(&server, b"http/1.1").await;
    stream
        .write_all(b"GET /v1/components HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    let (head, _) = read_answer(&mut stream).await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
}

/// What a client sent that is gone when its turn comes is not done, also if another request follows in the same bytes: the
/// HTTP library then looks no further.
#[tokio::test]
async fn a_request_of_a_disconnected_client_is_not_executed() {
    let backend = Arc::<Fake>::default();
    let app = app(Arc::<Fake>::clone(&backend));
    let shares = Arc::clone(&app.shares);
    let listener = bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let task = tokio::spawn(accept(
        port(listener, Arc::clone(&shares)),
        router(app),
        shutdown.clone(),
    ));
    let server = Server {
        address,
        shutdown,
        task,
    };
    let mut turns = Vec::new();
    for _ in 0..PORT.turns.all {
        turns.push(shares.turn().await.unwrap());
    }
    let inject = |id: u32| {
        let body = format!("{{\"xid\":{{\"id\":{id}}}}}");
        format!(
            "POST /inject-fault HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let mut gone = connect(&server, b"http/1.1").await;
    let both = inject(79) + "POST /inject-fault HTTP/1.1\r\nHost: localh";
    gone.write_all(both.as_bytes()).await.unwrap();
    let mut stays = connect(&server, b"http/1.1").await;
    stays.write_all(inject(48).as_bytes()).await.unwrap();
    // Both have their bodies' places, and wait for a turn.
    while shares.free_bodies() > PORT.bodies.all - 2 {
        tokio::task::yield_now().await;
    }
    gone.get_ref().0.set_zero_linger().unwrap();
    drop(gone);
    // The reset is on its way over the loopback; another connection's bytes are behind it.
    connect(&server, b"http/1.1").await;
    drop(turns);
    let (head, _) = read_answer(&mut stays).await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    while shares.free_bodies() < PORT.bodies.all {
        tokio::task::yield_now().await;
    }
    let injected = backend.injected.lock().unwrap().clone();
    assert_eq!(injected.len(), 1, "{injected:?}");
    assert!(injected[0].1.contains("48"), "{injected:?}");
}

/// `PING` frames without end, as raw bytes: hyper's client would not send them.
#[tokio::test]
async fn a_flood_of_control_frames_is_cut() {
    let ping = b"\0\0\x08\x06\0\0\0\0\0pingpong".as_slice();
    let settings = b"\0\0\0\x04\0\0\0\0\0".as_slice();
    for frame in [ping, settings] {
        let server = start().await;
        let stream = connect(&server, b"h2").await;
        let (mut read, mut write) = tokio::io::split(stream);
        let greeting = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(), settings].concat();
        write.write_all(&greeting).await.unwrap();
        let drain = tokio::spawn(async move {
            let mut answers = [0; 4096];
            while read.read(&mut answers).await.is_ok_and(|bytes| bytes > 0) {}
        });
        let frames = frame.repeat(100);
        let mut sent = 0;
        while sent < 1_000_000 && write.write_all(&frames).await.is_ok() {
            sent += 100;
        }
        assert!(sent < 1_000_000, "nobody minds");
        drain.await.unwrap();
        // Others are served.
        connect(&server, b"h2").await;
    }
}

#[tokio::test]
async fn the_unix_socket_is_served_beside_the_port_with_turns_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gpud.sock");
    let token = Token::open(&folder.path().join("token")).unwrap();
    let mut app = app(Arc::<Fake>::default());
    app.access = Access {
        token: Some(Arc::new(token)),
        require_token: true,
    };
    let shutdown = CancellationToken::new();
    let task = tokio::spawn(accept(
        Endpoint::local(LocalSocket::bind(&path).unwrap()),
        router(app),
        shutdown.clone(),
    ));
    let mut stream = UnixStream::connect(&path).await.unwrap();
    // A client that the kernel identifies as gpud's own user needs no token here.
    for request in ["GET /v1/components", "POST /v1/health-states/set-healthy"] {
        let text = format!("{request} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        let (head, _) = read_answer(&mut stream).await;
        assert!(head.starts_with("http/1.1 200"), "{head}");
    }
    drop(stream);
    shutdown.cancel();
    task.await.unwrap();
    assert!(!path.exists());
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
        sites: Sites::default(),
        profiling: false,
        reloaded: vec![files.clone()],
        reload_now: Arc::clone(&reload_now),
    };
    let backend = Arc::new(Fake::default());
    let listeners = Listeners {
        port: std::future::ready(listener).boxed(),
        local_socket: None,
    };
    let task = tokio::spawn(serve(listeners, serving, backend, shutdown.clone()));
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
    let shares = Arc::clone(&app.shares);
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
    let mut all = Vec::new();
    for _ in 0..PORT.turns.all {
        all.push(shares.turn().await.unwrap());
    }
    assert_eq!((ask("/healthz").await, ask("/v1/states").await), (200, 503));
    drop(all);
    assert_eq!(ask("/v1/states").await, 200);
}

#[tokio::test]
async fn plain_http_gets_an_explanation_and_tls_goes_on() {
    let server = start().await;
    let mut plain = TcpStream::connect(server.address).await.unwrap();
    plain
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
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
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n")
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
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
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
