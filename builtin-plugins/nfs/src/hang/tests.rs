use super::*;
use RepairAction::{HardwareInspection, RebootSystem};
use gpud_sdk::{Event, EventType, Health, Trigger};

mod site_policy;

const A: &str = "NFS server not responding: a";
const B: &str = "NFS server not responding: b";
const A_OK: &str = "NFS server recovered: a";

/// Name, message, first and last time in seconds.
type Seen = (&'static str, &'static str, u64, u64);

fn silent(message: &'static str, at: u64) -> Seen {
    (NOT_RESPONDING, message, at, at)
}

fn ok(at: u64) -> Seen {
    (OK, A_OK, at, at)
}

fn lock(at: u64) -> Seen {
    (
        LOCK_RECLAIM_FAILED,
        "NFS lock reclaim failed (state manager unable to recover)",
        at,
        at,
    )
}

fn trace(at: u64) -> Seen {
    (
        WRITEBACK_HANG,
        "NFS client stuck in kernel writeback path",
        at,
        at,
    )
}

/// Newest first, as the store gives them.
fn stored(seen: &[Seen]) -> Vec<StoredEvent> {
    let mut events: Vec<_> = seen
        .iter()
        .map(|&(name, message, first, last)| {
            let mut event = Event::new(first * 1000, name, EventType::Warning, message);
            event.evidence.push(Evidence::Kmsg(first));
            StoredEvent {
                event,
                count: 1,
                last_time: last * 1000,
            }
        })
        .collect();
    events.sort_by_key(|stored| std::cmp::Reverse(stored.event.time));
    events
}

fn judged(seen: &[Seen], boots: &[u64]) -> Option<Hang> {
    let reboots = boots.iter().map(|at| Reboot { time: at * 1000 }).collect();
    judge(&stored(seen), || Ok(reboots)).unwrap()
}

#[test]
fn signs_of_a_hang() {
    for (seen, expected) in [
        (&[][..], None),
        (&[lock(10)], Some("1 lock reclaim failures")),
        (&[lock(10), lock(400)], Some("2 lock reclaim failures")),
        (&[silent(A, 10)], Some("1 NFS server not-responding events")),
        (
            &[silent(A, 10), silent(B, 11), silent(B, 400)],
            Some("3 NFS server not-responding events"),
        ),
        // An answer counts for its own server, and only for what was before.
        (&[silent(A, 10), ok(20)], None),
        (&[silent(A, 10), ok(10)], None),
        (
            &[silent(A, 10), silent(B, 10), ok(20)],
            Some("1 NFS server not-responding events"),
        ),
        (
            &[silent(A, 10), ok(20), silent(A, 30)],
            Some("1 NFS server not-responding events"),
        ),
        (&[ok(20)], None),
        // Silent, answering, silent again within the five minutes that are one event.
        (
            &[(NOT_RESPONDING, A, 10, 30), ok(20)],
            Some("1 NFS server not-responding events"),
        ),
        (&[(NOT_RESPONDING, A, 10, 30), (OK, A_OK, 20, 40)], None),
        // One stack trace is one slow write.
        (&[trace(10)], None),
        (
            &[trace(10), trace(400)],
            Some("2 NFS writeback stack hints"),
        ),
        (
            &[lock(10), silent(A, 11), trace(12), trace(400)],
            Some(
                "1 lock reclaim failures; 1 NFS server not-responding events; 2 NFS writeback stack hints",
            ),
        ),
        (&[lock(10), trace(12)], Some("1 lock reclaim failures")),
        (&[("else", "x", 10, 10)], None),
    ] {
        let expected = expected.map(|parts| format!("NFS hang detected: {parts}"));
        let hang = judged(seen, &[]);
        assert_eq!(
            hang.as_ref().map(|hang| &hang.action),
            expected.as_ref().map(|_| &RebootSystem)
        );
        assert_eq!(hang.map(|hang| hang.reason), expected, "{seen:?}");
    }
}

#[test]
fn reboots() {
    for (seen, boots, expected) in [
        // Over since the reboot.
        (&[lock(100)][..], &[200][..], None),
        (
            &[lock(200)],
            &[200],
            Some((RebootSystem, "1 lock reclaim failures")),
        ),
        (
            &[lock(100), lock(300)],
            &[200],
            Some((RebootSystem, "1 lock reclaim failures")),
        ),
        // Two traces, but one of them before the reboot.
        (&[trace(100), trace(300)], &[200], None),
        // Two hangs since the first of two reboots.
        (
            &[lock(100), lock(300)],
            &[50, 200],
            Some((HardwareInspection, "1 lock reclaim failures")),
        ),
        (
            &[lock(100), lock(300)],
            &[200, 50],
            Some((HardwareInspection, "1 lock reclaim failures")),
        ),
        (
            &[lock(210), lock(220)],
            &[50, 200],
            Some((HardwareInspection, "2 lock reclaim failures")),
        ),
        // Both at the same time, one of them before all reboots, a single one.
        (
            &[lock(210), silent(A, 210)],
            &[50, 200],
            Some((
                RebootSystem,
                "1 lock reclaim failures; 1 NFS server not-responding events",
            )),
        ),
        (
            &[lock(40), lock(210)],
            &[50, 200],
            Some((RebootSystem, "1 lock reclaim failures")),
        ),
        (
            &[lock(210)],
            &[50, 200],
            Some((RebootSystem, "1 lock reclaim failures")),
        ),
        (
            &[lock(210), lock(220)],
            &[200],
            Some((RebootSystem, "2 lock reclaim failures")),
        ),
    ] {
        let hang = judged(seen, boots).map(|hang| (hang.action, hang.reason));
        let expected =
            expected.map(|(action, parts)| (action, format!("NFS hang detected: {parts}")));
        assert_eq!(hang, expected, "{seen:?} {boots:?}");
    }
}

#[test]
fn reboots_are_asked_only_if_needed_and_their_absence_is_reported() {
    assert_eq!(judge(&stored(&[ok(1)]), || unreachable!()), Ok(None));
    let error = AccessError::Other("disk full".into());
    assert_eq!(
        judge(&stored(&[lock(1)]), || Err(error.clone())),
        Err(error)
    );
}

#[test]
fn how_it_clears() {
    let context = CheckContext {
        component: "nfs".into(),
        now: 1_800_000_000_000,
        trigger: Trigger::Scheduled,
        boot_id: "b-1".into(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    };
    let state = judged(&[silent(A, 10), silent(A, 400)], &[])
        .unwrap()
        .state(&context);
    assert_eq!(state.health, Health::Unhealthy);
    let actions = state.suggested_actions.unwrap();
    assert_eq!(
        (
            actions.description.as_str(),
            actions.repair_actions.as_slice()
        ),
        (
            "NFS hang requires immediate reboot; drain may hang on NFS volumes",
            &[RebootSystem][..]
        )
    );
    let after_three_days = Recovery::At(400_000 + 3 * 86_400_000);
    assert_eq!(
        state.recovery,
        [
            Recovery::Reboot,
            after_three_days,
            Recovery::SetHealthy,
            Recovery::NextGoodReading
        ]
    );
    assert_eq!(state.subject, Some(subject("a")));
    assert_eq!(state.evidence, [Evidence::Kmsg(400), Evidence::Kmsg(10)]);

    let state = judged(&[silent(A, 10), lock(11)], &[])
        .unwrap()
        .state(&context);
    assert_eq!((state.subject, state.recovery.len()), (None, 3));
    let state = judged(&[silent(A, 10), silent(B, 11)], &[])
        .unwrap()
        .state(&context);
    assert_eq!((state.subject, state.recovery.len()), (None, 4));
}
