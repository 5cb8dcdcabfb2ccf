//! Delivers kernel messages to one component, in batches, and stores what it makes of them.

use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    Component, Latest, Services, WasmChecker, commit, failure, kernel_line,
    losses::{self, Loss},
    model::Trigger,
    node::kmsg::{Batch, Gap, GapCause, Inbox, KernelLog, KernelMessage},
    outage,
    runtime::CallError,
    store::{Commit, Inserted, KmsgCursor, StoreError},
};

/// Messages handed over at once, as the contract promises.
const BATCH: usize = 512;
/// How often a batch is tried before it is given up.
const TRIES: u32 = 3;
/// How often the position of a component that got nothing is written down.
const POSITION_EVERY: Duration = Duration::from_secs(120);
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
    /// The database gave no answer, which is nobody else's failure.
    NoDatabase(String),
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

/// Delivers the messages of one component.
pub(super) struct ComponentFeed {
    pub(super) component: Arc<Component>,
    pub(super) checker: Arc<WasmChecker>,
    pub(super) services: Arc<Services>,
    pub(super) log: Arc<KernelLog>,
    pub(super) inbox: Inbox,
    pub(super) judge: Arc<Notify>,
    pub(super) shutdown: CancellationToken,
}

impl ComponentFeed {
    /// Runs until the component or the daemon ends.
    pub(super) async fn run(self) {
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

    /// Tries a batch several times before it is given up. It waits for the database as long as need be.
    async fn handle(&self, batch: &Batch) -> BatchOutcome {
        let name = self.component.name();
        let mut last_problem = None;
        let (mut tries, mut wait) = (0, outage::FIRST_WAIT);
        while tries < TRIES {
            let problem = match self.deliver(batch).await {
                Ok(()) => return BatchOutcome::Done,
                Err(Undelivered::TakenBack) => return BatchOutcome::TakenBack,
                Err(Undelivered::Ended) => return BatchOutcome::Ended,
                Err(Undelivered::NoDatabase(problem)) => {
                    if wait == outage::FIRST_WAIT {
                        tracing::warn!(component = name, "kernel messages wait: {problem}");
                    }
                    tokio::select! {
                        () = self.ended() => return BatchOutcome::Ended,
                        () = outage::pause(&self.services, &mut wait) => continue,
                    }
                }
                Err(Undelivered::Failed(problem)) => problem,
            };
            tries += 1;
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
                let problem = error.to_string();
                return Err(match error {
                    CallError::Database(_) => Undelivered::NoDatabase(problem),
                    _ => Undelivered::Failed(problem),
                });
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
        if found.events.is_empty() && found.state_writes.is_empty() {
            return self.save_place(found).await;
        }
        let changed = || self.judge.notify_one();
        let stored =
            outage::commit_when_possible(services, name, found, changed, self.ended()).await?;
        let Some(inserted) = stored else {
            return Err(Undelivered::Ended);
        };
        if inserted.contains(&Inserted::New) {
            self.judge.notify_one();
        }
        Ok(())
    }

    /// Stores how far the log was examined by a batch that gave nothing. Where that fails, it is examined once more after
    /// the next start.
    async fn save_place(&self, place: Commit) -> Result<(), Undelivered> {
        let Some(store) = &self.services.store else {
            return Ok(());
        };
        match store.commit(self.component.name(), place).await {
            Err(error) if !error.is_outage() => Err(error.into()),
            _ => Ok(()),
        }
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
