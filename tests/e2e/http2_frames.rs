//! HTTP/2 as raw frames, for clients that do what no library's client would do.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

use crate::hostile_clients::tls;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// Streams that the daemon takes on one connection.
const STREAMS: u32 = 16;

/// A frame that the daemon sent.
pub struct Frame {
    pub kind: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// One connection to the daemon.
pub struct Connection(TlsStream<TcpStream>);

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// The numbers of as many streams as one connection may have, from this one on.
pub fn streams_from(first: u32) -> impl Iterator<Item = u32> {
    (0..STREAMS).map(move |n| first + 2 * n)
}

impl Connection {
    /// Connects, and gives each stream a window of this many bytes.
    pub async fn open(port: u16, window: u32) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let mut stream = tls(stream, b"h2").await.unwrap();
        let mut settings = vec![0, 4];
        settings.extend(window.to_be_bytes());
        let mut greeting = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        greeting.extend(frame(SETTINGS, 0, 0, &settings));
        stream.write_all(&greeting).await.unwrap();
        Self(stream)
    }

    /// Sends a whole request. Method and scheme are in HPACK's static table, path and authority are literals.
    pub async fn get(&mut self, stream: u32, path: &str) {
        let mut block = vec![0x82, 0x87, 0x04, u8::try_from(path.len()).unwrap()];
        block.extend(path.as_bytes());
        block.extend([0x01, 9]);
        block.extend(b"localhost");
        let request = frame(HEADERS, END_STREAM | END_HEADERS, stream, &block);
        self.0.write_all(&request).await.unwrap();
    }

    /// Lets the daemon send more of a stream.
    pub async fn widen(&mut self, stream: u32, bytes: u32) {
        let update = frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes());
        self.0.write_all(&update).await.unwrap();
    }

    /// Reads the next frame of a stream, and says that it is there when the daemon asks.
    pub async fn next(&mut self) -> Frame {
        loop {
            let mut head = [0; 9];
            self.0.read_exact(&mut head).await.unwrap();
            let [a, b, c, kind, flags, stream @ ..] = head;
            let length = u32::from_be_bytes([0, a, b, c]);
            let mut payload = vec![0; length as usize];
            self.0.read_exact(&mut payload).await.unwrap();
            if kind == PING && flags & ACK == 0 {
                let answer = frame(PING, ACK, 0, &payload);
                self.0.write_all(&answer).await.unwrap();
            }
            let stream = u32::from_be_bytes(stream);
            if stream > 0 {
                return Frame {
                    kind,
                    stream,
                    payload,
                };
            }
        }
    }

    /// Leaves the connection open and says no more.
    pub fn fall_silent(self) -> std::net::TcpStream {
        self.0.into_inner().0.into_std().unwrap()
    }
}
