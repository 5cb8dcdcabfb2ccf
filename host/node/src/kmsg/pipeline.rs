//! Holds every record against the watchers' patterns and puts the matching ones into their inboxes.

use std::{collections::BTreeMap, ops::ControlFlow, path::Path, sync::Arc, time::Duration};

use super::{
    clock::BootClock,
    counters::{Counters, add},
    inbox::{Inbox, InboxLimits},
    overflow::Refill,
    prefilter::{PatternError, Prefilter, WatcherId},
    queue::{MatcherWork, Queue},
    read_back::scan,
    record::{RawRecord, RecordError},
};
use crate::error::SourceError;

/// How long a look back through the log for a new watcher may take.
const CATCH_UP_DEADLINE: Duration = Duration::from_secs(10);

/// How often the matcher looks for room in the inboxes when the source waits for it.
const INBOX_WAIT: Duration = Duration::from_millis(1);

/// A receiver of kernel messages.
#[derive(Debug, Clone)]
pub struct Watcher {
    /// The caller's name for it.
    pub id: WatcherId,
    /// A message is wanted when one of these is found in its text (see [`Prefilter`]). No pattern: nothing is wanted.
    pub patterns: Vec<String>,
    /// Records up to this sequence number, **of this boot**, were dealt with earlier and are not delivered again. `None`:
    /// from the oldest record that there is.
    pub cursor: Option<u64>,
    /// How much its inbox holds.
    pub limits: InboxLimits,
}

/// The inboxes of the watchers that were accepted, and why others were not.
#[derive(Debug)]
pub struct WatcherInboxes {
    /// The inboxes by watcher.
    pub inboxes: BTreeMap<WatcherId, Inbox>,
    /// Watchers with a pattern that cannot be used; they receive nothing, and the others are not affected.
    pub refused: Vec<PatternError>,
}

/// A compiled set of watchers, ready to be taken over by a [`Matcher`].
#[derive(Debug)]
pub(super) struct Routing {
    prefilter: Prefilter,
    routes: BTreeMap<WatcherId, Route>,
}

#[derive(Debug)]
struct Route {
    inbox: Inbox,
    /// Records up to this number are not wanted.
    skip_through: Option<u64>,
}

impl Route {
    fn wants(&self, sequence: u64) -> bool {
        self.skip_through.is_none_or(|skip| sequence > skip)
    }
}

impl Routing {
    /// Compiles the watchers. One that is in `existing` goes on with its inbox; its cursor is then of no importance.
    pub(super) fn new(
        watchers: Vec<Watcher>,
        existing: &BTreeMap<WatcherId, Inbox>,
    ) -> (Self, WatcherInboxes) {
        let patterns: Vec<_> = watchers
            .iter()
            .map(|watcher| (watcher.id, watcher.patterns.clone()))
            .collect();
        let (prefilter, refused) = Prefilter::new(&patterns);
        let routes: BTreeMap<_, _> = watchers
            .into_iter()
            .filter(|watcher| !refused.iter().any(|error| error.watcher() == watcher.id))
            .map(
                |Watcher {
                     id, cursor, limits, ..
                 }| {
                    let inbox = existing
                        .get(&id)
                        .cloned()
                        .unwrap_or_else(|| Inbox::new(limits, cursor));
                    (
                        id,
                        Route {
                            inbox,
                            skip_through: cursor,
                        },
                    )
                },
            )
            .collect();
        let inboxes = routes
            .iter()
            .map(|(id, route)| (*id, route.inbox.clone()))
            .collect();
        (
            Self { prefilter, routes },
            WatcherInboxes { inboxes, refused },
        )
    }
}

/// The core of the pipeline: records in, messages into inboxes. Without threads, so that a benchmark can drive it.
#[derive(Debug)]
pub struct Matcher {
    clock: BootClock,
    routing: Routing,
    /// The last sequence number that was examined.
    position: Option<u64>,
    /// How often the numbers went backwards: only where a file holds the logs of several boots.
    restarts: u32,
    /// The last record that the log had when the reader had caught up with it.
    log_end: Option<u64>,
    hits: Vec<WatcherId>,
}

