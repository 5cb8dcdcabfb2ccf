//! A plugin's component tried out without a daemon: its checks and its kernel messages one after another, with a history
//! and values of its own in memory. Everything that it returns is reported: also what it costs, and what a daemon would
//! only count.

use std::sync::Arc;

use super::failure;
use crate::{
    capability::Bill,
    model::{CheckContext, ComponentDescriptor, Event, HealthState, Report, Trigger, UnixMillis},
    node::{
        Node,
        kmsg::{KernelMessage, Prefilter},
    },
    runtime::{Asked, CallError, Finished, Plugin},
    store::{Commit, Location, Store, StoreError, StoreOptions, StoredEvent},
};

/// Messages handed over at once, as the contract promises.
const BATCH: usize = 512;

/// A component that is tried out.
pub struct Trial {
    plugin: Arc<Plugin>,
    descriptor: ComponentDescriptor,
    config: Arc<str>,
    node: Arc<Node>,
    store: Store,
    previous: Option<UnixMillis>,
}

/// What one check gave.
#[derive(Debug)]
pub struct Tried {
    /// The report, or why there is none.
    pub report: Result<Report, CallError>,
    /// What it cost.
    pub bill: Bill,
    /// The keys that it wrote or deleted.
    pub values: Vec<String>,
    /// Why events and values could not be kept, if so.
    pub problem: Option<String>,
}

/// The result of kernel messages.
#[derive(Debug, Default)]
pub struct Heard {
    /// How many of them matched a pattern, and so were handed over.
    pub matched: usize,
    /// The events, as the component gave them.
    pub events: Vec<Event>,
}

impl Trial {
    /// Of one component of a plugin, on this machine.
    ///
    /// # Errors
    /// The database in memory cannot be opened.
    pub async fn new(
        plugin: Arc<Plugin>,
        descriptor: ComponentDescriptor,
        config: Arc<str>,
        node: Arc<Node>,
    ) -> Result<Self, StoreError> {
        let store = Store::open(StoreOptions::new(Location::Memory))?.store;
        store
            .record_reboot(node.clock.now_ms(), node.boot.time, &node.boot.id)
            .await?;
        Ok(Self {
            plugin,
            descriptor,
            config,
            node,
            store,
            previous: None,
        })
    }

    /// What the plugin says of it.
    pub fn descriptor(&self) -> &ComponentDescriptor {
        &self.descriptor
    }

    /// Hands the configuration that comes after to the checks that come after.
    pub fn configure(&mut self, config: Arc<str>) {
        self.config = config;
    }

    /// One check; what it gives is kept for the next one.
    pub async fn check(&mut self, trigger: Trigger) -> Tried {
        let context = self.context(trigger);
        self.previous = Some(context.now);
        let finished = self.plugin.check(&self.asked(), &context).await;
        self.kept(finished).await
    }

    /// What `gpud scan` would do: the component's own scan if it has one, else a check.
    pub async fn look(&mut self) -> Tried {
        if !self.plugin.scans() || self.descriptor.without_scan {
            return self.check(Trigger::Manual).await;
        }
        let context = self.context(Trigger::Manual);
        let finished = self.plugin.scan(&self.asked(), &context).await;
        Tried {
            values: finished.state_writes.keys().cloned().collect(),
            report: finished.answer,
            bill: finished.bill,
            problem: None,
        }
    }

    /// Hands over what its patterns match, and keeps the events. Components that watch nothing get nothing.
    ///
    /// # Errors
    /// In words: its patterns cannot be used, it failed, or nothing could be kept.
    pub async fn hear(&self, messages: &[Arc<KernelMessage>]) -> Result<Heard, String> {
        let mut heard = Heard::default();
        if !self.plugin.watches_kmsg() || self.descriptor.without_kmsg_watcher {
            return Ok(heard);
        }
        let patterns = self.patterns().await?;
        let (prefilter, refused) = Prefilter::new(&[(0, patterns)]);
        if let Some(refused) = refused.first() {
            return Err(refused.to_string());
        }
        let mut hits = Vec::new();
        let wanted: Vec<&Arc<KernelMessage>> = messages
            .iter()
            .filter(|message| {
                prefilter.watchers_for_bytes(message.text.as_bytes(), &mut hits);
                !hits.is_empty()
            })
            .collect();
        heard.matched = wanted.len();
        let context = self.context(Trigger::Event);
        for batch in wanted.chunks(BATCH) {
            let batch = batch.iter().map(|message| &***message);
            let finished = self
                .plugin
                .on_messages(&self.asked(), &context, batch)
                .await;
            let events = finished
                .answer
                .map_err(|error| format!("kernel messages were not taken: it {error}"))?;
            let commit = Commit {
                events: events.clone(),
                state_writes: finished.state_writes,
                cursor: None,
            };
            self.store
                .commit(&self.descriptor.name, commit)
                .await
                .map_err(|error| error.to_string())?;
            heard.events.extend(events);
        }
        Ok(heard)
    }

    /// Its patterns.
    ///
    /// # Errors
    /// In words: it failed, or gave what cannot be used.
    pub async fn patterns(&self) -> Result<Vec<String>, String> {
        let finished = self.plugin.patterns(&self.asked()).await;
        finished
            .answer
            .map_err(|error| format!("no kernel log patterns: it {error}"))
    }

    /// Its events so far, newest first.
    ///
    /// # Errors
    /// The database.
    pub async fn events(&self) -> Result<Vec<StoredEvent>, StoreError> {
        self.store.events(&self.descriptor.name, 0, None).await
    }

    /// The states as a daemon would show them: those of the report, or one that blames the right one.
    pub fn states(&self, tried: &Tried) -> Vec<HealthState> {
        match &tried.report {
            Ok(report) => report.states.clone(),
            Err(error) => {
                let now = self.node.clock.now_ms();
                vec![failure::state(&self.descriptor.name, now, error, None)]
            }
        }
    }

    async fn kept(&self, finished: Finished<Report>) -> Tried {
        let mut tried = Tried {
            values: finished.state_writes.keys().cloned().collect(),
            report: finished.answer,
            bill: finished.bill,
            problem: None,
        };
        if let Ok(report) = &tried.report {
            let commit = Commit {
                events: report.events.clone(),
                state_writes: finished.state_writes,
                cursor: None,
            };
            // As in a daemon, nothing to keep is no business of the store's thread.
            if !commit.events.is_empty() || !commit.state_writes.is_empty() {
                let stored = self.store.commit(&self.descriptor.name, commit).await;
                tried.problem = stored.err().map(|error| error.to_string());
            }
        }
        tried
    }

    fn asked(&self) -> Asked<'_> {
        Asked {
            component: &self.descriptor.name,
            store: Some(self.store.clone()),
            config: Arc::clone(&self.config),
            values: None,
        }
    }

    fn context(&self, trigger: Trigger) -> CheckContext {
        CheckContext {
            component: self.descriptor.name.clone(),
            now: self.node.clock.now_ms(),
            trigger,
            boot_id: self.node.boot.id.clone(),
            boot_time: self.node.boot.time,
            previous_check: self.previous,
        }
    }
}
