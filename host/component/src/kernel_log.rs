//! Turns messages of the kernel log into events: each watching component takes its messages in batches, and what it makes
//! of them is stored together with how far it got, so that nothing is seen twice or lost across a restart.

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

use super::{
    Component, Latest, Registry, Services, WasmChecker, commit, failure, kernel_line,
    losses::{self, Loss},
    outage,
};
use crate::{
    model::Trigger,
    node::kmsg::{Batch, Gap, GapCause, Inbox, InboxLimits, KernelLog, KernelMessage, Watcher},
    runtime::CallError,
    store::{Commit, Inserted, KmsgCursor, StoreError},
};

/// Messages handed over at once, as the contract promises.
const BATCH: usize = 512;
/// After a check that events caused, the next one waits this many times as long as it took: in a flood, judging takes a
/// fifth of a core at most.
const REST: u32 = 4;
/// How often a batch is tried before it is given up.
const TRIES: u32 = 3;
/// How often the position of a component that got nothing is written down.
const POSITION_EVERY: Duration = Duration::from_secs(120);
/// Longest that the last batch of a component that goes is waited for.
const LAST_BATCH: Duration = Duration::from_secs(10);
/// Counter: name and help.
const DROPPED: (&str, &str) = (
    "gpud_kmsg_dropped_total",
    "kernel messages that were overwritten before a checker had taken them",
);
/// Counter: name and help.
const UNDELIVERED: (&str, &str) = (
    "gpud_kmsg_undelivered_total",
    "kernel messages given up after a checker failed on them",
);

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

/// The outcome of a batch.
enum BatchOutcome {
    /// It was delivered or given up.
    Done,
    /// The component's version failed on it and is taken back: the batch is for the version before.
    TakenBack,
    /// The component or the daemon ended before it could be stored; the batch is in the log yet.
    Ended,
}

/// Why a batch was not delivered.
enum Undelivered {
    /// It may be tried again.
    Failed(String),
    /// As [`BatchOutcome::TakenBack`].
    TakenBack,
    /// As [`BatchOutcome::Ended`].
    Ended,
}

impl From<StoreError> for Undelivered {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// One component's messages.
struct ComponentFeed {
    component: Arc<Component>,
    checker: Arc<WasmChecker>,
    services: Arc<Services>,
    log: Arc<KernelLog>,
    inbox: Inbox,
    judge: Arc<Notify>,
    shutdown: CancellationToken,
}

impl ComponentFeed {
    async fn run(self) {
        let mut saved = None;
        loop {
            let more = tokio::select! {
                () = self.shutdown.cancelled() => false,
                readable = self.inbox.readable() => readable,
                () = tokio::time::sleep(POSITION_EVERY) => true,
            };
            if !more {
                self.save_position(&mut saved).await;
                return;
            }
            let batch = self.inbox.drain(BATCH);
            if batch.overflowed {
                self.log.refill();
            }
            if let Some(gap) = &batch.lost {
                self.count(DROPPED, gap.count);
                if !self.report_loss(gap, None).await {
                    return;
                }
            }
            if batch.messages.is_empty() {
                self.save_position(&mut saved).await;
                continue;
            }
            loop {
                match self.handle(&batch).await {
                    BatchOutcome::Done => break,
                    BatchOutcome::Ended => return,
                    BatchOutcome::TakenBack => {}
                }
                // How far it got is as it was before this batch, and the version before begins there.
                tokio::select! {
                    () = self.ended() => return,
                    () = self.remains() => {}
                }
            }
        }
    }

    /// Waits until the daemon or the component ends.
    async fn ended(&self) {
        tokio::select! {
            () = self.shutdown.cancelled() => {}
            () = self.component.closed() => {}
        }
    }

    /// Makes an event of lost messages. False if this feed ended before it could be stored.
    async fn report_loss(&self, gap: &Gap, problem: Option<String>) -> bool {
        let loss = Loss {
            gap: gap.clone(),
            component: Some(self.component.name().to_owned()),
            problem,
        };
        losses::store(&self.services, &[loss], self.ended()).await
    }

    /// Done when its version was to be taken back and could not be.
    async fn remains(&self) {
        if let Some(probation) = self.component.probation() {
            probation.remains().await;
        }
    }