impl Matcher {
    /// A matcher that serves these watchers.
    pub fn new(clock: BootClock, watchers: Vec<Watcher>) -> (Self, WatcherInboxes) {
        let (routing, watching) = Routing::new(watchers, &BTreeMap::new());
        (
            Self {
                clock,
                routing,
                position: None,
                restarts: 0,
                log_end: None,
                hits: Vec::new(),
            },
            watching,
        )
    }

    /// Examines one record and returns whether a watcher wants it. A record that no watcher wants costs no allocation.
    ///
    /// # Errors
    /// The bytes are not a record; nothing happened.
    pub fn feed(&mut self, raw: &[u8]) -> Result<bool, RecordError> {
        let record = RawRecord::split(raw)?;
        if self
            .position
            .is_some_and(|position| record.sequence <= position)
        {
            // Numbers only go backwards where another log begins; the cursors were of the one before.
            self.restarts += 1;
            self.routing
                .routes
                .values_mut()
                .for_each(|route| route.skip_through = None);
        }
        self.position = Some(record.sequence);
        Ok(self.deliver(&record, |_| true))
    }

    /// Would so many messages fit into every inbox?
    fn has_room(&self, messages: usize) -> bool {
        let mut routes = self.routing.routes.values();
        routes.all(|route| route.inbox.has_room(messages))
    }

    /// Notes in the inboxes how far the log was examined. To be called after a run of [`feed`](Self::feed).
    pub fn finish_batch(&mut self) {
        let Some(position) = self.position else {
            return;
        };
        for route in self.routing.routes.values_mut() {
            if route.wants(position) {
                route.skip_through = None;
                route.inbox.examined(position);
            }
        }
    }

    fn deliver(&mut self, record: &RawRecord<'_>, to: impl Fn(WatcherId) -> bool) -> bool {
        if record.is_fragment() {
            return false;
        }
        self.routing
            .prefilter
            .watchers_for_bytes(record.text().as_bytes(), &mut self.hits);
        let mut message = None;
        for id in self.hits.iter().filter(|&&id| to(id)) {
            if let Some(route) = self
                .routing
                .routes
                .get(id)
                .filter(|route| route.wants(record.sequence))
            {
                let message =
                    message.get_or_insert_with(|| Arc::new(record.to_message(self.clock)));
                route.inbox.push(Arc::clone(message));
            }
        }
        message.is_some()
    }

    /// Takes over another set of watchers. Those that are new get what they missed from a second look at the log.
    fn change(&mut self, mut routing: Routing, log: &Path, stopped: &dyn Fn() -> bool) {
        let mut fresh = Vec::new();
        for (id, route) in &mut routing.routes {
            match self.routing.routes.get(id) {
                Some(old) if old.inbox.is_same(&route.inbox) => {
                    route.skip_through = old.skip_through
                }
                _ => fresh.push(*id),
            }
        }
        self.routing = routing;
        self.forget_stale_cursors();
        self.catch_up(&fresh, log, stopped);
    }

    /// The reader has read all that there was, up to this record.
    fn caught_up(&mut self, last: Option<u64>, log: &Path, stopped: &dyn Fn() -> bool) {
        self.log_end = last;
        let stale = self.forget_stale_cursors();
        self.catch_up(&stale, log, stopped);
    }

    /// Drops the cursors that are beyond the end of the log, and says whose they were. They were remembered in another
    /// boot: obeying them would hide everything until the new numbers have grown as far.
    fn forget_stale_cursors(&mut self) -> Vec<WatcherId> {
        let Some(end) = self
            .log_end
            .max(self.position)
            .filter(|_| self.log_end.is_some())
        else {
            return Vec::new();
        };
        let stale = self
            .routing
            .routes
            .iter_mut()
            .filter(|(_, route)| !route.wants(end.saturating_add(1)));
        stale
            .map(|(id, route)| {
                route.skip_through = None;
                *id
            })
            .collect()
    }

