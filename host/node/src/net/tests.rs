use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, UnixListener},
    task::JoinHandle,
};

use super::*;

fn get(path: &str) -> HttpGet {
    HttpGet {
        path: path.to_owned(),
        headers: HeaderMap::new(),
        max_bytes: 100,
        deadline: Duration::from_secs(60),
    }
}

/// Answers one connection with `answer`, closes it, and gives what was asked.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: &str) -> String {
    let mut asked = Vec::new();
    while !asked.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut asked).await.unwrap() == 0 {
            break;
        }
    }
    stream.write_all(answer.as_bytes()).await.unwrap();
    String::from_utf8(asked).unwrap()
}

async fn tcp_server(answer: String) -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let served =
        tokio::spawn(async move { serve(listener.accept().await.unwrap().0, &answer).await });
    (port, served)
}

#[tokio::test]
async fn a_unix_socket_answers() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("app.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let served = tokio::spawn(async move {
        let answer = "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello";
        serve(listener.accept().await.unwrap().0, answer).await
    });
    let mut request = get("/info?x=1");
    request.headers.insert("x-token", "abc".parse().unwrap());
    let response = http_over_unix(&socket, &request).await.unwrap();
    assert_eq!(
        (response.status, response.body.as_slice()),
        (404, &b"hello"[..])
    );
    assert!(
        response
            .headers
            .contains(&("x-a".to_owned(), "b".to_owned()))
    );
    let asked = served.await.unwrap();
    assert!(asked.starts_with("GET /info?x=1 HTTP/1.1\r\n"), "{asked}");
    assert!(
        asked.contains("host: localhost") && asked.contains("x-token: abc"),
        "{asked}"
    );

    let missing = http_over_unix(&folder.path().join("none"), &get("/")).await;
    assert!(matches!(missing, Err(SourceError::NotFound(_))));
    let relative = http_over_unix(&socket, &get("info")).await;
    assert!(matches!(relative, Err(SourceError::Invalid(_))));
}

#[tokio::test]
async fn a_socket_that_is_a_link_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("other.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let link = folder.path().join("app.sock");
    std::os::unix::fs::symlink(&socket, &link).unwrap();
    let answer = http_over_unix(&link, &get("/")).await;
    assert!(
        matches!(&answer, Err(SourceError::Denied(text)) if text.contains("is not followed")),
        "{answer:?}"
    );
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let answer = http_over_unix(&file, &get("/")).await;
    assert!(
        matches!(&answer, Err(SourceError::Other(text)) if text.contains("not a socket")),
        "{answer:?}"
    );
    // A folder that somebody else owns may hold a socket, but a link of his leads nowhere.
    if rustix::process::geteuid().is_root() {
        let his = folder.path().join("his");
        std::fs::create_dir(&his).unwrap();
        std::os::unix::fs::chown(&his, Some(65534), None).unwrap();
        std::os::unix::fs::symlink(folder.path(), his.join("way")).unwrap();
        let answer = http_over_unix(&his.join("way/other.sock"), &get("/")).await;
        assert!(
            matches!(&answer, Err(SourceError::Denied(text)) if text.contains("65534")),
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn bodies_are_bounded_however_they_are_framed() {
    for size in [0, 99, 100, 101, 5000] {
        let body = "x".repeat(size);
        for answer in [
            format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n{body}"),
            format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{body}"),
            format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
                if size == 0 {
                    String::new()
                } else {
                    format!("{size:x}\r\n{body}\r\n")
                }
            ),
        ] {
            let (port, _served) = tcp_server(answer).await;
            let response = http_loopback(port, Servers::Anybody, &get("/")).await;
            if size > 100 {
                assert!(
                    matches!(response, Err(SourceError::TooLarge { limit: 100, .. })),
                    "{response:?}"
                );
            } else {
                assert_eq!(response.unwrap().body, body.as_bytes());
            }
        }
    }
}

#[tokio::test]
async fn silence_nonsense_and_closed_ports_are_errors() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut impatient = get("/");
    impatient.deadline = Duration::from_millis(50);
    let silent = http_loopback(port, Servers::Anybody, &impatient).await;
    assert!(matches!(silent, Err(SourceError::TimedOut { .. })));

    let long_head = format!(
        "HTTP/1.1 200 OK\r\nX: {}\r\n\r\n",
        "a".repeat(8 * MAX_HEAD_BYTES)
    );
    for answer in ["220 mail ready\r\n\r\n", "", &long_head] {
        let (port, _served) = tcp_server(answer.to_owned()).await;
        let response = http_loopback(port, Servers::Anybody, &get("/")).await;
        assert!(
            matches!(response, Err(SourceError::Other(_))),
            "{answer:.20}"
        );
    }
}

#[tokio::test]
async fn tcp_ports_are_open_or_not() {
    let long = Duration::from_secs(60);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    assert!(
        tcp_connect("localhost", port, Servers::System, long)
            .await
            .is_ok()
    );
    // Bound without listening: another test's child process cannot keep it open, as it could a listener's copy.
    let silent = tokio::net::TcpSocket::new_v4().unwrap();
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = silent.local_addr().unwrap().port();
    let closed = tcp_connect("127.0.0.1", port, Servers::System, long).await;
    assert!(
        matches!(&closed, Err(SourceError::Other(text)) if text.contains("refused")),
        "{closed:?}"
    );
    let nameless = tcp_connect("no-such-host.invalid", port, Servers::Anybody, long).await;
    assert!(
        matches!(nameless, Err(SourceError::NotFound(_))),
        "{nameless:?}"
    );
}

/// Whose listener answers is decided before a byte is sent.
#[tokio::test]
async fn a_port_of_an_ordinary_user_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    // The user of the test is gpud's own user here.
    check_server("x", address, Servers::System).await.unwrap();
    drop(listener);
    // As a connection that outlives its listener.
    let silent = tokio::net::TcpSocket::new_v4().unwrap();
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = silent.local_addr().unwrap();
    let refused = check_server("x", address, Servers::System).await;
    assert!(refused.unwrap_err().to_string().contains("refused"));
    check_server("x", address, Servers::Anybody).await.unwrap();
    let elsewhere = "192.0.2.1:80".parse().unwrap();
    check_server("x", elsewhere, Servers::System).await.unwrap();
    for (user, is_good) in [
        (0, true),
        (999, true),
        (own_uid(), true),
        (FIRST_ORDINARY_USER, own_uid() == FIRST_ORDINARY_USER),
        (231_072, own_uid() == 231_072),
    ] {
        assert_eq!(is_of_system(user), is_good, "{user}");
    }
}
