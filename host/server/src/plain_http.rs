//! The answer to someone who speaks plain HTTP to the TLS port.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::timeout,
};

use crate::node::stream::Stream;

/// The bytes that Go's server sends.
pub(super) const ANSWER: &str =
    "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// The first byte of every TLS connection: a handshake record.
const TLS_HANDSHAKE: u8 = 0x16;

const PATIENCE: Duration = Duration::from_secs(1);
const MOST_READ: usize = 64 * 1024;

/// Looks at the first byte without taking it. False also when the client goes away at once.
pub(super) async fn speaks_tls(stream: &Stream) -> bool {
    stream.peek().await == Some(TLS_HANDSHAKE)
}

/// Answers, then reads on until the client has gone: closing with unread bytes would reset the connection, and the
/// client might never see the answer.
pub(super) async fn refuse(mut stream: Stream) {
    let answer = async {
        stream.write_all(ANSWER.as_bytes()).await?;
        stream.shutdown().await?;
        let mut buffer = [0; 1024];
        let mut seen = 0;
        while seen < MOST_READ {
            match stream.read(&mut buffer).await? {
                0 => break,
                read => seen += read,
            }
        }
        Ok::<(), std::io::Error>(())
    };
    // Whether it arrives is the client's concern.
    let _ = timeout(PATIENCE, answer).await;
}
