//! `GET /swagger/…`: the API's description, for programs and for people. The page needs nothing but itself: no script,
//! no font, nothing from another host.

use std::fmt::Write as _;

use axum::{extract::State, response::Response};
use http::{HeaderValue, StatusCode, header::CONTENT_SECURITY_POLICY};

use super::{
    negotiation::{answer, json},
    openapi::{self, answers},
    router::App,
    routes::{Forms, Permission, Route, routes},
};

/// Where the page is, for requests for the folder.
pub(super) const PAGE: &str = "/swagger/index.html";
/// A path below it that is none of the two documents is answered in its own way.
pub(super) const FOLDER: &str = "/swagger/";

const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>gpud: HTTP API</title>
<style>
body { font: 1em/1.4 sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em }
h2 { border-top: 1px solid #999; font-size: 1.1em; margin-top: 2em; padding-top: .5em }
code, .method { font-family: monospace }
.method { font-weight: bold }
table { border-collapse: collapse }
td, th { border: 1px solid #999; padding: .2em .6em; text-align: left; vertical-align: top }
pre { overflow: auto }
</style>
</head>
<body>
<h1>gpud: HTTP API</h1>
<p>JSON or YAML is chosen by the <em>request's</em> <code>Content-Type</code>, also on GET: none or
<code>application/json</code>, or <code>application/yaml</code>. The header <code>json-indent: true</code> gives indented
JSON. For programs: <a href=\"doc.json\">doc.json</a> (OpenAPI).</p>
";

/// The OpenAPI document.
pub(super) async fn document(State(app): State<App>) -> Response {
    json(StatusCode::OK, &openapi::document(app.profiling))
}

/// The page.
pub(super) async fn page(State(app): State<App>) -> Response {
    let mut html = HEAD.to_owned();
    for route in routes(app.profiling) {
        section(&mut html, route);
    }
    schemas(&mut html);
    html.push_str("</body>\n</html>\n");
    let mut response = answer(StatusCode::OK, "text/html; charset=utf-8", html);
    response.headers_mut().insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'"),
    );
    response
}

/// Texts are ours; only what could be taken for a tag is escaped. Writing to a String cannot fail.
fn section(html: &mut String, route: &Route) {
    let _ = writeln!(
        html,
        "<h2><span class=\"method\">{}</span> <code>{}</code></h2>\n<p>{}</p>\n<p>{}</p>",
        route.method,
        route.path,
        escape(route.what),
        rights(route)
    );
    if !route.parameters.is_empty() {
        html.push_str("<table>\n<tr><th>parameter</th><th>meaning</th><th>example</th></tr>\n");
        for parameter in route.parameters {
            let needed = if parameter.required { " Needed." } else { "" };
            let _ = writeln!(
                html,
                "<tr><td><code>{}</code></td><td>{}{needed}</td><td><code>{}</code></td></tr>",
                parameter.name,
                escape(parameter.what),
                escape(parameter.example)
            );
        }
        html.push_str("</table>\n");
    }
    if let Some((content_type, schema)) = route.body {
        let _ = writeln!(html, "<p>Body: {content_type}, {}</p>", link(schema));
    }
    html.push_str("<table>\n<tr><th>status</th><th>when</th><th>body</th></tr>\n");
    for answer in answers(route) {
        let body = match (route.forms, answer.schema) {
            (Forms::Other(content_type), "") if answer.status == 200 => escape(content_type),
            (_, "") => String::new(),
            (_, schema) => link(schema),
        };
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{body}</td></tr>",
            answer.status,
            escape(answer.what)
        );
    }
    html.push_str("</table>\n");
}

fn schemas(html: &mut String) {
    let document = openapi::document(false);
    let schemas = document.pointer("/components/schemas");
    for (name, schema) in schemas
        .and_then(|all| all.as_object())
        .into_iter()
        .flatten()
    {
        let text = serde_json::to_string_pretty(schema).unwrap_or_default();
        let _ = writeln!(
            html,
            "<h2 id=\"{name}\">{name}</h2>\n<pre>{}</pre>",
            escape(&text)
        );
    }
}

fn link(schema: &str) -> String {
    format!("<a href=\"#{schema}\">{schema}</a>")
}

fn rights(route: &Route) -> &'static str {
    match route.permission {
        Permission::Alive => "Open to all.",
        Permission::Read => {
            "Shows something: needs a token only with <code>--require-token</code>."
        }
        Permission::Write => {
            "Runs or changes something: for root and gpud's own user on this machine, and for requests with the token."
        }
        Permission::Code => "Brings code in: only for root and gpud's own user, from this machine.",
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
