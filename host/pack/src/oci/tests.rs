//! Packs against a stand-in registry: the protocol, and what happens when it lies or breaks off.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse as _, Response},
};

use super::{Credentials, Reference, Registry, layout};
use crate::{Pack, content::tests::pack};

/// How the registry misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ServerBehaviour {
    #[default]
    Good,
    /// One byte of every blob is another one.
    LiesAboutBlobs,
    /// The connection ends in the middle of a blob.
    BreaksOff,
    /// A blob has no end.
    Endless,
    /// Each address points to the next.
    PointsOn,
    /// Blobs are behind another address of the same registry.
    Redirects,
    /// Blobs are behind the address of another host, in [`Stored::elsewhere`].
    PointsAway,
    /// A token is wanted, and given for the password.
    WantsToken,
    /// A token is wanted, and another host gives it.
    WantsTokenOfAnother,
    /// The tag names other content than a moment ago.
    Moved,
}

#[derive(Clone, Default)]
struct Stored {
    behaviour: ServerBehaviour,
    port: u16,
    /// `host:port` of another host, and all that others were shown as authorization.
    elsewhere: String,
    seen: Arc<Mutex<Vec<String>>>,
    blobs: Arc<Mutex<BTreeMap<String, Bytes>>>,
    manifests: Arc<Mutex<BTreeMap<String, Bytes>>>,
}

async fn answer(State(stored): State<Stored>, headers: HeaderMap, request: Request) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let query = request.uri().query().unwrap_or_default().to_owned();
    let shown = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    stored
        .seen
        .lock()
        .unwrap()
        .push(format!("{path} {}", shown.unwrap_or("-")));
    if path == "/token" {
        let right = shown == Some("Basic dTpw") && query.contains("service=stand-in");
        return match right {
            true => r#"{"token":"abc"}"#.into_response(),
            false => StatusCode::FORBIDDEN.into_response(),
        };
    }
    let wants_token = matches!(
        stored.behaviour,
        ServerBehaviour::WantsToken | ServerBehaviour::WantsTokenOfAnother
    );
    if wants_token && shown != Some("Bearer abc") {
        let host = match stored.behaviour {
            ServerBehaviour::WantsToken => format!("127.0.0.1:{}", stored.port),
            _ => stored.elsewhere.clone(),
        };
        let realm = format!("Bearer realm=\"http://{host}/token\",service=\"stand-in\"");
        return (
            StatusCode::UNAUTHORIZED,
            [(header::WWW_AUTHENTICATE, realm)],
        )
            .into_response();
    }
    let body = axum::body::to_bytes(request.into_body(), 1 << 20)
        .await
        .unwrap();
    let last = path.rsplit('/').next().unwrap_or_default().to_owned();
    let not_found = || StatusCode::NOT_FOUND.into_response();
    match method {
        Method::POST => (
            StatusCode::ACCEPTED,
            [(header::LOCATION, "/upload/1?state=x")],
        )
            .into_response(),
        Method::PUT if path.starts_with("/upload/") => {
            let digest = query
                .rsplit("digest=")
                .next()
                .unwrap_or_default()
                .to_owned();
            if layout::digest(&body) != digest {
                return StatusCode::BAD_REQUEST.into_response();
            }
            stored.blobs.lock().unwrap().insert(digest, body);
            StatusCode::CREATED.into_response()
        }
        Method::PUT => {
            let mut manifests = stored.manifests.lock().unwrap();
            manifests.insert(layout::digest(&body), body.clone());
            manifests.insert(last, body);
            StatusCode::CREATED.into_response()
        }
        Method::HEAD => match stored.blobs.lock().unwrap().contains_key(&last) {
            true => StatusCode::OK.into_response(),
            false => not_found(),
        },
        _ if path.contains("/manifests/") => {
            let manifests = stored.manifests.lock().unwrap();
            let manifest = manifests.get(&last).cloned();
            match (manifest, stored.behaviour) {
                (Some(manifest), ServerBehaviour::Moved) => {
                    let text = String::from_utf8_lossy(&manifest).replace("1.0.0", "1.0.1");
                    text.into_response()
                }
                (Some(manifest), _) => manifest.into_response(),
                (None, _) => not_found(),
            }
        }
        _ => blob(&stored, &path, &last),
    }
}

