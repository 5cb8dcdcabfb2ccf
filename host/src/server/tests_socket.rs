//! The server over real sockets: TLS, HTTP/1.1, HTTP/2, plain HTTP, and its end.

use std::{io, net::SocketAddr, sync::Arc};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinHandle,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
        client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        crypto::ring,
        pki_types::{CertificateDer, ServerName, UnixTime},
    },
};
use tokio_util::sync::CancellationToken;

use super::{bind, plain_http, self_signed, serve, test_backend::Fake};

struct Server {
    address: SocketAddr,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

async fn start() -> Server {
    let listener = bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let task = tokio::spawn(serve(
        listener,
        self_signed("node-1").unwrap(),
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
    let mut stream = connect(&server, b"h2").await;
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .await
        .unwrap();
    // Empty SETTINGS; then HEADERS that end stream 1: GET and https from the static table, path and authority literal.
    stream
        .write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0])
        .await
        .unwrap();
    let mut block = vec![0x82, 0x87, 0x04, 8];
    block.extend(b"/healthz");
    block.extend([0x01, 1, b'x']);
    stream
        .write_all(&[0, 0, u8::try_from(block.len()).unwrap(), 1, 5, 0, 0, 0, 1])
        .await
        .unwrap();
    stream.write_all(&block).await.unwrap();
    let body = loop {
        let mut frame = [0; 9];
        stream.read_exact(&mut frame).await.unwrap();
        let mut payload = vec![0; u32::from_be_bytes([0, frame[0], frame[1], frame[2]]) as usize];
        stream.read_exact(&mut payload).await.unwrap();
        // DATA.
        if frame[3] == 0 {
            break payload;
        }
    };
    assert_eq!(body, br#"{"status":"ok","version":"v1"}"#);
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
