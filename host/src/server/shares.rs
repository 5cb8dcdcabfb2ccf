//! What one client may take, so that others get their share: connections, requests under way, bodies that arrive, bytes of
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

pub(super) use super::fair_queue::{Permit, Portions};
use super::{
    activity::Activity,
    ending::Ending,
    fair_queue::{FairQueue, Holder},
    peer::{Identity, Peer},
    places::{Place, Places},
};

/// How much one entrance gives: the port, or the Unix socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Connections at a time.
    pub(super) connections: Portions,
    /// Requests at a time.
    pub(super) turns: Portions,
    /// Requests at a time whose body arrives or waits for its turn.
    pub(super) bodies: Portions,
    /// Bytes of answers that clients have not read.
    pub(super) answers: Portions,
    /// Readers of the stream at a time.
    pub(super) streams: Portions,
    /// How long a client may take nothing of an answer.
    pub(super) stall_time: Duration,
}

/// The shares of one entrance.
#[derive(Debug)]
pub(super) struct Shares {
    connections: Portions,
    connected: Mutex<Connected>,
    turns: Arc<FairQueue>,
    bodies: Arc<FairQueue>,
    answers: Arc<Places>,
    /// For answers that wait for a place among those: they hold their bytes, too.
    waiting_answers: Arc<Places>,
    streams: Arc<Places>,
    stall_time: Duration,
}

#[derive(Debug, Default)]
struct Connected {
    all: usize,
    others: usize,
    /// Numbers that were given to connections.
    numbers: u64,
    groups: HashMap<Identity, usize>,
    clients: HashMap<Identity, Client>,
}

