//! `net`: GET requests and unary gRPC calls to services on this machine, and TCP reachability.

use std::{path::Path, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{
    Call,
    wire::{
        net::{Endpoint, GrpcRequest, GrpcResponse, Host, Request, Response},
        types::{AccessError, Pairs},
    },
};
use crate::node::error::SourceError;
use crate::node::net::{self, HttpGet, grpc};

/// Largest body and response message, bytes.
const MAX_BODY: u32 = 4 * 1024 * 1024;

impl Host for Call {
    async fn http_get(&mut self, request: Request) -> Result<Response, AccessError> {
        let grants = self.enter("net.http-get")?;
        let granted = grants.net.clone().unwrap_or_default();
        let asked = Duration::from_millis(u64::from(request.timeout_ms));
        let get = HttpGet {
            path: request.path,
            headers: headers(&request.headers)?,
            max_bytes: u64::from(request.max_body_bytes.min(MAX_BODY)),
            deadline: asked.min(self.remaining()),
        };
        let response = match request.endpoint {
            Endpoint::UnixSocket(path) => {
                allowed(granted.unix.contains(&path), || {
                    format!("unix: [\"{path}\"]")
                })?;
                match self.node.canned() {
                    Some(canned) => {
                        canned.get(&format!("unix:{path}"), &get.path, get.max_bytes)?
                    }
                    None => {
                        self.wait(net::http_over_unix(Path::new(&path), &get))
                            .await?
                    }
                }
            }
            Endpoint::Loopback(port) => {
                allowed(granted.loopback.contains(&port), || {
                    format!("loopback: [{port}]")
                })?;
                match self.node.canned() {
                    Some(canned) => {
                        canned.get(&format!("loopback:{port}"), &get.path, get.max_bytes)?
                    }
                    None => {
                        let asked = net::http_loopback(port, granted.servers(), &get);
                        self.wait(asked).await?
                    }
                }
            }
        };
        self.charge("net.http-get", response.body.len())?;
        Ok(Response {
            status: response.status,
            headers: response.headers,
            body: response.body,
        })
    }

    async fn tcp_connect(
        &mut self,
        host: String,
        port: u16,
        timeout_ms: u32,
    ) -> Result<u64, AccessError> {
        let grants = self.enter("net.tcp-connect")?;
        let endpoint = format!("{host}:{port}");
        let granted = grants.net.clone().unwrap_or_default();
        allowed(granted.tcp.contains(&endpoint), || {
            format!("tcp: [\"{endpoint}\"]")
        })?;
        let asked = Duration::from_millis(u64::from(timeout_ms));
        let deadline = asked.min(self.remaining());
        let took = match self.node.canned() {
            Some(canned) => canned.connect(&endpoint)?,
            None => {
                let connect = net::tcp_connect(&host, port, granted.servers(), deadline);
                self.wait(connect).await?
            }
        };
        Ok(u64::try_from(took.as_micros()).unwrap_or(u64::MAX))
    }

    async fn grpc_unary(&mut self, request: GrpcRequest) -> Result<GrpcResponse, AccessError> {
        let grants = self.enter("net.grpc-unary")?;
        let (socket, method) = (request.socket, request.method);
        let granted = grants
            .net
            .as_ref()
            .is_some_and(|net| net.allows_grpc(&socket, &method));
        allowed(granted, || {
            format!("grpc: {{ \"{socket}\": [\"{method}\"] }}")
        })?;
        let asked = Duration::from_millis(u64::from(request.timeout_ms));
        let call = grpc::UnaryCall {
            method,
            message: request.message,
            max_bytes: u64::from(request.max_message_bytes.min(MAX_BODY)),
            deadline: asked.min(self.remaining()),
        };
        if self.node.canned().is_some() {
            let what = format!("{socket} (the simulated machine has no gRPC services)");
            return Err(SourceError::NotFound(what).into());
        }
        let reply = self.wait(grpc::unary(Path::new(&socket), &call)).await?;
        self.charge("net.grpc-unary", reply.message.len())?;
        Ok(GrpcResponse {
            status: reply.status,
            status_message: reply.text,
            message: reply.message,
        })
    }
}

fn headers(pairs: &Pairs) -> Result<HeaderMap, AccessError> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let parsed = name
            .parse::<HeaderName>()
            .ok()
            .zip(HeaderValue::from_str(value).ok());
        let (name, value) = parsed.ok_or_else(|| {
            AccessError::InvalidArgument(format!("net.http-get: header {name:?} is not usable"))
        })?;
        headers.append(name, value);
    }
    Ok(headers)
}

fn allowed(granted: bool, scope: impl FnOnce() -> String) -> Result<(), AccessError> {
    if granted {
        return Ok(());
    }
    Err(AccessError::Denied(format!(
        "net: not granted; add to grants: `net: {{ {} }}`",
        scope()
    )))
}
