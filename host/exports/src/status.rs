//! The status of an export: counters, and a verdict with a reason.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{Health, MetricStatus, MetricView, UnixMillis};

/// How long a loss is shown after it happened, milliseconds.
pub(crate) const LOSS_SHOWN_MS: u64 = 3_600_000;
/// Longest text of an error that is shown, bytes.
const MAX_TEXT: usize = 512;

/// Counters of one export. They are shared by its tasks, and go on when its settings change.
#[derive(Debug, Default)]
pub struct Status {
    delivered: AtomicU64,
    refused: AtomicU64,
    dropped: AtomicU64,
    failures: AtomicU64,
    queued: AtomicU64,
    spooled: AtomicU64,
    metrics: MetricStatus,
    inner: Mutex<Counts>,
}

#[derive(Debug, Default, Clone)]
struct Counts {
    last_success: Option<UnixMillis>,
    failing_since: Option<UnixMillis>,
    last_error: Option<String>,
    next_try: Option<UnixMillis>,
    oldest_waiting: Option<UnixMillis>,
    spool_problem: Option<String>,
    last_loss: Option<(UnixMillis, String)>,
    inventory: Option<InventoryCounts>,
}

/// How often an inventory was exported, as gpuid counts it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InventoryCounts {
    /// Where to: `stdout`, `http`, `postgres` or `s3`.
    pub exporter_type: &'static str,
    /// The node's name.
    pub node: String,
    /// The program that read the serial numbers.
    pub source: String,
    /// Exports that succeeded.
    pub successes: u64,
    /// When the last of them did.
    pub last_success: Option<UnixMillis>,
    /// Exports that failed, by the kind of failure.
    pub failures: BTreeMap<&'static str, u64>,
}

/// The state of an export: its counters and its trouble.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatusView {
    /// Records (or pictures of the state) that the engine took.
    pub delivered: u64,
    /// Records that the engine refused for good.
    pub refused: u64,
    /// Records that were dropped because the queue or the spool was full.
    pub dropped: u64,
    /// Deliveries that failed and were tried again.
    pub failures: u64,
    /// Records in memory.
    pub queued: u64,
    /// Records in the spool.
    pub spooled: u64,
    /// When something was last delivered.
    pub last_success: Option<UnixMillis>,
    /// Since when nothing could be delivered; `None` while all is well.
    pub failing_since: Option<UnixMillis>,
    /// Why the last delivery failed.
    pub last_error: Option<String>,
    /// When it is tried again.
    pub next_try: Option<UnixMillis>,
    /// When the oldest record that waits happened.
    pub oldest_waiting: Option<UnixMillis>,
    /// The problem with the spool.
    pub spool_problem: Option<String>,
    /// When records were lost last, and why.
    pub last_loss: Option<(UnixMillis, String)>,
    /// How it does with metrics.
    pub metrics: MetricView,
    /// How often the inventory was exported, if that is what it exports.
    pub inventory: Option<InventoryCounts>,
}

impl Status {
    /// Returns all of it.
    pub fn view(&self) -> StatusView {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let inner = self.inner().clone();
        StatusView {
            delivered: load(&self.delivered),
            refused: load(&self.refused),
            dropped: load(&self.dropped),
            failures: load(&self.failures),
            queued: load(&self.queued),
            spooled: load(&self.spooled),
            last_success: inner.last_success,
            failing_since: inner.failing_since,
            last_error: inner.last_error,
            next_try: inner.next_try,
            oldest_waiting: inner.oldest_waiting,
            spool_problem: inner.spool_problem,
            last_loss: inner.last_loss,
            metrics: self.metrics.view(),
            inventory: inner.inventory,
        }
    }

    /// Returns the counters of metrics.
    pub fn metrics(&self) -> &MetricStatus {
        &self.metrics
    }

    /// Counts records that were delivered.
    pub fn succeeded(&self, records: usize, now: UnixMillis) {
        self.delivered.fetch_add(records as u64, Ordering::Relaxed);
        let mut inner = self.inner();
        inner.last_success = Some(now);
        inner.failing_since = None;
        inner.last_error = None;
        inner.next_try = None;
    }

