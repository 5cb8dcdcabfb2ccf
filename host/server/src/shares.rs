//! The bounds of one client, so that others get their share: connections, requests under way, bodies that arrive, bytes of
//! answers, and readers of the stream.
//!
//! One client is a user of this machine, or an address elsewhere. Root and gpud's own user have no share of their own, and
//! a part of everything is reserved for them.
//!
//! However many clients there are, one that has no connection gets one: when all are taken, the client that has the most loses
//! the one that was used least recently. Clients that may be one person (a user with its subordinate numbers, the addresses of
//! one network) count together there. Answers and readers of the stream make room in the same way, the oldest first.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

pub(super) use super::fair_queue::{Permit, Quota};
use super::{
    activity::Activity,
    cancellation::Cancellation,
    fair_queue::{FairQueue, Holder},
    peer::{Identity, Peer},
    reservations::{Reservation, ReservationPool},
};

/// The resources of one listener: the port, or the Unix socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Connections at a time.
    pub(super) connections: Quota,
    /// Requests at a time.
    pub(super) turns: Quota,
    /// Requests at a time whose body arrives or waits for its turn.
    pub(super) bodies: Quota,
    /// Answers at a time that are made of much that is stored, until they have their place.
    pub(super) documents: Quota,
    /// Bytes of answers that clients have not read.
    pub(super) answers: Quota,
    /// Readers of the stream at a time.
    pub(super) streams: Quota,
    /// How long a client may take nothing of an answer.
    pub(super) stall_time: Duration,
}

/// The shares of the clients of one listener.
#[derive(Debug)]
pub(super) struct Shares {
    connections: Quota,
    connected: Mutex<Connected>,
    turns: Arc<FairQueue>,
    bodies: Arc<FairQueue>,
    documents: Arc<FairQueue>,
    answers: Arc<ReservationPool>,
    /// Reservations of answers that wait for one of those: they hold their bytes, too.
    waiting_answers: Arc<ReservationPool>,
    streams: Arc<ReservationPool>,
    stall_time: Duration,
}

#[derive(Debug, Default)]
struct Connected {
    all: usize,
    others: usize,
    /// Numbers that were given to connections.
    numbers: u64,
    groups: HashMap<Identity, usize>,
    clients: HashMap<Identity, ConnectedClient>,
}

/// A client with at least one connection.
#[derive(Debug)]
struct ConnectedClient {
    group: Identity,
    is_owner: bool,
    connections: HashMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    activity: Arc<Activity>,
    displaced: CancellationToken,
}

