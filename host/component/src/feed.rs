//! The feed of changes: verdicts and new events, numbered, for readers that follow the daemon (the live stream of
//! the API, exports).
//!
//! The feed holds the last [`RETAINED`] changes in memory, so that a reader that was away for a while can go on where it
//! was. It never waits for a reader: one that is slower than the changes receives the number that it missed.

use std::{
    collections::VecDeque,
    fmt,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::broadcast;

use super::previous_verdict::earlier;
use crate::model::{Event, Health, HealthState, UnixMillis};

/// How many changes a reader that comes back can catch up on.
const RETAINED: usize = 4096;
/// How many changes a connected reader may be behind.
const BACKLOG: usize = 1024;

/// The id of a change: the start of the daemon that saw it, and its number since then. Written `1764120000000-17`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangeId {
    /// When the daemon started.
    pub started: UnixMillis,
    /// Counts from 1.
    pub number: u64,
}

impl fmt::Display for ChangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.started, self.number)
    }
}

/// Why a text is not a [`ChangeId`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no change; expected two numbers with a hyphen between them")]
pub struct ParseChangeIdError(String);

impl FromStr for ChangeId {
    type Err = ParseChangeIdError;

    fn from_str(text: &str) -> Result<Self, ParseChangeIdError> {
        let parse = || {
            let (started, number) = text.split_once('-')?;
            Some(Self {
                started: started.parse().ok()?,
                number: number.parse().ok()?,
            })
        };
        parse().ok_or_else(|| ParseChangeIdError(text.chars().take(64).collect()))
    }
}

/// One change of a component.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Its place in the feed.
    pub id: ChangeId,
    /// When the daemon saw it.
    pub time: UnixMillis,
    /// The component.
    pub component: String,
    /// The change.
    pub kind: ChangeKind,
}

/// The kind of a change, with its content.
#[derive(Debug, Clone, PartialEq)]
pub enum ChangeKind {
    /// A verdict has another health than before, or is new.
    Health {
        /// The health before; [`Health::Initializing`] for a new verdict.
        was: Health,
        /// The verdict now.
        state: HealthState,
    },
    /// A component no longer gives a verdict that was not healthy, for example because its subject is gone.
    Withdrawn {
        /// The last verdict.
        state: HealthState,
    },
    /// An event was stored.
    Event(Event),
}

/// The changes of one daemon.
#[derive(Debug)]
pub struct Feed {
    started: UnixMillis,
    recent: Mutex<Recent>,
    sender: broadcast::Sender<Arc<Change>>,
}

#[derive(Debug, Default)]
struct Recent {
    last: u64,
    changes: VecDeque<Arc<Change>>,
}

/// The first items for a new reader.
#[derive(Debug)]
pub struct Subscription {
    /// The changes since the one that the reader saw last; `None` if the feed does not hold all of them, so that the reader
    /// must begin with the present state.
    pub missed: Option<Vec<Arc<Change>>>,
    /// The last change so far.
    pub last: ChangeId,
    /// The changes after those.
    pub changes: broadcast::Receiver<Arc<Change>>,
}

impl Feed {
    /// Makes an empty feed of a daemon that started at this time.
    pub fn new(started: UnixMillis) -> Self {
        Self {
            started,
            recent: Mutex::default(),
            sender: broadcast::Sender::new(BACKLOG),
        }
    }

    /// Follows the changes after `seen`, or from now on if nothing was seen. The reader gets each change exactly once.
    pub fn subscribe(&self, seen: Option<ChangeId>) -> Subscription {
        // Changes are published under this lock, too.
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let missed = match seen {
            None => Some(Vec::new()),
            Some(seen) => self.after(&recent, seen),
        };
        Subscription {
            missed,
            last: self.id(recent.last),
            changes: self.sender.subscribe(),
        }
    }

    fn after(&self, recent: &Recent, seen: ChangeId) -> Option<Vec<Arc<Change>>> {
        let missed = recent.last.checked_sub(seen.number)?;
        let missed = usize::try_from(missed).ok()?;
        if seen.started != self.started {
            return None;
        }
        let skipped = recent.changes.len().checked_sub(missed)?;
        Some(recent.changes.iter().skip(skipped).cloned().collect())
    }

    fn id(&self, number: u64) -> ChangeId {
        ChangeId {
            started: self.started,
            number,
        }
    }

    /// Publishes events that were stored.
    pub(super) fn events(&self, component: &str, events: Vec<Event>, now: UnixMillis) {
        self.publish(component, events.into_iter().map(ChangeKind::Event), now);
    }

    /// Publishes the verdicts whose health differs from the one before.
    pub(super) fn verdicts(
        &self,
        component: &str,
        before: &[HealthState],
        after: &[HealthState],
        now: UnixMillis,
    ) {
        self.publish(component, changes_of_health(before, after), now);
    }

    fn publish(
        &self,
        component: &str,
        kinds: impl IntoIterator<Item = ChangeKind>,
        now: UnixMillis,
    ) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        for kind in kinds {
            recent.last += 1;
            let change = Arc::new(Change {
                id: self.id(recent.last),
                time: now,
                component: component.to_owned(),
                kind,
            });
            if recent.changes.len() == RETAINED {
                recent.changes.pop_front();
            }
            recent.changes.push_back(Arc::clone(&change));
            // An error only says that nobody follows.
            let _ = self.sender.send(change);
        }
    }
}

