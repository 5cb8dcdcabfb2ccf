//! Real sockets: services that answer well, and those that do not.

use std::{io::ErrorKind, path::PathBuf, time::Instant};

use bytes::BytesMut;
use h2::server::{self, SendResponse};
use http::Response;
use tokio::{io::AsyncWriteExt, net::UnixListener, task::JoinHandle};

use super::*;

mod hostile_servers;
mod sockets;

const VERSION: &str = "/runtime.v1.RuntimeService/Version";

fn call() -> UnaryCall {
    UnaryCall {
        method: VERSION.to_owned(),
        message: b"ask".to_vec(),
        max_bytes: 100,
        deadline: Duration::from_secs(60),
    }
}

struct SocketFolder {
    _folder: tempfile::TempDir,
    socket: PathBuf,
}

fn place() -> (SocketFolder, UnixListener) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("a.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let place = SocketFolder {
        _folder: folder,
        socket,
    };
    (place, listener)
}

fn grpc(status: u16, kind: &str) -> Response<()> {
    let answer = Response::builder().status(status);
    answer.header("content-type", kind).body(()).unwrap()
}

fn trailers(status: &str) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", status.parse().unwrap());
    trailers.insert("grpc-message", HeaderValue::from_static(""));
    trailers
}

/// Serves one connection by HTTP/2; gives the request and its body.
fn serve(
    listener: UnixListener,
    answer: impl FnOnce(SendResponse<Bytes>) + Send + 'static,
) -> JoinHandle<(Request<()>, Vec<u8>)> {
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut connection = server::handshake(stream).await.unwrap();
        let (request, respond) = connection.accept().await.unwrap().unwrap();
        let (head, mut body) = request.into_parts();
        let mut asked = BytesMut::new();
        let read = async {
            while let Some(chunk) = body.data().await {
                let chunk = chunk.unwrap();
                body.flow_control().release_capacity(chunk.len()).unwrap();
                asked.extend_from_slice(&chunk);
            }
        };
        tokio::select! {
            () = read => {}
            _ = connection.accept() => {}
        }
        answer(respond);
        // Sends what was answered, until the client goes.
        while let Some(Ok(_)) = connection.accept().await {}
        (Request::from_parts(head, ()), asked.to_vec())
    })
}

/// Answers with these bytes after the message prefix that they hold, and these trailers.
async fn answered(
    head: Response<()>,
    body: Vec<u8>,
    trailers: Option<HeaderMap>,
) -> Result<UnaryReply, SourceError> {
    let (place, listener) = place();
    let _served = serve(listener, move |mut respond| {
        let mut stream = respond.send_response(head, false).unwrap();
        stream.send_data(body.into(), trailers.is_none()).unwrap();
        if let Some(trailers) = trailers {
            stream.send_trailers(trailers).unwrap();
        }
    });
    unary(&place.socket, &call()).await
}

/// Answers the connection with these bytes, once or for ever, and keeps it open if so wished.
async fn raw(
    bytes: Vec<u8>,
    again: bool,
    hold: bool,
    call: &UnaryCall,
) -> Result<UnaryReply, SourceError> {
    let (place, listener) = place();
    let served = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (mut read, mut write) = stream.into_split();
        let says = async move {
            let _ = write.write_all(&bytes).await;
            while again && write.write_all(&bytes).await.is_ok() {}
            if hold {
                pending::<()>().await;
            }
        };
        let mut sink = tokio::io::sink();
        tokio::select! {
            () = says => {}
            _ = tokio::io::copy(&mut read, &mut sink) => {}
        }
    });
    let answer = unary(&place.socket, call).await;
    // The connection is gone with the call, so the other side ends too.
    served.await.unwrap();
    answer
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

const SETTINGS: u8 = 4;

