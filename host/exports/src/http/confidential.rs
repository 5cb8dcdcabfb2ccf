//! Parts of a request that only its receiver may see, and that the answers of some servers repeat: "Cannot POST
//! /services/T0/B0/…".
//!
//! Servers write what they repeat for a page, for JSON or for an address (`&#43;`, `\/`, `%2B`), in other case, or only its
//! beginning. None of these changes letters and digits, so that they are what is looked for, some at a time.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use reqwest::{Request, RequestBuilder};

use crate::secret::SecretValue;

/// Shortest word of a secret header, and shortest value of a query, that is looked for, bytes.
const SHORTEST: usize = 4;
/// Shortest part of a path that is looked for, bytes.
const SHORTEST_OF_PATH: usize = 8;
/// A part of a path of so many bytes is looked for even if it could be a word.
const NO_WORD: usize = 20;
/// So many letters and digits of a part, one after the other, are not there by chance.
const TELLING: usize = 8;
/// First words of headers, which are no secrets.
const SCHEMES: [&str; 3] = ["Bearer", BASIC, "Token"];
/// The scheme whose second word is a user and a password, in base64.
const BASIC: &str = "Basic";
/// The words that are shown in the place of all, where no word is without a doubt.
const NOT_SHOWN: &str = "(the answer is not shown, since a secret of plain words was sent)";
/// What stands between words.
const SEPARATORS: &str = "\"'`{}[](),:;<>=|";
/// What is shown for what is no plain word.
const LEFT_OUT: &str = "…";
/// Most letters of a word.
const LONGEST_WORD: usize = 24;
/// The words that are shown in the place of those that repeat a part.
const IN_PLACE: &str = "(the answer repeats what was sent, so it is not shown)";

/// Parts of a request that nobody but its receiver may see; `None` if they are not known.
#[derive(Clone)]
pub struct Confidential {
    parts: Option<Vec<String>>,
}

/// Without the parts.
impl std::fmt::Debug for Confidential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Confidential")
    }
}

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

    /// Returns secrets that are sent in another way.
    pub fn of_secrets<'a>(secrets: impl IntoIterator<Item = &'a SecretValue>) -> Self {
        let words = secrets.into_iter().map(|secret| secret.expose().to_owned());
        Self {
            parts: Some(words.filter(|word| word.len() >= SHORTEST).collect()),
        }
    }

    fn read(request: &RequestBuilder, parts: impl Fn(&Request) -> Vec<String>) -> Self {
        let request = request.try_clone().and_then(|request| request.build().ok());
        Self {
            parts: request.as_ref().map(parts),
        }
    }

    /// Returns the words of an answer, or others in their place if they repeat a part. Of the answer to a request with such parts
    /// only plain words are left.
    pub fn hide(&self, words: String) -> String {
        if words.is_empty() {
            return words;
        }
        let Some(parts) = &self.parts else {
            return IN_PLACE.to_owned();
        };
        if parts.iter().any(|part| tells(&words, part)) {
            return IN_PLACE.to_owned();
        }
        if parts.is_empty() {
            return words;
        }
        // In another order or a few letters at a time, such a one is words as well.
        match parts
            .iter()
            .any(|part| part.len() >= TELLING && is_plain(part))
        {
            true => NOT_SHOWN.to_owned(),
            false => plain_words(&words),
        }
    }
}

/// Returns a text with `…` in place of all that is no plain word: no number, nothing of mixed letters and digits, nothing escaped.
fn plain_words(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let is_separator = |c: char| c.is_ascii_whitespace() || SEPARATORS.contains(c);
    for piece in text.split_inclusive(is_separator) {
        let word = piece.trim_end_matches(is_separator);
        let rest = piece.get(word.len()..).unwrap_or_default();
        if word.is_empty() || is_plain(word.trim_matches(['.', '!', '?'])) {
            shown.push_str(word);
        } else if !shown.trim_end().ends_with(LEFT_OUT) {
            shown.push_str(LEFT_OUT);
        } else if rest.trim().is_empty() {
            continue;
        }
        shown.push_str(rest);
    }
    shown
}

