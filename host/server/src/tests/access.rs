//! Which clients are let in.

use super::{TestResponse, ask_router};
use crate::{
    Access, Token,
    peer::{Identity, Peer},
    router::router,
    routes::{Permission, routes},
    test_backend::{Fake, app},
};
use axum::{Router, body::Body};
use http::{Request, header};
use std::{fs, sync::Arc};

const TOKEN: &str = "correct-horse-battery-staple";

fn server(require_token: bool) -> Router {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, TOKEN).unwrap();
    let mut app = app(Arc::<Fake>::default());
    app.profiling = true;
    app.access = Access {
        token: Some(Arc::new(Token::open(&file).unwrap())),
        require_token,
    };
    router(app)
}

async fn ask(
    server: &Router,
    method: &str,
    path: &str,
    authorization: Option<&str>,
) -> TestResponse {
    let elsewhere = Identity::Address([192, 0, 2, 7].into());
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .extension(Peer::disconnected(elsewhere, false));
    if let Some(authorization) = authorization {
        request = request.header(header::AUTHORIZATION, authorization);
    }
    ask_router(server, request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn routes_ask_for_the_token_as_their_rights_say() {
    let bearer = format!("Bearer {TOKEN}");
    for require_token in [false, true] {
        let server = server(require_token);
        for route in routes(true) {
            // Its check panics, which is another test.
            let needs = match route.permission {
                Permission::Alive => false,
                Permission::Read | Permission::Code => require_token,
                Permission::Write => true,
            };
            for (authorization, allowed) in [
                (None, !needs),
                (Some("Bearer wrong-horse-battery"), !needs),
                (Some("Basic correct-horse-battery-staple"), !needs),
                (Some("Bearer"), !needs),
                (Some(bearer.as_str()), true),
            ] {
                let got = ask(&server, route.method, route.path, authorization).await;
                let place = format!("{} {} {authorization:?}", route.method, route.path);
                assert_eq!(got.status != 401, allowed, "{place}");
                if !allowed {
                    let challenge = got.header(header::WWW_AUTHENTICATE);
                    assert!(challenge.starts_with("Bearer realm=\"gpud\""), "{place}");
                    assert!(got.text().starts_with(r#"{"code":{},"message":""#));
                }
                // Bringing code in takes more than a token.
                if route.permission == Permission::Code && allowed {
                    assert_eq!(got.status, 403, "{place}");
                }
            }
        }
    }
}

/// Refusals and paths that are not there have the same marks: these answers quote the request.
#[tokio::test]
async fn browsers_store_no_answer_and_guess_no_type() {
    for require_token in [false, true] {
        let server = server(require_token);
        let elsewhere = [("GET", "/v1/nothing"), ("GET", "/v1/events/")];
        let all = routes(true).map(|route| (route.method, route.path));
        for (method, path) in all.chain(elsewhere) {
            let got = ask(&server, method, path, None).await;
            let place = format!("{method} {path}");
            let sniffing = got.header(header::X_CONTENT_TYPE_OPTIONS);
            assert_eq!(sniffing, "nosniff", "{place}");
            // The files of the page are the same for everybody; a browser asks each time whether it has the right one.
            let storing = got.header(header::CACHE_CONTROL);
            let is_public = got.status == 200 && !got.header(header::ETAG).is_empty();
            let expected = if is_public { "no-cache" } else { "no-store" };
            assert_eq!(storing, expected, "{place}");
        }
    }
}

#[tokio::test]
async fn nothing_is_revealed_of_other_paths_where_everything_needs_the_token() {
    for (require_token, status) in [(true, 401), (false, 404)] {
        let server = server(require_token);
        for path in ["/v1", "/v1/nothing", "/v1/components/trigger-check//"] {
            assert_eq!(
                ask(&server, "GET", path, None).await.status,
                status,
                "{path}"
            );
        }
    }
    let lower = format!("bearer   {TOKEN} ");
    let got = ask(&server(true), "GET", "/v1/states", Some(&lower)).await;
    assert_eq!(got.status, 200, "the scheme is in any case");
}
