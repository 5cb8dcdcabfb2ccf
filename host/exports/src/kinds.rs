//! All kinds of exports.
//!
//! A new kind is a module with a `Settings` struct (its keys, with `deny_unknown_fields`), a variant here, and a line in
//! each function below. Its input decides which workers run: [`Worker::run_records`] for an [`Export`](crate::Export),
//! [`Worker::run_state`] for a [`StateExport`](crate::StateExport), [`Worker::run_metrics`] for a
//! [`MetricExport`](crate::MetricExport); an engine that wants both joins them.

use std::path::PathBuf;

use serde::{Deserialize as _, Deserializer};

#[cfg(feature = "otlp")]
use crate::otlp;
#[cfg(feature = "postgres")]
use crate::postgres;
#[cfg(feature = "s3")]
use crate::s3;
use crate::{
    Context, DeliveryError, Record, alertmanager, inventory, kubernetes,
    secret::{Secret, SecretSource},
    webhook,
    worker::Worker,
};

/// The names of all kinds that this build has, as the file has them.
pub const KINDS: &[&str] = &[
    alertmanager::KIND,
    inventory::KIND,
    kubernetes::KIND,
    #[cfg(feature = "otlp")]
    otlp::KIND,
    #[cfg(feature = "postgres")]
    postgres::KIND,
    #[cfg(feature = "s3")]
    s3::KIND,
    webhook::KIND,
];

/// The settings of an export, by kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Settings {
    /// Alerts in Prometheus' Alertmanager.
    Alertmanager(alertmanager::Settings),
    /// Serial numbers of the GPUs and the chassis.
    Inventory(Box<inventory::Settings>),
    /// Conditions, labels and events of the node in Kubernetes.
    Kubernetes(Box<kubernetes::Settings>),
    /// Metrics and log records by OpenTelemetry's protocol.
    #[cfg(feature = "otlp")]
    Otlp(Box<otlp::Settings>),
    /// Rows in PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres(Box<postgres::Settings>),
    /// Objects in S3.
    #[cfg(feature = "s3")]
    S3(Box<s3::Settings>),
    /// CloudEvents over HTTP, or the body that a chat tool wants.
    Webhook(Box<webhook::Settings>),
}

impl Settings {
    /// Reads the keys of a kind.
    pub(crate) fn read<'de, D: Deserializer<'de>>(kind: &str, keys: D) -> Result<Self, D::Error> {
        match kind {
            alertmanager::KIND => alertmanager::Settings::deserialize(keys).map(Self::Alertmanager),
            inventory::KIND => {
                inventory::Settings::deserialize(keys).map(|s| Self::Inventory(Box::new(s)))
            }
            #[cfg(feature = "postgres")]
            postgres::KIND => {
                postgres::Settings::deserialize(keys).map(|s| Self::Postgres(Box::new(s)))
            }
            #[cfg(feature = "s3")]
            s3::KIND => s3::Settings::deserialize(keys).map(|s| Self::S3(Box::new(s))),
            kubernetes::KIND => {
                kubernetes::Settings::deserialize(keys).map(|s| Self::Kubernetes(Box::new(s)))
            }
            #[cfg(feature = "otlp")]
            otlp::KIND => otlp::Settings::deserialize(keys).map(|s| Self::Otlp(Box::new(s))),
            // All other names were refused before.
            _ => webhook::Settings::deserialize(keys).map(|s| Self::Webhook(Box::new(s))),
        }
    }

