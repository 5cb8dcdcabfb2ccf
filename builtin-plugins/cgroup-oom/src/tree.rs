//! Counters of the tree of groups. `oom_kill` is the number of processes that were killed by any kind of OOM killer:
//!
//! | file | whose | source |
//! |---|---|---|
//! | `memory.events` | of the group *and those below it* | `Documentation/admin-guide/cgroup-v2.rst` |
//! | `memory.oom_control` (cgroup v1, Linux 4.13 and later) | of the group alone | `mm/memcontrol-v1.c`, `mem_cgroup_oom_control_read`; `include/linux/memcontrol.h`, `memcg_memory_event` |

use std::collections::BTreeMap;

use gpud_sdk::AccessError;
use serde::{Deserialize, Serialize};

/// Path below the root, beginning with `/`, to the number of kills; groups without one are not in it.
pub type Kills = BTreeMap<String, u64>;

/// Groups that are remembered: 64 KiB of text.
const MAX_KEPT: usize = 400;

/// One reading.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// The counters.
    pub kills: Kills,
    /// They take in those of the groups below (cgroup v2).
    pub takes_in: bool,
}

impl Reading {
    /// Kills by top-level group, with those below.
    pub fn by_top(&self) -> BTreeMap<&str, u64> {
        let mut tops: BTreeMap<&str, u64> = BTreeMap::new();
        for (path, &count) in &self.kills {
            let end = path.get(1..).and_then(|rest| rest.find('/'));
            if end.is_some() && self.takes_in {
                continue;
            }
            let top = end.and_then(|end| path.get(..=end)).unwrap_or(path);
            let sum = tops.entry(top).or_default();
            *sum = sum.saturating_add(count);
        }
        tops
    }
}

/// The counter in a `memory.events` or `memory.oom_control`.
pub fn kills(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("oom_kill "))?;
    line.trim().parse().ok()
}

/// What is below a group; `None` where nothing is, or more than is read. A user can make any number of groups below one that
/// is the user's own, and its counter takes in their kills.
///
/// # Errors
/// Why it cannot be read. Below the root, which belongs to the system, too many groups are an error, too.
pub fn below<T>(group: &str, files: Result<T, AccessError>) -> Result<Option<T>, AccessError> {
    match files {
        Err(AccessError::NotFound(_)) => Ok(None),
        Err(AccessError::TooLarge(_)) if !group.is_empty() => Ok(None),
        files => files.map(Some),
    }
}

/// A path as a pattern that matches nothing else: a segment of pattern characters is left to match any character in
/// their place.
pub fn literal(path: &str) -> String {
    let plain = |c: char| if "*?[]".contains(c) { '?' } else { c };
    path.chars().map(plain).collect()
}

/// The state that is retained from check to check, of one boot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SavedKills {
    boot_id: String,
    /// Kills at the last check; `None` before the first.
    kills: Option<Kills>,
    /// Group to when its last kill was seen (unix seconds) and how many there were since the trouble began.
    pub recent: BTreeMap<String, (u64, u64)>,
}

impl SavedKills {
    /// From what [`SavedKills::save`] gave in this boot.
    pub fn restore(saved: Option<&str>, boot_id: &str) -> Self {
        let saved: Option<Self> = saved.and_then(|saved| serde_json::from_str(saved).ok());
        saved
            .filter(|saved| saved.boot_id == boot_id)
            .unwrap_or_else(|| Self {
                boot_id: boot_id.to_owned(),
                ..Self::default()
            })
    }