    /// Notes a delivery that failed and will be tried again at `next_try`. Returns true for the first of a row.
    pub fn failed(&self, error: &str, now: UnixMillis, next_try: UnixMillis) -> bool {
        self.failures.fetch_add(1, Ordering::Relaxed);
        let mut inner = self.inner();
        let is_first = inner.failing_since.is_none();
        // After the clock was set back: at least since then.
        inner.failing_since = Some(inner.failing_since.map_or(now, |since| since.min(now)));
        inner.last_error = Some(shortened(error));
        inner.next_try = Some(next_try);
        is_first
    }

    /// Counts records that the engine refused.
    pub fn refused(&self, records: usize, error: &str, now: UnixMillis) {
        self.refused.fetch_add(records as u64, Ordering::Relaxed);
        let what = format!("refused: {}", shortened(error));
        self.inner().last_loss = Some((now, what));
    }

    /// Counts records that were dropped for want of room.
    pub fn add_dropped(&self, records: u64) {
        self.dropped.fetch_add(records, Ordering::Relaxed);
    }

    /// Notes when the loss that [`Self::add_dropped`] counted was noticed.
    pub fn lost(&self, what: &str, now: UnixMillis) {
        self.inner().last_loss = Some((now, shortened(what)));
    }

    /// Sets how many records are in memory.
    pub fn set_queued(&self, records: usize) {
        self.queued.store(records as u64, Ordering::Relaxed);
    }

    /// Sets how many records are in the spool.
    pub fn set_spooled(&self, records: u64) {
        self.spooled.store(records, Ordering::Relaxed);
    }

    /// Sets when the oldest waiting record happened.
    pub fn set_oldest_waiting(&self, time: Option<UnixMillis>) {
        self.inner().oldest_waiting = time;
    }

    /// Sets the problem with the spool. Returns true if that is new.
    pub fn set_spool_problem(&self, problem: Option<String>) -> bool {
        let problem = problem.map(|text| shortened(&text));
        let mut inner = self.inner();
        let is_new = inner.spool_problem != problem;
        inner.spool_problem = problem;
        is_new
    }

    /// Changes the counters of an inventory's exports.
    pub fn count_inventory(&self, change: impl FnOnce(&mut InventoryCounts)) {
        change(self.inner().inventory.get_or_insert_default());
    }

    fn inner(&self) -> MutexGuard<'_, Counts> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StatusView {
    /// Returns how many records wait.
    pub fn waiting(&self) -> u64 {
        self.queued + self.spooled
    }

    /// Returns how long the oldest waiting record has been waiting, milliseconds; 0 if none waits. Where the clock was set back
    /// behind the record's time, it is how long nothing could be delivered.
    pub fn lag_ms(&self, now: UnixMillis) -> u64 {
        let Some(time) = self.oldest_waiting else {
            return 0;
        };
        let since = if time <= now {
            Some(time)
        } else {
            self.failing_since
        };
        since.map_or(0, |since| now.saturating_sub(since))
    }