fn blob(stored: &Stored, path: &str, digest: &str) -> Response {
    let found = stored.blobs.lock().unwrap().get(digest).cloned();
    let Some(content) = found else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let to = |location: String| {
        (
            StatusCode::TEMPORARY_REDIRECT,
            [(header::LOCATION, location)],
        )
            .into_response()
    };
    match stored.behaviour {
        ServerBehaviour::LiesAboutBlobs => {
            let mut changed = content.to_vec();
            changed[0] ^= 1;
            changed.into_response()
        }
        ServerBehaviour::BreaksOff => {
            let length = [(header::CONTENT_LENGTH, (content.len() + 10).to_string())];
            let begin = futures_util::stream::iter([Ok(content)]);
            // Later, so that head and begin are under way.
            let end = futures_util::stream::once(async {
                tokio::time::sleep(std::time::Duration::from_millis(200)).await;
                Err(std::io::Error::other("gone"))
            });
            let half = futures_util::StreamExt::chain(begin, end);
            (length, axum::body::Body::from_stream(half)).into_response()
        }
        ServerBehaviour::Endless => {
            let piece = Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; 4096]));
            let endless = futures_util::stream::repeat_with(move || match &piece {
                Ok(piece) => Ok(piece.clone()),
                Err(error) => Err(std::io::Error::other(error.to_string())),
            });
            axum::body::Body::from_stream(endless).into_response()
        }
        ServerBehaviour::PointsOn => to(format!("{path}?again")),
        ServerBehaviour::PointsAway => {
            to(format!("http://{}/elsewhere/{digest}", stored.elsewhere))
        }
        ServerBehaviour::Redirects if path.starts_with("/v2/") => to(format!(
            "http://127.0.0.1:{}/elsewhere/{digest}",
            stored.port
        )),
        _ => content.into_response(),
    }
}

async fn registry(behaviour: ServerBehaviour, like: Option<&Stored>) -> Stored {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stored = Stored {
        behaviour,
        port: listener.local_addr().unwrap().port(),
        ..like.cloned().unwrap_or_default()
    };
    let app = Router::new().fallback(answer).with_state(stored.clone());
    tokio::spawn(async move { axum_serve(listener, app).await });
    stored
}

async fn axum_serve(listener: tokio::net::TcpListener, app: Router) {
    use hyper_util::{rt::TokioIo, service::TowerToHyperService};
    while let Ok((stream, _)) = listener.accept().await {
        let service = TowerToHyperService::new(app.clone());
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            let _ = connection.await;
        });
    }
}

fn reference(stored: &Stored, rest: &str) -> Reference {
    Reference::parse(&format!("127.0.0.1:{}/acme/sensors{rest}", stored.port)).unwrap()
}

fn client(stored: &Stored, credentials: Option<Credentials>) -> Registry {
    Registry::new(&reference(stored, ":1"), true, false, credentials).unwrap()
}

async fn pulled(behaviour: ServerBehaviour, rest: &str) -> Result<Pack, String> {
    let good = registry(ServerBehaviour::Good, None).await;
    client(&good, None)
        .push(&pack(), &reference(&good, ":1.0.0"))
        .await
        .unwrap();
    let stored = registry(behaviour, Some(&good)).await;
    let pulled = client(&stored, None).pull(&reference(&stored, rest)).await;
    pulled.map_err(|error| error.to_string())
}

#[tokio::test]
async fn what_was_pushed_is_pulled_by_tag_and_by_digest() {
    let stored = registry(ServerBehaviour::Good, None).await;
    let client = client(&stored, None);
    let digest = client
        .push(&pack(), &reference(&stored, ":1.0.0"))
        .await
        .unwrap();
    // A second time nothing has to be sent.
    assert_eq!(
        client
            .push(&pack(), &reference(&stored, ":1.0.0"))
            .await
            .unwrap(),
        digest
    );
    for rest in [":1.0.0".to_owned(), format!("@{digest}")] {
        assert_eq!(
            client.pull(&reference(&stored, &rest)).await.unwrap(),
            pack()
        );
    }
    let other = format!("@sha256:{}", "0".repeat(64));
    assert!(
        client
            .push(&pack(), &reference(&stored, &other))
            .await
            .is_err()
    );
    let missing = client
        .pull(&reference(&stored, ":2"))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        missing.contains("refuses to give") && missing.contains("404"),
        "{missing}"
    );
}

#[tokio::test]
async fn redirects_are_followed_but_not_for_ever() {
    assert_eq!(
        pulled(ServerBehaviour::Redirects, ":1.0.0").await.unwrap(),
        pack()
    );
    let error = pulled(ServerBehaviour::PointsOn, ":1.0.0")
        .await
        .unwrap_err();
    assert!(error.contains("without end"), "{error}");
}

#[tokio::test]
async fn a_registry_that_lies_or_breaks_off_gives_nothing() {
    for (behaviour, expected) in [
        (
            ServerBehaviour::LiesAboutBlobs,
            "is something else; nothing of it is used",
        ),
        (ServerBehaviour::BreaksOff, "broke off"),
        (ServerBehaviour::Endless, "broke off, or is larger than"),
    ] {
        let error = pulled(behaviour, ":1.0.0").await.unwrap_err();
        assert!(error.contains(expected), "{behaviour:?}: {error}");
    }
    let digest = layout::digest(&layout::artifact(&pack()).unwrap().manifest);
    let error = pulled(ServerBehaviour::Moved, &format!("@{digest}"))
        .await
        .unwrap_err();
    assert!(error.contains("gave another manifest"), "{error}");
}

