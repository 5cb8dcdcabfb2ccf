//! Logging in to a registry: by password, or by a token service that the registry names.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header::WWW_AUTHENTICATE};

use super::{
    client::{Credentials, MAX_ANSWER, Registry, is_local},
    transport::{Answer, Call},
};
use crate::PackRefusal;

impl Registry {
    /// Gets what the registry wants to see. `false` if nothing can be had.
    pub(super) async fn log_in(&self, refusal: &Answer) -> Result<bool, PackRefusal> {
        let challenges: Vec<&str> = refusal
            .headers
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect();
        let scheme = |name: &str| {
            challenges.iter().find_map(|challenge| {
                let (scheme, rest) = challenge.split_once(' ').unwrap_or((challenge, ""));
                scheme.eq_ignore_ascii_case(name).then_some(rest)
            })
        };
        let basic = self
            .credentials
            .as_ref()
            .map(|Credentials { username, password }| {
                format!("Basic {}", BASE64.encode(format!("{username}:{password}")))
            });
        let shown = if let Some(parameters) = scheme("Bearer") {
            Some(format!(
                "Bearer {}",
                self.token(parameters, basic.as_deref()).await?
            ))
        } else {
            scheme("Basic").and(basic)
        };
        let Some(shown) = shown else {
            return Ok(false);
        };
        let mut value = HeaderValue::try_from(shown)
            .map_err(|_| PackRefusal::new("the token of the registry cannot be sent"))?;
        value.set_sensitive(true);
        *self.authorization.lock().await = Some(value);
        Ok(true)
    }

    async fn token(&self, parameters: &str, basic: Option<&str>) -> Result<String, PackRefusal> {
        let value = |key: &str| parameter(parameters, key);
        let realm = value("realm")
            .ok_or_else(|| PackRefusal::new("the registry does not say where to log in"))?;
        let mut query = String::new();
        for key in ["service", "scope"] {
            if let Some(value) = value(key) {
                query.push(if query.is_empty() && !realm.contains('?') {
                    '?'
                } else {
                    '&'
                });
                query.push_str(&format!(
                    "{key}={}",
                    gpud_wire::text::encode_query_value(value)
                ));
            }
        }
        let call = Call {
            method: Method::GET,
            uri: self.resolve(&self.base, &format!("{realm}{query}"))?,
            content_type: None,
            accept: None,
            body: Bytes::new(),
            max_answer: MAX_ANSWER,
        };
        // The registry says where this is, so it is not trusted with a password in the clear.
        let is_safe = call.uri.scheme_str() == Some("https") || is_local(&call.uri);
        let authorization = basic
            .filter(|_| is_safe)
            .and_then(|basic| HeaderValue::try_from(basic).ok());
        let answer = self.exchange(&call, authorization).await?;
        #[derive(serde::Deserialize)]
        struct Token {
            token: Option<String>,
            access_token: Option<String>,
        }
        let token = serde_json::from_slice::<Token>(&answer.body).ok();
        token
            .filter(|_| answer.status == StatusCode::OK)
            .and_then(|token| token.token.or(token.access_token))
            .ok_or_else(|| {
                PackRefusal(format!(
                    "the registry's login gives no token: {}",
                    answer.status
                ))
            })
    }
}

/// A parameter of a challenge: `key="value"`.
fn parameter<'a>(parameters: &'a str, key: &str) -> Option<&'a str> {
    let mut rest = parameters;
    while let Some((name, after)) = rest.split_once("=\"") {
        let (value, next) = after.split_once('"')?;
        if name.trim_start_matches([',', ' ']) == key {
            return Some(value);
        }
        rest = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parameters_of_a_challenge() {
        let challenge = r#"realm="https://auth.example.com/token",service="registry",scope="repository:a:pull,push""#;
        assert_eq!(
            parameter(challenge, "realm"),
            Some("https://auth.example.com/token")
        );
        assert_eq!(
            parameter(challenge, "scope"),
            Some("repository:a:pull,push")
        );
        assert_eq!(parameter(challenge, "service"), Some("registry"));
        assert_eq!(parameter(challenge, "other"), None);
        assert_eq!(parameter("realm=\"x", "realm"), None);
    }

    proptest! {
        #[test]
        fn any_challenge_is_read_or_not(text in "[a-z=\", ]{0,60}") {
            let _ = parameter(&text, "realm");
        }
    }
}
