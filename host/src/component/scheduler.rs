//! When components are checked: each on its own interval, none together with itself, not all at once.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Component, Schedule, Services};
use crate::model::Trigger;

/// First checks at once after the start.
const FIRST_AT_ONCE: usize = 2;
/// A first check that takes longer, such as a script that waits, does not hold up the others any more.
const FIRST_TURN: Duration = Duration::from_millis(250);

/// Makes components run until `shutdown`, or until they are closed.
pub struct Scheduler {
    services: Arc<Services>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
    first: Arc<Semaphore>,
}

impl Scheduler {
    /// Nothing runs yet. What will is spawned into `tasks`.
    pub fn new(services: Arc<Services>, tasks: TaskTracker, shutdown: CancellationToken) -> Self {
        Self {
            services,
            tasks,
            shutdown,
            first: Arc::new(Semaphore::new(FIRST_AT_ONCE)),
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
        let first = Arc::clone(&self.first);
        self.tasks.spawn(async move {
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = component.closed() => {}
                () = run(&component, &services, schedule, &first) => {}
            }
        });
    }
}

impl Scheduler {
    /// What the components share.
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

    /// Runs something else that belongs to the daemon, until `shutdown`.
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

async fn run(component: &Component, services: &Services, schedule: Schedule, first: &Semaphore) {
    {
        let turn = first.acquire().await;
        let mut check = pin!(component.check_if_idle(services, Trigger::Startup));
        if tokio::time::timeout(FIRST_TURN, &mut check).await.is_err() {
            drop(turn);
            check.await;
        }
    }
    let Schedule::Every(interval) = schedule else {
        return;
    };
    // Components of one interval keep apart from here on, and at the same place from start to start.
    tokio::time::sleep(phase(component.name(), interval)).await;
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        component.check_if_idle(services, Trigger::Scheduled).await;
    }
}

/// Where in its interval a component runs: up to all of it after the first check.
fn phase(name: &str, interval: Duration) -> Duration {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let part = (hasher.finish() % 1000) as u32;
    interval * part / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_stable_and_spread() {
        let minute = Duration::from_secs(60);
        let mut slots: Vec<u64> = (0..200)
            .map(|n| phase(&format!("component-{n}"), minute))
            .inspect(|phase| assert!(*phase <= minute))
            .map(|phase| phase.as_secs())
            .collect();
        assert_eq!(phase("cpu", minute), phase("cpu", minute));
        slots.sort_unstable();
        slots.dedup();
        assert!(
            slots.len() > 50,
            "200 components share {} of 60 seconds",
            slots.len()
        );
    }
}