    /// Judges it: healthy while everything arrives, degraded while something waits or was lost within the last hour.
    pub fn verdict(&self, now: UnixMillis) -> (Health, String) {
        let mut problems = Vec::new();
        if let (Some(since), Some(error)) = (self.failing_since, &self.last_error) {
            let failing = ago(now.saturating_sub(since));
            let next = self.next_try.map_or(0, |next| next.saturating_sub(now));
            let waiting = match self.waiting() {
                0 => String::new(),
                1 => "; 1 record waits".to_owned(),
                count => format!("; {count} records wait"),
            };
            let next = ago(next);
            problems.push(format!(
                "nothing could be delivered for {failing}: {error}{waiting}; next try in {next}"
            ));
        }
        problems.extend(self.spool_problem.clone());
        if let Some((time, what)) = &self.last_loss
            && now.saturating_sub(*time) < LOSS_SHOWN_MS
        {
            let lost = self.refused + self.dropped;
            let since = ago(now.saturating_sub(*time));
            let records = if lost == 1 {
                "record was"
            } else {
                "records were"
            };
            problems.push(format!(
                "{lost} {records} lost so far, the last {since} ago: {what}"
            ));
        }
        problems.extend(self.metrics.problems(now));
        if !problems.is_empty() {
            return (Health::Degraded, problems.join("; "));
        }
        // The pictures that an inventory looks at are no deliveries.
        let (delivered, last) = match &self.inventory {
            Some(counts) => (counts.successes, counts.last_success),
            None => (self.delivered, self.last_success),
        };
        let reason = match last {
            Some(time) => format!(
                "{delivered} delivered, the last {} ago",
                ago(now.saturating_sub(time))
            ),
            None => "nothing to deliver yet".to_owned(),
        };
        (Health::Healthy, reason + &self.metrics.summary(now))
    }
}

/// Returns a duration in the two largest units that say something.
pub(crate) fn ago(millis: u64) -> String {
    let seconds = millis / 1000;
    match (seconds / 86_400, seconds / 3600, seconds / 60) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {} min", minutes % 60),
        (days, hours, _) => format!("{days} d {} h", hours % 24),
    }
}

pub(crate) fn shortened(text: &str) -> String {
    let mut line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if line.len() > MAX_TEXT {
        line.truncate(line.floor_char_boundary(MAX_TEXT));
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_hides_no_outage() {
        let status = Status::default();
        status.set_spooled(1);
        status.set_oldest_waiting(Some(1_000_000));
        assert!(status.failed("down", 1_000_000, 1_001_000));
        let at = |now| status.view().verdict(now).1;
        assert_eq!(status.view().lag_ms(500_000), 0);
        assert!(
            !status.failed("down", 500_000, 501_000),
            "it is the same outage"
        );
        assert!(at(530_000).contains("for 30 s: down"), "{}", at(530_000));
        assert_eq!(status.view().lag_ms(530_000), 30_000);
        // Set right again.
        assert_eq!(status.view().lag_ms(1_060_000), 60_000);
    }

    #[test]
    fn the_verdict_says_what_waits_and_what_was_lost() {
        let status = Status::default();
        let at = |now| status.view().verdict(now);
        assert_eq!(at(0), (Health::Healthy, "nothing to deliver yet".into()));
        status.succeeded(3, 10_000);
        assert_eq!(
            at(75_000),
            (Health::Healthy, "3 delivered, the last 1 min ago".into())
        );
        assert!(status.failed("POST https://h: connection\nrefused", 100_000, 130_000));
        assert!(!status.failed("POST https://h: connection refused", 110_000, 140_000));
        status.set_spooled(12);
        status.set_oldest_waiting(Some(95_000));
        let (health, reason) = at(120_000);
        assert_eq!(health, Health::Degraded);
        assert_eq!(
            reason,
            "nothing could be delivered for 20 s: POST https://h: connection refused; 12 records wait; next try in 20 s"
        );
        assert_eq!(status.view().lag_ms(120_000), 25_000);
        assert_eq!(status.view().lag_ms(0), 0, "the clock was set back");
        status.set_spooled(0);
        status.succeeded(12, 150_000);
        status.add_dropped(5);
        status.lost("the queue was full", 150_000);
        assert_eq!(
            at(160_000).1,
            "5 records were lost so far, the last 10 s ago: the queue was full"
        );
        assert_eq!(at(150_000 + LOSS_SHOWN_MS).0, Health::Healthy);
        assert!(status.set_spool_problem(Some("the disk is full".into())));
        assert!(!status.set_spool_problem(Some("the disk is full".into())));
        assert_eq!(at(90_000_000).1, "the disk is full");
    }

    #[test]
    fn durations_are_short() {
        for (millis, text) in [
            (0, "0 s"),
            (59_999, "59 s"),
            (3_599_000, "59 min"),
            (7_260_000, "2 h 1 min"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(ago(millis), text);
        }
    }
}
