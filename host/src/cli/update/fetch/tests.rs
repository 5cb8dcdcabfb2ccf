use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::*;

/// Answers one request with these bytes, and gives the request and what was made of the answer.
async fn exchange(answer: &'static str, max: usize) -> (String, Result<Vec<u8>, String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/a/SHA256SUMS", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let length = stream.read(&mut request).await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let found = get(&url, max).await;
    (server.await.unwrap(), found)
}

#[tokio::test]
async fn a_file_is_fetched_and_nothing_else() {
    let file = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfile";
    let (request, found) = exchange(file, 4).await;
    assert!(
        request.starts_with("GET /a/SHA256SUMS HTTP/1.1\r\n"),
        "{request}"
    );
    assert_eq!(found.unwrap(), b"file");
    assert!(
        exchange(file, 3)
            .await
            .1
            .unwrap_err()
            .contains("larger than 3 bytes")
    );
    let missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    assert!(exchange(missing, 9).await.1.unwrap_err().contains("404"));
    let elsewhere =
        "HTTP/1.1 302 Found\r\nLocation: https://elsewhere/x\r\nContent-Length: 0\r\n\r\n";
    let refused = exchange(elsewhere, 9).await.1.unwrap_err();
    assert!(
        refused.contains("points to https://elsewhere/x"),
        "{refused}"
    );
    assert!(exchange("nonsense\r\n\r\n", 9).await.1.is_err());
}

#[tokio::test]
async fn a_host_that_does_not_answer_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    drop(listener);
    assert!(get(&url, 9).await.unwrap_err().contains("cannot connect"));
}
