//! Turns messages of the kernel log into events: each watching component takes its messages in batches, and what it makes
//! of them is stored together with how far it got, so that nothing is seen twice or lost across a restart.

mod component_feed;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    sync::{Mutex, Notify},
    task::JoinHandle,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::component_feed::ComponentFeed;
use super::{Component, Registry, Services, WasmChecker, commit, losses};
use crate::{
    model::Trigger,
    node::kmsg::{Inbox, InboxLimits, KernelLog, Watcher},
};

/// After a check that events caused, the next one waits this many times as long as it took: in a flood, judging takes a
/// fifth of a core at most.
const REST: u32 = 4;
/// Longest that the last batch of a component that goes is waited for.
const LAST_BATCH: Duration = Duration::from_secs(10);

/// Passes kernel messages to the components that watch the log, and follows changes of the set of components.
pub struct Watchers {
    registry: Arc<Registry>,
    services: Arc<Services>,
    log: Arc<KernelLog>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
    watching: Mutex<WatchTable>,
}

#[derive(Default)]
struct WatchTable {
    next_id: usize,
    by_id: BTreeMap<usize, Watch>,
    feeds: BTreeMap<usize, JoinHandle<()>>,
}

#[derive(Clone)]
struct Watch {
    component: Arc<Component>,
    checker: Arc<WasmChecker>,
    patterns: Vec<String>,
    cursor: Option<u64>,
}

impl Watchers {
    /// No component gets messages before the first [`sync`](Self::sync). Tasks end with `shutdown`.
    pub fn new(
        registry: Arc<Registry>,
        services: Arc<Services>,
        log: Arc<KernelLog>,
        tasks: TaskTracker,
        shutdown: CancellationToken,
    ) -> Self {
        tasks.spawn(losses::report(
            Arc::clone(&services),
            log.gaps(),
            shutdown.clone(),
        ));
        Self {
            registry,
            services,
            log,
            tasks,
            shutdown,
            watching: Mutex::default(),
        }
    }

    /// Makes the watchers those components of the registry that watch, without losing a message for those that stay.
    /// One that took the place of another of its name begins where that one ended, with its last batch stored.
    pub async fn sync(&self) {
        let mut watching = self.watching.lock().await;
        let WatchTable {
            next_id,
            by_id,
            feeds,
        } = &mut *watching;
        let mut components = self.registry.all();
        components.retain(|component| component.kmsg_watcher().is_some());
        let gone = by_id.len();
        by_id.retain(|_, watch| {
            components
                .iter()
                .any(|component| Arc::ptr_eq(component, &watch.component))
        });
        let mut changed = false;
        if by_id.len() != gone {
            // Closes the inboxes of those that went.
            feeds.extend(self.set(by_id, &[]));
            let ended: Vec<usize> = feeds
                .keys()
                .copied()
                .filter(|id| !by_id.contains_key(id))
                .collect();
            for id in ended {
                if let Some(mut feed) = feeds.remove(&id)
                    && tokio::time::timeout(LAST_BATCH, &mut feed).await.is_err()
                {
                    // It has stored nothing of its batch, which its successor gets.
                    feed.abort();
                }
            }
        }
        let mut fresh = Vec::new();
        for component in components {
            let known = |watch: &Watch| Arc::ptr_eq(&watch.component, &component);
            if by_id.values().any(known) {
                continue;
            }
            if let Some(watch) = self.watch(component).await {
                fresh.push(*next_id);
                by_id.insert(*next_id, watch);
                *next_id += 1;
                changed = true;
            }
        }
        if changed {
            feeds.extend(self.set(by_id, &fresh));
        }
    }

    /// Asks a component for its patterns.
    async fn watch(&self, component: Arc<Component>) -> Option<Watch> {
        let checker = component.kmsg_watcher()?;
        let name = component.name();
        let finished = checker.patterns(&self.services).await;
        commit::bill(&self.services, name, &finished);
        match finished.answer {
            Ok(patterns) => Some(Watch {
                cursor: cursor(&self.services, name).await,
                component,
                checker,
                patterns,
            }),
            Err(error) => {
                if !patterns_failed(&component, &error.to_string()) {
                    component.gets_no_messages(format!("its patterns: it {error}"));
                }
                None
            }
        }
    }

    fn set(&self, by_id: &BTreeMap<usize, Watch>, fresh: &[usize]) -> Vec<(usize, JoinHandle<()>)> {
        let watchers = by_id.iter().map(|(&id, watch)| Watcher {
            id,
            patterns: watch.patterns.clone(),
            cursor: watch.cursor,
            limits: InboxLimits::default(),
        });
        let started = self.log.set_watchers(watchers.collect());
        for refused in &started.refused {
            if let Some(watch) = by_id.get(&refused.watcher())
                && !patterns_failed(&watch.component, &refused.to_string())
            {
                watch.component.gets_no_messages(refused.to_string());
            }
        }
        let new = |(id, inbox)| {
            let watch = by_id.get(&id).filter(|_| fresh.contains(&id))?;
            Some((id, self.feed(watch.clone(), inbox)))
        };
        started.inboxes.into_iter().filter_map(new).collect()
    }

    fn feed(&self, watch: Watch, inbox: Inbox) -> JoinHandle<()> {
        let Watch {
            component, checker, ..
        } = watch;
        let judge = Arc::new(Notify::new());
        self.tasks.spawn(judge_again(
            Arc::clone(&component),
            Arc::clone(&self.services),
            Arc::clone(&judge),
            self.shutdown.clone(),
        ));
        let feed = ComponentFeed {
            component,
            checker,
            services: Arc::clone(&self.services),
            log: Arc::clone(&self.log),
            inbox,
            judge,
            shutdown: self.shutdown.clone(),
        };
        self.tasks.spawn(feed.run())
    }
}

/// Reports that a component's patterns cannot be used; true if its version is rolled back for that.
fn patterns_failed(component: &Component, problem: &str) -> bool {
    let probation = component.probation();
    probation.is_some_and(|probation| probation.patterns_failed(component.name(), problem))
}

/// The last record of this boot that every watching component has dealt with: what is missing after it was lost, for
/// one of them at least, while no daemon ran.
pub async fn resume_after(registry: &Registry, services: &Services) -> Option<u64> {
    let mut places = Vec::new();
    for component in registry.all() {
        places.extend(cursor(services, component.name()).await);
    }
    places.into_iter().min()
}

async fn cursor(services: &Services, component: &str) -> Option<u64> {
    let store = services.store.as_ref()?;
    let boot = &services.node.boot.id;
    store
        .kmsg_cursor(component, boot)
        .await
        .unwrap_or_else(|error| {
            tracing::error!(
                component,
                "its place in the kernel log could not be read: {error}"
            );
            None
        })
}

/// Checks a component whenever events of it were stored. Beside the feed, so that judging a long history does not hold
/// up the next messages; what comes while a check runs is covered by one more check.
async fn judge_again(
    component: Arc<Component>,
    services: Arc<Services>,
    judge: Arc<Notify>,
    shutdown: CancellationToken,
) {
    let judging = async {
        loop {
            judge.notified().await;
            let started = Instant::now();
            component.check(&services, Trigger::Event).await;
            tokio::time::sleep(started.elapsed() * REST).await;
        }
    };
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = component.closed() => {}
        () = judging => {}
    }
}
