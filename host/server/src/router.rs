//! Which path leads to which resource, and what happens on every other path.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::Request,
    middleware::{from_fn, from_fn_with_state, map_response},
    response::Response,
};
use http::{
    HeaderValue, Method, StatusCode,
    header::{ALLOW, LOCATION},
};
use jiff::{Timestamp, tz::TimeZone};
use tokio_util::sync::CancellationToken;

use super::{
    access::{self, Access},
    backend::Backend,
    encoded::Encoder,
    envelope, gzip, limits, machine_info, negotiation,
    routes::{find, routes},
    shares::Shares,
    sites::{self, Sites},
    swagger,
};

/// The state that handlers share.
#[derive(Clone)]
pub struct App {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) access: Access,
    /// The routes of `--pprof` are there.
    pub(super) profiling: bool,
    pub(super) sites: Arc<Sites>,
    /// Of the port; the Unix socket has its own.
    pub(super) shares: Arc<Shares>,
    /// How long a request waits for its turn.
    pub(super) queue_time: Duration,
    pub(super) machine_info: Arc<machine_info::Cache>,
    pub(super) encoder: Arc<Encoder>,
    /// Ends answers that would not end by themselves.
    pub(super) shutdown: CancellationToken,
    pub(super) now: fn() -> Timestamp,
    pub(super) zone: TimeZone,
}

impl App {
    /// Times are shown in the system's time zone.
    pub fn new(backend: Arc<dyn Backend>, access: Access, profiling: bool) -> Self {
        Self {
            backend,
            access,
            profiling,
            sites: Arc::default(),
            shares: Arc::new(Shares::new(limits::PORT)),
            queue_time: limits::QUEUE_TIME,
            machine_info: Arc::default(),
            encoder: Arc::default(),
            shutdown: CancellationToken::new(),
            now: Timestamp::now,
            zone: TimeZone::system(),
        }
    }
}

/// Marks an answer of the router itself, which is never compressed.
#[derive(Clone, Copy)]
pub(super) struct RouterAnswer;

/// The whole API.
pub fn router(app: App) -> Router {
    let mut router = Router::new();
    for route in routes(app.profiling) {
        let handler = (route.handler)();
        // GPUd knows no HEAD.
        router = router.route(
            route.path,
            match route.method {
                "GET" => handler.head(not_found),
                _ => handler,
            },
        );
    }
    let router: Router = router
        .method_not_allowed_fallback(not_found)
        .fallback(elsewhere)
        // The last is the outermost.
        // Answers of resources are compressed within the request's turn, refusals by the layers below here further out.
        .layer(from_fn(gzip::for_v1))
        .layer(from_fn_with_state(app.clone(), limits::bound))
        .layer(from_fn_with_state(app.clone(), access::guard))
        .layer(from_fn_with_state(app.clone(), sites::refuse_foreign_sites))
        .layer(from_fn(gzip::for_v1))
        .layer(from_fn(envelope::wrap))
        .with_state(app);
    // axum adds it outside of all layers.
    Router::new()
        .fallback_service(router)
        .layer(map_response(without_allow))
}

/// A path with one slash too many leads to the right one; any other is not found.
async fn elsewhere(request: Request) -> Response {
    let (method, path) = (request.method(), request.uri().path());
    if *method == Method::GET && (path == swagger::FOLDER || format!("{path}/") == swagger::FOLDER)
    {
        return redirect(method, swagger::PAGE.to_owned());
    }
    if *method == Method::GET && path.starts_with(swagger::FOLDER) {
        return unrouted(StatusCode::NOT_FOUND, "Not Found");
    }
    let meant = path.strip_suffix('/').and_then(|path| find(method, path));
    match meant.filter(|route| !route.profiling) {
        None => unrouted(StatusCode::NOT_FOUND, NOT_FOUND),
        Some(route) => {
            let target = match request.uri().query() {
                Some(query) => format!("{}?{query}", route.path),
                None => route.path.to_owned(),
            };
            redirect(method, target)
        }
    }
}

/// As Go's server writes it: with a link for a person, if the method has an answer to be read.
fn redirect(method: &Method, target: String) -> Response {
    let Ok(location) = HeaderValue::try_from(&target) else {
        return unrouted(StatusCode::NOT_FOUND, NOT_FOUND);
    };
    let mut response = if *method == Method::GET {
        let link = target
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&#34;")
            .replace('\'', "&#39;");
        let body = format!("<a href=\"{link}\">Moved Permanently</a>.\n\n");
        negotiation::answer(
            StatusCode::MOVED_PERMANENTLY,
            "text/html; charset=utf-8",
            body,
        )
    } else {
        let mut response = Response::default();
        *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
        response
    };
    response.headers_mut().insert(LOCATION, location);
    response.extensions_mut().insert(RouterAnswer);
    response
}

const NOT_FOUND: &str = "404 page not found";

/// Also the answer to a wrong method: GPUd never says 405.
async fn not_found() -> Response {
    unrouted(StatusCode::NOT_FOUND, NOT_FOUND)
}

/// axum says which methods there are; GPUd does not.
async fn without_allow(mut response: Response) -> Response {
    if response.extensions().get::<RouterAnswer>().is_some() {
        response.headers_mut().remove(ALLOW);
    }
    response
}

fn unrouted(status: StatusCode, text: &'static str) -> Response {
    let mut response = negotiation::answer(status, "text/plain", text);
    response.extensions_mut().insert(RouterAnswer);
    response
}
