use proptest::prelude::*;

use super::*;

const LIMITS: Limits = Limits {
    wait: Duration::from_secs(60),
    settle: Duration::from_secs(10),
};

fn daemon(pid: u32, version: &str, answers: bool) -> DaemonSample {
    DaemonSample::Daemon {
        pid,
        version: version.to_owned(),
        answer: answers.then_some(()).ok_or_else(|| "503".to_owned()),
    }
}

/// The verdict after the last of these looks; all before must leave it open.
fn after(looks: &[(u64, DaemonSample)]) -> StartVerdict {
    let mut watch = Watch::new("2", LIMITS);
    let mut last = StartVerdict::Undecided;
    for (second, seen) in looks {
        assert_eq!(last, StartVerdict::Undecided, "before {second} s");
        last = watch.judge(Duration::from_secs(*second), seen);
    }
    last
}

#[test]
fn one_that_goes_on_answering_is_healthy() {
    let good = || daemon(7, "2", true);
    assert_eq!(
        after(&[(1, DaemonSample::Nobody), (2, good()), (11, good())]),
        StartVerdict::Undecided
    );
    assert_eq!(after(&[(2, good()), (12, good())]), StartVerdict::Healthy);
    // One that answers just before the limit gets its time.
    assert_eq!(
        after(&[(59, good()), (65, good()), (69, good())]),
        StartVerdict::Healthy
    );
}

#[test]
fn one_that_ends_and_comes_again_begins_from_the_start() {
    let good = |pid| daemon(pid, "2", true);
    assert_eq!(
        after(&[(2, good(7)), (11, good(8)), (12, good(8))]),
        StartVerdict::Undecided
    );
    assert_eq!(
        after(&[(55, good(7)), (61, good(8))]),
        StartVerdict::Failed("it ended and was started again".to_owned())
    );
}

#[test]
fn the_reason_is_that_of_the_last_look() {
    let failed = |seen| after(&[(1, DaemonSample::Nobody), (60, seen)]);
    for (seen, reason) in [
        (DaemonSample::Nobody, "no daemon runs"),
        (daemon(7, "1", true), "version 1 runs"),
        (daemon(7, "2", false), "it does not answer: 503"),
    ] {
        assert_eq!(failed(seen), StartVerdict::Failed(reason.to_owned()));
    }
}

proptest! {
    /// Whatever is seen, there is a verdict after both limits.
    #[test]
    fn it_ends(looks in prop::collection::vec((0_u32..3, any::<bool>(), any::<bool>()), 1..80)) {
        let mut watch = Watch::new("2", LIMITS);
        for (second, (pid, is_new, answers)) in (0_u64..).zip(looks) {
            let verdict = watch.judge(Duration::from_secs(second), &daemon(pid, if is_new { "2" } else { "1" }, answers));
            if verdict != StartVerdict::Undecided {
                break;
            }
            prop_assert!(second < 70, "no verdict");
        }
    }
}
