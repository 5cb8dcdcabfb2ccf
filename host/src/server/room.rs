//! Who holds how much of something, and whose part makes room for somebody else's.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, VecDeque},
};

use super::{
    fair_queue::{Holder, Portions},
    peer::Identity,
};

/// Clients that count together; `None` for root and gpud's own user.
type Group = Option<Identity>;

/// The parts that are held of one thing.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// By number. Older parts have smaller numbers.
    parts: BTreeMap<u64, Part>,
    numbers: u64,
    held: Held,
    by_client: HashMap<Identity, usize>,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    holder: Option<Holder>,
    size: usize,
}

/// Sums of sizes.
#[derive(Debug, Clone, Default)]
struct Held {
    all: usize,
    others: usize,
    by_group: HashMap<Group, usize>,
}

impl Part {
    fn group(&self) -> Group {
        group_of(self.holder)
    }
}

fn group_of(holder: Option<Holder>) -> Group {
    holder.map(|holder| holder.group)
}

impl Held {
    fn add(&mut self, part: Part) {
        self.all += part.size;
        if part.holder.is_some() {
            self.others += part.size;
        }
        *self.by_group.entry(part.group()).or_default() += part.size;
    }

    fn remove(&mut self, part: Part) {
        self.all = self.all.saturating_sub(part.size);
        if part.holder.is_some() {
            self.others = self.others.saturating_sub(part.size);
        }
        let group = part.group();
        if let Some(size) = self.by_group.get_mut(&group) {
            *size = size.saturating_sub(part.size);
            if *size == 0 {
                self.by_group.remove(&group);
            }
        }
    }

    fn of(&self, group: Group) -> usize {
        self.by_group.get(&group).copied().unwrap_or_default()
    }
}

impl Room {
    /// Adds a part and returns its number.
    pub(super) fn add(&mut self, holder: Option<Holder>, size: usize) -> u64 {
        let part = Part { holder, size };
        let number = self.numbers;
        self.numbers += 1;
        self.parts.insert(number, part);
        self.held.add(part);
        if let Some(holder) = holder {
            *self.by_client.entry(holder.identity).or_default() += size;
        }
        number
    }

    /// Removes a part, if it is still there.
    pub(super) fn remove(&mut self, number: u64) {
        let Some(part) = self.parts.remove(&number) else {
            return;
        };
        self.held.remove(part);
        if let Some(Holder { identity, .. }) = part.holder
            && let Some(size) = self.by_client.get_mut(&identity)
        {
            *size = size.saturating_sub(part.size);
            if *size == 0 {
                self.by_client.remove(&identity);
            }
        }
    }

    /// Returns which parts make room for one of this size; none of them if there is room. `None` if there is no room.
    ///
    /// The group that holds the most gives way first, with its oldest part. It gives way to a group that would hold less than
    /// itself even with the new part, and to a group that holds nothing and wants no more than what it has.
    pub(super) fn make_room(
        &self,
        holder: Option<Holder>,
        size: usize,
        portions: Portions,
    ) -> Option<Vec<u64>> {
        if let Some(Holder { identity, .. }) = holder {
            let own = self.by_client.get(&identity).copied().unwrap_or_default();
            if own.saturating_add(size) > portions.each {
                return None;
            }
        }
        let is_full = |held: &Held| held.all.saturating_add(size) > portions.all;
        let is_full_of_others =
            |held: &Held| holder.is_some() && held.others.saturating_add(size) > portions.others;
        let mut leaving = Vec::new();
        if !is_full(&self.held) && !is_full_of_others(&self.held) {
            return Some(leaving);
        }
        let own = self.held.of(group_of(holder));
        let mut held = self.held.clone();
        let mut by_age = self.by_age();
        while is_full(&held) || is_full_of_others(&held) {
            let only_others = is_full_of_others(&held);
            let groups = held.by_group.iter();
            let groups = groups.filter(|(group, _)| !(only_others && group.is_none()));
            let oldest = |group: &Group| by_age.get(group)?.front().map(|(number, _)| *number);
            let (group, most) = groups.max_by_key(|(group, held)| {
                // Of groups that hold as much, the one with the oldest part.
                (**held, Reverse(oldest(group)))
            })?;
            let gives_way = *most > own.saturating_add(size) || (own == 0 && *most >= size);
            if !gives_way {
                return None;
            }
            let group = *group;
            let (number, part) = by_age.get_mut(&group)?.pop_front()?;
            held.remove(part);
            leaving.push(number);
        }
        Some(leaving)
    }

    /// Returns the parts of each group, the oldest first.
    fn by_age(&self) -> HashMap<Group, VecDeque<(u64, Part)>> {
        let mut by_age: HashMap<Group, VecDeque<(u64, Part)>> = HashMap::new();
        for (number, part) in &self.parts {
            let parts = by_age.entry(part.group()).or_default();
            parts.push_back((*number, *part));
        }
        by_age
    }

