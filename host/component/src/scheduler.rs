//! Schedules the checks of components: each on its own interval, never two of one component at once, and not all at once.
//!
//! Checks in WebAssembly take a millisecond. They share beats and run one after the other, so that an idle machine is
//! woken twice a minute and not at every check. Scripts start processes and may take long: they are spread over their
//! interval.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use tokio::{sync::Semaphore, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Checker, Component, Schedule, Services};
use crate::{model::Trigger, node::nvml::LibraryStatus};

/// How many first checks run at the same time after the start.
const FIRST_AT_ONCE: usize = 2;
/// How many checks of one beat run at the same time: while one waits for a file another runs, so no thread sleeps.
const AT_ONCE: usize = 8;
/// After this time a check, such as one that waits for a server, no longer delays the others.
const TURN: Duration = Duration::from_millis(250);
/// The time between two beats, which components without scripts share.
const BEAT: Duration = Duration::from_secs(30);

/// The beat of components that ask GPUs.
const GPUS: &str = "nvml";

/// Permits that bound how many checks run at the same time.
struct CheckPermits {
    /// After the start.
    first: Semaphore,
    /// At a beat.
    beat: Semaphore,
}

/// Runs components until `shutdown`, or until they are closed.
pub struct Scheduler {
    services: Arc<Services>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
    permits: Arc<CheckPermits>,
    /// The time from which beats are counted.
    start: Instant,
}

impl Scheduler {
    /// Makes a scheduler that runs no component yet. It spawns tasks into `tasks`. Schedulers with the same `start` have the
    /// same beats.
    pub fn new(
        services: Arc<Services>,
        tasks: TaskTracker,
        shutdown: CancellationToken,
        start: Instant,
    ) -> Self {
        Self {
            services,
            tasks,
            shutdown,
            permits: Arc::new(CheckPermits {
                first: Semaphore::new(FIRST_AT_ONCE),
                beat: Semaphore::new(AT_ONCE),
            }),
            start,
        }
    }

    /// Schedules a component that is ready; one in manual mode is left to its triggers.
    pub fn schedule(&self, component: Arc<Component>) {
        let Some(checker) = component.checker() else {
            return;
        };
        let schedule = checker.schedule();
        if schedule == Schedule::Manual {
            return;
        }
        let (services, shutdown) = (Arc::clone(&self.services), self.shutdown.clone());
        let permits = Arc::clone(&self.permits);
        let start = self.start;
        self.tasks.spawn(async move {
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = component.closed() => {}
                () = run(&component, &services, schedule, &permits, start) => {}
            }
        });
    }
}

impl Scheduler {
    /// The services that the components share.
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// Runs the version beside a component, if there is one, until the component is closed.
    pub fn run_shadow(&self, component: Arc<Component>) {
        let Some(shadow) = component.shadow().cloned() else {
            return;
        };
        let services = Arc::clone(&self.services);
        self.spawn(async move {
            tokio::select! {
                () = component.closed() => {}
                () = shadow.run(component.name(), &services) => {}
            }
        });
    }

    /// Runs another task of the daemon until `shutdown`.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let shutdown = self.shutdown.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = work => {}
            }
        });
    }
}

async fn run(
    component: &Component,
    services: &Services,
    schedule: Schedule,
    permits: &CheckPermits,
    start: Instant,
) {
    in_turn(
        &permits.first,
        component.check_if_idle(services, Trigger::Startup),
    )
    .await;
    let Schedule::Every(interval) = schedule else {
        return;
    };
    // Each component has the same place in its interval from start to start. Where there are GPUs, those that ask them run
    // together, so that what one asked is there for the others.
    let has_gpus = services.node.nvml.latest().library == LibraryStatus::Loaded;
    let beat = match component.checker() {
        Some(checker) if has_gpus && checker.asks_gpus() => GPUS,
        _ => component.name(),
    };
    let is_script = matches!(component.checker(), Some(Checker::Script(_)));
    let phase = match is_script {
        true => phase(beat, interval),
        false => on_beat(phase(beat, interval)),
    };
    let next = next_beat(start, phase, interval, Instant::now());
    let mut ticks = tokio::time::interval_at(next, interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        if beat == GPUS {
            services.node.nvml.ask_again().await;
        }
        let check = component.check_if_idle(services, Trigger::Scheduled);
        match is_script {
            true => check.await,
            false => in_turn(&permits.beat, check).await,
        };
    }
}

/// Runs a check in its turn. The turn ends with the check, or when the check has taken long.
async fn in_turn<T>(permits: &Semaphore, check: impl Future<Output = T>) -> T {
    let turn = permits.acquire().await;
    let mut check = pin!(check);
    match tokio::time::timeout(TURN, &mut check).await {
        Ok(done) => done,
        Err(_) => {
            drop(turn);
            check.await
        }
    }
}

/// Returns the beat at or before a point in an interval.
fn on_beat(phase: Duration) -> Duration {
    BEAT * u32::try_from(phase.as_secs() / BEAT.as_secs()).unwrap_or(0)
}

/// Returns the point in its interval at which a component runs.
fn phase(name: &str, interval: Duration) -> Duration {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let part = (hasher.finish() % 1000) as u32;
    interval * part / 1000
}

/// Returns the first beat after `now`. Beats are `interval` apart, the first is `phase` after the start.
fn next_beat(start: Instant, phase: Duration, interval: Duration, now: Instant) -> Instant {
    let first = start + phase;
    let late = now.saturating_duration_since(first).as_nanos();
    let missed = late.div_ceil(interval.as_nanos().max(1));
    first + interval * u32::try_from(missed).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
