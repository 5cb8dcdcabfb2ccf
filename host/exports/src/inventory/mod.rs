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

use crate::{Context, DeliveryError, Record, Snapshot, StateExport, UnixMillis, place};
use target::Target;

/// Most readings that wait for a target that cannot be reached. A reading is one look at the machine.
const MAX_WAITING: usize = 64;

/// One look at the machine: a row for each serial number.
#[derive(Debug, Clone, PartialEq)]
struct Look {
    time: UnixMillis,
    readings: Vec<Reading>,
}

/// The inventory's export at work.
#[derive(Debug)]
pub struct InventoryExport {
    settings: Settings,
    target: Target,
    /// Looks that were not delivered yet, oldest first.
    waiting: VecDeque<Look>,
    /// The last look, delivered or not.
    last: Option<Look>,
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
        place::node_name(self.settings.node.as_deref(), hostname, context)
    }

    /// Takes a look, if the last one is too old or was another one.
    fn look(&mut self, snapshot: &Snapshot, context: &Context) -> Result<(), DeliveryError> {
        let node = self.node(&snapshot.node.hostname, context)?;
        let time = context.now();
        let readings = reading::of_snapshot(snapshot, &self.settings, &node, time);
        // Before the driver is there, or without serial numbers, there is nothing to tell.
        if readings.is_empty() || !self.is_due(&readings, time) {
            return Ok(());
        }
        let look = Look { time, readings };
        self.last = Some(look.clone());
        if self.waiting.len() >= MAX_WAITING {
            self.waiting.pop_front();
            context.status.add_dropped(1);
            context
                .status
                .lost("too many readings of the inventory waited", time);
        }
        self.waiting.push_back(look);
        Ok(())
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
                Ok(Err(DeliveryError::Transient { .. })) => Some("failed"),
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
        self.look(snapshot, context)?;
        self.flush(context).await
    }

    fn resync(&self) -> Duration {
        self.settings.interval()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        Clock, Environment, GpuIdentity, Inventory, NodeIdentity, http::Http,
        secret::tests::AnyFile, select::Select, status::Status,
    };

    fn context(now: UnixMillis) -> Context {
        Context {
            export: "serials".into(),
            timeout: Duration::from_secs(1),
            select: Select::default(),
            environment: Environment {
                node: NodeIdentity::default(),
                clock: Clock::new(move || now),
                secrets: Arc::new(AnyFile),
                http: Http::new("t"),
                spool_folder: None,
            },
            status: Arc::new(Status::default()),
        }
    }

    fn snapshot(serials: &[&str]) -> Snapshot {
        let gpus = serials.iter().map(|serial| GpuIdentity {
            serial: (*serial).to_owned(),
            ..GpuIdentity::default()
        });
        Snapshot {
            inventory: Inventory {
                gpus: gpus.collect(),
                ..Inventory::default()
            },
            ..Snapshot::default()
        }
    }

    #[test]
    fn it_looks_when_something_is_new_and_once_in_a_while() {
        let settings = serde_yaml::from_str("{cluster: c, stdout: true, interval: 1h}").unwrap();
        let mut export = InventoryExport::new(settings);
        let mut waiting = |serials: &[&str], now| {
            export.look(&snapshot(serials), &context(now)).unwrap();
            export.waiting.len()
        };
        assert_eq!(waiting(&[], 0), 0, "nothing is known yet");
        assert_eq!(waiting(&["1", "2"], 1_000), 1);
        assert_eq!(waiting(&["1", "2"], 5_000), 1);
        assert_eq!(waiting(&["1", "3"], 6_000), 2, "a GPU was replaced");
        assert_eq!(waiting(&["1", "3"], 3_606_000), 3, "an hour later");
        assert_eq!(waiting(&["1", "3"], 3_700_000), 3);
        for second in 0..200 {
            waiting(
                &[if second % 2 == 0 { "7" } else { "8" }],
                4_000_000 + second,
            );
        }
        assert_eq!(export.waiting.len(), MAX_WAITING);
        assert_eq!(export.waiting.back().unwrap().time, 4_000_199);
    }
}
