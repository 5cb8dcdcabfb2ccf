//! Access control: the [`Permission`] of a route, the bearer token, and the client at the other end of the connection.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{AUTHORIZATION, WWW_AUTHENTICATE},
};

use super::{
    errors::ApiError,
    peer::Peer,
    router::App,
    routes::{self, Permission},
    token::Token,
};

/// The rules of one daemon.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The token that a client has to present where one is needed.
    pub token: Option<Arc<Token>>,
    /// Every route but `/healthz` asks for the token, unless root or gpud's own user asks over the Unix socket.
    pub require_token: bool,
}

/// The verdict on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Allowed,
    NeedsToken,
    /// Only root and gpud's own user may do it, with or without a token.
    NeedsOwner(&'static str),
}

const ONLY_OWNERS_CHANGE: &str = "this runs or changes something: only root and gpud's own user may ask for it, from this machine; for others start gpud with --token-file and show the token";
const ONLY_OWNERS_REGISTER: &str = "plugins run with gpud's rights: only root and gpud's own user may register them, from this machine";

impl Access {
    fn judge(&self, permission: Permission, headers: &HeaderMap, peer: Option<&Peer>) -> Verdict {
        // A request that came over no connection is nobody's.
        let owner = peer.filter(|peer| peer.is_owner());
        match permission {
            Permission::Alive => Verdict::Allowed,
            // The kernel identifies the client, which can read the token anyway.
            _ if owner.is_some_and(Peer::is_local_socket) => Verdict::Allowed,
            _ if self.require_token && !self.shows_token(headers) => Verdict::NeedsToken,
            Permission::Read => Verdict::Allowed,
            Permission::Write | Permission::Code if owner.is_some() => Verdict::Allowed,
            // A client that registers a script can do whatever the daemon can.
            Permission::Code => Verdict::NeedsOwner(ONLY_OWNERS_REGISTER),
            Permission::Write if self.shows_token(headers) => Verdict::Allowed,
            Permission::Write if self.token.is_some() => Verdict::NeedsToken,
            Permission::Write => Verdict::NeedsOwner(ONLY_OWNERS_CHANGE),
        }
    }

    fn shows_token(&self, headers: &HeaderMap) -> bool {
        let (Some(token), Some(shown)) = (&self.token, headers.get(AUTHORIZATION)) else {
            return false;
        };
        // The scheme's name is in any case (RFC 9110, 11.1).
        let shown = shown.as_bytes();
        let Some((scheme, text)) = shown.split_at_checked(7) else {
            return false;
        };
        scheme.eq_ignore_ascii_case(b"Bearer ") && token.is(text.trim_ascii())
    }
}

/// The layer. What no route takes counts as shown: that there is nothing is no secret, unless everything is one.
pub(super) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let permission = routes::find(request.method(), request.uri().path())
        .map_or(Permission::Read, |route| route.permission);
    let peer = request.extensions().get::<Peer>();
    match app.access.judge(permission, request.headers(), peer) {
        Verdict::Allowed => next.run(request).await,
        Verdict::NeedsToken => refuse(request.headers().contains_key(AUTHORIZATION)),
        Verdict::NeedsOwner(message) => {
            ApiError::Typed(StatusCode::FORBIDDEN, message.to_owned()).into_response()
        }
    }
}

fn refuse(wrong: bool) -> Response {
    let (message, challenge) = if wrong {
        (
            "this is not the token of this gpud",
            "Bearer realm=\"gpud\", error=\"invalid_token\"",
        )
    } else {
        (
            "a bearer token is needed: the header \"Authorization: Bearer TOKEN\" with the content of gpud's token file",
            "Bearer realm=\"gpud\"",
        )
    };
    let error = ApiError::Typed(StatusCode::UNAUTHORIZED, message.to_owned());
    let mut response = error.into_response();
    response
        .headers_mut()
        .insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{node::socket_owner::own_uid, peer::Identity};

    const STRANGER: u32 = 12345;

    #[test]
    fn what_each_client_may_do() {
        use Verdict::{Allowed, NeedsOwner, NeedsToken};
        let change = NeedsOwner(ONLY_OWNERS_CHANGE);
        let code = NeedsOwner(ONLY_OWNERS_REGISTER);
        let folder = tempfile::tempdir().unwrap();
        let token = Arc::new(Token::open(&folder.path().join("token")).unwrap());
        let elsewhere = Identity::Address([192, 0, 2, 1].into());
        let strangers = [
            (Identity::User(STRANGER), false),
            (Identity::User(STRANGER), true),
            (Identity::Unknown, false),
            (elsewhere, false),
        ];
        let owner = Identity::User(own_uid());
        for (has_token, require_token, stranger, over_tcp) in [
            (false, false, [Allowed, Allowed, change, code], [Allowed; 4]),
            (
                true,
                false,
                [Allowed, Allowed, NeedsToken, code],
                [Allowed; 4],
            ),
            (
                true,
                true,
                [Allowed, NeedsToken, NeedsToken, NeedsToken],
                [Allowed, NeedsToken, NeedsToken, NeedsToken],
            ),
        ] {
            let access = Access {
                token: has_token.then(|| Arc::clone(&token)),
                require_token,
            };
            let judge = |peer: Option<&Peer>| {
                let rights = [
                    Permission::Alive,
                    Permission::Read,
                    Permission::Write,
                    Permission::Code,
                ];
                rights.map(|permission| access.judge(permission, &HeaderMap::new(), peer))
            };
            for (identity, local_socket) in strangers {
                let peer = Peer::disconnected(identity, local_socket);
                assert_eq!(judge(Some(&peer)), stranger, "{peer:?}");
            }
            assert_eq!(judge(None), stranger);
            assert_eq!(judge(Some(&Peer::disconnected(owner, false))), over_tcp);
            assert_eq!(judge(Some(&Peer::disconnected(owner, true))), [Allowed; 4]);
        }
    }

    #[test]
    fn without_a_token_nothing_is_one() {
        let headers = [(AUTHORIZATION, HeaderValue::from_static("Bearer "))];
        assert!(!Access::default().shows_token(&headers.into_iter().collect()));
    }
}