/// A client with at least one connection.
#[derive(Debug)]
struct Client {
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
            answers: Arc::new(Places::new(bounds.answers)),
            waiting_answers: Arc::new(Places::new(bounds.answers)),
            streams: Arc::new(Places::new(bounds.streams)),
            stall_time: bounds.stall_time,
        }
    }

    /// Takes a connection of this client in, if need be in the place of another client's; `None` if it has too many.
    pub(super) fn admit(self: &Arc<Self>, peer: &Peer) -> Option<Admitted> {
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
        let admitted = Admitted {
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

    /// Waits for a body's place that is not counted to any client.
    pub(super) async fn body(&self) -> Option<Permit> {
        self.bodies.take(None).await
    }

    /// Waits for an answer's place that is not counted to any client.
    pub(super) async fn answer(&self, bytes: usize, ending: &Ending) -> Option<Place> {
        self.answer_to(None, bytes, ending).await
    }

    /// Waits for an answer's place. `None` if too many bytes wait already.
    async fn answer_to(
        &self,
        holder: Option<Holder>,
        bytes: usize,
        ending: &Ending,
    ) -> Option<Place> {
        if let Some(place) = self.answers.take(holder, bytes, ending) {
            return Some(place);
        }
        let given_up = Ending::default();
        let _waiting = self.waiting_answers.take(holder, bytes, &given_up)?;
        tokio::select! {
            place = self.answers.wait(holder, bytes, ending) => Some(place),
            () = given_up.asked() => None,
        }
    }

    /// Takes a reader's place that is not counted to any client.
    pub(super) fn stream(&self, ending: &Ending) -> Option<Place> {
        self.streams.take(None, 1, ending)
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
        let client = client.or_insert_with(|| Client {
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
pub(super) struct Admitted {
    shares: Arc<Shares>,
    peer: Peer,
    holder: Holder,
    number: u64,
    activity: Arc<Activity>,
    displaced: CancellationToken,
}

impl Admitted {
    /// Returns whether the connection is still open, and still this client's to use.
    pub(super) fn is_connected(&self) -> bool {
        self.peer.is_connected() && !self.displaced.is_cancelled()
    }

    /// Returns what is known of its use.
    pub(super) fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// Returns once the connection has to make room for another client's.
    pub(super) async fn displaced(&self) {
        self.displaced.cancelled().await;
    }

    /// Waits for a turn of this client.
    pub(super) async fn turn(&self) -> Option<Permit> {
        self.shares.turns.take(self.counted()).await
    }

    /// Waits for a place for a body of this client.
    pub(super) async fn body(&self) -> Option<Permit> {
        self.shares.bodies.take(self.counted()).await
    }

    fn counted(&self) -> Option<Holder> {
        (!self.peer.is_owner()).then_some(self.holder)
    }

    /// Waits for a place for an answer of this many bytes to this client. `None` if too many bytes wait already.
    pub(super) async fn answer(&self, bytes: usize, ending: &Ending) -> Option<Place> {
        self.shares.answer_to(self.counted(), bytes, ending).await
    }

    /// Takes a place for a reader of the stream, if this client may have one more.
    pub(super) fn stream(&self, ending: &Ending) -> Option<Place> {
        self.shares.streams.take(self.counted(), 1, ending)
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut connected = self.shares.lock();
        connected.remove(self.holder.identity, self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv6Addr};

    use proptest::prelude::*;

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
            answers: SMALL,
            streams: SMALL,
            stall_time: Duration::from_secs(30),
        }))
    }

    fn peer(uid: u32) -> Peer {
        Peer::disconnected(Identity::User(uid), false)
    }

    fn admit(shares: &Arc<Shares>, uid: u32, count: usize) -> Vec<Admitted> {
        let peer = peer(uid);
        (0..count).filter_map(|_| shares.admit(&peer)).collect()
    }

    fn open(connections: &[Admitted]) -> usize {
        let open = connections.iter();
        open.filter(|one| !one.displaced.is_cancelled()).count()
    }

    #[test]
    fn one_user_cannot_have_all_connections_and_root_always_gets_one() {
        let shares = shares();
        let first = admit(&shares, 12345, 100);
        assert_eq!(first.len(), 4, "one client's share");
        let second = admit(&shares, 12346, 100);
        assert_eq!((open(&first), open(&second)), (3, 3), "even");
        assert_eq!(admit(&shares, 0, 100).len(), 2, "root's part");
        drop((first, second));
        let connected = shares.lock();
        assert_eq!((connected.all, connected.others), (0, 0));
        assert!(
            connected.clients.is_empty() && connected.groups.is_empty(),
            "nothing is remembered"
        );
    }

    /// The attack: as many users as it takes to have all connections of all but root.
    #[test]
    fn who_has_no_connection_gets_one_however_many_users_have_all() {
        let shares = shares();
        let many: Vec<Admitted> = (1000..1003)
            .flat_map(|uid| admit(&shares, uid, 4))
            .collect();
        assert_eq!(open(&many), 6);
        let mut last = Vec::new();
        for newcomer in 2000..2100 {
            let admitted = shares.admit(&peer(newcomer));
            let admitted = admitted.unwrap_or_else(|| panic!("{newcomer} is refused"));
            // It is not the one that makes room for the next.
            assert!(
                last.iter()
                    .rev()
                    .take(4)
                    .all(|one: &Admitted| open(std::slice::from_ref(one)) == 1)
            );
            last.push(admitted);
            assert_eq!(shares.lock().others, 6);
        }
        assert_eq!(
            open(&many),
            0,
            "the eldest of those who have most went first"
        );
        // Root's part is nobody else's.
        assert_eq!(admit(&shares, 0, 100).len(), 2);
    }

    #[test]
    fn who_has_some_takes_none_from_who_has_as_many() {
        let shares = shares();
        let held: Vec<Vec<Admitted>> = (1..4).map(|uid| admit(&shares, uid, 2)).collect();
        assert!(shares.admit(&peer(1)).is_none());
        assert!(held.iter().all(|one| open(one) == 2));
    }

    #[test]
    fn the_connection_that_was_used_least_recently_makes_room_and_one_in_use_last() {
        let shares = shares();
        let held = admit(&shares, 1, 4);
        let rest = admit(&shares, 2, 2);
        let busy = held[0].activity().begin();
        // Used once after all others were taken in.
        drop(held[1].activity().begin());
        let _newcomer = shares.admit(&peer(3)).unwrap();
        let is_open: Vec<bool> = held
            .iter()
            .map(|one| !one.displaced.is_cancelled())
            .collect();
        assert_eq!(is_open, [true, true, false, true]);
        assert_eq!(open(&rest), 2);
        drop(busy);
        // All in use: one of them makes room all the same.
        let _busy: Vec<_> = held
            .iter()
            .chain(&rest)
            .map(|one| one.activity().begin())
            .collect();
        assert!(shares.admit(&peer(4)).is_some());
    }

    #[test]
    fn the_networks_of_one_address_block_count_together() {
        let shares = shares();
        let host = |network: u16, site: u16| {
            let ip = Ipv6Addr::new(0x2001, 0xdb8, site, network, 0, 0, 0, 1);
            Peer::disconnected(Identity::of_address(IpAddr::V6(ip)), false)
        };
        // One site with a network for each connection, and a client elsewhere with two.
        let site: Vec<Admitted> = (0..4).filter_map(|n| shares.admit(&host(n, 1))).collect();
        let elsewhere: Vec<Admitted> = (0..2).filter_map(|_| shares.admit(&host(0, 2))).collect();
        let more: Vec<Admitted> = (100..200)
            .filter_map(|n| shares.admit(&host(n, 1)))
            .collect();
        assert_eq!((open(&elsewhere), open(&site), open(&more)), (2, 0, 4));
    }

    #[test]
    fn a_script_of_roots_that_has_all_connections_makes_room() {
        let shares = shares();
        let root = admit(&shares, 0, 100);
        assert_eq!(root.len(), 8);
        assert!(shares.admit(&peer(1)).is_some());
        assert_eq!(open(&root), 7);
    }

    #[test]
    fn bodies_are_counted_apart_from_turns() {
        use futures_util::FutureExt as _;
        let shares = shares();
        let one = shares.admit(&peer(12345)).unwrap();
        let turns: Vec<_> = (0..9).map(|_| one.turn().now_or_never()).collect();
        assert_eq!(turns.iter().flatten().count(), 4);
        assert!(one.body().now_or_never().flatten().is_some());
    }

    proptest! {
        /// In whatever order clients come, one that holds none is taken in, bounds hold, and counts are right.
        #[test]
        fn bounds_hold_and_nobody_is_left_out(steps in prop::collection::vec((0_u32..12, any::<bool>()), 1..200)) {
            let shares = shares();
            let mut held: Vec<(u32, Admitted)> = Vec::new();
            for (uid, ends) in steps {
                if ends {
                    if let Some(at) = held.iter().position(|(owner, _)| *owner == uid) {
                        held.remove(at);
                    }
                } else {
                    let has_none = shares.lock().held_by(Identity::User(uid)) == 0;
                    let admitted = shares.admit(&peer(uid));
                    prop_assert!(admitted.is_some() || !has_none || peer(uid).is_owner());
                    held.extend(admitted.map(|admitted| (uid, admitted)));
                }
                let open = held.iter().filter(|(_, one)| !one.displaced.is_cancelled()).count();
                let connected = shares.lock();
                prop_assert_eq!(connected.all, open);
                prop_assert!(connected.all <= SMALL.all && connected.others <= SMALL.others);
                prop_assert!(connected.clients.values().all(|client| client.is_owner || client.connections.len() <= SMALL.each));
            }
        }
    }

    #[test]
    fn readers_of_one_user_leave_places_to_others() {
        let shares = shares();
        let [one, another, third, root] =
            [12345, 12346, 12347, 0].map(|uid| shares.admit(&peer(uid)).unwrap());
        let take = |from: &Admitted| -> Vec<(Place, Ending)> {
            let places = (0..100).map_while(|_| {
                let ending = Ending::default();
                Some((from.stream(&ending)?, ending))
            });
            places.collect()
        };
        let asked = |places: &[(Place, Ending)]| -> usize {
            places
                .iter()
                .filter(|(_, ending)| ending.is_asked())
                .count()
        };
        let held = take(&one);
        assert_eq!(held.len(), 4, "one client's share");
        let others = take(&another);
        assert_eq!((others.len(), asked(&held)), (3, 1), "even");
        let roots = take(&root);
        assert_eq!(roots.len(), 2, "root's part");
        let newcomer = take(&third);
        assert_eq!(newcomer.len(), 2, "even");
        assert_eq!(asked(&held) + asked(&others), 3);
        assert_eq!(asked(&roots), 0);
        drop((held, others, roots, newcomer));
        assert_eq!(take(&one).len(), 4, "places come back");
    }

    #[tokio::test]
    async fn answers_that_wait_are_bounded_too() {
        let client = Arc::new(shares().admit(&peer(1)).unwrap());
        let first = client.answer(4, &Ending::default()).await.unwrap();
        let waiting: Vec<_> = (0..4)
            .map(|_| {
                let client = Arc::clone(&client);
                tokio::spawn(async move { client.answer(1, &Ending::default()).await })
            })
            .collect();
        tokio::task::yield_now().await;
        assert!(waiting.iter().all(|one| !one.is_finished()));
        let refused = client.answer(1, &Ending::default()).await;
        assert!(refused.is_none(), "one client's share of those that wait");
        drop(first);
        for one in waiting {
            assert!(one.await.unwrap().is_some());
        }
    }
}
