//! Shares of parts, and which parts make room.

use proptest::prelude::*;

use super::*;

const SMALL: Quota = Quota {
    all: 8,
    others: 6,
    each: 4,
};

fn user(uid: u32) -> Option<Holder> {
    of_group(uid, uid)
}

fn of_group(uid: u32, group: u32) -> Option<Holder> {
    Some(Holder {
        identity: Identity::User(uid),
        group: Identity::User(group),
    })
}

/// Takes a part of this size; returns which ones make room.
fn take(allocations: &mut Allocations, holder: Option<Holder>, size: usize) -> Option<Vec<u64>> {
    let leaving = allocations.make_room(holder, size, SMALL)?;
    for number in &leaving {
        allocations.remove(*number);
    }
    allocations.add(holder, size);
    Some(leaving)
}

#[test]
fn each_has_a_share_and_root_a_part() {
    let mut allocations = Allocations::default();
    for _ in 0..4 {
        assert_eq!(take(&mut allocations, user(1), 1), Some(vec![]));
    }
    assert_eq!(
        take(&mut allocations, user(1), 1),
        None,
        "one client's share"
    );
    for _ in 0..2 {
        assert_eq!(take(&mut allocations, user(2), 1), Some(vec![]));
    }
    for _ in 0..2 {
        assert_eq!(take(&mut allocations, None, 1), Some(vec![]), "root's part");
    }
    assert_eq!(allocations.held(), 8);
    for number in 0..8 {
        allocations.remove(number);
        allocations.remove(number);
    }
    assert_eq!(allocations.held(), 0);
    assert!(allocations.held.by_group.is_empty() && allocations.by_client.is_empty());
}

/// The attack: users that together hold everything that is not root's.
#[test]
fn the_oldest_part_of_the_largest_group_makes_room_for_a_newcomer() {
    let mut allocations = Allocations::default();
    for uid in [1, 2, 2, 2, 1, 2] {
        take(&mut allocations, user(uid), 1).unwrap();
    }
    assert_eq!(
        take(&mut allocations, user(3), 1),
        Some(vec![1]),
        "user 2 has 4"
    );
    assert_eq!(
        take(&mut allocations, user(3), 1),
        Some(vec![2]),
        "user 2 has 3"
    );
    // Two each: nobody gains by taking one from another.
    for uid in 1..=3 {
        assert_eq!(take(&mut allocations, user(uid), 1), None, "user {uid}");
    }
    assert_eq!(
        take(&mut allocations, user(4), 1),
        Some(vec![0]),
        "the oldest of all"
    );
}

#[test]
fn a_client_that_has_none_gets_one_however_many_hold_one_each() {
    let mut allocations = Allocations::default();
    for uid in 1..=6 {
        take(&mut allocations, user(uid), 1).unwrap();
    }
    for (newcomer, oldest) in (100..200).zip(0..) {
        assert_eq!(
            take(&mut allocations, user(newcomer), 1),
            Some(vec![oldest])
        );
    }
    assert_eq!(allocations.held(), 6);
}

#[test]
fn the_users_of_one_person_make_no_room_for_each_other() {
    let mut allocations = Allocations::default();
    for uid in 100..106 {
        take(&mut allocations, of_group(uid, 1), 1).unwrap();
    }
    assert_eq!(take(&mut allocations, of_group(106, 1), 1), None);
    assert_eq!(take(&mut allocations, user(2), 1), Some(vec![0]));
}

#[test]
fn root_makes_room_where_it_has_taken_everything() {
    let mut allocations = Allocations::default();
    for _ in 0..8 {
        take(&mut allocations, None, 1).unwrap();
    }
    assert_eq!(take(&mut allocations, None, 1), None);
    assert_eq!(take(&mut allocations, user(1), 1), Some(vec![0]));
    for uid in [2, 3, 2, 3, 1] {
        take(&mut allocations, user(uid), 1).unwrap();
    }
    // Others take none of root's part.
    for uid in 10..20 {
        take(&mut allocations, user(uid), 1).unwrap();
    }
    assert_eq!(allocations.held.of(None), 2);
}

#[test]
fn as_many_parts_make_room_as_it_takes() {
    let mut allocations = Allocations::default();
    for uid in [1, 1, 1, 2, 2, 2] {
        take(&mut allocations, user(uid), 1).unwrap();
    }
    assert_eq!(take(&mut allocations, user(3), 2), Some(vec![0, 3]));
    // More than anybody else has.
    assert_eq!(take(&mut allocations, user(4), 4), None);
}

proptest! {
    #[test]
    fn bounds_hold_and_each_client_gets_a_share(steps in prop::collection::vec((0_u32..8, 1_usize..4, any::<bool>()), 1..200)) {
        let mut allocations = Allocations::default();
        for (uid, size, ends) in steps {
            let holder = user(uid).filter(|_| uid > 0);
            if ends {
                let first = allocations.parts.iter().find(|(_, part)| part.holder == holder);
                let first = first.map(|(number, _)| *number);
                if let Some(number) = first {
                    allocations.remove(number);
                }
            } else {
                let has_none = allocations.held.of(group_of(holder)) == 0;
                let taken = take(&mut allocations, holder, size);
                prop_assert!(taken.is_some() || !has_none || size > 1 || uid == 0);
            }
            let sizes = allocations.parts.values().map(|part| part.size);
            prop_assert_eq!(allocations.held(), sizes.sum::<usize>());
            prop_assert!(allocations.held.all <= SMALL.all && allocations.held.others <= SMALL.others);
            prop_assert!(allocations.by_client.values().all(|held| *held <= SMALL.each));
        }
    }
}