/// Returns the reason of the healthy verdict that ends one that is no longer given.
pub fn reason_of_withdrawal(state: &HealthState) -> String {
    format!("this is not reported any more: {}", state.reason)
}

/// Compares the verdicts of two checks. Readings move within a health; a change is one of health.
pub(super) fn changes_of_health(before: &[HealthState], after: &[HealthState]) -> Vec<ChangeKind> {
    let mut followed: Vec<&HealthState> = Vec::new();
    let mut changes = Vec::new();
    for state in after {
        let earlier = earlier(before, after, state);
        followed.extend(earlier);
        let was = earlier.map_or(&Health::Initializing, |old| &old.health);
        if *was != state.health {
            let mut state = state.clone();
            // Many checks name a subject only while something is wrong with it: that is what is well again.
            if state.health == Health::Healthy && state.subject.is_none() {
                state.subject = earlier.and_then(|old| old.subject.clone());
            }
            changes.push(ChangeKind::Health {
                was: was.clone(),
                state,
            });
        }
    }
    let is_followed = |old: &HealthState| followed.iter().any(|one| std::ptr::eq(*one, old));
    let withdrawn = before
        .iter()
        .filter(|old| old.health.rank() > Health::Initializing.rank() && !is_followed(old));
    changes.extend(withdrawn.map(|state| ChangeKind::Withdrawn {
        state: state.clone(),
    }));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Subject;

    fn state(health: Health, mount: &str) -> HealthState {
        HealthState {
            health,
            subject: Some(Subject::Mount(mount.to_owned())),
            ..HealthState::default()
        }
    }

    fn event(name: &str) -> Event {
        Event {
            name: name.to_owned(),
            ..Event::default()
        }
    }

    #[test]
    fn only_changes_of_health_are_published() {
        let feed = Feed::new(5);
        let mut reader = feed.subscribe(None);
        let (ok, bad) = (state(Health::Healthy, "/a"), state(Health::Unhealthy, "/b"));
        feed.verdicts("disk", &[], &[ok.clone(), bad.clone()], 10);
        feed.verdicts(
            "disk",
            &[ok.clone(), bad.clone()],
            &[ok.clone(), bad.clone()],
            11,
        );
        feed.verdicts(
            "disk",
            &[ok.clone(), bad.clone()],
            std::slice::from_ref(&ok),
            12,
        );
        feed.verdicts("disk", std::slice::from_ref(&ok), &[], 13);
        let mut seen = Vec::new();
        while let Ok(change) = reader.changes.try_recv() {
            seen.push((change.id.to_string(), change.time, change.kind.clone()));
        }
        let new = |state| ChangeKind::Health {
            was: Health::Initializing,
            state,
        };
        let expected = [
            ("5-1".to_owned(), 10, new(ok)),
            ("5-2".to_owned(), 10, new(bad.clone())),
            ("5-3".to_owned(), 12, ChangeKind::Withdrawn { state: bad }),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_recovery_names_the_subject_of_the_trouble() {
        let bad = state(Health::Unhealthy, "/a");
        let fine = HealthState {
            health: Health::Healthy,
            ..HealthState::default()
        };
        let changed = changes_of_health(std::slice::from_ref(&bad), std::slice::from_ref(&fine));
        let expected = ChangeKind::Health {
            was: Health::Unhealthy,
            state: state(Health::Healthy, "/a"),
        };
        assert_eq!(changed, [expected]);
        // What is still wrong, but elsewhere or in several places, is not about the earlier subject.
        let worse = HealthState {
            health: Health::Degraded,
            ..HealthState::default()
        };
        let changed = changes_of_health(std::slice::from_ref(&bad), std::slice::from_ref(&worse));
        let expected = ChangeKind::Health {
            was: Health::Unhealthy,
            state: worse,
        };
        assert_eq!(changed, [expected]);
    }

    #[test]
    fn a_reader_goes_on_where_it_was() {
        let feed = Feed::new(5);
        feed.events("xid", vec![event("a"), event("b"), event("c")], 1);
        let names = |seen: &str| {
            let subscription = feed.subscribe(Some(seen.parse().unwrap()));
            let missed = subscription.missed?;
            Some(
                missed
                    .iter()
                    .map(|change| change.id.number)
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(names("5-1"), Some(vec![2, 3]));
        assert_eq!(names("5-3"), Some(vec![]));
        assert_eq!(names("5-0"), Some(vec![1, 2, 3]));
        assert_eq!(names("5-4"), None, "a number that was never given");
        assert_eq!(names("4-2"), None, "of another daemon");
        feed.events("xid", vec![event("d"); RETAINED], 2);
        assert_eq!(names("5-2"), None, "too long ago");
        assert_eq!(names("5-3").map(|missed| missed.len()), Some(RETAINED));
    }

    #[test]
    fn what_names_no_change_is_refused() {
        for text in [
            "",
            "7",
            "a-1",
            "1-b",
            "1-2-3",
            "-",
            "99999999999999999999-1",
        ] {
            assert!(text.parse::<ChangeId>().is_err(), "{text}");
        }
    }
}
