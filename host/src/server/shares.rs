//! What one client may take, so that others get their share: connections, requests under way, and bodies that arrive.
//!
//! One client is a user of this machine, or an address elsewhere. Root and gpud's own user have no share of their own, and
//! a part of everything is reserved for them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::peer::{Identity, Peer};

/// How much there is of one thing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Portions {
    /// For everybody together.
    pub(super) all: usize,
    /// Of these, for everybody but root and gpud's own user together.
    pub(super) others: usize,
    /// Of those, for one client.
    pub(super) each: usize,
}

/// How much one entrance gives: the port, or the Unix socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Connections at a time.
    pub(super) connections: Portions,
    /// Requests at a time.
    pub(super) turns: Portions,
    /// Requests at a time whose body arrives or waits for its turn.
    pub(super) bodies: Portions,
    /// Readers of the stream at a time.
    pub(super) streams: Portions,
}

/// The shares of one entrance.
#[derive(Debug)]
pub(super) struct Shares {
    connections: Portions,
    connected: Mutex<Connected>,
    turns: Queue,
    bodies: Queue,
    streams: Queue,
}

#[derive(Debug, Default)]
struct Connected {
    all: usize,
    others: usize,
    clients: HashMap<Identity, Client>,
}

/// A client with at least one connection.
#[derive(Debug)]
struct Client {
    connections: usize,
    queues: Own,
}

/// What one client may take of each thing.
#[derive(Debug, Clone)]
struct Own {
    turns: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
    streams: Arc<Semaphore>,
}

#[derive(Debug)]
struct Queue {
    portions: Portions,
    all: Arc<Semaphore>,
    others: Arc<Semaphore>,
}

impl Queue {
    fn new(portions: Portions) -> Self {
        Self {
            portions,
            all: Arc::new(Semaphore::new(portions.all)),
            others: Arc::new(Semaphore::new(portions.others)),
        }
    }

    /// Waits for a permit, the narrowest queue first: a client that has used up its share waits where it holds up itself
    /// only. `None` never happens, since no queue is closed.
    async fn take(&self, own: Option<&Arc<Semaphore>>) -> Option<Permit> {
        let mut permits = Vec::with_capacity(3);
        if let Some(own) = own {
            permits.push(Arc::clone(own).acquire_owned().await.ok()?);
            permits.push(Arc::clone(&self.others).acquire_owned().await.ok()?);
        }
        permits.push(Arc::clone(&self.all).acquire_owned().await.ok()?);
        Some(Permit { _permits: permits })
    }

    /// Returns a permit if there is one now.
    fn try_take(&self, own: Option<&Arc<Semaphore>>) -> Option<Permit> {
        let narrow = own.map(|own| [own, &self.others]);
        let queues = narrow.into_iter().flatten().chain([&self.all]);
        let permits = queues.map(|queue| Arc::clone(queue).try_acquire_owned().ok());
        let permits: Option<Vec<_>> = permits.collect();
        Some(Permit { _permits: permits? })
    }
}

/// A turn, a body's place or a reader's, until it is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    _permits: Vec<OwnedSemaphorePermit>,
}

impl Shares {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            connections: bounds.connections,
            connected: Mutex::default(),
            turns: Queue::new(bounds.turns),
            bodies: Queue::new(bounds.bodies),
            streams: Queue::new(bounds.streams),
        }
    }

    /// Takes a connection of this client in; `None` if it has too many, or if there are too many.
    pub(super) fn admit(self: &Arc<Self>, peer: &Peer) -> Option<Admitted> {
        let identity = (!peer.is_owner()).then(|| peer.identity());
        let mut connected = self.lock();
        if connected.all >= self.connections.all {
            return None;
        }
        let mut queues = None;
        if let Some(identity) = identity {
            if connected.others >= self.connections.others {
                return None;
            }
            let client = connected.clients.entry(identity).or_insert_with(|| Client {
                connections: 0,
                queues: Own {
                    turns: Arc::new(Semaphore::new(self.turns.portions.each)),
                    bodies: Arc::new(Semaphore::new(self.bodies.portions.each)),
                    streams: Arc::new(Semaphore::new(self.streams.portions.each)),
                },
            });
            if client.connections >= self.connections.each {
                return None;
            }
            client.connections += 1;
            queues = Some(client.queues.clone());
            connected.others += 1;
        }
        connected.all += 1;
        Some(Admitted {
            shares: Arc::clone(self),
            peer: peer.clone(),
            identity,
            queues,
        })
    }

    /// Waits for a turn that is not counted to any client.
    pub(super) async fn turn(&self) -> Option<Permit> {
        self.turns.take(None).await
    }

    /// Waits for a body's place that is not counted to any client.
    pub(super) async fn body(&self) -> Option<Permit> {
        self.bodies.take(None).await
    }

    /// Takes a reader's place that is not counted to any client.
    pub(super) fn stream(&self) -> Option<Permit> {
        self.streams.try_take(None)
    }

    /// Returns how many bodies could begin to arrive now.
    #[cfg(test)]
    pub(super) fn free_bodies(&self) -> usize {
        self.bodies.all.available_permits()
    }

    /// Numbers are whole whatever panicked beside them.
    fn lock(&self) -> MutexGuard<'_, Connected> {
        self.connected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that was taken in, until it is dropped.