    /// Returns how much is held altogether.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held.all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SMALL: Portions = Portions {
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
    fn take(room: &mut Room, holder: Option<Holder>, size: usize) -> Option<Vec<u64>> {
        let leaving = room.make_room(holder, size, SMALL)?;
        for number in &leaving {
            room.remove(*number);
        }
        room.add(holder, size);
        Some(leaving)
    }

    #[test]
    fn each_has_a_share_and_root_a_part() {
        let mut room = Room::default();
        for _ in 0..4 {
            assert_eq!(take(&mut room, user(1), 1), Some(vec![]));
        }
        assert_eq!(take(&mut room, user(1), 1), None, "one client's share");
        for _ in 0..2 {
            assert_eq!(take(&mut room, user(2), 1), Some(vec![]));
        }
        for _ in 0..2 {
            assert_eq!(take(&mut room, None, 1), Some(vec![]), "root's part");
        }
        assert_eq!(room.held(), 8);
        for number in 0..8 {
            room.remove(number);
            room.remove(number);
        }
        assert_eq!(room.held(), 0);
        assert!(room.held.by_group.is_empty() && room.by_client.is_empty());
    }

    /// The attack: users that together hold everything that is not root's.
    #[test]
    fn the_oldest_part_of_the_largest_group_makes_room_for_a_newcomer() {
        let mut room = Room::default();
        for uid in [1, 2, 2, 2, 1, 2] {
            take(&mut room, user(uid), 1).unwrap();
        }
        assert_eq!(take(&mut room, user(3), 1), Some(vec![1]), "user 2 has 4");
        assert_eq!(take(&mut room, user(3), 1), Some(vec![2]), "user 2 has 3");
        // Two each: nobody gains by taking one from another.
        for uid in 1..=3 {
            assert_eq!(take(&mut room, user(uid), 1), None, "user {uid}");
        }
        assert_eq!(
            take(&mut room, user(4), 1),
            Some(vec![0]),
            "the oldest of all"
        );
    }

    #[test]
    fn a_client_that_has_none_gets_one_however_many_hold_one_each() {
        let mut room = Room::default();
        for uid in 1..=6 {
            take(&mut room, user(uid), 1).unwrap();
        }
        for (newcomer, oldest) in (100..200).zip(0..) {
            assert_eq!(take(&mut room, user(newcomer), 1), Some(vec![oldest]));
        }
        assert_eq!(room.held(), 6);
    }

    #[test]
    fn the_users_of_one_person_make_no_room_for_each_other() {
        let mut room = Room::default();
        for uid in 100..106 {
            take(&mut room, of_group(uid, 1), 1).unwrap();
        }
        assert_eq!(take(&mut room, of_group(106, 1), 1), None);
        assert_eq!(take(&mut room, user(2), 1), Some(vec![0]));
    }

    #[test]
    fn root_makes_room_where_it_has_taken_everything() {
        let mut room = Room::default();
        for _ in 0..8 {
            take(&mut room, None, 1).unwrap();
        }
        assert_eq!(take(&mut room, None, 1), None);
        assert_eq!(take(&mut room, user(1), 1), Some(vec![0]));
        for uid in [2, 3, 2, 3, 1] {
            take(&mut room, user(uid), 1).unwrap();
        }
        // Others take none of root's part.
        for uid in 10..20 {
            take(&mut room, user(uid), 1).unwrap();
        }
        assert_eq!(room.held.of(None), 2);
    }

    #[test]
    fn as_many_parts_make_room_as_it_takes() {
        let mut room = Room::default();
        for uid in [1, 1, 1, 2, 2, 2] {
            take(&mut room, user(uid), 1).unwrap();
        }
        assert_eq!(take(&mut room, user(3), 2), Some(vec![0, 3]));
        // More than anybody else has.
        assert_eq!(take(&mut room, user(4), 4), None);
    }

    proptest! {
        #[test]
        fn bounds_hold_and_nobody_is_left_out(steps in prop::collection::vec((0_u32..8, 1_usize..4, any::<bool>()), 1..200)) {
            let mut room = Room::default();
            for (uid, size, ends) in steps {
                let holder = user(uid).filter(|_| uid > 0);
                if ends {
                    let first = room.parts.iter().find(|(_, part)| part.holder == holder);
                    let first = first.map(|(number, _)| *number);
                    if let Some(number) = first {
                        room.remove(number);
                    }
                } else {
                    let has_none = room.held.of(group_of(holder)) == 0;
                    let taken = take(&mut room, holder, size);
                    prop_assert!(taken.is_some() || !has_none || size > 1 || uid == 0);
                }
                let sizes = room.parts.values().map(|part| part.size);
                prop_assert_eq!(room.held(), sizes.sum::<usize>());
                prop_assert!(room.held.all <= SMALL.all && room.held.others <= SMALL.others);
                prop_assert!(room.by_client.values().all(|held| *held <= SMALL.each));
            }
        }
    }
}
