//! The status of an export's metrics, which are not queued: a push that failed is replaced by the next one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{
    UnixMillis,
    metrics::Pushed,
    status::{LOSS_SHOWN_MS, ago, shortened},
};

/// Counters of the metrics of one export.
#[derive(Debug, Default)]
pub struct MetricStatus(Mutex<MetricView>);

/// The state of the metrics of an export.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MetricView {
    /// Points that the engine took.
    pub taken: u64,
    /// Points that the engine refused for good.
    pub refused: u64,
    /// Pushes that failed.
    pub failures: u64,
    /// When metrics were last taken.
    pub last_success: Option<UnixMillis>,
    /// Since when none could be sent; `None` while all is well.
    pub failing_since: Option<UnixMillis>,
    /// Why the last push failed.
    pub last_error: Option<String>,
    /// When points were refused last, and why.
    pub last_refusal: Option<(UnixMillis, String)>,
}

impl MetricStatus {
    /// Returns all of it.
    pub fn view(&self) -> MetricView {
        self.inner().clone()
    }

    /// Counts a push that arrived. Returns true if the one before it failed.
    pub fn pushed(&self, pushed: &Pushed, now: UnixMillis) -> bool {
        let mut inner = self.inner();
        inner.taken += pushed.taken;
        inner.refused += pushed.refused;
        if pushed.refused > 0 {
            inner.last_refusal = Some((now, shortened(&pushed.message)));
        }
        inner.last_success = Some(now);
        inner.last_error = None;
        inner.failing_since.take().is_some()
    }

    /// Notes a push that failed. Returns true for the first of a row.
    pub fn failed(&self, error: &str, now: UnixMillis) -> bool {
        let mut inner = self.inner();
        inner.failures += 1;
        inner.last_error = Some(shortened(error));
        let is_first = inner.failing_since.is_none();
        inner.failing_since.get_or_insert(now);
        is_first
    }

    fn inner(&self) -> MutexGuard<'_, MetricView> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MetricView {
    /// Returns what is wrong now, or was within the last hour.
    pub(crate) fn problems(&self, now: UnixMillis) -> Vec<String> {
        let mut problems = Vec::new();
        if let (Some(since), Some(error)) = (self.failing_since, &self.last_error) {
            let failing = ago(now.saturating_sub(since));
            problems.push(format!("no metrics could be sent for {failing}: {error}"));
        }
        if let Some((time, why)) = &self.last_refusal
            && now.saturating_sub(*time) < LOSS_SHOWN_MS
        {
            let (refused, since) = (self.refused, ago(now.saturating_sub(*time)));
            problems.push(format!(
                "{refused} points of metrics were refused so far, the last {since} ago: {why}"
            ));
        }
        problems
    }

    /// Returns when metrics were last sent, in words; empty if none were.
    pub(crate) fn summary(&self, now: UnixMillis) -> String {
        self.last_success.map_or_else(String::new, |time| {
            let since = ago(now.saturating_sub(time));
            format!("; metrics were sent {since} ago")
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Health, status::Status};

    use super::*;

    #[test]
    fn trouble_with_metrics_is_shown_beside_that_with_records() {
        let status = Status::default();
        let at = |now| status.view().verdict(now);
        let all = Pushed {
            taken: 700,
            ..Pushed::default()
        };
        assert!(!status.metrics().pushed(&all, 10_000));
        let (health, reason) = at(12_000);
        assert_eq!(
            (health, reason.as_str()),
            (
                Health::Healthy,
                "nothing to deliver yet; metrics were sent 2 s ago"
            )
        );
        assert!(status.metrics().failed("POST http://h: refused", 20_000));
        assert!(!status.metrics().failed("POST http://h: no\nroute", 21_000));
        status.succeeded(3, 30_000);
        let (health, reason) = at(80_000);
        assert_eq!(
            (health, reason.as_str()),
            (
                Health::Degraded,
                "no metrics could be sent for 1 min: POST http://h: no route"
            )
        );
        let some = Pushed {
            taken: 690,
            refused: 10,
            message: "a point is too old".into(),
        };
        assert!(status.metrics().pushed(&some, 90_000));
        assert_eq!(
            at(91_000).1,
            "10 points of metrics were refused so far, the last 1 s ago: a point is too old"
        );
        assert_eq!(at(90_000 + LOSS_SHOWN_MS).0, Health::Healthy);
        let view = status.metrics().view();
        assert_eq!((view.taken, view.refused, view.failures), (1390, 10, 2));
    }
}