    /// Checks values against each other, and their ranges.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Self::Alertmanager(settings) => settings.check(),
            Self::Inventory(settings) => settings.check(),
            #[cfg(feature = "postgres")]
            Self::Postgres(settings) => settings.check(),
            #[cfg(feature = "s3")]
            Self::S3(settings) => settings.check(),
            Self::Kubernetes(settings) => settings.check(),
            #[cfg(feature = "otlp")]
            Self::Otlp(settings) => settings.check(),
            Self::Webhook(settings) => settings.check(),
        }
    }

    /// Returns the kind's name.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Alertmanager(_) => alertmanager::KIND,
            Self::Inventory(_) => inventory::KIND,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => postgres::KIND,
            #[cfg(feature = "s3")]
            Self::S3(_) => s3::KIND,
            Self::Kubernetes(_) => kubernetes::KIND,
            #[cfg(feature = "otlp")]
            Self::Otlp(_) => otlp::KIND,
            Self::Webhook(_) => webhook::KIND,
        }
    }

    /// Returns where it sends to, without secrets.
    pub fn target(&self) -> String {
        match self {
            Self::Alertmanager(settings) => settings.url.shown(),
            Self::Inventory(settings) => settings.target(),
            #[cfg(feature = "postgres")]
            Self::Postgres(settings) => settings.server.shown(),
            #[cfg(feature = "s3")]
            Self::S3(settings) => settings.bucket.shown(),
            Self::Kubernetes(settings) => settings.target(),
            #[cfg(feature = "otlp")]
            Self::Otlp(settings) => settings.target(),
            Self::Webhook(settings) => settings.url.shown(),
        }
    }

    /// Returns all secrets that it names.
    pub fn secrets(&self) -> Vec<&Secret> {
        let named = match self {
            Self::Alertmanager(settings) => settings.secrets(),
            Self::Inventory(settings) => settings.secrets(),
            #[cfg(feature = "postgres")]
            Self::Postgres(settings) => vec![settings.server.password.as_ref()],
            #[cfg(feature = "s3")]
            Self::S3(settings) => settings.bucket.secrets(),
            Self::Kubernetes(settings) => settings.secrets(),
            #[cfg(feature = "otlp")]
            Self::Otlp(settings) => settings.secrets(),
            Self::Webhook(settings) => settings.secrets(),
        };
        named.into_iter().flatten().collect()
    }

    /// Returns the files with secrets that are named by what its settings name: a kubeconfig, or the environment. It blocks.
    pub fn further_secret_files(&self, source: &dyn SecretSource) -> Vec<PathBuf> {
        match self {
            Self::Kubernetes(settings) => kubernetes::secret_files(settings, source),
            #[cfg(feature = "s3")]
            Self::S3(settings) => settings.bucket.further_secret_files(source),
            _ => Vec::new(),
        }
    }

    /// Returns true if it takes records one by one.
    pub fn takes_records(&self) -> bool {
        match self {
            Self::Webhook(_) => true,
            #[cfg(feature = "otlp")]
            Self::Otlp(settings) => settings.logs,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => true,
            #[cfg(feature = "s3")]
            Self::S3(_) => true,
            Self::Alertmanager(_) | Self::Inventory(_) | Self::Kubernetes(_) => false,
        }
    }

    /// Returns true if it takes the node's present state.
    pub fn takes_snapshots(&self) -> bool {
        match self {
            Self::Alertmanager(_) | Self::Inventory(_) | Self::Kubernetes(_) => true,
            // For the GPUs' identities and states, among the metrics.
            #[cfg(feature = "otlp")]
            Self::Otlp(settings) => settings.metrics,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => false,
            #[cfg(feature = "s3")]
            Self::S3(_) => false,
            Self::Webhook(_) => false,
        }
    }

    /// Runs the export until it is asked to stop.
    pub(crate) async fn run(self, worker: &Worker) {
        match self {
            Self::Alertmanager(settings) => {
                let export = alertmanager::Alertmanager::new(settings);
                worker.run_state(export).await;
            }
            Self::Kubernetes(settings) => {
                worker
                    .run_state(kubernetes::Kubernetes::new(*settings))
                    .await;
            }
            #[cfg(feature = "otlp")]
            Self::Otlp(settings) => {
                let (logs, metrics) = (settings.logs, settings.metrics);
                let export = otlp::Otlp::new(*settings);
                let of_logs = async {
                    if logs {
                        worker.run_records(export.clone()).await;
                    }
                };
                let of_metrics = async {
                    if metrics {
                        worker.run_metrics(export.clone()).await;
                    }
                };
                tokio::join!(of_logs, of_metrics);
            }
            Self::Inventory(settings) => {
                worker
                    .run_state(inventory::InventoryExport::new(*settings))
                    .await;
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(settings) => {
                worker.run_records(postgres::Postgres::new(*settings)).await;
            }
            #[cfg(feature = "s3")]
            Self::S3(settings) => worker.run_records(s3::S3::new(*settings)).await,
            Self::Webhook(settings) => worker.run_records(webhook::Webhook::new(*settings)).await,
        }
    }

    /// Sends a sample once, for an operator who tries the export. Returns what happened.
    ///
    /// # Errors
    /// [`DeliveryError`].
    pub async fn test(&self, sample: &Record, context: &Context) -> Result<String, DeliveryError> {
        let sent = match self.clone() {
            Self::Alertmanager(settings) => {
                let mut export = alertmanager::Alertmanager::new(settings);
                export.send_sample(sample, context).await
            }
            Self::Kubernetes(settings) => {
                let mut export = kubernetes::Kubernetes::new(*settings);
                export.send_sample(sample, context).await
            }
            #[cfg(feature = "otlp")]
            Self::Otlp(settings) => {
                let mut export = otlp::Otlp::new(*settings);
                export.send_sample(sample, context).await
            }
            Self::Inventory(settings) => {
                let mut export = inventory::InventoryExport::new(*settings);
                export.send_sample(sample, context).await
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(settings) => {
                let mut export = postgres::Postgres::new(*settings);
                export.send_sample(sample, context).await
            }
            #[cfg(feature = "s3")]
            Self::S3(settings) => {
                let mut export = s3::S3::new(*settings);
                export.send_sample(sample, context).await
            }
            Self::Webhook(settings) => {
                let mut export = webhook::Webhook::new(*settings);
                export.send_sample(sample, context).await
            }
        };
        sent.map_err(DeliveryError::shortened)
    }
}
