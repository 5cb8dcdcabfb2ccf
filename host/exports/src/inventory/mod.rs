//! Writes the serial numbers of the GPUs and of the chassis where a fleet keeps its inventory: once when they are known,
//! when they are others than before, and once in a while.
//!
//! Fields, columns, the names of variables and counters are those of gpuid, so that its tables and dashboards go on.

pub mod environment;
mod reading;
mod settings;
#[cfg(feature = "postgres")]
mod table;
mod target;

use std::{collections::VecDeque, time::Duration};

pub use reading::Reading;
#[cfg(feature = "postgres")]
pub use settings::PostgresTarget;
#[cfg(feature = "s3")]
pub use settings::S3Target;
pub use settings::{HttpTarget, KIND, Settings};

use crate::{Context, DeliveryError, Record, Snapshot, StateExport, UnixMillis, row_origin};
use target::Target;

/// Most readings that wait for a target that cannot be reached. A reading is one look at the machine.
const MAX_WAITING: usize = 64;

/// How often it is looked whether something is due.
const LOOK: Duration = Duration::from_secs(300);

/// The machine's inventory at one time: a row for each serial number.
#[derive(Debug, Clone, PartialEq)]
struct InventorySnapshot {
    time: UnixMillis,
    readings: Vec<Reading>,
}

/// The inventory's export at work.
#[derive(Debug)]
pub struct InventoryExport {
    settings: Settings,
    target: Target,
    /// Looks that were not delivered yet, oldest first.
    waiting: VecDeque<InventorySnapshot>,
    /// The last look, delivered or not.
    last: Option<InventorySnapshot>,
}

impl InventoryExport {
    /// Makes one that has exported nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            target: Target::new(&settings),
            settings,
            waiting: VecDeque::new(),
            last: None,
        }
    }

    /// Sends a reading that names a sample in place of a serial number, and returns what happened.
    ///
    /// # Errors
    /// [`DeliveryError`].
    pub async fn send_sample(
        &mut self,
        sample: &Record,
        context: &Context,
    ) -> Result<String, DeliveryError> {
        let node = self.node(&sample.node.hostname, context)?;
        let reading = Reading {
            gpu: "sample".to_owned(),
            source: "gpud-exports-test".to_owned(),
            ..reading::empty(&self.settings, node, &sample.node, sample.time)
        };
        self.target.send(&[reading], sample.time, context).await?;
        Ok("a reading of the GPU \"sample\" was delivered".to_owned())
    }

    fn node(&self, hostname: &str, context: &Context) -> Result<String, DeliveryError> {
        row_origin::node_name(self.settings.node.as_deref(), hostname, context)
    }

    /// Remembers what was read, if the last look is too old or was another one. Returns false if a look was given up for it.
    fn look(&mut self, readings: Vec<Reading>, time: UnixMillis) -> bool {
        // Before the driver is loaded, or without serial numbers, there is nothing to export.
        if readings.is_empty() || !self.is_due(&readings, time) {
            return true;
        }
        let look = InventorySnapshot { time, readings };
        self.last = Some(look.clone());
        self.waiting.push_back(look);
        if self.waiting.len() <= MAX_WAITING {
            return true;
        }
        self.waiting.pop_front();
        false
    }

    fn is_due(&self, readings: &[Reading], now: UnixMillis) -> bool {
        let Some(last) = &self.last else { return true };
        let same = reading::are_same(&last.readings, readings);
        // A clock that was set back must not stop the exports.
        let age = now.abs_diff(last.time);
        !same || u128::from(age) >= self.settings.interval().as_millis()
    }

    async fn flush(&mut self, context: &Context) -> Result<(), DeliveryError> {
        // Ends before the worker's own limit would, so that the failure is counted.
        let limit = context.timeout.mul_f64(0.9);
        let now = context.now();
        while let Some(look) = self.waiting.front() {
            let sent = self.target.send(&look.readings, look.time, context);
            let sent = tokio::time::timeout(limit, sent).await;
            let exporter_type = self.settings.exporter_type();
            let place = look
                .readings
                .first()
                .map(|first| (&first.node, &first.source));
            let failure = match &sent {
                Ok(Ok(())) => None,
                Ok(Err(DeliveryError::Refused { .. })) => Some("refused"),
                Ok(Err(_)) => Some("failed"),
                Err(_) => Some("timeout"),
            };
            context.status.count_inventory(|counts| {
                counts.exporter_type = exporter_type;
                if let Some((node, source)) = place {
                    counts.node.clone_from(node);
                    counts.source.clone_from(source);
                }
                match failure {
                    None => {
                        counts.successes += 1;
                        counts.last_success = Some(now);
                    }
                    Some(kind) => *counts.failures.entry(kind).or_default() += 1,
                }
            });
            match sent {
                Ok(sent) => sent?,
                Err(_) => {
                    return Err(DeliveryError::transient(format!(
                        "{}: no answer within {limit:?}",
                        self.settings.target()
                    )));
                }
            }
            self.waiting.pop_front();
        }
        Ok(())
    }
}

impl StateExport for InventoryExport {
    async fn apply(&mut self, snapshot: &Snapshot, context: &Context) -> Result<(), DeliveryError> {
        let node = self.node(&snapshot.node.hostname, context)?;
        let time = context.now();
        let readings = reading::of_snapshot(snapshot, &self.settings, &node, time);
        if !self.look(readings, time) {
            let status = &context.status;
            status.add_dropped(1);
            status.lost("too many readings of the inventory waited", time);
        }
        self.flush(context).await
    }

    fn resync(&self) -> Duration {
        // Often enough that a look that is due is not late.
        self.settings.interval().min(LOOK)
    }
}

#[cfg(test)]
mod tests;
