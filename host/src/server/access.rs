//! Who may ask for what: [`Right`] of a route, where gpud listens, the bearer token, and who is at the other end.

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
    peer::{self, Ends},
    router::App,
    routes::{self, Right},
    token::Token,
};

/// The rules of one daemon.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// What has to be shown where something has to be shown.
    pub token: Option<Arc<Token>>,
    /// Every route but `/healthz` asks for the token.
    pub require_token: bool,
    /// Others than this machine can connect.
    pub wide: bool,
}

/// What a request has to bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Demand {
    Nothing,
    /// The token, unless the kernel says that root or gpud's own user asks from here: they can read it anyway.
    TokenOrOwner,
    Token,
}

impl Access {
    fn demand(&self, right: Right) -> Demand {
        match right {
            Right::Alive => Demand::Nothing,
            _ if self.require_token => Demand::Token,
            // The route itself asks for the owner, whom no token replaces.
            Right::Read | Right::Code => Demand::Nothing,
            Right::Write if self.wide => Demand::TokenOrOwner,
            Right::Write => Demand::Nothing,
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
    let right = routes::find(request.method(), request.uri().path())
        .map_or(Right::Read, |route| route.right);
    let allowed = match app.access.demand(right) {
        Demand::Nothing => true,
        Demand::Token => app.access.shows_token(request.headers()),
        Demand::TokenOrOwner => {
            app.access.shows_token(request.headers())
                || peer::is_owner(request.extensions().get::<Ends>().copied()).await
        }
    };
    if allowed {
        return next.run(request).await;
    }
    let wrong = request.headers().contains_key(AUTHORIZATION);
    refuse(wrong)
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

    #[test]
    fn what_is_demanded() {
        use Demand::{Nothing, Token, TokenOrOwner};
        for (wide, require_token, demands) in [
            (false, false, [Nothing, Nothing, Nothing, Nothing]),
            (true, false, [Nothing, Nothing, TokenOrOwner, Nothing]),
            (false, true, [Nothing, Token, Token, Token]),
            (true, true, [Nothing, Token, Token, Token]),
        ] {
            let access = Access {
                token: None,
                require_token,
                wide,
            };
            let rights = [Right::Alive, Right::Read, Right::Write, Right::Code];
            assert_eq!(rights.map(|right| access.demand(right)), demands);
        }
    }

    #[test]
    fn without_a_token_nothing_is_one() {
        let headers = [(AUTHORIZATION, HeaderValue::from_static("Bearer "))];
        assert!(!Access::default().shows_token(&headers.into_iter().collect()));
    }
}
