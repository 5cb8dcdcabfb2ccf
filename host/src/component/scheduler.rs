//! When components are checked: each on its own interval, none together with itself, not all at once.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use tokio::{sync::Semaphore, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{Component, Services};
use crate::model::{RunMode, Trigger};

/// First checks at once after the start.
const FIRST_AT_ONCE: usize = 2;

/// Makes components run until `shutdown`.
pub struct Scheduler {
    services: Arc<Services>,
    shutdown: CancellationToken,
    first: Arc<Semaphore>,
}

impl Scheduler {
    /// Nothing runs yet.
    pub fn new(services: Arc<Services>, shutdown: CancellationToken) -> Self {
        Self {
            services,
            shutdown,
            first: Arc::new(Semaphore::new(FIRST_AT_ONCE)),
        }
    }

    /// Schedules a component that is ready; one in manual mode is left to its triggers.
    pub fn schedule(&self, component: Arc<Component>, tasks: &mut JoinSet<()>) {
        let Some(checker) = component.checker() else {
            return;
        };
        if checker.descriptor().run_mode == RunMode::Manual {
            return;
        }
        let interval = checker.interval();
        let (services, shutdown) = (Arc::clone(&self.services), self.shutdown.clone());
        let first = Arc::clone(&self.first);
        tasks.spawn(async move {
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = run(&component, &services, interval, &first) => {}
            }
        });
    }
}

async fn run(component: &Component, services: &Services, interval: Duration, first: &Semaphore) {
    {
        let _turn = first.acquire().await;
        component.check_if_idle(services, Trigger::Startup).await;
    }
    // Components of one interval keep apart from here on, and at the same place from start to start.
    tokio::time::sleep(phase(component.name(), interval)).await;
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        component.check_if_idle(services, Trigger::Scheduled).await;
    }
}

/// Where in its interval a component runs: between half of it and all of it after the first check.
fn phase(name: &str, interval: Duration) -> Duration {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let half = interval / 2;
    let part = (hasher.finish() % 1000) as u32;
    half + half * part / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_stable_and_spread() {
        let minute = Duration::from_secs(60);
        let mut slots: Vec<u64> = (0..60)
            .map(|n| phase(&format!("component-{n}"), minute))
            .inspect(|phase| assert!((minute / 2..=minute).contains(phase)))
            .map(|phase| phase.as_secs())
            .collect();
        assert_eq!(phase("cpu", minute), phase("cpu", minute));
        slots.sort_unstable();
        slots.dedup();
        assert!(
            slots.len() > 15,
            "60 components share {} seconds",
            slots.len()
        );
    }
}