#[derive(Debug)]
pub(super) struct Admitted {
    shares: Arc<Shares>,
    peer: Peer,
    /// `None` for root and gpud's own user.
    identity: Option<Identity>,
    /// The client's own queues.
    queues: Option<Own>,
}

impl Admitted {
    /// Returns whether the connection is still open.
    pub(super) fn is_connected(&self) -> bool {
        self.peer.is_connected()
    }

    /// Waits for a turn of this client.
    pub(super) async fn turn(&self) -> Option<Permit> {
        let own = self.queues.as_ref().map(|own| &own.turns);
        self.shares.turns.take(own).await
    }

    /// Waits for a place for a body of this client.
    pub(super) async fn body(&self) -> Option<Permit> {
        let own = self.queues.as_ref().map(|own| &own.bodies);
        self.shares.bodies.take(own).await
    }

    /// Takes a place for a reader of the stream, if this client may have one more.
    pub(super) fn stream(&self) -> Option<Permit> {
        let own = self.queues.as_ref().map(|own| &own.streams);
        self.shares.streams.try_take(own)
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut connected = self.shares.lock();
        connected.all = connected.all.saturating_sub(1);
        let Some(identity) = self.identity else {
            return;
        };
        connected.others = connected.others.saturating_sub(1);
        if let Some(client) = connected.clients.get_mut(&identity) {
            client.connections = client.connections.saturating_sub(1);
            if client.connections == 0 {
                connected.clients.remove(&identity);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const SMALL: Portions = Portions {
        all: 8,
        others: 6,
        each: 4,
    };

    fn shares() -> Arc<Shares> {
        Arc::new(Shares::new(Bounds {
            connections: SMALL,
            turns: SMALL,
            bodies: SMALL,
            streams: SMALL,
        }))
    }

    fn peer(uid: u32) -> Peer {
        Peer::disconnected(Identity::User(uid), false)
    }

    #[test]
    fn one_user_cannot_have_all_connections_and_root_always_gets_one() {
        let shares = shares();
        let admit = |uid, count: usize| -> Vec<Admitted> {
            (0..count)
                .filter_map(|_| shares.admit(&peer(uid)))
                .collect()
        };
        let mut first = admit(12345, 100);
        assert_eq!(first.len(), 4, "one client's share");
        let second = admit(12346, 100);
        assert_eq!(second.len(), 2, "what is left of all but root");
        assert_eq!(admit(12347, 100).len(), 0);
        assert_eq!(admit(0, 100).len(), 2, "root's part");
        first.pop();
        assert_eq!(admit(12347, 100).len(), 1);
        drop((first, second));
        let connected = shares.lock();
        assert_eq!((connected.all, connected.others), (0, 0));
        assert!(connected.clients.is_empty(), "nothing is remembered");
    }

    #[test]
    fn turns_of_one_user_do_not_hold_up_others() {
        let shares = shares();
        let (one, another, root) = (peer(12345), peer(12346), peer(0));
        let [one, another, root] = [one, another, root].map(|peer| shares.admit(&peer).unwrap());
        let take = |from: &Admitted, count: usize| -> Vec<Permit> {
            (0..count)
                .filter_map(|_| from.turn().now_or_never().flatten())
                .collect()
        };
        let mut held = take(&one, 100);
        assert_eq!(held.len(), 4);
        assert_eq!(take(&another, 1).len(), 1);
        let others = take(&another, 100);
        assert_eq!(others.len(), 2);
        assert_eq!(take(&root, 100).len(), 2);
        // Bodies are counted apart.
        assert!(one.body().now_or_never().flatten().is_some());
        held.pop();
        assert_eq!(take(&one, 100).len(), 1);
    }

    #[test]
    fn readers_of_one_user_leave_places_to_others() {
        let shares = shares();
        let [one, another, root] =
            [peer(12345), peer(12346), peer(0)].map(|peer| shares.admit(&peer).unwrap());
        let take =
            |from: &Admitted| -> Vec<Permit> { (0..100).filter_map(|_| from.stream()).collect() };
        let mut held = take(&one);
        assert_eq!(held.len(), 4, "one client's share");
        let others = take(&another);
        assert_eq!(others.len(), 2, "what is left of all but root");
        let roots = take(&root);
        assert_eq!(roots.len(), 2, "root's part");
        // A place that was not given takes none of the narrower ones.
        held.pop();
        assert!(another.stream().is_some());
        drop((held, others, roots));
        assert_eq!(take(&one).len(), 4, "places come back");
    }
}
