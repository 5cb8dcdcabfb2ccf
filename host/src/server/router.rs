//! Which path leads to which resource, and what happens on every other path.

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    middleware::{from_fn, from_fn_with_state},
    response::Response,
    routing::{MethodRouter, delete, get, post},
};
use http::{HeaderValue, Method, StatusCode, header::LOCATION};
use jiff::{Timestamp, tz::TimeZone};
use tokio::sync::Semaphore;

use super::{
    admin, backend::Backend, components, envelope, events, gzip, healthz, info, inject_fault,
    limits, machine_info, metrics, negotiation, plugins, prometheus, set_healthy, states, trigger,
};

/// What handlers share.
#[derive(Clone)]
pub struct App {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) in_flight: Arc<Semaphore>,
    pub(super) machine_info: Arc<machine_info::Cache>,
    pub(super) now: fn() -> Timestamp,
    pub(super) zone: TimeZone,
}

impl App {
    /// Times are shown in the system's time zone.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self {
            backend,
            in_flight: Arc::new(Semaphore::new(limits::MAX_IN_FLIGHT)),
            machine_info: Arc::default(),
            now: Timestamp::now,
            zone: TimeZone::system(),
        }
    }
}

/// Marks an answer of the router itself, which is never compressed.
#[derive(Clone, Copy)]
pub(super) struct NotRouted;

/// The whole API.
pub fn router(app: App) -> Router {
    reading()
        // A bearer token, when asked for, is demanded by a layer on this half only.
        .merge(writing())
        .method_not_allowed_fallback(not_found)
        .fallback(elsewhere)
        .layer(from_fn(gzip::for_v1))
        .layer(from_fn_with_state(app.clone(), limits::bound))
        .layer(from_fn(envelope::wrap))
        .with_state(app)
}

/// Routes that change nothing.
fn reading() -> Router<App> {
    Router::new()
        .route("/healthz", no_head(get(healthz::show)))
        .route("/machine-info", no_head(get(machine_info::show)))
        .route("/metrics", no_head(get(prometheus::show)))
        .route("/admin/config", no_head(get(admin::config)))
        .route("/admin/packages", no_head(get(admin::packages)))
        .route("/v1/components", no_head(get(components::list)))
        .route("/v1/states", no_head(get(states::list)))
        .route("/v1/events", no_head(get(events::list)))
        .route("/v1/info", no_head(get(info::list)))
        .route("/v1/metrics", no_head(get(metrics::list)))
        .route("/v1/plugins", no_head(get(plugins::list)))
}

/// Routes that run something or change something. Triggers are GET for the sake of existing clients.
fn writing() -> Router<App> {
    Router::new()
        .route("/inject-fault", post(inject_fault::inject))
        .route("/v1/components", delete(components::deregister))
        .route("/v1/plugins", post(plugins::add).put(plugins::put))
        .route("/v1/components/trigger-check", no_head(get(trigger::check)))
        .route("/v1/components/trigger-tag", no_head(get(trigger::tag)))
        .route("/v1/health-states/set-healthy", post(set_healthy::set))
}

/// GPUd knows no HEAD.
fn no_head(route: MethodRouter<App>) -> MethodRouter<App> {
    route.head(not_found)
}

/// Every path with its methods, for redirects.
pub(super) const PATHS: &[(&str, &[Method])] = &[
    ("/healthz", &[Method::GET]),
    ("/machine-info", &[Method::GET]),
    ("/inject-fault", &[Method::POST]),
    ("/metrics", &[Method::GET]),
    ("/admin/config", &[Method::GET]),
    ("/admin/packages", &[Method::GET]),
    ("/v1/components", &[Method::GET, Method::DELETE]),
    ("/v1/components/trigger-check", &[Method::GET]),
    ("/v1/components/trigger-tag", &[Method::GET]),
    ("/v1/states", &[Method::GET]),
    ("/v1/events", &[Method::GET]),
    ("/v1/info", &[Method::GET]),
    ("/v1/metrics", &[Method::GET]),
    ("/v1/health-states/set-healthy", &[Method::POST]),
    ("/v1/plugins", &[Method::GET, Method::POST, Method::PUT]),
];

/// A path with one slash too many leads to the right one; any other is not found.
async fn elsewhere(request: Request) -> Response {
    let meant = request.uri().path().strip_suffix('/').and_then(|path| {
        PATHS
            .iter()
            .find(|(known, methods)| *known == path && methods.contains(request.method()))
    });
    let Some((path, _)) = meant else {
        return not_found().await;
    };
    let target = match request.uri().query() {
        Some(query) => format!("{path}?{query}"),
        None => (*path).to_owned(),
    };
    let Ok(target) = HeaderValue::try_from(target) else {
        return not_found().await;
    };
    let mut response = Response::default();
    *response.status_mut() = if request.method() == Method::GET {
        StatusCode::MOVED_PERMANENTLY
    } else {
        StatusCode::TEMPORARY_REDIRECT
    };
    response.headers_mut().insert(LOCATION, target);
    response.extensions_mut().insert(NotRouted);
    response
}

/// Also the answer to a wrong method: GPUd never says 405.
async fn not_found() -> Response {
    let mut response =
        negotiation::answer(StatusCode::NOT_FOUND, "text/plain", "404 page not found");
    response.extensions_mut().insert(NotRouted);
    response
}
