use futures_util::{FutureExt as _, future::BoxFuture};

use super::*;
use crate::metrics::{MetricPicture, MetricReadings, MetricSource, Pushed};

/// Metrics that say how often they were read.
#[derive(Debug, Default)]
struct Source(AtomicU64);

impl MetricSource for Source {
    fn read(&self) -> BoxFuture<'_, MetricReadings> {
        let since = self.0.fetch_add(1, Ordering::SeqCst);
        let readings = MetricReadings {
            since,
            ..MetricReadings::default()
        };
        std::future::ready(readings).boxed()
    }
}

/// Fails a few times, and then takes all but one point.
struct ScriptedMetrics {
    failures: u32,
    seen: Arc<Mutex<Vec<u64>>>,
}

impl MetricExport for ScriptedMetrics {
    async fn push(
        &mut self,
        picture: &MetricPicture,
        _: &Context,
    ) -> Result<Pushed, DeliveryError> {
        self.seen.lock().unwrap().push(picture.readings.since);
        if self.failures > 0 {
            self.failures -= 1;
            return Err(DeliveryError::transient("down"));
        }
        Ok(Pushed {
            taken: 9,
            refused: 1,
            message: "too old".into(),
        })
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(60)
    }
}

#[tokio::test(start_paused = true)]
async fn metrics_are_sent_at_an_interval_and_a_failed_push_is_replaced() {
    let mut bench = Bench::new(1, None);
    let worker = Arc::get_mut(&mut bench.worker).unwrap();
    worker.context.environment.metrics = Some(Arc::new(Source::default()));
    let seen: Arc<Mutex<Vec<u64>>> = Arc::default();
    let export = ScriptedMetrics {
        failures: 2,
        seen: Arc::clone(&seen),
    };
    let worker = Arc::clone(&bench.worker);
    let task = tokio::spawn(async move { worker.run_metrics(export).await });
    while seen.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_millis(10)).await;
    let view = bench.worker.context.status.view();
    let reason = view.verdict(bench.worker.context.now()).1;
    assert!(reason.contains("no metrics could be sent"), "{reason}");
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(
        *seen.lock().unwrap(),
        [0, 1, 2],
        "each push reads them again"
    );
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(*seen.lock().unwrap(), [0, 1, 2, 3]);
    let view = bench.worker.context.status.metrics().view();
    assert_eq!((view.taken, view.refused, view.failures), (18, 2, 2));
    assert_eq!(view.failing_since, None);
    bench.end(task).await;
}