impl Shares {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            connections: bounds.connections,
            connected: Mutex::default(),
            turns: Arc::new(FairQueue::new(bounds.turns)),
            bodies: Arc::new(FairQueue::new(bounds.bodies)),
            documents: Arc::new(FairQueue::new(bounds.documents)),
            answers: Arc::new(ReservationPool::new(bounds.answers)),
            waiting_answers: Arc::new(ReservationPool::new(bounds.answers)),
            streams: Arc::new(ReservationPool::new(bounds.streams)),
            stall_time: bounds.stall_time,
        }
    }

    /// Admits a connection of this client, if need be by closing another client's. `None` if this client has too many.
    pub(super) fn admit(self: &Arc<Self>, peer: &Peer) -> Option<AdmittedConnection> {
        let holder = Holder {
            identity: peer.identity(),
            group: peer.group(),
        };
        let is_owner = peer.is_owner();
        let mut connected = self.lock();
        let held = connected.held_by(holder.identity);
        if !is_owner && held >= self.connections.each {
            return None;
        }
        let no_more_others = !is_owner && connected.others >= self.connections.others;
        if no_more_others || connected.all >= self.connections.all {
            let (client, number) = connected.to_displace(holder, no_more_others)?;
            tracing::debug!(?client, "a connection makes room for another client's");
            connected.remove(client, number)?.displaced.cancel();
        }
        let connection = Connection {
            activity: Arc::default(),
            displaced: CancellationToken::new(),
        };
        let admitted = AdmittedConnection {
            shares: Arc::clone(self),
            peer: peer.clone(),
            holder,
            number: connected.numbers,
            activity: Arc::clone(&connection.activity),
            displaced: connection.displaced.clone(),
        };
        connected.add(holder, is_owner, connection);
        Some(admitted)
    }

    /// Waits for a turn that is not counted to any client.
    pub(super) async fn turn(&self) -> Option<Permit> {
        self.turns.take(None).await
    }

    /// Waits until a large answer may be made that is not counted to any client.
    pub(super) async fn document(&self) -> Option<Permit> {
        self.documents.take(None).await
    }

    /// Waits for a body's place that is not counted to any client.
    pub(super) async fn body(&self) -> Option<Permit> {
        self.bodies.take(None).await
    }

    /// Waits for an answer's place that is not counted to any client.
    pub(super) async fn answer(
        &self,
        bytes: usize,
        cancellation: &Cancellation,
    ) -> Option<Reservation> {
        self.answer_to(None, bytes, cancellation).await
    }

    /// Waits for an answer's place. `None` if too many bytes wait already.
    async fn answer_to(
        &self,
        holder: Option<Holder>,
        bytes: usize,
        cancellation: &Cancellation,
    ) -> Option<Reservation> {
        if let Some(reservation) = self.answers.take(holder, bytes, cancellation) {
            return Some(reservation);
        }
        let given_up = Cancellation::default();
        let _waiting = self.waiting_answers.take(holder, bytes, &given_up)?;
        tokio::select! {
            reservation = self.answers.wait(holder, bytes, cancellation) => Some(reservation),
            () = given_up.asked() => None,
        }
    }

    /// Takes a reader's place that is not counted to any client.
    pub(super) fn stream(&self, cancellation: &Cancellation) -> Option<Reservation> {
        self.streams.take(None, 1, cancellation)
    }

    /// Ends the answers of which clients take nothing.
    pub(super) fn end_stalled(&self, now: Instant) {
        self.answers.end_stalled(now, self.stall_time);
        self.streams.end_stalled(now, self.stall_time);
    }

    /// Returns how long to wait between two looks for such answers.
    pub(super) fn time_between_looks(&self) -> Duration {
        self.stall_time / 6
    }

    /// Returns how many bodies could begin to arrive now.
    #[cfg(test)]
    pub(super) fn free_bodies(&self) -> usize {
        self.bodies.free()
    }

    /// Returns how many bytes of answers clients have not read.
    #[cfg(test)]
    pub(super) fn bytes_of_answers(&self) -> usize {
        self.answers.held()
    }

    /// Numbers are whole whatever panicked beside them.
    fn lock(&self) -> MutexGuard<'_, Connected> {
        self.connected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connected {
    fn held_by(&self, identity: Identity) -> usize {
        let client = self.clients.get(&identity);
        client.map_or(0, |client| client.connections.len())
    }

    fn held_by_group(&self, group: Identity) -> usize {
        self.groups.get(&group).copied().unwrap_or_default()
    }

    /// Returns whose connection, and which, makes room for one of `holder`: of the client that has the most, the one that
    /// was used least recently, and one in use only if all are. `None` where it would only change who has more.
    fn to_displace(&self, holder: Holder, only_others: bool) -> Option<(Identity, u64)> {
        let clients = self.clients.iter();
        let clients = clients.filter(|(_, client)| !(only_others && client.is_owner));
        let victims = clients.filter_map(|(identity, client)| {
            let connections = client.connections.iter();
            let unused = connections.map(|(number, one)| (one.activity.last(), *number));
            let (unused, number) = unused.min()?;
            let size = (self.held_by_group(client.group), client.connections.len());
            Some((
                size,
                std::cmp::Reverse(unused),
                *identity,
                client.group,
                number,
            ))
        });
        let (size, _, identity, group, number) =
            victims.max_by_key(|(size, unused, ..)| (*size, *unused))?;
        let held = self.held_by(holder.identity);
        let is_more = match group == holder.group {
            true => size.1 > held + 1,
            false => size.0 > self.held_by_group(holder.group) + 1,
        };
        (held == 0 || is_more).then_some((identity, number))
    }

    fn add(&mut self, holder: Holder, is_owner: bool, connection: Connection) {
        let client = self.clients.entry(holder.identity);
        let client = client.or_insert_with(|| ConnectedClient {
            group: holder.group,
            is_owner,
            connections: HashMap::new(),
        });
        client.connections.insert(self.numbers, connection);
        self.numbers += 1;
        *self.groups.entry(client.group).or_default() += 1;
        self.all += 1;
        self.others += usize::from(!is_owner);
    }

    /// Takes a connection out, if it is still there.
    fn remove(&mut self, identity: Identity, number: u64) -> Option<Connection> {
        let client = self.clients.get_mut(&identity)?;
        let connection = client.connections.remove(&number)?;
        let (group, is_owner) = (client.group, client.is_owner);
        if client.connections.is_empty() {
            self.clients.remove(&identity);
        }
        if let Some(count) = self.groups.get_mut(&group) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.groups.remove(&group);
            }
        }
        self.all = self.all.saturating_sub(1);
        self.others = self.others.saturating_sub(usize::from(!is_owner));
        Some(connection)
    }
}

/// A connection that was taken in, until it is dropped.
#[derive(Debug)]
pub(super) struct AdmittedConnection {
    shares: Arc<Shares>,
    peer: Peer,
    holder: Holder,
    number: u64,
    activity: Arc<Activity>,
    displaced: CancellationToken,
}

impl AdmittedConnection {
    /// Returns whether the connection is still open, and still this client's to use.
    pub(super) fn is_connected(&self) -> bool {
        self.peer.is_connected() && !self.displaced.is_cancelled()
    }

    /// Returns what is known of its use.
    pub(super) fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// Returns how long its client may take nothing of what is sent.
    pub(super) fn stall_time(&self) -> Duration {
        self.shares.stall_time
    }

    /// Returns once the connection has to make room for another client's.
    pub(super) async fn displaced(&self) {
        self.displaced.cancelled().await;
    }

    /// Waits for a turn of this client.
    pub(super) async fn turn(&self) -> Option<Permit> {
        self.shares.turns.take(self.counted()).await
    }

    /// Waits until a large answer may be made for this client.
    pub(super) async fn document(&self) -> Option<Permit> {
        self.shares.documents.take(self.counted()).await
    }

    /// Waits for a place for a body of this client.
    pub(super) async fn body(&self) -> Option<Permit> {
        self.shares.bodies.take(self.counted()).await
    }

    fn counted(&self) -> Option<Holder> {
        (!self.peer.is_owner()).then_some(self.holder)
    }

    /// Waits for a place for an answer of this many bytes to this client. `None` if too many bytes wait already.
    pub(super) async fn answer(
        &self,
        bytes: usize,
        cancellation: &Cancellation,
    ) -> Option<Reservation> {
        self.shares
            .answer_to(self.counted(), bytes, cancellation)
            .await
    }

    /// Takes a place for a reader of the stream, if this client may have one more.
    pub(super) fn stream(&self, cancellation: &Cancellation) -> Option<Reservation> {
        self.shares.streams.take(self.counted(), 1, cancellation)
    }
}

impl Drop for AdmittedConnection {
    fn drop(&mut self) {
        let mut connected = self.shares.lock();
        connected.remove(self.holder.identity, self.number);
    }
}

#[cfg(test)]
mod tests;