/// Returns whether a word is one of a language, or a name made of such: `gpu_events`, `InvalidArgument`, `/v1` is none.
fn is_plain(word: &str) -> bool {
    word.split(['-', '_', '.', '/']).all(|part| {
        let is_letters = part.bytes().all(|byte| byte.is_ascii_alphabetic());
        let rest = part.get(1..).unwrap_or_default();
        let is_one_case = |part: &str| {
            part.bytes().all(|byte| byte.is_ascii_lowercase())
                || part.bytes().all(|byte| byte.is_ascii_uppercase())
        };
        is_letters
            && part.len() <= LONGEST_WORD
            && match part.len() {
                0 => true,
                1 => ["a", "A", "I"].contains(&part),
                _ => is_one_case(part) || is_one_case(rest) || is_joined(part),
            }
    })
}

/// Returns whether a name is of words that begin with a capital: `SignatureDoesNotMatch`.
fn is_joined(name: &str) -> bool {
    let mut words = name.split(|c: char| c.is_ascii_uppercase());
    words.next().is_some_and(str::is_empty) && words.all(|rest| rest.len() >= 2)
}

/// Returns whether words have enough of a part to tell it.
fn tells(words: &str, part: &str) -> bool {
    let words = words.to_ascii_lowercase();
    let part = part.to_ascii_lowercase();
    if words.contains(&part) {
        return true;
    }
    let runs = part.split(|c: char| !c.is_ascii_alphanumeric());
    let runs: Vec<&str> = runs.filter(|run| run.len() >= SHORTEST).collect();
    let is_telling = |run: &&str| run.len() >= TELLING || run.len() * 2 >= part.len();
    let mut telling = runs.iter().copied().filter(is_telling).peekable();
    match telling.peek() {
        Some(_) => telling.any(|run| has_piece(&words, run)),
        // A sentence as a password: no word of it tells it.
        None => !runs.is_empty() && runs.iter().all(|run| words.contains(run)),
    }
}

/// Returns whether words have so many letters and digits of a run, one after the other, that they are not there by chance.
fn has_piece(words: &str, run: &str) -> bool {
    let length = run.len().min(TELLING);
    (0..=run.len() - length).any(|start| {
        let piece = run.get(start..start + length);
        piece.is_some_and(|piece| words.contains(piece))
    })
}

fn secret_headers(request: &Request) -> Vec<String> {
    let values = request.headers().values();
    values
        .filter(|value| value.is_sensitive())
        .filter_map(|value| std::str::from_utf8(value.as_bytes()).ok())
        .flat_map(|value| {
            let words = value.split_whitespace().map(str::to_owned);
            words.chain(password(value)).collect::<Vec<_>>()
        })
        .filter(|word| word.len() >= SHORTEST && !SCHEMES.contains(&word.as_str()))
        .collect()
}

