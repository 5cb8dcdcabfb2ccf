//! Parts of a request that only its receiver may see, and that the answers of some servers repeat: "Cannot POST
//! /services/T0/B0/…".

use reqwest::{Request, RequestBuilder};

/// Shortest word of a secret header, and shortest value of a query, that is looked for, bytes.
const SHORTEST: usize = 4;
/// Shortest part of a path that is looked for, bytes.
const SHORTEST_OF_PATH: usize = 8;
/// A part of a path of so many bytes is looked for even if it could be a word.
const NO_WORD: usize = 20;
/// First words of headers, which are no secrets.
const SCHEMES: [&str; 3] = ["Bearer", "Basic", "Token"];
/// The words that are shown in the place of those that repeat a part.
const IN_PLACE: &str = "(the answer repeats what was sent, so it is not shown)";

/// Parts of a request that nobody but its receiver may see; `None` if they are not known.
pub struct Confidential(Option<Vec<String>>);

impl Confidential {
    /// Returns the parts of a request's address and of its secret headers. The addresses of chat tools are secrets.
    pub fn of(request: &RequestBuilder) -> Self {
        Self::read(request, |request| {
            let mut parts = secret_headers(request);
            parts.extend(parts_of_address(request));
            parts
        })
    }

    /// Returns the parts of a request's secret headers, where the address is none.
    pub fn of_headers(request: &RequestBuilder) -> Self {
        Self::read(request, secret_headers)
    }

    fn read(request: &RequestBuilder, parts: impl Fn(&Request) -> Vec<String>) -> Self {
        let request = request.try_clone().and_then(|request| request.build().ok());
        Self(request.as_ref().map(parts))
    }

    /// Returns the words of an answer, or others in their place if they repeat a part.
    pub fn hide(&self, words: String) -> String {
        let repeats = self.0.as_ref().is_none_or(|parts| {
            let mut parts = parts.iter();
            parts.any(|part| words.contains(part.as_str()))
        });
        match repeats && !words.is_empty() {
            true => IN_PLACE.to_owned(),
            false => words,
        }
    }
}

fn secret_headers(request: &Request) -> Vec<String> {
    let values = request.headers().values();
    values
        .filter(|value| value.is_sensitive())
        .filter_map(|value| std::str::from_utf8(value.as_bytes()).ok())
        .flat_map(str::split_whitespace)
        .filter(|word| word.len() >= SHORTEST && !SCHEMES.contains(word))
        .map(str::to_owned)
        .collect()
}

/// The parts of a path and a query that look as if they were made by chance, and all values of the query.
fn parts_of_address(request: &Request) -> Vec<String> {
    let url = request.url();
    let raw = [url.path(), url.query().unwrap_or_default()];
    let parts = raw
        .into_iter()
        .flat_map(|text| text.split(is_between))
        .filter(|part| is_by_chance(part))
        .map(str::to_owned);
    let values = url
        .query_pairs()
        .map(|(key, value)| match value.is_empty() {
            true => key.into_owned(),
            false => value.into_owned(),
        });
    parts
        .chain(values.filter(|value| value.len() >= SHORTEST))
        .collect()
}

fn is_between(c: char) -> bool {
    !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.' | '~')
}

/// Whether a part is no word such as `alertmanager`.
fn is_by_chance(part: &str) -> bool {
    let is_no_word = |c: char| c.is_ascii_digit() || c.is_ascii_uppercase();
    part.len() >= NO_WORD || part.len() >= SHORTEST_OF_PATH && part.contains(is_no_word)
}

#[cfg(test)]
mod tests {
    use reqwest::{
        Method, Url,
        header::{AUTHORIZATION, HeaderValue},
    };

    use super::*;

    fn request(url: &str) -> Request {
        let mut request = Request::new(Method::POST, Url::parse(url).unwrap());
        let mut token = HeaderValue::from_static("Bearer open-sesame");
        token.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, token);
        let plain = HeaderValue::from_static("cluster-17");
        request.headers_mut().insert("x-scope", plain);
        request
    }

    fn all(request: &Request) -> Confidential {
        let mut parts = secret_headers(request);
        parts.extend(parts_of_address(request));
        Confidential(Some(parts))
    }

    #[test]
    fn an_answer_that_repeats_a_secret_is_not_shown() {
        let confidential = all(&request(
            "https://chat.example/services/T00000001/B2/Xy7Zq9Lm2Pw4?token=s%2F3cret&wait",
        ));
        for words in [
            "Cannot POST /services/T00000001/B2",
            "no route Xy7Zq9Lm2Pw4",
            "token=s%2F3cret is unknown, authorization: Bearer open-sesame",
            "\"s/3cret\" is unknown",
            "authorization: bearer open-sesame",
        ] {
            assert_eq!(confidential.hide(words.to_owned()), IN_PLACE, "{words}");
        }
        for words in [
            "",
            "no such services",
            "invalid token",
            "Bearer wanted",
            "cluster-17?",
        ] {
            assert_eq!(confidential.hide(words.to_owned()), words);
        }
    }

    #[test]
    fn addresses_of_collectors_are_no_secrets() {
        let confidential = all(&request(
            "https://alerts.example/alertmanager/api/v2/alerts",
        ));
        let words = "no handler for /alertmanager/api/v2/alerts";
        assert_eq!(confidential.hide(words.to_owned()), words);
    }

    #[test]
    fn nothing_is_shown_where_the_request_is_not_known() {
        let confidential = Confidential(None);
        assert_eq!(confidential.hide("x".to_owned()), IN_PLACE);
        assert_eq!(confidential.hide(String::new()), "");
    }
}
