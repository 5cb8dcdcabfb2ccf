//! Finds the verdict of the previous check that a verdict continues.

use crate::model::HealthState;

/// Finds the verdict that `state`, one of `after`, follows: the one of the same name and subject. A component that gives one
/// verdict of a name, and names a subject only while something is wrong, follows it whatever the subject.
pub(super) fn earlier<'a>(
    before: &'a [HealthState],
    after: &[HealthState],
    state: &HealthState,
) -> Option<&'a HealthState> {
    let is_same = |old: &&HealthState| old.name == state.name && old.subject == state.subject;
    before.iter().find(is_same).or_else(|| {
        let is_alone = after.iter().filter(|new| new.name == state.name).count() == 1;
        let mut named = before.iter().filter(|old| old.name == state.name);
        named.next().filter(|_| is_alone && named.next().is_none())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Subject;

    fn state(name: &str, mount: Option<&str>) -> HealthState {
        HealthState {
            name: Some(name.to_owned()),
            subject: mount.map(|mount| Subject::Mount(mount.to_owned())),
            ..HealthState::default()
        }
    }

    #[test]
    fn subjects_tell_verdicts_of_one_name_apart() {
        let [all, a, b] = [None, Some("/a"), Some("/b")].map(|mount| state("disk", mount));
        let other = state("other", None);
        for (before, after, of, expected) in [
            (vec![&a, &b], vec![&b, &a], &a, Some(&a)),
            (vec![&all], vec![&a], &a, Some(&all)),
            (vec![&a], vec![&all], &all, Some(&a)),
            (vec![&a], vec![&b], &b, Some(&a)),
            (vec![&a], vec![&a, &b], &b, None),
            (vec![&a, &b], vec![&all], &all, None),
            (vec![&other], vec![&a], &a, None),
            (vec![], vec![&a], &a, None),
        ] {
            let before: Vec<HealthState> = before.into_iter().cloned().collect();
            let after: Vec<HealthState> = after.into_iter().cloned().collect();
            assert_eq!(
                earlier(&before, &after, of),
                expected,
                "{before:?} {after:?}"
            );
        }
    }
}
