//! The keys of a webhook.

use std::{collections::BTreeMap, path::PathBuf};

use reqwest::header::{HeaderName, HeaderValue};
use serde::Deserialize;

use super::template::Template;
use crate::{config::Address, secret::Secret};

/// The kind's name in the file.
pub const KIND: &str = "webhook";

/// Content type of a body that a template makes, unless the file says otherwise.
const JSON: &str = "application/json";

/// Headers that gpud sets itself.
const RESERVED: [&str; 6] = [
    "authorization",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
    "user-agent",
];

/// The keys of a webhook.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where to send to.
    pub url: Address,
    /// One event a request, or many.
    #[serde(default)]
    pub mode: Mode,
    /// The key that requests are signed with.
    pub secret: Option<Secret>,
    /// A token for the header `Authorization`.
    pub bearer_token: Option<Secret>,
    /// Further headers. They are no place for secrets.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body, instead of a CloudEvent.
    pub template: Option<Template>,
    /// Content type of the body that the template makes.
    content_type: Option<String>,
    /// Further certificates to trust, PEM.
    pub ca_file: Option<PathBuf>,
}

/// How CloudEvents are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// As a JSON array (`application/cloudevents-batch+json`).
    #[default]
    Batch,
    /// Each by itself (`application/cloudevents+json`).
    Structured,
}

impl Settings {
    /// Makes those of `--webhook-url`.
    pub fn new(url: Address, secret: Option<Secret>) -> Self {
        Self {
            url,
            mode: Mode::default(),
            secret,
            bearer_token: None,
            headers: BTreeMap::new(),
            template: None,
            content_type: None,
            ca_file: None,
        }
    }

    /// Returns the content type of the body that the template makes.
    pub fn content_type(&self) -> &str {
        self.content_type.as_deref().unwrap_or(JSON)
    }

    pub(crate) fn secrets(&self) -> Vec<Option<&Secret>> {
        let keys = [&self.secret, &self.bearer_token];
        let keys = keys.into_iter().map(Option::as_ref);
        keys.chain([self.url.secret()]).collect()
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        for (name, value) in &self.headers {
            let lower = name.to_ascii_lowercase();
            if RESERVED.contains(&lower.as_str()) || lower.starts_with("webhook-") {
                return Err(format!("the header {name} is set by gpud"));
            }
            if HeaderName::try_from(name).is_err() || HeaderValue::try_from(value).is_err() {
                return Err(format!("the header {name} is no valid header"));
            }
        }
        if self
            .ca_file
            .as_ref()
            .is_some_and(|path| !path.is_absolute())
        {
            return Err("ca_file is no absolute path".to_owned());
        }
        match (&self.template, &self.content_type) {
            (None, Some(_)) => Err(
                "content_type is for a template; without one a CloudEvent is \
                                    sent, which has a type of its own"
                    .to_owned(),
            ),
            (Some(_), Some(kind)) if HeaderValue::try_from(kind).is_err() => {
                Err("content_type is no valid header".to_owned())
            }
            (Some(template), _) => template.check(self.content_type()),
            (None, None) => Ok(()),
        }
    }
}
