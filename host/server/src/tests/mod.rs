//! The API through its real router, over a fake backend. Bodies are compared with the files in `golden/`; run with
//! `GPUD_WRITE_GOLDEN=1` to regenerate them, and read the difference.

use std::sync::Arc;

use axum::{
    body::{Body, to_bytes},
    response::Response,
};
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use tower::ServiceExt as _;

mod access;
mod anything;
mod description;
mod documents;
mod errors;
mod exchanges;
mod negotiation;
mod requests;
mod sites;
mod stream;

use super::{
    peer::{Identity, Peer},
    router::router,
    test_backend::{Fake, app},
};
use crate::node::socket_owner::own_uid;

struct TestResponse {
    status: StatusCode,
    headers: http::HeaderMap,
    body: Bytes,
}

impl TestResponse {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    fn header(&self, name: impl header::AsHeaderName) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}

async fn ask_with(
    backend: &Arc<Fake>,
    method: Method,
    uri: &str,
    headers: &[(&str, &str)],
    body: Body,
) -> TestResponse {
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(body).unwrap();
    ask_router(&router(app(Arc::clone(backend))), request).await
}

/// One request to a server that goes on; from gpud's own user, unless it says otherwise.
async fn ask_router(router: &axum::Router, mut request: Request<Body>) -> TestResponse {
    if request.extensions().get::<Peer>().is_none() {
        request.extensions_mut().insert(peer(own_uid()));
    }
    let response: Response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    TestResponse {
        status: parts.status,
        headers: parts.headers,
        body: to_bytes(body, usize::MAX).await.unwrap(),
    }
}

/// A user of this machine.
fn peer(uid: u32) -> Peer {
    Peer::disconnected(Identity::User(uid), false)
}

/// The folder of the golden files.
fn golden() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/golden")
}

/// Compares with a golden file, or writes it with `GPUD_WRITE_GOLDEN=1`.
fn compare(file: &str, got: &[u8]) {
    let path = golden().join(file);
    if std::env::var_os("GPUD_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, got).unwrap();
    }
    let wanted = std::fs::read(&path).unwrap_or_default();
    assert_eq!(
        String::from_utf8_lossy(got),
        String::from_utf8_lossy(&wanted),
        "{file}"
    );
}

async fn get(uri: &str, headers: &[(&str, &str)]) -> TestResponse {
    ask_with(&Arc::default(), Method::GET, uri, headers, Body::empty()).await
}

async fn post(backend: &Arc<Fake>, uri: &str, body: &str) -> TestResponse {
    ask_with(backend, Method::POST, uri, &[], Body::from(body.to_owned())).await
}

const YAML: (&str, &str) = ("content-type", "application/yaml");
const INDENT: (&str, &str) = ("json-indent", "true");
