//! Every route of the API, in one table: the router, the rights and the OpenAPI document are made from it, so that no
//! route is without its description.

mod parameters;
mod table;

use axum::routing::MethodRouter;
use http::Method;

use self::table::ROUTES;
use super::router::App;

/// The permission that a route needs, by its effect on the machine or the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permission {
    /// Says only that the daemon answers. Never asks for a token: probes have none.
    Alive,
    /// Shows something.
    Read,
    /// Runs or changes something. Triggers do, although they are GET for the sake of existing clients.
    Write,
    /// Brings code in, which then has all rights of the daemon: more than a token is asked for.
    Code,
}

/// How the answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forms {
    /// JSON, or YAML if the request's `Content-Type` says so; any other is refused.
    Strict,
    /// The same, but any other gives JSON.
    Lenient,
    /// JSON, whatever the request's headers say.
    Json,
    /// Something else, of this content type.
    Other(&'static str),
}

/// A parameter of the query.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    /// The request is refused without it.
    pub(super) required: bool,
    pub(super) example: &'static str,
}

/// One status that a route answers with; those that every route can give are in `openapi.rs`.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) what: &'static str,
    /// A name of `openapi_schemas.json`; empty for what is not JSON.
    pub(super) schema: &'static str,
}

/// One method of one path.
pub(super) struct Route {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) permission: Permission,
    pub(super) forms: Forms,
    pub(super) what: &'static str,
    pub(super) parameters: &'static [&'static Parameter],
    /// Content type and schema of the request's body, if it has one.
    pub(super) body: Option<(&'static str, &'static str)>,
    pub(super) answers: &'static [Answer],
    /// These routes exist only with `--pprof`.
    pub(super) profiling: bool,
    pub(super) handler: fn() -> MethodRouter<App>,
}

impl Route {
    /// Whether its answers are made of so much that is stored that only a few are made at a time.
    pub(super) fn is_large(&self) -> bool {
        let paths = ["/v1/events", "/v1/history", "/v1/info", "/v1/metrics"];
        paths.contains(&self.path)
    }
}

/// The routes that there are, with or without `--pprof`.
pub(super) fn routes(profiling: bool) -> impl Iterator<Item = &'static Route> {
    ROUTES
        .iter()
        .filter(move |route| profiling || !route.profiling)
}

/// The route of a request, if there is one.
pub(super) fn find(method: &Method, path: &str) -> Option<&'static Route> {
    ROUTES
        .iter()
        .find(|route| route.path == path && route.method == method.as_str())
}

/// The path if it is one of the API, else a word for all others: what a stranger asks for does not go into the log.
pub(super) fn known_path(path: &str) -> &'static str {
    ROUTES
        .iter()
        .find(|route| route.path == path)
        .map_or("other", |route| route.path)
}
