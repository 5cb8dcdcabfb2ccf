//! An HTTPS client that keeps its connection, as a monitoring agent would.

use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, pki_types::ServerName},
};

pub struct Client {
    sender: SendRequest<Empty<Bytes>>,
}

impl Client {
    pub async fn connect(port: u16, config: Arc<ClientConfig>) -> std::io::Result<Self> {
        let stream = raw(port, config).await?;
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(std::io::Error::other)?;
        tokio::spawn(connection);
        Ok(Self { sender })
    }

    pub async fn get(&mut self, path: &str) -> (u16, Bytes) {
        self.get_with(path, false).await
    }

    /// `gzip`: as Go's client asks.
    pub async fn get_with(&mut self, path: &str, gzip: bool) -> (u16, Bytes) {
        let mut request = Request::get(path).header("host", "localhost");
        if gzip {
            request = request.header("accept-encoding", "gzip");
        }
        let request = request.body(Empty::new()).unwrap();
        self.sender.ready().await.unwrap();
        let response = self.sender.send_request(request).await.unwrap();
        let status = response.status().as_u16();
        (
            status,
            response.into_body().collect().await.unwrap().to_bytes(),
        )
    }
}

/// A connection on which nothing has been said yet.
pub async fn raw(port: u16, config: Arc<ClientConfig>) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(config).connect(name, stream).await
}
