//! Fires alerts in Alertmanager (API v2) for states that are not healthy, for sites without Prometheus.
//!
//! Alertmanager forgets an alert at its end, so each one is sent again well before that. A state that becomes
//! healthy is resolved at once. After a restart of gpud an alert that is not sent again ends by itself.

mod alerts;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use reqwest::Method;
use serde::Deserialize;

use crate::{
    Context, DeliveryError, Record, Snapshot, StateExport, UnixMillis,
    config::{Address, ConfigDuration},
    http::{self, ExportClient},
    secret::Secret,
};
use alerts::{Alert, AlertContent, Labels, alert, firing_alerts};

/// The kind's name in the file.
pub const KIND: &str = "alertmanager";
/// Most alerts of one request.
const AT_ONCE: usize = 100;
/// An alert ends after this many times that it was not sent again.
const MISSED: u32 = 4;

/// The keys of an export to Alertmanager.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Base address of Alertmanager, for example `http://alertmanager:9093`.
    pub url: Address,
    /// Labels of all alerts.
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// A token for the header `Authorization`.
    bearer_token: Option<Secret>,
    /// How often alerts are sent again.
    resend: Option<ConfigDuration>,
    /// Further certificates to trust, PEM.
    ca_file: Option<PathBuf>,
}

impl Settings {
    fn resend(&self) -> Duration {
        self.resend.map_or(Duration::from_secs(60), |span| span.0)
    }

    pub(crate) fn secrets(&self) -> Vec<Option<&Secret>> {
        vec![self.url.secret(), self.bearer_token.as_ref()]
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let is_name = |name: &str| {
            let mut chars = name.chars();
            let first = chars
                .next()
                .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
            first && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if let Some(name) = self.labels.keys().find(|name| !is_name(name)) {
            return Err(format!("{name:?} is no name of a label"));
        }
        if let Some(name) = self
            .labels
            .keys()
            .find(|name| alerts::OWN_LABELS.contains(&name.as_str()))
        {
            return Err(format!("the label {name} is set by gpud"));
        }
        let resend = self.resend().as_secs();
        if !(1..=3600).contains(&resend) {
            return Err("resend is from 1s to 1h".to_owned());
        }
        if self
            .ca_file
            .as_ref()
            .is_some_and(|path| !path.is_absolute())
        {
            return Err("ca_file is no absolute path".to_owned());
        }
        Ok(())
    }
}

/// Alertmanager at work.
#[derive(Debug)]
pub struct Alertmanager {
    settings: Settings,
    client: ExportClient,
    /// Alerts that fire there as far as is known.
    fired: BTreeMap<Labels, AlertContent>,
}

impl Alertmanager {
    /// Makes one that has fired nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            client: ExportClient::default(),
            fired: BTreeMap::new(),
        }
    }

    /// Fires an alert that ends after a minute, and returns what happened.
    ///
    /// # Errors
    /// [`DeliveryError`].
    pub async fn send_sample(
        &mut self,
        sample: &Record,
        context: &Context,
    ) -> Result<String, DeliveryError> {
        let sent = alerts::sample(sample, &self.settings.labels);
        self.send(&[sent], context).await?;
        Ok("the alert GpudExportTest fires for one minute".to_owned())
    }

    async fn send(&mut self, alerts: &[Alert], context: &Context) -> Result<(), DeliveryError> {
        let secrets = &context.environment.secrets;
        let url = self.settings.url.read(secrets).await;
        let url = url.map_err(DeliveryError::transient)?;
        let url = format!("{}/api/v2/alerts", url.trim_end_matches('/'));
        let what = http::name_of(&Method::POST, &url);
        let ca_file = self.settings.ca_file.as_deref();
        let client = self.client.get(context, ca_file).await?;
        for part in alerts.chunks(AT_ONCE) {
            let body = serde_json::to_vec(part)
                .map_err(|error| DeliveryError::transient(error.to_string()))?;
            let mut request = client
                .post(&url)
                .timeout(context.timeout)
                .header(reqwest::header::CONTENT_TYPE, "application/json");
            if let Some(token) = &self.settings.bearer_token {
                request = request.bearer_auth(context.secret(token).await?.expose());
            }
            let answer = http::send(request.body(body), &what).await?;
            answer.into_delivered(&what)?;
        }
        Ok(())
    }

    /// Returns the alerts to send for a picture of the node: those that fire, and those that have ended.
    fn outgoing(&self, firing: &BTreeMap<Labels, AlertContent>, now: UnixMillis) -> Vec<Alert> {
        let life = self.settings.resend() * MISSED;
        let end = now.saturating_add(u64::try_from(life.as_millis()).unwrap_or(u64::MAX));
        let ended = self
            .fired
            .iter()
            .filter(|(labels, _)| !firing.contains_key(*labels));
        let ended = ended.map(|(labels, fired)| alert(labels, fired, now));
        let firing = firing
            .iter()
            .map(|(labels, firing)| alert(labels, firing, end));
        firing.chain(ended).collect()
    }
}

impl StateExport for Alertmanager {
    async fn apply(&mut self, snapshot: &Snapshot, context: &Context) -> Result<(), DeliveryError> {
        let firing = firing_alerts(snapshot, &self.settings.labels);
        let outgoing = self.outgoing(&firing, context.now());
        // Part of it may arrive although the delivery fails, and has to be ended later.
        for (labels, one) in &firing {
            self.fired.insert(labels.clone(), one.clone());
        }
        self.send(&outgoing, context).await?;
        self.fired = firing;
        Ok(())
    }

    fn resync(&self) -> Duration {
        self.settings.resend()
    }
}
