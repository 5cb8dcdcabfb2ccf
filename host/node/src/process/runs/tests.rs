use super::*;

fn child(pid: i32, start: u64) -> Process {
    Process {
        pid,
        parent: 1000,
        start,
        is_zombie: false,
        is_in_own_group: false,
    }
}

fn runs(active: &[(u64, u64, bool)]) -> Runs {
    let active = active.iter().map(|&(number, began, is_starting)| {
        let run = ActiveRun { began, is_starting };
        (number, run)
    });
    Runs {
        last: 9,
        first_began: Some(100),
        active: active.collect(),
        leaders: BTreeMap::from([(7, 150)]),
    }
}

#[test]
fn an_orphan_ends_with_the_last_run_that_can_have_begotten_it() {
    let orphan = child(20, 200);
    assert_eq!(runs(&[]).action_for(orphan, false, None), ChildAction::Kill);
    for (began, expected) in [
        (150, ChildAction::Spare),
        (200, ChildAction::Spare),
        (201, ChildAction::Kill),
    ] {
        let runs = runs(&[(3, began, false)]);
        assert_eq!(runs.action_for(orphan, false, None), expected, "{began}");
    }
    // What was there before the first run, main processes, and what others started are left alone.
    assert_eq!(
        runs(&[]).action_for(child(20, 99), false, None),
        ChildAction::Spare
    );
    assert_eq!(
        runs(&[]).action_for(child(7, 150), false, None),
        ChildAction::Spare
    );
    assert_eq!(
        runs(&[]).action_for(child(7, 151), false, None),
        ChildAction::Kill
    );
    let of_ours = Process {
        is_in_own_group: true,
        ..orphan
    };
    assert_eq!(
        runs(&[]).action_for(of_ours, false, None),
        ChildAction::Spare
    );
}

#[test]
fn process_1_ends_only_what_carries_the_number_of_a_run_that_is_over() {
    let orphan = child(20, 200);
    let runs = runs(&[(3, 150, false)]);
    assert_eq!(runs.action_for(orphan, true, None), ChildAction::Spare);
    assert_eq!(runs.action_for(orphan, true, Some(3)), ChildAction::Spare);
    assert_eq!(runs.action_for(orphan, true, Some(2)), ChildAction::Kill);
}

#[test]
fn zombies_are_reaped_but_those_that_somebody_waits_for() {
    let zombie = |pid, start| Process {
        is_zombie: true,
        ..child(pid, start)
    };
    let busy = runs(&[(3, 150, false)]);
    assert_eq!(
        busy.action_for(zombie(20, 200), false, None),
        ChildAction::Reap
    );
    assert_eq!(
        busy.action_for(zombie(20, 50), true, None),
        ChildAction::Reap
    );
    assert_eq!(
        busy.action_for(zombie(7, 150), true, None),
        ChildAction::Spare
    );
    let starting = runs(&[(3, 150, true)]);
    assert_eq!(
        starting.action_for(zombie(20, 200), false, None),
        ChildAction::Spare
    );
    assert_eq!(
        starting.action_for(zombie(20, 149), false, None),
        ChildAction::Reap
    );
}

#[test]
fn main_processes_that_are_gone_are_forgotten() {
    let mut runs = runs(&[]);
    runs.forget_gone(|_| Some(150));
    assert_eq!(runs.leaders.len(), 1);
    runs.forget_gone(|_| Some(151));
    assert!(runs.leaders.is_empty());
}