/// Returns the password of a header with a user and a password.
fn password(header: &str) -> Option<String> {
    let encoded = header.strip_prefix(BASIC)?.trim();
    let pair = String::from_utf8(BASE64.decode(encoded).ok()?).ok()?;
    Some(pair.split_once(':')?.1.to_owned())
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
        let mut token = HeaderValue::from_static("Bearer 0pen-sesame");
        token.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, token);
        let plain = HeaderValue::from_static("cluster-17");
        request.headers_mut().insert("x-scope", plain);
        request
    }

    fn all(request: &Request) -> Confidential {
        let mut parts = secret_headers(request);
        parts.extend(parts_of_address(request));
        Confidential { parts: Some(parts) }
    }

    #[test]
    fn an_answer_that_repeats_a_secret_is_not_shown() {
        let confidential = all(&request(
            "https://chat.example/services/T00000001/B2/Xy7Zq9Lm2Pw4?token=s%2F3cret&wait",
        ));
        for words in [
            "Cannot POST /services/T00000001/B2",
            "no route Xy7Zq9Lm2Pw4",
            "token=s%2F3cret is unknown, authorization: Bearer 0pen-sesame",
            "\"s/3cret\" is unknown",
            "authorization: bearer 0pen-sesame",
        ] {
            assert_eq!(confidential.hide(words.to_owned()), IN_PLACE, "{words}");
        }
        for words in [
            "",
            "no such services",
            "invalid token",
            "Bearer wanted",
            "the signature: SignatureDoesNotMatch, of (gpu_events).",
        ] {
            assert_eq!(confidential.hide(words.to_owned()), words);
        }
    }

    #[test]
    fn a_secret_is_found_however_a_server_writes_it() {
        let token = |secret: &str| {
            let mut request = Request::new(Method::POST, Url::parse("https://h.example/").unwrap());
            let mut value = HeaderValue::try_from(secret).unwrap();
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
            Confidential {
                parts: Some(secret_headers(&request)),
            }
        };
        for (secret, words) in [
            (
                "Bearer ab+Cd/EfGhIj0123==",
                "token ab&#43;Cd&#47;EfGhIj0123&#61;&#61; is unknown",
            ),
            (
                "Bearer ab+Cd/EfGhIj0123==",
                r"token ab+Cd\/EfGhIj0123== is unknown",
            ),
            (
                "Bearer ab+Cd/EfGhIj0123==",
                r"token ab\u002bCd\u002fEfGhIj0123 is unknown",
            ),
            (
                "Bearer ab+Cd/EfGhIj0123==",
                "/login?token=ab%2bcd%2fefghij0123%3d%3d",
            ),
            // Its end was cut off.
            ("Bearer ab+Cd/EfGhIj0123==", "token ab+Cd/EfGhIj01"),
            ("Bearer open-sesame", "token open&#45;sesame"),
            (
                "correct-horse-battery-staple",
                "no correct&#45;horse&#45;battery&#45;staple",
            ),
            (
                "Basic YWxpY2U6b3Blbi1zZXNhbWU=",
                "alice has no password open-sesame",
            ),
            (
                "Basic YWxpY2U6b3Blbi1zZXNhbWU=",
                "basic ywxpy2u6b3blbi1zzxnhbwu= is wrong",
            ),
        ] {
            assert_eq!(
                token(secret).hide(words.to_owned()),
                IN_PLACE,
                "{secret}: {words}"
            );
        }
        for (secret, words, shown) in [
            (
                "Bearer ab+Cd/EfGhIj0123==",
                "the token is unknown",
                "the token is unknown",
            ),
            (
                "correct-horse-battery-staple",
                "the password is not correct",
                NOT_SHOWN,
            ),
            (
                "Basic YWxpY2U6b3Blbi1zZXNhbWU=",
                "basic credentials are wrong",
                NOT_SHOWN,
            ),
        ] {
            assert_eq!(token(secret).hide(words.to_owned()), shown);
        }
    }

    #[test]
    fn a_secret_in_a_writing_of_its_own_is_left_out() {
        let confidential = all(&request("https://chat.example/"));
        for (words, shown) in [
            ("token b3Blbi1zZXNhbWU= is unknown", "token …= is unknown"),
            ("token 6f70656e2d is unknown", "token … is unknown"),
            ("%6f%70%65%6e%2d is unknown", "… is unknown"),
            ("<p>&#111;&#112;&#101;</p>", "<…>…;…;…;<…>"),
            (r#"{"token":"\u006f\u0070"}"#, r#"{"token":"…"}"#),
            ("o\0p\0e\0n\0", "…"),
            ("o p e n a", "… a"),
            ("no 111 112 101", "no … "),
            (
                "quota of 5 GB, see https://h.example/x?y",
                "quota of … GB, see https:…",
            ),
        ] {
            assert_eq!(confidential.hide(words.to_owned()), shown, "{words}");
        }
    }

    #[test]
    fn addresses_of_collectors_are_no_secrets() {
        let confidential = all(&request(
            "https://alerts.example/alertmanager/api/v2/alerts",
        ));
        let words = "no handler for /alertmanager/api/alerts";
        assert_eq!(confidential.hide(words.to_owned()), words);
    }

    #[test]
    fn nothing_is_shown_where_the_request_is_not_known() {
        let confidential = Confidential { parts: None };
        assert_eq!(confidential.hide("x".to_owned()), IN_PLACE);
        assert_eq!(confidential.hide(String::new()), "");
    }
}
