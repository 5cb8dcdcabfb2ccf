//! Tests the share of one client, and which requests make room for others.

use std::net::{IpAddr, Ipv6Addr};

use futures_util::FutureExt as _;
use proptest::prelude::*;

use super::*;

const SMALL: Quota = Quota {
    all: 8,
    others: 6,
    each: 4,
};

fn shares() -> Arc<Shares> {
    Arc::new(Shares::new(Bounds {
        connections: SMALL,
        turns: SMALL,
        bodies: SMALL,
        documents: Quota { each: 1, ..SMALL },
        answers: SMALL,
        streams: SMALL,
        stall_time: Duration::from_secs(30),
    }))
}

fn peer(uid: u32) -> Peer {
    Peer::disconnected(Identity::User(uid), false)
}

fn admit(shares: &Arc<Shares>, uid: u32, count: usize) -> Vec<AdmittedConnection> {
    let peer = peer(uid);
    (0..count).filter_map(|_| shares.admit(&peer)).collect()
}

fn open(connections: &[AdmittedConnection]) -> usize {
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
    let many: Vec<AdmittedConnection> = (1000..1003)
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
                .all(|one: &AdmittedConnection| open(std::slice::from_ref(one)) == 1)
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
fn a_client_takes_no_place_from_one_with_as_many() {
    let shares = shares();
    let held: Vec<Vec<AdmittedConnection>> = (1..4).map(|uid| admit(&shares, uid, 2)).collect();
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
    let site: Vec<AdmittedConnection> = (0..4).filter_map(|n| shares.admit(&host(n, 1))).collect();
    let elsewhere: Vec<AdmittedConnection> =
        (0..2).filter_map(|_| shares.admit(&host(0, 2))).collect();
    let more: Vec<AdmittedConnection> = (100..200)
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
    fn bounds_hold_and_each_client_gets_a_share(steps in prop::collection::vec((0_u32..12, any::<bool>()), 1..200)) {
        let shares = shares();
        let mut held: Vec<(u32, AdmittedConnection)> = Vec::new();
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
    let take = |from: &AdmittedConnection| -> Vec<(Reservation, Cancellation)> {
        let reservations = (0..100).map_while(|_| {
            let cancellation = Cancellation::default();
            Some((from.stream(&cancellation)?, cancellation))
        });
        reservations.collect()
    };
    let asked = |reservations: &[(Reservation, Cancellation)]| -> usize {
        reservations
            .iter()
            .filter(|(_, cancellation)| cancellation.is_asked())
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
    let first = client.answer(4, &Cancellation::default()).await.unwrap();
    let waiting: Vec<_> = (0..4)
        .map(|_| {
            let client = Arc::clone(&client);
            tokio::spawn(async move { client.answer(1, &Cancellation::default()).await })
        })
        .collect();
    tokio::task::yield_now().await;
    assert!(waiting.iter().all(|one| !one.is_finished()));
    let refused = client.answer(1, &Cancellation::default()).await;
    assert!(refused.is_none(), "one client's share of those that wait");
    drop(first);
    for one in waiting {
        assert!(one.await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_client_has_one_large_answer_made_at_a_time() {
    let shares = shares();
    let (one, other) = (admit(&shares, 1000, 2), admit(&shares, 1001, 1));
    let first = one[0].document().await.unwrap();
    assert!(one[1].document().now_or_never().is_none());
    assert!(other[0].document().now_or_never().flatten().is_some());
    drop(first);
    assert!(one[1].document().now_or_never().flatten().is_some());
}
