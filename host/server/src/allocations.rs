//! The clients' shares of a resource, and which client makes room for another one.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, VecDeque},
};

use super::{
    fair_queue::{Holder, Quota},
    peer::Identity,
};

/// Clients that count together; `None` for root and gpud's own user.
type Group = Option<Identity>;

/// The allocated parts of one resource.
#[derive(Debug, Default)]
pub(super) struct Allocations {
    /// By number. Older parts have smaller numbers.
    parts: BTreeMap<u64, Allocation>,
    numbers: u64,
    held: UsedSpace,
    by_client: HashMap<Identity, usize>,
}

#[derive(Debug, Clone, Copy)]
struct Allocation {
    holder: Option<Holder>,
    size: usize,
}

/// Sums of the reserved sizes.
#[derive(Debug, Clone, Default)]
struct UsedSpace {
    all: usize,
    others: usize,
    by_group: HashMap<Group, usize>,
}

impl Allocation {
    fn group(&self) -> Group {
        group_of(self.holder)
    }
}

fn group_of(holder: Option<Holder>) -> Group {
    holder.map(|holder| holder.group)
}

impl UsedSpace {
    fn add(&mut self, part: Allocation) {
        self.all += part.size;
        if part.holder.is_some() {
            self.others += part.size;
        }
        *self.by_group.entry(part.group()).or_default() += part.size;
    }

    fn remove(&mut self, part: Allocation) {
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

impl Allocations {
    /// Adds a part and returns its number.
    pub(super) fn add(&mut self, holder: Option<Holder>, size: usize) -> u64 {
        let part = Allocation { holder, size };
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
        quota: Quota,
    ) -> Option<Vec<u64>> {
        if let Some(Holder { identity, .. }) = holder {
            let own = self.by_client.get(&identity).copied().unwrap_or_default();
            if own.saturating_add(size) > quota.each {
                return None;
            }
        }
        let is_full = |held: &UsedSpace| held.all.saturating_add(size) > quota.all;
        let is_full_of_others =
            |held: &UsedSpace| holder.is_some() && held.others.saturating_add(size) > quota.others;
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
    fn by_age(&self) -> HashMap<Group, VecDeque<(u64, Allocation)>> {
        let mut by_age: HashMap<Group, VecDeque<(u64, Allocation)>> = HashMap::new();
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
mod tests;
