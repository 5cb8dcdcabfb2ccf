//! The keys of an export to Kubernetes.

use std::{path::Path, time::Duration};

use serde::{Deserialize, Deserializer, de::Error as _};

use super::rules::{Rule, SUMMARY, Threshold};
use crate::{config::ConfigDuration, secret::Secret};

/// The kind's name in the file.
pub const KIND: &str = "kubernetes";
/// Where a pod finds the credentials of its service account.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Prefix of inventory labels, as gpuid has it.
const LABEL_PREFIX: &str = "gpuid.github.com";
/// How often a condition is written without a change.
const HEARTBEAT: Duration = Duration::from_secs(300);
/// Condition types that the kubelet and Kubernetes' controllers own.
const FOREIGN_TYPES: [&str; 5] = [
    "Ready",
    "MemoryPressure",
    "DiskPressure",
    "PIDPressure",
    "NetworkUnavailable",
];

/// The keys of an export to Kubernetes. All may be left out.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// File with the address and the credentials; without it those of the pod's service account are used.
    #[serde(default, deserialize_with = "optional_file")]
    pub kubeconfig: Option<Secret>,
    /// The context of that file, in place of its current one.
    pub context: Option<String>,
    /// The token of the pod's service account; the file names its folder.
    #[serde(
        default = "default_token",
        rename = "service_account",
        deserialize_with = "token_in"
    )]
    pub token: Secret,
    /// Name of this machine's node, or `env:NAME`.
    pub node: Option<String>,
    /// Rules for conditions besides the default ones.
    #[serde(default)]
    pub conditions: Vec<Rule>,
    /// Whether the default conditions are set.
    #[serde(default = "yes")]
    pub default_conditions: bool,
    /// The least health that makes the whole node unhealthy.
    #[serde(default = "unhealthy")]
    pub unhealthy_from: Threshold,
    /// Whether Kubernetes Events are sent.
    #[serde(default = "yes")]
    pub events: bool,
    /// Whether the inventory is shown as labels.
    #[serde(default = "yes")]
    pub labels: bool,
    /// Prefix of these labels.
    #[serde(default = "default_prefix")]
    pub label_prefix: String,
    /// Key of a taint on nodes that are not healthy. No taint is set without it.
    pub taint: Option<String>,
    /// How often conditions are written without a change.
    heartbeat: Option<ConfigDuration>,
}

fn yes() -> bool {
    true
}

fn unhealthy() -> Threshold {
    Threshold::Unhealthy
}

fn default_prefix() -> String {
    LABEL_PREFIX.to_owned()
}

fn token_of(folder: &Path) -> Secret {
    Secret::File(folder.join("token"))
}

fn default_token() -> Secret {
    token_of(Path::new(SERVICE_ACCOUNT))
}

fn absolute<'de, D: Deserializer<'de>>(from: D) -> Result<std::path::PathBuf, D::Error> {
    let path = std::path::PathBuf::deserialize(from)?;
    if path.is_absolute() {
        return Ok(path);
    }
    Err(D::Error::custom(format!(
        "{} is no absolute path",
        path.display()
    )))
}

fn optional_file<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Secret>, D::Error> {
    absolute(from).map(|path| Some(Secret::File(path)))
}

fn token_in<'de, D: Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
    absolute(from).map(|folder| token_of(&folder))
}

impl Settings {
    /// Returns how often conditions are written without a change.
    pub fn heartbeat(&self) -> Duration {
        self.heartbeat.map_or(HEARTBEAT, |span| span.0)
    }

    pub(crate) fn secrets(&self) -> Vec<Option<&Secret>> {
        match &self.kubeconfig {
            Some(kubeconfig) => vec![Some(kubeconfig)],
            None => vec![Some(&self.token)],
        }
    }

    pub(crate) fn target(&self) -> String {
        match &self.kubeconfig {
            Some(Secret::File(path)) => format!("the cluster of {}", path.display()),
            _ => "the pod's cluster".to_owned(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        for rule in &self.conditions {
            rule.check()?;
            let kind = &rule.condition;
            if FOREIGN_TYPES.contains(&kind.as_str()) {
                return Err(format!("the condition {kind} is Kubernetes' own"));
            }
            if kind == SUMMARY {
                return Err(format!(
                    "the condition {SUMMARY} is of all components; unhealthy_from and select change it"
                ));
            }
        }
        if !is_domain(&self.label_prefix) {
            return Err(format!(
                "label_prefix {:?} is no domain name in small letters",
                self.label_prefix
            ));
        }
        if let Some(key) = &self.taint
            && !is_label_key(key)
        {
            return Err(format!(
                "taint {key:?} is no key such as gpud.dev/unhealthy"
            ));
        }
        if self.context.is_some() && self.kubeconfig.is_none() {
            return Err("context is of a kubeconfig, and none is named".to_owned());
        }
        let heartbeat = self.heartbeat().as_secs();
        if !(60..=3600).contains(&heartbeat) {
            return Err("heartbeat is from 60s to 1h".to_owned());
        }
        Ok(())
    }
}

/// Returns true for a DNS subdomain.
pub fn is_domain(text: &str) -> bool {
    let is_part = |part: &str| {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !part.is_empty() && part.chars().all(fits) && !part.starts_with('-') && !part.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_part)
}

/// Returns true for a key of labels and taints: a name, with or without a domain and a slash before it.
fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((domain, name)) => is_domain(domain) && is_label_value(name),
        None => is_label_value(text),
    }
}

/// Returns true for a value that a label may have; an empty one is none.
pub fn is_label_value(text: &str) -> bool {
    let is_outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.len() <= 63
        && text.chars().all(fits)
        && is_outer(text.chars().next())
        && is_outer(text.chars().next_back())
}

#[cfg(test)]
mod tests;
