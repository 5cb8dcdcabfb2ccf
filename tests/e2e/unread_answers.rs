//! Clients that ask for much and read nothing, and readers of the stream that take all places.

use std::collections::HashSet;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    daemon::Start,
    hostile_clients::{ONE, STRANGER, as_user, block_on, can_be_others, status, tls},
    http2_frames::{Connection, DATA, HEADERS, RST_STREAM, streams_from},
};

/// A large answer that every daemon has.
const LARGE: &str = "/page/app.js";

/// The attack: many streams with a window of 0. The connection as such works, so that nothing of it is ever cut.
#[test]
fn unread_answers_over_http2_are_ended() {
    if !can_be_others() {
        return;
    }
    let daemon = Start::new().arguments(ONE).ready();
    let (port, url) = (daemon.port(), daemon.url());
    as_user(STRANGER, async || {
        let mut silent = Vec::new();
        // More than one client's share.
        for _ in 0..20 {
            let mut connection = Connection::open(port, 0).await;
            for stream in streams_from(1) {
                connection.get(stream, LARGE).await;
            }
            silent.push(connection);
        }
        let first = &mut silent[0];
        let mut open: HashSet<u32> = streams_from(1).collect();
        while !open.is_empty() {
            let frame = first.next().await;
            match frame.kind {
                RST_STREAM => _ = open.remove(&frame.stream),
                DATA => assert!(frame.payload.is_empty(), "more than the window"),
                _ => {}
            }
        }
        // The connection goes on.
        let next = streams_from(1).last().unwrap() + 2;
        first.get(next, "/healthz").await;
        first.widen(next, 1000).await;
        loop {
            let frame = first.next().await;
            if frame.stream == next && frame.kind == DATA {
                break;
            }
        }
    });
    let other = as_user(STRANGER + 1, async || {
        status(&url, http::Method::GET, LARGE, "").await
    });
    assert_eq!(other, 200);
}

/// The head of the answer to a new reader of the stream, and its connection.
async fn follow(port: u16) -> (String, std::net::TcpStream) {
    let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let mut stream = tls(stream, b"http/1.1").await.unwrap();
    let request = "GET /v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let connection = stream.into_inner().0.into_std().unwrap();
    (String::from_utf8(head).unwrap(), connection)
}

/// The attack: six users with 256 readers each hold all places but those of root.
#[test]
fn readers_of_the_stream_make_room_for_a_newcomer() {
    if !can_be_others() {
        return;
    }
    let daemon = Start::new().arguments(ONE).ready();
    let port = daemon.port();
    let mut held = Vec::new();
    for uid in 1..=6 {
        held.extend(as_user(STRANGER + uid, async || {
            let mut silent = Vec::new();
            for _ in 0..16 {
                let mut connection = Connection::open(port, 65_535).await;
                for stream in streams_from(1) {
                    connection.get(stream, "/v1/stream").await;
                }
                for _ in streams_from(1) {
                    while connection.next().await.kind != HEADERS {}
                }
                silent.push(connection.fall_silent());
            }
            silent
        }));
    }
    for uid in [STRANGER, STRANGER + 7, STRANGER + 8] {
        let (head, reader) = as_user(uid, async || follow(port).await);
        held.push(reader);
        assert!(head.starts_with("HTTP/1.1 200"), "user {uid}: {head}");
    }
    let (head, _reader) = block_on(follow(port));
    assert!(head.starts_with("HTTP/1.1 200"), "root: {head}");
    drop(held);
}
