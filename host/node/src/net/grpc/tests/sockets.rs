//! Which sockets can be asked.

use super::*;

#[tokio::test]
async fn sockets_that_are_not_there() {
    let (place, _listener) = place();
    let missing = place.socket.with_file_name("none");
    let answer = unary(&missing, &call()).await;
    assert!(
        matches!(answer, Err(SourceError::NotFound(_))),
        "{answer:?}"
    );
    // There is a socket, and nobody listens: bound only, since a child process of another test could hold a listener's copy.
    let silent = place.socket.with_file_name("silent");
    let bound = tokio::net::UnixSocket::new_stream().unwrap();
    bound.bind(&silent).unwrap();
    let answer = unary(&silent, &call()).await;
    assert!(matches!(answer, Err(SourceError::Other(_))), "{answer:?}");
    let file = place.socket.with_file_name("file");
    std::fs::write(&file, "x").unwrap();
    let answer = unary(&file, &call()).await;
    assert!(matches!(answer, Err(SourceError::Other(_))), "{answer:?}");
    let denied = SourceError::from_io("x", &std::io::Error::from(ErrorKind::PermissionDenied));
    assert_eq!(denied, SourceError::Denied("x".to_owned()));
}

#[tokio::test]
async fn what_cannot_be_asked() {
    let (place, _listener) = place();
    for method in [
        "",
        "/",
        "Version",
        "/a",
        "/a/",
        "//b",
        "/a/b/c",
        "/a/b?x=1",
        "/a b/c",
        "/a/b\r\nx: y",
        &format!("/a/{}", "b".repeat(300)),
    ] {
        let odd = UnaryCall {
            method: method.to_owned(),
            ..call()
        };
        let answer = unary(&place.socket, &odd).await;
        assert!(matches!(answer, Err(SourceError::Invalid(_))), "{method}");
    }
    let long = UnaryCall {
        message: vec![0; MAX_REQUEST_BYTES + 1],
        ..call()
    };
    let answer = unary(&place.socket, &long).await;
    assert!(matches!(answer, Err(SourceError::Invalid(_))), "{answer:?}");
}

/// Against a containerd of this machine: `GPUD_TEST_CRI=/run/containerd/containerd.sock cargo test -- --ignored`.
#[tokio::test]
#[ignore = "needs a running containerd"]
async fn a_real_containerd_answers() {
    let socket = std::env::var("GPUD_TEST_CRI").unwrap();
    let ask = |method: &str| UnaryCall {
        method: method.to_owned(),
        message: Vec::new(),
        max_bytes: 1 << 20,
        ..call()
    };
    for (method, status) in [
        (VERSION, 0),
        ("/runtime.v1.RuntimeService/ListPodSandbox", 0),
        ("/runtime.v1.RuntimeService/ListContainers", 0),
        ("/runtime.v1alpha0.Nobody/Version", 12),
    ] {
        let reply = unary(Path::new(&socket), &ask(method)).await.unwrap();
        println!(
            "{method}: {} {:?} {} bytes",
            reply.status,
            reply.text,
            reply.message.len()
        );
        assert_eq!(reply.status, status);
    }
}
