use std::sync::Mutex;

use http::Response;
use http_body_util::Full;
use hyper::{body::Incoming, service::service_fn};
use rcgen::{CertificateParams, KeyPair};
use tokio::net::TcpListener;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
};

use super::*;
use crate::node::local_socket::LocalSocket;

type Seen = Arc<Mutex<Vec<String>>>;

/// Answers 418 with the request's method, target and host.
async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + 'static, seen: Seen) {
    let service = service_fn(move |request: Request<Incoming>| {
        let host = request.headers()[HOST].to_str().unwrap();
        let line = format!("{} {} {host}", request.method(), request.uri());
        seen.lock().unwrap().push(line);
        let mut response = Response::new(Full::new(Bytes::from_static(b"short and stout")));
        *response.status_mut() = StatusCode::IM_A_TEAPOT;
        async { Ok::<_, std::convert::Infallible>(response) }
    });
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

fn self_signed() -> TlsAcceptor {
    let key = KeyPair::generate().unwrap();
    let names = vec!["elsewhere".to_owned()];
    let certificate = CertificateParams::new(names)
        .unwrap()
        .self_signed(&key)
        .unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = tokio_rustls::rustls::crypto::ring::default_provider();
    let config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

#[tokio::test]
async fn asks_over_tls_and_without_whatever_the_certificate_says() {
    for tls in [true, false] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Seen::default();
        let server = async {
            let (stream, _) = listener.accept().await.unwrap();
            let seen = Arc::clone(&seen);
            if tls {
                serve(self_signed().accept(stream).await.unwrap(), seen).await;
            } else {
                serve(stream, seen).await;
            }
        };
        let scheme = if tls { "https" } else { "http" };
        let client = Client::new(&format!("{scheme}://127.0.0.1:{port}/base/")).unwrap();
        let (answer, ()) = tokio::join!(client.send(Method::POST, "/v1/x?a=b"), server);
        let answer = answer.unwrap();
        assert_eq!(answer.status, StatusCode::IM_A_TEAPOT);
        assert_eq!(answer.body, "short and stout");
        assert_eq!(
            *seen.lock().unwrap(),
            [format!("POST /base/v1/x?a=b 127.0.0.1:{port}")]
        );
    }
}

#[tokio::test]
async fn a_unix_socket_is_used_before_the_address() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gpud.sock");
    let socket = LocalSocket::bind(&path).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = tcp.local_addr().unwrap().port();
    let client = Client {
        sockets: vec![folder.path().join("missing"), path],
        ..Client::new(&format!("http://127.0.0.1:{port}")).unwrap()
    };
    let seen = Seen::default();
    let server = async { serve(socket.accept().await.unwrap(), Arc::clone(&seen)).await };
    let (answer, ()) = tokio::join!(client.send(Method::GET, "/v1/x"), server);
    assert_eq!(answer.unwrap().status, StatusCode::IM_A_TEAPOT);
    // The daemon has gone; its port may be another's.
    drop(socket);
    let server = async { serve(tcp.accept().await.unwrap().0, Arc::clone(&seen)).await };
    let (answer, ()) = tokio::join!(client.send(Method::GET, "/v1/y"), server);
    assert_eq!(answer.unwrap().status, StatusCode::IM_A_TEAPOT);
    let seen = seen.lock().unwrap().clone();
    assert!(
        seen[0].starts_with("GET /v1/x") && seen[1].starts_with("GET /v1/y"),
        "{seen:?}"
    );
}

#[test]
fn an_address_or_a_token_file_leaves_sockets_alone() {
    let running = DaemonPresence {
        pid: 1,
        address: "127.0.0.1:7".parse().unwrap(),
        version: String::new(),
        socket: Some("/s".into()),
    };
    let client = Client::of_running(&running).unwrap();
    assert_eq!(client.sockets, [Path::new("/s")]);
    assert_eq!(client.server, "https://127.0.0.1:7");
    let named = Client::of_daemon("https://localhost:7", None).unwrap();
    assert!(named.sockets.is_empty());
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "correct-horse-battery").unwrap();
    let shown = Client::of_daemon("", Some(&token)).unwrap();
    assert!(shown.sockets.is_empty() && shown.token.is_some());
    let missing = Client::of_daemon("", Some(&folder.path().join("missing")));
    assert!(matches!(missing, Err(ClientError::Token(_))), "{missing:?}");
    assert_eq!(
        usual_sockets(None),
        [Path::new(SHARED_SOCKET)],
        "also without a home"
    );
}

#[tokio::test]
async fn warnings_name_the_possible_fault() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("https://{}", listener.local_addr().unwrap());
    // Closes the connection at once.
    let hang_up = async { drop(listener.accept().await.unwrap()) };
    let client = Client::new(&server).unwrap();
    let (answer, ()) = tokio::join!(client.send(Method::GET, "/"), hang_up);
    let error = answer.unwrap_err();
    assert!(matches!(error, ClientError::Tls { .. }), "{error}");
    // Bound without listening: another test's child process cannot keep it open, as it could a listener's copy.
    let closed = tokio::net::TcpSocket::new_v4().unwrap();
    closed.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let server = format!("https://{}", closed.local_addr().unwrap());
    let client = Client::new(&server).unwrap();
    let error = client.send(Method::GET, "/").await.unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("cannot reach {server}: ")),
        "{error}"
    );
    assert!(error.ends_with("; is gpud running?"), "{error}");
}

#[tokio::test]
async fn the_limit_can_be_set() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    // Nobody accepts.
    let client = Client::new(&server).unwrap().with_limit(Duration::ZERO);
    let error = client.send(Method::GET, "/").await.unwrap_err().to_string();
    assert_eq!(error, format!("no answer from {server} within 0 seconds"));
}

#[test]
fn addresses() {
    for (server, expected) in [
        ("", Some((true, "localhost", 15132, ""))),
        ("https://node7", Some((true, "node7", 443, ""))),
        ("http://[::1]:8080/a/b/", Some((false, "::1", 8080, "/a/b"))),
        ("localhost:15132", None),
        ("node7", None),
        ("ftp://node7", None),
        ("https://", None),
        ("https://user@node7", None),
        ("https://node7?x=1", None),
    ] {
        let found = Client::new(server).ok();
        let found = found.as_ref().map(|client| {
            (
                client.tls,
                client.host.as_str(),
                client.port,
                client.base.as_str(),
            )
        });
        assert_eq!(found, expected, "{server}");
    }
}
