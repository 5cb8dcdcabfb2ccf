//! Reads the query string as Go's `net/url` does, and the parameters that several routes share.

use std::collections::HashSet;

use http::{StatusCode, Uri};
use jiff::{Timestamp, tz::TimeZone};

use super::{backend::Backend, errors::ApiError};
use crate::wire::{GoDuration, GoTime, go_quote};

/// Longest list of components in which a name counts as often as it is there.
const MAX_NAMES: usize = 256;
/// The default of `since`.
const DEFAULT_SINCE: GoDuration = GoDuration(30 * 60 * 1_000_000_000);

/// The parameters of one request, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Pairs that are not well formed (a bad percent escape, a semicolon) are left out, as Go leaves them out.
    pub(super) fn of(uri: &Uri) -> Self {
        let pairs = uri.query().unwrap_or_default().split('&');
        Self(
            pairs
                .filter(|pair| !pair.is_empty() && !pair.contains(';'))
                .filter_map(decode_pair)
                .collect(),
        )
    }

    /// The first value of a parameter; empty counts as absent.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.0.iter().find(|(key, _)| key == name)?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// Whether a parameter is there, with a value or without one.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// The components asked for, in the order asked; `None` if none is named, which means all. In a list of more than
    /// [`MAX_NAMES`] each counts once: a short request must not ask for an answer hundreds of times its size.
    pub(super) fn components(
        &self,
        backend: &dyn Backend,
    ) -> Result<Option<Vec<String>>, UnknownComponent> {
        let Some(list) = self.get("components") else {
            return Ok(None);
        };
        let is_long = list.split(',').nth(MAX_NAMES).is_some();
        let mut seen = HashSet::new();
        list.split(',')
            .filter(|name| !is_long || seen.insert(*name))
            .map(|name| match backend.is_known(name) {
                true => Ok(name.to_owned()),
                false => Err(UnknownComponent(name.to_owned())),
            })
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// `startTime` and `endTime`, in Unix seconds, each `now` when absent.
    pub(super) fn window(
        &self,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<(GoTime, GoTime), ApiError> {
        let moment = |name| match self.get(name) {
            None => Ok(GoTime::new(now, zone.clone())),
            Some(text) => parse_moment(text, zone.clone())
                .map_err(|error| ApiError::bad_request(format!("failed to parse time: {error}"))),
        };
        Ok((moment("startTime")?, moment("endTime")?))
    }

    /// `since`, half an hour when absent.
    pub(super) fn since(&self) -> Result<GoDuration, ApiError> {
        self.get("since").map_or(Ok(DEFAULT_SINCE), |text| {
            text.parse().map_err(|error| {
                ApiError::bad_request(format!("failed to parse duration: {error}"))
            })
        })
    }
}

/// A name in `components` that no component has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("component {0} not found (not found)")]
pub(super) struct UnknownComponent(String);

impl From<UnknownComponent> for ApiError {
    fn from(error: UnknownComponent) -> Self {
        Self::Typed(
            StatusCode::NOT_FOUND,
            format!("component not found: {error}"),
        )
    }
}

fn parse_moment(text: &str, zone: TimeZone) -> Result<GoTime, String> {
    let failed = |what| format!("strconv.ParseInt: parsing {}: {what}", go_quote(text));
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(failed("invalid syntax"));
    }
    let seconds = text.parse().map_err(|_| failed("value out of range"))?;
    // GPUd accepts such a number and then fails to print it.
    GoTime::from_unix_seconds(seconds, zone)
        .ok_or_else(|| format!("{seconds} is not in the years 0 to 9999"))
}

fn decode_pair(pair: &str) -> Option<(String, String)> {
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    Some((decode(key)?, decode(value)?))
}

/// `+` is a space, `%XX` a byte. Bytes that are not UTF-8 become replacement characters. `None` on a bad escape.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        bytes.push(match first {
            b'+' => b' ',
            b'%' => {
                let (digits, after) = rest.split_first_chunk::<2>()?;
                rest = after;
                let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
                u8::try_from(high? * 16 + low?).ok()?
            }
            other => *other,
        });
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
