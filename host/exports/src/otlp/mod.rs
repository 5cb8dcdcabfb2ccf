//! Sends metrics, and events and changes of health as log records, by OpenTelemetry's protocol (OTLP).
//!
//! Only the protocol's messages come from OpenTelemetry's library. Its SDK is not used: records have times and a spool of
//! their own, and metrics are values that components measured, not instruments of this process.

mod attributes;
mod connection;
mod environment;
mod grpc;
mod hardware;
mod logs;
mod metrics;
mod pairs;
mod parts;
mod rules;
mod settings;
mod status;
mod units;

use std::{sync::Arc, time::Duration};

use opentelemetry_proto::tonic::{
    collector::{logs::v1::ExportLogsServiceResponse, metrics::v1::ExportMetricsServiceResponse},
    resource::v1::Resource,
};
use prost::Message as _;

pub use environment::config;
pub use settings::{Compression, KIND, Protocol, Settings};

use crate::{
    Context, DeliveryError, Export, MetricExport, NodeIdentity, Record,
    metrics::{MetricPicture, Pushed},
};
use connection::{Connection, Signal};

/// The name of this machine's node in a pod.
const NODE_NAME: &str = "NODE_NAME";

/// The export at work. Clones share its connections.
#[derive(Debug, Clone)]
pub struct Otlp {
    settings: Arc<Settings>,
    connection: Connection,
}

impl Otlp {
    /// Makes one that has sent nothing yet.
    pub fn new(settings: Settings) -> Self {
        let settings = Arc::new(settings);
        Self {
            connection: Connection::new(Arc::clone(&settings)),
            settings,
        }
    }

    /// Sends a log record and a metric, as far as both are wanted, and returns what happened.
    ///
    /// # Errors
    /// [`DeliveryError`].
    pub async fn send_sample(
        &mut self,
        sample: &Record,
        context: &Context,
    ) -> Result<String, DeliveryError> {
        let mut outcomes = Vec::new();
        if self.settings.logs {
            self.deliver(std::slice::from_ref(sample), context).await?;
            outcomes.push(format!("the sample {} was delivered", sample.id));
        }
        if self.settings.metrics {
            let metric = metrics::sample(logs::nanos(sample.time));
            let resource = self.resource(&sample.node, context);
            let pushed = self.push_all(vec![metric], &resource, context).await?;
            if pushed.refused > 0 {
                return Err(DeliveryError::refused(pushed.message));
            }
            outcomes.push("the metric gpud.export.sample was delivered".to_owned());
        }
        Ok(outcomes.join(", "))
    }

    fn resource(&self, node: &NodeIdentity, context: &Context) -> Resource {
        let environment = &context.environment;
        let name = environment.secrets.variable(NODE_NAME);
        attributes::resource(node, &environment.machine, name, &self.settings.resource)
    }

    async fn push_all(
        &self,
        metrics: Vec<opentelemetry_proto::tonic::metrics::v1::Metric>,
        resource: &Resource,
        context: &Context,
    ) -> Result<Pushed, DeliveryError> {
        let mut pushed = Pushed::default();
        for (points, request) in metrics::requests(metrics, resource) {
            let sent = self.connection.send(Signal::Metrics, &request, context);
            match sent.await {
                Ok((answer, confidential)) => {
                    let (refused, message) = left_out_metrics(&answer);
                    let message = confidential.hide(message);
                    let refused = refused.min(points);
                    pushed.taken += points - refused;
                    note(&mut pushed, refused, message);
                }
                // The next push may be taken; the other parts of this one are.
                Err(DeliveryError::Refused { message, .. }) => {
                    note(&mut pushed, points, message);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(pushed)
    }
}

impl Export for Otlp {
    async fn deliver(&mut self, batch: &[Record], context: &Context) -> Result<(), DeliveryError> {
        let request = logs::request(batch, |node| self.resource(node, context));
        let answer = self.connection.send(Signal::Logs, &request, context);
        let (answer, confidential) = answer.await?;
        let (left_out, message) = left_out_logs(&answer);
        let message = confidential.hide(message);
        match usize::try_from(left_out).unwrap_or(usize::MAX) {
            0 => {
                warn(context, &message);
                Ok(())
            }
            left_out => Err(DeliveryError::PartlyTaken { message, left_out }),
        }
    }
}

impl MetricExport for Otlp {
    async fn push(
        &mut self,
        picture: &MetricPicture,
        context: &Context,
    ) -> Result<Pushed, DeliveryError> {
        let metrics = metrics::metrics(picture, &context.select);
        let resource = self.resource(&context.environment.node, context);
        let pushed = self.push_all(metrics, &resource, context).await?;
        if pushed.refused == 0 {
            warn(context, &pushed.message);
        }
        Ok(pushed)
    }

    fn interval(&self) -> Duration {
        self.settings.interval()
    }
}

/// Logs what a receiver remarks about data that it took.
fn warn(context: &Context, message: &str) {
    if !message.is_empty() {
        let message = crate::status::shortened(message);
        tracing::warn!(export = context.export, "the receiver remarks: {message}");
    }
}

/// Adds points that were refused, and the receiver's words.
fn note(pushed: &mut Pushed, refused: u64, message: String) {
    pushed.refused += refused;
    if !message.is_empty() {
        pushed.message = message;
    }
}

/// Returns how many log records an answer says were left out, and why.
fn left_out_logs(answer: &[u8]) -> (u64, String) {
    let answer = ExportLogsServiceResponse::decode(answer).unwrap_or_default();
    let partial = answer.partial_success.unwrap_or_default();
    left_out(partial.rejected_log_records, partial.error_message)
}

/// Returns how many points an answer says were left out, and why.
fn left_out_metrics(answer: &[u8]) -> (u64, String) {
    let answer = ExportMetricsServiceResponse::decode(answer).unwrap_or_default();
    let partial = answer.partial_success.unwrap_or_default();
    left_out(partial.rejected_data_points, partial.error_message)
}

fn left_out(count: i64, message: String) -> (u64, String) {
    let count = u64::try_from(count).unwrap_or(0);
    let message = match message.is_empty() && count > 0 {
        true => "the receiver left some out and does not say why".to_owned(),
        false => message,
    };
    (count, message)
}
