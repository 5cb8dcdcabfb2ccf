//! Values of the file that are more than text.

use std::{fmt, sync::Arc, time::Duration};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, Unexpected},
};

use crate::{
    http,
    secret::{Secret, SecretError, SecretSource},
};

/// A duration such as `500ms`, `10s`, `5m` or `1h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigDuration(pub Duration);

/// A size such as `65536`, `64KiB` or `16MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteSize(pub u64);

/// An `http` or `https` address, or where to find one that is a secret itself, as those of chat tools are.
#[derive(Clone, PartialEq, Eq)]
pub enum Address {
    /// The value itself is in the file.
    Plain(String),
    /// It is read at each use.
    Secret(Secret),
}

impl ConfigDuration {
    /// Reads a duration.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = text.split_at_checked(digits)?;
        let number: u64 = number.parse().ok()?;
        let millis = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return None,
        };
        number
            .checked_mul(millis)
            .map(Duration::from_millis)
            .map(Self)
    }
}

impl ByteSize {
    /// Reads a size.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (number, unit) = text.split_at_checked(digits)?;
        let number: u64 = number.parse().ok()?;
        let unit: u64 = match unit.trim() {
            "" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return None,
        };
        number.checked_mul(unit).map(Self)
    }
}

impl Address {
    /// Reads an address or a reference to one.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(secret) = Secret::parse(text) {
            return Some(Self::Secret(secret));
        }
        is_address(text).then(|| Self::Plain(text.to_owned()))
    }

    /// Returns where it leads, without what may be secret.
    pub fn shown(&self) -> String {
        match self {
            Self::Plain(url) => http::origin(url),
            Self::Secret(secret) => secret.to_string(),
        }
    }

    /// Returns the reference to an address that is a secret.
    pub fn secret(&self) -> Option<&Secret> {
        match self {
            Self::Plain(_) => None,
            Self::Secret(secret) => Some(secret),
        }
    }

    /// Returns the address as it is now.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub async fn read(&self, source: &Arc<dyn SecretSource>) -> Result<String, String> {
        match self {
            Self::Plain(url) => Ok(url.clone()),
            Self::Secret(secret) => {
                let read = secret.read(source).await;
                let url = read.map_err(|error: SecretError| error.to_string())?;
                match is_address(url.expose()) {
                    true => Ok(url.expose().to_owned()),
                    false => Err(format!("{secret} holds no http or https address")),
                }
            }
        }
    }
}

fn is_address(text: &str) -> bool {
    reqwest::Url::parse(text)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Without what may be secret in it.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl<'de> Deserialize<'de> for ConfigDuration {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let wanted = &"a duration such as 500ms, 10s, 5m or 1h";
        Self::parse(&text).ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&text), wanted))
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let wanted = &"a size such as 64KiB or 16MiB; 0 for no spool";
        Self::parse(&text).ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&text), wanted))
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        // It is not repeated: the address of a chat tool is a secret.
        let wanted = &"an address such as https://host/path, or env:NAME or file:/absolute/path";
        Self::parse(&text)
            .ok_or_else(|| D::Error::invalid_value(Unexpected::Other("a text"), wanted))
    }
}

#[cfg(test)]
mod tests;