    /// Delivers to some watchers what went by before they were there.
    fn catch_up(&mut self, watchers: &[WatcherId], log: &Path, stopped: &dyn Fn() -> bool) {
        let Some(position) = self.position else {
            return;
        };
        let behind: Vec<_> = watchers
            .iter()
            .copied()
            .filter(|id| {
                self.routing
                    .routes
                    .get(id)
                    .is_some_and(|route| route.wants(position))
            })
            .collect();
        if behind.is_empty() {
            return;
        }
        let result = self.look_back(log, stopped, |matcher, record| {
            matcher.deliver(record, |id| behind.contains(&id));
        });
        if let Err(error) = result {
            tracing::warn!(%error, "new kernel log watchers do not get what was logged before them");
        }
        if !stopped() {
            self.finish_batch();
        }
    }

    /// Reads from the log again what did not fit into inboxes that have room by now.
    pub(super) fn refill(&mut self, log: &Path, stopped: &dyn Fn() -> bool) {
        let routes = self.routing.routes.iter();
        let mut refills: BTreeMap<WatcherId, Refill> = routes
            .filter_map(|(id, route)| Some((*id, route.inbox.begin_refill()?)))
            .collect();
        if refills.is_empty() {
            return;
        }
        let result = self.look_back(log, stopped, |matcher, record| {
            let wanted = |refill: &Refill| record.sequence >= refill.first();
            if refills.values().any(wanted) {
                matcher.refill_with(record, &mut refills);
            }
        });
        if let Err(error) = &result {
            tracing::warn!(%error, "kernel messages that did not fit are read again later");
        }
        let complete = result.is_ok() && !stopped();
        for (id, refill) in refills {
            if let Some(route) = self.routing.routes.get(&id) {
                route.inbox.end_refill(refill, complete);
            }
        }
    }

    fn refill_with(&mut self, record: &RawRecord<'_>, refills: &mut BTreeMap<WatcherId, Refill>) {
        let prefilter = &self.routing.prefilter;
        prefilter.watchers_for_bytes(record.text().as_bytes(), &mut self.hits);
        if record.is_fragment() {
            self.hits.clear();
        }
        let mut message = None;
        for (id, refill) in refills {
            if record.sequence < refill.first() {
                continue;
            }
            refill.looked_at(record.sequence);
            if let Some(route) = self
                .routing
                .routes
                .get(id)
                .filter(|_| self.hits.contains(id))
            {
                let message =
                    message.get_or_insert_with(|| Arc::new(record.to_message(self.clock)));
                route.inbox.refill(refill, Arc::clone(message));
            }
        }
    }

    /// Hands over what the log holds up to the place that the matcher is at, which restarts and number give.
    fn look_back(
        &mut self,
        log: &Path,
        stopped: &dyn Fn() -> bool,
        mut visit: impl FnMut(&mut Self, &RawRecord<'_>),
    ) -> Result<(), SourceError> {
        let Some(position) = self.position else {
            return Ok(());
        };
        let mut place: Option<(u32, u64)> = None;
        scan(log, CATCH_UP_DEADLINE, |raw| {
            if let Ok(record) = RawRecord::split(raw) {
                let sequence = record.sequence;
                let here = match place {
                    Some((restarts, last)) => (restarts + u32::from(sequence <= last), sequence),
                    None => (0, sequence),
                };
                if here > (self.restarts, position) {
                    return ControlFlow::Break(());
                }
                place = Some(here);
                visit(self, &record);
            }
            if stopped() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
    }
}

/// The matcher thread: works until the queue is stopped.
pub(super) fn run(mut matcher: Matcher, queue: &Queue<Routing>, counters: &Counters, log: &Path) {
    let stopped = || queue.is_stopped();
    loop {
        match queue.next() {
            MatcherWork::Records(batch) => {
                while queue.is_patient() && !matcher.has_room(batch.len()) && !stopped() {
                    std::thread::sleep(INBOX_WAIT);
                }
                for raw in batch.iter() {
                    let counter = match matcher.feed(raw) {
                        Ok(_) => &counters.records_examined,
                        Err(_) => &counters.unparsable,
                    };
                    add(counter, 1);
                }
                matcher.finish_batch();
            }
            MatcherWork::CaughtUp(last) => matcher.caught_up(last, log, &stopped),
            MatcherWork::Change(routing) => matcher.change(routing, log, &stopped),
            MatcherWork::Refill => matcher.refill(log, &stopped),
            MatcherWork::Stop => return,
        }
    }
}