    /// As text.
    pub fn save(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Takes a reading; gives the groups in which processes were killed since the last one, each kill in the lowest group
    /// that is still there. The first reading of a boot gives nothing: nobody knows when that was.
    pub fn take(&mut self, now: &Reading) -> Kills {
        let grown = self
            .kills
            .as_ref()
            .map_or_else(Kills::new, |before| grown(before, &now.kills, now.takes_in));
        let kept = now
            .kills
            .iter()
            .take(MAX_KEPT)
            .map(|(path, count)| (path.clone(), *count));
        self.kills = Some(kept.collect());
        grown
    }
}

fn grown(before: &Kills, now: &Kills, takes_in: bool) -> Kills {
    // A group whose counter is lower than before was created again.
    let growth = |path: &str, count: u64| {
        let known = before.get(path).copied().unwrap_or(0);
        if count < known { count } else { count - known }
    };
    // What a list that was cut does not hold is not known to be new.
    let cut = before.len() == MAX_KEPT;
    let known = |path: &str| !cut || before.contains_key(path);
    let mut grown = Kills::new();
    for (path, &count) in now.iter().filter(|(path, _)| known(path)) {
        let below = now
            .range(format!("{path}/")..)
            .take_while(|(other, _)| other.starts_with(&format!("{path}/")))
            .filter(|(other, _)| {
                other
                    .get(path.len() + 1..)
                    .is_some_and(|rest| !rest.contains('/'))
            })
            .fold(0, |sum: u64, (other, &count)| {
                sum.saturating_add(growth(other, count))
            });
        let below = if takes_in { below } else { 0 };
        let own = growth(path, count).saturating_sub(below);
        if own > 0 {
            grown.insert(path.clone(), own);
        }
    }
    grown
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tree(groups: &[(&str, u64)]) -> Kills {
        groups
            .iter()
            .map(|&(path, count)| (path.to_owned(), count))
            .collect()
    }

    #[test]
    fn a_user_with_very_many_groups_hides_no_others() {
        let too_many = || -> Result<(), AccessError> {
            Err(AccessError::TooLarge(gpud_sdk::types::SizeInfo {
                what: "groups".to_owned(),
                size: 8_193,
                limit: 8_192,
            }))
        };
        let none = || Err(AccessError::NotFound("x".to_owned()));
        let user = "/user.slice/user-1001.slice/user@1001.service";
        assert_eq!(below(user, too_many()), Ok(None));
        assert_eq!(below("", too_many()), too_many().map(Some));
        assert_eq!(below::<()>("", none()), Ok(None));
        assert_eq!(below(user, Ok(5)), Ok(Some(5)));
        let denied = AccessError::Denied("x".to_owned());
        assert_eq!(below::<()>(user, Err(denied.clone())), Err(denied));
    }

    #[test]
    fn counters() {
        for (text, expected) in [
            (
                "low 0\nhigh 0\nmax 5\noom 1\noom_kill 3\noom_group_kill 0\n",
                Some(3),
            ),
            ("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", Some(2)),
            ("oom_kill_disable 0\nunder_oom 0\n", None),
            ("oom 1\noom_kill x\n", None),
            ("", None),
        ] {
            assert_eq!(kills(text.as_bytes()), expected);
        }
        assert_eq!(literal("/a[1]*"), "/a?1??");
    }

    #[test]
    fn kills_belong_to_the_lowest_group() {
        let start = tree(&[("/k", 5), ("/k/old", 5)]);
        for (now, expected) in [
            (tree(&[("/k", 5), ("/k/old", 5)]), tree(&[])),
            (
                tree(&[("/k", 7), ("/k/old", 5), ("/k/pod", 2)]),
                tree(&[("/k/pod", 2)]),
            ),
            (
                tree(&[("/k", 8), ("/k/old", 5), ("/k/pod", 3), ("/k/pod/c", 2)]),
                tree(&[("/k/pod", 1), ("/k/pod/c", 2)]),
            ),
            // The pod is gone; its parent knows.
            (tree(&[("/k", 6)]), tree(&[("/k", 1)])),
            (
                tree(&[("/k", 6), ("/k/old", 6), ("/kx", 1)]),
                tree(&[("/k/old", 1), ("/kx", 1)]),
            ),
            (tree(&[("/k", 2)]), tree(&[("/k", 2)])),
        ] {
            assert_eq!(taken(&start, now, true), expected);
        }
    }

    /// Returns the kills between two readings.
    fn taken(start: &Kills, now: Kills, takes_in: bool) -> Kills {
        let reading = |kills| Reading { kills, takes_in };
        let mut kept = SavedKills::restore(None, "b");
        assert_eq!(kept.take(&reading(start.clone())), tree(&[]));
        SavedKills::restore(Some(&kept.save()), "b").take(&reading(now))
    }

    #[test]
    fn counters_of_one_group_alone() {
        let start = tree(&[("/k", 1), ("/k/old", 5)]);
        for (now, expected) in [
            (tree(&[("/k", 1), ("/k/old", 5)]), tree(&[])),
            (
                tree(&[("/k", 2), ("/k/old", 7)]),
                tree(&[("/k", 1), ("/k/old", 2)]),
            ),
            // Its parent does not know of it, and nothing was killed.
            (tree(&[("/k", 1)]), tree(&[])),
            (tree(&[("/k/old", 5), ("/n", 3)]), tree(&[("/n", 3)])),
        ] {
            assert_eq!(taken(&start, now, false), expected);
        }
        for (takes_in, expected) in [(true, 1), (false, 6)] {
            let reading = Reading {
                kills: start.clone(),
                takes_in,
            };
            assert_eq!(reading.by_top(), [("/k", expected)].into());
        }
    }

    proptest! {
        #[test]
        fn any_tree_is_survived(one in prop::collection::btree_map("(/[ab]{1,2}){1,3}", any::<u64>(), 0..12), two in prop::collection::btree_map("(/[ab]{1,2}){1,3}", 0..1_000u64, 0..12), takes_in in any::<bool>()) {
            let mut kept = SavedKills::default();
            kept.take(&Reading { kills: one, takes_in });
            let two = Reading { kills: two, takes_in };
            kept.take(&two);
            two.by_top();
        }

        #[test]
        fn any_text_is_survived(text in prop::collection::vec(any::<u8>(), 0..60)) {
            kills(&text);
        }
    }
}
