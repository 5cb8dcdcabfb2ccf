//! Clients that send requests and do not read the answers, over real sockets. Those of HTTP/2 send raw frames: no library's client would do so.

use std::{collections::HashSet, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

use super::{
    bind,
    limits::{MAX_STREAMS, PORT},
    listener::accept,
    router::router,
    shares::{Bounds, Shares},
    test_backend::{Fake, app},
    tests_socket::{Server, connect, port},
};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

const LARGE: &str = "/v1/events?startTime=1741000000";
/// Of a few kilobytes: one piece.
const ONE_PIECE: &str = "/page/app.css";

/// Starts a server that gives clients three seconds to take something.
async fn start() -> (Server, Arc<Shares>) {
    let shares = Arc::new(Shares::new(Bounds {
        stall_time: Duration::from_secs(3),
        ..PORT
    }));
    let backend = Arc::new(Fake {
        large: true,
        ..Fake::default()
    });
    let listener = bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let task = tokio::spawn(accept(
        port(listener, Arc::clone(&shares)),
        router(app(backend)),
        shutdown.clone(),
    ));
    let server = Server {
        address,
        shutdown,
        task,
    };
    (server, shares)
}

async fn wait_until_nothing_is_held(shares: &Shares) {
    while shares.bytes_of_answers() > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A whole request. Method and scheme are in HPACK's static table, path and authority are literals.
fn get(stream: u32, path: &str) -> Vec<u8> {
    let mut block = vec![0x82, 0x87, 0x04, u8::try_from(path.len()).unwrap()];
    block.extend(path.as_bytes());
    block.extend([0x01, 9]);
    block.extend(b"localhost");
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &block)
}

fn window_update(stream: u32, bytes: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())
}

struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    length: usize,
}

async fn read_frame(from: &mut (impl AsyncRead + Unpin)) -> Frame {
    let mut head = [0; 9];
    from.read_exact(&mut head).await.unwrap();
    let [a, b, c, kind, flags, stream @ ..] = head;
    let length = u32::from_be_bytes([0, a, b, c]) as usize;
    let mut payload = vec![0; length];
    from.read_exact(&mut payload).await.unwrap();
    Frame {
        kind,
        flags,
        stream: u32::from_be_bytes(stream),
        length,
    }
}

/// A connection on which every stream begins with this window, and these requests.
async fn ask(server: &Server, window: u32, requests: &[Vec<u8>]) -> TlsStream<TcpStream> {
    let mut stream = connect(server, b"h2").await;
    let mut settings = vec![0, 4];
    settings.extend(window.to_be_bytes());
    let mut greeting = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    greeting.extend(frame(SETTINGS, 0, 0, &settings));
    greeting.extend(requests.concat());
    stream.write_all(&greeting).await.unwrap();
    stream
}

/// Reads until this stream is reset; returns how many bytes of it came.
async fn read_until_reset(from: &mut TlsStream<TcpStream>, stream: u32) -> usize {
    let mut bytes = 0;
    loop {
        let frame = read_frame(from).await;
        if frame.stream != stream {
            continue;
        }
        match frame.kind {
            RST_STREAM => return bytes,
            DATA => bytes += frame.length,
            _ => {}
        }
        assert_eq!(frame.flags & END_STREAM, 0, "the answer ended");
    }
}

/// The connection goes on.
async fn is_served(connection: &mut TlsStream<TcpStream>, stream: u32) {
    let request = [get(stream, "/healthz"), window_update(stream, 1000)].concat();
    connection.write_all(&request).await.unwrap();
    loop {
        let frame = read_frame(connection).await;
        if frame.stream == stream && frame.kind == DATA && frame.length > 0 {
            return;
        }
    }
}

#[tokio::test]
async fn over_http2_an_answer_that_is_not_taken_is_ended_alone() {
    let (server, shares) = start().await;
    let mut client = ask(&server, 0, &[get(1, LARGE), get(3, LARGE)]).await;
    let mut begun = 0;
    while begun < 2 {
        begun += usize::from(read_frame(&mut client).await.kind == HEADERS);
    }
    assert!(shares.bytes_of_answers() > 400 * 1024);
    // One of the two is taken, as a client does that works.
    let windows = [window_update(0, 1 << 20), window_update(3, 1 << 20)].concat();
    client.write_all(&windows).await.unwrap();
    let mut bytes = 0;
    let (mut has_ended, mut was_reset) = (false, false);
    while !(has_ended && was_reset) {
        let frame = read_frame(&mut client).await;
        match (frame.stream, frame.kind) {
            (3, DATA) => {
                bytes += frame.length;
                has_ended |= frame.flags & END_STREAM != 0;
            }
            (1, RST_STREAM) => was_reset = true,
            (1, DATA) => assert_eq!(frame.length, 0),
            _ => {}
        }
    }
    assert!(bytes > 200 * 1024, "{bytes}");
    wait_until_nothing_is_held(&shares).await;
    is_served(&mut client, 5).await;
}

/// The HTTP library has handed the whole of each answer over to its stream, which waits for its window.
#[tokio::test]
async fn over_http2_an_answer_whose_last_piece_is_not_taken_is_ended_too() {
    let (server, shares) = start().await;
    let streams: Vec<u32> = (0..MAX_STREAMS).map(|n| 2 * n + 1).collect();
    let requests: Vec<_> = streams
        .iter()
        .map(|stream| get(*stream, ONE_PIECE))
        .collect();
    let mut open: HashSet<u32> = streams.into_iter().collect();
    let mut client = ask(&server, 1, &requests).await;
    while !open.is_empty() {
        let frame = read_frame(&mut client).await;
        match frame.kind {
            DATA => assert!(frame.length <= 1),
            RST_STREAM => assert!(open.remove(&frame.stream)),
            _ => {}
        }
    }
    wait_until_nothing_is_held(&shares).await;
    is_served(&mut client, 2 * MAX_STREAMS + 1).await;
}

#[tokio::test]
async fn over_http2_a_reader_of_the_stream_that_takes_nothing_is_let_go() {
    let (server, _) = start().await;
    let mut client = ask(&server, 0, &[get(1, "/v1/stream")]).await;
    assert_eq!(read_until_reset(&mut client, 1).await, 0);
    is_served(&mut client, 3).await;
}

#[tokio::test]
async fn over_http1_a_client_that_takes_nothing_is_cut_off() {
    let (server, shares) = start().await;
    let mut client = connect(&server, b"http/1.1").await;
    // More than the kernel holds for a client that does not read.
    let request = format!("GET {LARGE} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client
        .write_all(request.repeat(200).as_bytes())
        .await
        .unwrap();
    while shares.bytes_of_answers() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Answers that the kernel takes come and go; the one that stays is ended.
    let mut quiet = 0;
    while quiet < 50 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        quiet = match shares.bytes_of_answers() {
            0 => quiet + 1,
            _ => 0,
        };
    }
    let mut answers = Vec::new();
    // An end that the client sees as an error is an end.
    let _: std::io::Result<usize> = client.read_to_end(&mut answers).await;
    assert!(answers.len() < 200 * 200 * 1024);
}