#[tokio::test]
async fn a_service_answers() {
    let (place, listener) = place();
    let served = serve(listener, |mut respond| {
        let mut stream = respond
            .send_response(grpc(200, "application/grpc"), false)
            .unwrap();
        stream.send_data(message::framed(b"hello"), false).unwrap();
        stream.send_trailers(trailers("0")).unwrap();
    });
    let reply = unary(&place.socket, &call()).await.unwrap();
    let expected = UnaryReply {
        status: 0,
        text: String::new(),
        message: b"hello".to_vec(),
    };
    assert_eq!(reply, expected);
    let (request, asked) = served.await.unwrap();
    assert_eq!(asked, b"\0\0\0\0\x03ask");
    assert_eq!(
        (request.method(), request.uri().path()),
        (&Method::POST, VERSION)
    );
    assert_eq!(request.uri().authority().unwrap().as_str(), "localhost");
    let header = |name: &str| request.headers().get(name).unwrap().to_str().unwrap();
    assert_eq!(header("content-type"), "application/grpc");
    assert_eq!(
        (header("te"), header("grpc-timeout")),
        ("trailers", "60000m")
    );
}

#[tokio::test]
async fn a_long_request_and_a_long_answer_get_through() {
    let (place, listener) = place();
    let served = serve(listener, |mut respond| {
        let head = grpc(200, "application/grpc+proto");
        let mut stream = respond.send_response(head, false).unwrap();
        stream
            .send_data(message::framed(&vec![7; 1 << 20]), false)
            .unwrap();
        stream.send_trailers(trailers("0")).unwrap();
    });
    let long = UnaryCall {
        message: vec![1; MAX_REQUEST_BYTES],
        max_bytes: 1 << 20,
        ..call()
    };
    let reply = unary(&place.socket, &long).await.unwrap();
    assert_eq!(reply.message, vec![7; 1 << 20]);
    // More than the window that a server opens at first.
    tokio::time::timeout(Duration::from_secs(10), served)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn refusals_are_answers() {
    let (place, listener) = place();
    let _served = serve(listener, |mut respond| {
        let mut head = grpc(200, "application/grpc");
        head.headers_mut()
            .insert("grpc-status", HeaderValue::from_static("12"));
        let text = HeaderValue::from_static("unknown service%3A x");
        head.headers_mut().insert("grpc-message", text);
        respond.send_response(head, true).unwrap();
    });
    let reply = unary(&place.socket, &call()).await.unwrap();
    assert_eq!(
        (reply.status, reply.text.as_str()),
        (12, "unknown service: x")
    );
    assert!(reply.message.is_empty());

    let head = grpc(200, "application/grpc");
    let reply = answered(head, Vec::new(), Some(trailers("13"))).await;
    assert_eq!(reply.unwrap().status, 13);
    let head = grpc(200, "application/grpc");
    let reply = answered(head, Vec::new(), Some(trailers("-1"))).await;
    assert_eq!(reply.unwrap().status, 2);
}

#[tokio::test]
async fn answers_that_are_not_grpc_are_errors() {
    let ok = || Some(trailers("0"));
    let hello = || message::framed(b"hello").to_vec();
    let head = |status, kind| grpc(status, kind);
    for (head, body, trailers, expected) in [
        (
            head(404, "application/grpc"),
            hello(),
            ok(),
            "HTTP status 404",
        ),
        (head(200, "text/html"), hello(), ok(), "content type"),
        (
            head(200, "application/grpc"),
            hello(),
            None,
            "no grpc-status",
        ),
        (
            head(200, "application/grpc"),
            Vec::new(),
            ok(),
            "success without",
        ),
        (
            head(200, "application/grpc"),
            b"\0\0\0".to_vec(),
            ok(),
            "breaks off",
        ),
        (
            head(200, "application/grpc"),
            b"\x01\0\0\0\0".to_vec(),
            ok(),
            "compressed",
        ),
        (
            head(200, "application/grpc"),
            [hello(), hello()].concat(),
            ok(),
            "more than one message",
        ),
    ] {
        let answer = answered(head, body, trailers).await;
        let Err(SourceError::Other(text)) = &answer else {
            panic!("{expected}: {answer:?}");
        };
        assert!(text.contains(expected), "{text}");
        assert!(text.starts_with("grpc unix:/"), "{text}");
    }
}
