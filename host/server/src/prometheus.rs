//! `GET /metrics`: every metric in the Prometheus text format.

use axum::{extract::State, response::Response};
use http::{
    HeaderMap, StatusCode,
    header::{ACCEPT, ACCEPT_ENCODING},
};

use super::{gzip, negotiation::answer, router::App};

pub(super) async fn show(State(app): State<App>, headers: HeaderMap) -> Response {
    let text = app.backend.prometheus().await;
    let response = answer(StatusCode::OK, content_type(&headers), text);
    if prefers_gzip(&headers) {
        gzip::compress(response).await
    } else {
        response
    }
}

/// Scrapers say which escaping of metric names they want; the names here need none, so any can be promised.
fn content_type(headers: &HeaderMap) -> &'static str {
    let wanted = values(headers, &ACCEPT)
        .flat_map(|value| value.split([',', ';']))
        .filter_map(|part| part.trim().strip_prefix("escaping="));
    for escaping in wanted {
        match escaping.trim_matches('"') {
            "allow-utf-8" => {
                return "text/plain; version=0.0.4; charset=utf-8; escaping=allow-utf-8";
            }
            "underscores" => break,
            "dots" => return "text/plain; version=0.0.4; charset=utf-8; escaping=dots",
            "values" => return "text/plain; version=0.0.4; charset=utf-8; escaping=values",
            _ => {}
        }
    }
    "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
}

/// Whether gzip is rated higher than no compression. A coding that is not listed is not wanted; a tie means none.
fn prefers_gzip(headers: &HeaderMap) -> bool {
    let rate = |coding: &str| {
        values(headers, &ACCEPT_ENCODING)
            .flat_map(|value| value.split(','))
            .filter_map(|part| {
                let (name, parameters) = part.split_once(';').unwrap_or((part, ""));
                let listed = [coding, "*"].contains(&name.trim());
                listed.then(|| {
                    parameters
                        .trim()
                        .strip_prefix("q=")
                        .map_or(1.0, |q| q.parse::<f32>().unwrap_or(0.0))
                })
            })
            .fold(0.0, f32::max)
    };
    rate("gzip") > rate("identity")
}

fn values<'a>(headers: &'a HeaderMap, name: &http::HeaderName) -> impl Iterator<Item = &'a str> {
    headers
        .get_all(name)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_is_chosen_by_rating() {
        for (accepted, gzip) in [
            (None, false),
            (Some("gzip"), true),
            (Some("deflate, gzip;q=0.5"), true),
            (Some("identity, gzip"), false),
            (Some("identity;q=0.5, gzip;q=0.8"), true),
            (Some("*"), false),
            (Some("gzip;q=0"), false),
            (Some("br"), false),
        ] {
            let headers = accepted
                .map(|value| (ACCEPT_ENCODING, value.parse().unwrap()))
                .into_iter()
                .collect();
            assert_eq!(prefers_gzip(&headers), gzip, "{accepted:?}");
        }
    }

    #[test]
    fn the_escaping_that_was_asked_for_is_named() {
        for (accept, escaping) in [
            ("*/*", "underscores"),
            (
                "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.6, text/plain",
                "allow-utf-8",
            ),
            ("text/plain; escaping=dots", "dots"),
            ("text/plain; escaping=nonsense", "underscores"),
        ] {
            let headers = [(ACCEPT, accept.parse().unwrap())].into_iter().collect();
            assert!(
                content_type(&headers).ends_with(&format!("; escaping={escaping}")),
                "{accept}"
            );
        }
    }
}