#[tokio::test]
async fn a_token_is_asked_for_and_shown() {
    let stored = registry(ServerBehaviour::WantsToken, None).await;
    let right = Credentials {
        username: "u".to_owned(),
        password: "p".to_owned(),
    };
    let logged_in = client(&stored, Some(right));
    logged_in
        .push(&pack(), &reference(&stored, ":1.0.0"))
        .await
        .unwrap();
    assert_eq!(
        logged_in.pull(&reference(&stored, ":1.0.0")).await.unwrap(),
        pack()
    );
    let error = client(&stored, None)
        .pull(&reference(&stored, ":1.0.0"))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("gives no token"), "{error}");
}

/// A registry that points to `elsewhere`, and what pulling from it gives.
async fn pulled_from_elsewhere(
    behaviour: ServerBehaviour,
    elsewhere: String,
    allow_redirects: bool,
) -> (Result<Pack, String>, Stored) {
    let good = registry(ServerBehaviour::Good, None).await;
    client(&good, None)
        .push(&pack(), &reference(&good, ":1.0.0"))
        .await
        .unwrap();
    let like = Stored {
        elsewhere,
        ..good.clone()
    };
    let stored = registry(behaviour, Some(&like)).await;
    let reference = reference(&stored, ":1.0.0");
    let credentials = Credentials {
        username: "u".to_owned(),
        password: "p".to_owned(),
    };
    let client = Registry::new(&reference, true, allow_redirects, Some(credentials)).unwrap();
    let pulled = client.pull(&reference).await;
    (pulled.map_err(|error| error.to_string()), stored)
}

#[tokio::test]
async fn another_host_is_asked_only_when_allowed_and_sees_no_password() {
    let good = registry(ServerBehaviour::Good, None).await;
    let other = registry(ServerBehaviour::Good, Some(&good)).await;
    let address = format!("127.0.0.1:{}", other.port);
    let (pulled, _) =
        pulled_from_elsewhere(ServerBehaviour::PointsAway, address.clone(), false).await;
    let error = pulled.unwrap_err();
    assert!(error.contains("--allow-redirects"), "{error}");
    assert_eq!(other.seen.lock().unwrap().as_slice(), [] as [&str; 0]);

    // Allowed, it is asked, since the registry is on this machine as well; it has no such blob.
    let (pulled, _) = pulled_from_elsewhere(ServerBehaviour::PointsAway, address, true).await;
    assert!(pulled.unwrap_err().contains("404"));
    let seen = other.seen.lock().unwrap().clone();
    assert!(
        !seen.is_empty() && seen.iter().all(|one| one.ends_with(" -")),
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_registry_never_points_into_another_network() {
    for inside in ["169.254.169.254", "10.0.0.1:80", "[fd00::1]:80"] {
        let (pulled, _) =
            pulled_from_elsewhere(ServerBehaviour::PointsAway, inside.to_owned(), true).await;
        let error = pulled.unwrap_err();
        assert!(
            error.contains("inside of this network"),
            "{inside}: {error}"
        );
    }
}

#[tokio::test]
async fn the_password_goes_to_another_host_only_when_allowed() {
    let other = registry(ServerBehaviour::Good, None).await;
    let address = format!("127.0.0.1:{}", other.port);
    let behaviour = ServerBehaviour::WantsTokenOfAnother;
    let (pulled, _) = pulled_from_elsewhere(behaviour, address.clone(), false).await;
    let error = pulled.unwrap_err();
    assert!(error.contains("--allow-redirects"), "{error}");
    assert_eq!(other.seen.lock().unwrap().as_slice(), [] as [&str; 0]);
    let (pulled, _) = pulled_from_elsewhere(behaviour, address, true).await;
    assert_eq!(pulled.unwrap(), pack());
    assert_eq!(other.seen.lock().unwrap().as_slice(), ["/token Basic dTpw"]);
}

#[tokio::test]
async fn a_registry_that_cannot_be_reached_is_reported() {
    // Bound without listening: another test's child process cannot keep it open, as it could a listener's copy.
    let closed = tokio::net::TcpSocket::new_v4().unwrap();
    closed.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = closed.local_addr().unwrap().port();
    let reference = Reference::parse(&format!("127.0.0.1:{port}/a:1")).unwrap();
    let registry = Registry::new(&reference, true, false, None).unwrap();
    let error = registry.pull(&reference).await.unwrap_err().to_string();
    assert!(error.contains("cannot connect"), "{error}");
}