    /// Tries a batch several times before it is given up.
    async fn handle(&self, batch: &Batch) -> BatchOutcome {
        let name = self.component.name();
        let mut last_problem = None;
        for tries in 1..=TRIES {
            let problem = match self.deliver(batch).await {
                Ok(()) => return BatchOutcome::Done,
                Err(Undelivered::TakenBack) => return BatchOutcome::TakenBack,
                Err(Undelivered::Ended) => return BatchOutcome::Ended,
                Err(Undelivered::Failed(problem)) => problem,
            };
            tracing::error!(
                component = name,
                tries,
                "kernel messages not handled: {problem}"
            );
            last_problem = Some(problem);
            tokio::time::sleep(Duration::from_millis(100 << tries)).await;
        }
        self.count(UNDELIVERED, batch.messages.len() as u64);
        match self
            .report_loss(&given_up(&batch.messages), last_problem)
            .await
        {
            true => BatchOutcome::Done,
            false => BatchOutcome::Ended,
        }
    }

    /// Writes down how far the log was examined when that gave no event, so that a restart does not look at all of it
    /// again. Called only when no batch is under way.
    async fn save_position(&self, saved: &mut Option<u64>) {
        let Some(store) = &self.services.store else {
            return;
        };
        let position = self.inbox.position();
        let Some(sequence) = position.filter(|_| position != *saved) else {
            return;
        };
        let cursor = [(self.component.name().to_owned(), sequence)];
        match store
            .save_kmsg_cursors(&self.services.node.boot.id, &cursor)
            .await
        {
            Ok(()) => *saved = position,
            // Logged once for all, and this place is only a saving of work.
            Err(error) if error.is_outage() => {}
            Err(error) => tracing::error!("place in the kernel log not stored: {error}"),
        }
    }

    /// Hands a batch over and stores the results.
    async fn deliver(&self, batch: &Batch) -> Result<(), Undelivered> {
        let services = &self.services;
        let name = self.component.name();
        let context = self.component.context(services, Trigger::Event, None);
        let finished = self
            .checker
            .on_messages(services, &context, &batch.messages)
            .await;
        commit::bill(services, name, &finished);
        if let Some(shadow) = self.component.shadow() {
            shadow.messages_beside(&context, &batch.messages, &finished);
        }
        let outcome = finished.answer.as_ref().map(|_| ());
        if let Some(probation) = self.component.probation()
            && probation.batch_ended(name, outcome)
        {
            return Err(Undelivered::TakenBack);
        }
        let events = match finished.answer {
            Ok(mut events) => {
                kernel_line::attach(&mut events, &batch.messages);
                events
            }
            Err(error) => {
                self.show_failure(&error).await;
                return Err(Undelivered::Failed(error.to_string()));
            }
        };
        let cursor = batch.high_sequence.map(|sequence| KmsgCursor {
            boot_id: services.node.boot.id.clone(),
            sequence,
        });
        let found = Commit {
            events,
            state_writes: finished.state_writes,
            cursor,
        };
        let stored = outage::commit_when_possible(services, name, found, self.ended()).await?;
        let Some(inserted) = stored else {
            return Err(Undelivered::Ended);
        };
        if inserted.contains(&Inserted::New) {
            self.judge.notify_one();
        }
        Ok(())
    }

    /// Shows the failure of a plugin on kernel messages until its next check.
    async fn show_failure(&self, error: &CallError) {
        let now = self.services.node.clock.now_ms();
        let state = failure::state(self.component.name(), now, error, None);
        let judged = Latest {
            supported: true,
            states: vec![state],
            raw_output: String::new(),
        };
        self.component.keep(&self.services, judged, now).await;
    }

    fn count(&self, (name, help): (&str, &str), amount: u64) {
        tracing::error!(component = self.component.name(), amount, "{help}");
        let labels = [("checker".to_owned(), self.component.name().to_owned())];
        if let Err(error) = self
            .services
            .metrics
            .add_counter(name, help, &labels, amount as f64)
        {
            tracing::warn!("{error}");
        }
    }
}

/// Returns the messages that a checker failed on as a gap.
fn given_up(messages: &[Arc<KernelMessage>]) -> Gap {
    let sequences = || messages.iter().map(|message| message.sequence);
    Gap {
        cause: GapCause::CheckerFailed,
        first_lost: sequences().min().unwrap_or(0),
        last_lost: sequences().max().unwrap_or(0),
        count: messages.len() as u64,
        time: messages.last().map_or(0, |message| message.time),
    }
}
