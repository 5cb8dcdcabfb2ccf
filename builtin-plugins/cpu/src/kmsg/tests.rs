use super::*;
use gpud_sdk::{EventType, Trigger};
use proptest::prelude::*;
use regex::Regex;
use std::sync::LazyLock;

const LOCKUP: &str = "CPU soft lockup detected, not releasing for a period of time";

#[test]
fn lines_of_real_kernels() {
    let cases = [
        (
            "INFO: task loader:70411 blocked for more than 245 seconds.",
            Some(("245", "loader:70411")),
        ),
        (
            "INFO: task nvidia-smi:82351 blocked for more than 491 seconds.",
            Some(("491", "nvidia-smi:82351")),
        ),
        (
            "INFO: task kworker/u130:2:8841 blocked for more than 120 seconds.",
            Some(("120", "kworker/u130:2")),
        ),
        (
            "INFO: task jbd2/sda1-8:318 blocked in I/O wait for more than 122 seconds.",
            Some(("122", "jbd2/sda1-8:318")),
        ),
        (
            "task a:12blocked for more than 1 seconds",
            Some(("1", "a:1")),
        ),
        ("task a:1blocked for more than 1 seconds", None),
        ("task :7 task b:8 blocked for more than 3 seconds", None),
        ("x: task b:8 blocked for more than 3 seconds", None),
        ("x: soft lockup - CPU#3 stuck for 22s! [a:12]", None),
        // The kernel names who holds the lock in a second line, which is no second report.
        (
            "INFO: task nvidia-smi:82351 is blocked on a mutex likely owned by task text-embeddings:4871.",
            None,
        ),
        (
            "INFO: task loader:70411 blocked for more than x seconds.",
            None,
        ),
        ("task:loader state:D stack:0 pid:70411", None),
        (
            "watchdog: BUG: soft lockup - CPU#63 stuck for 26s! [ingest:90210]",
            Some((LOCKUP, "ingest:90210")),
        ),
        (
            "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [kworker/7:1:334]",
            Some((LOCKUP, "kworker/7:1:334")),
        ),
        (
            "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [a]b:12]",
            Some((LOCKUP, "a]b:12")),
        ),
        (
            "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [:12]",
            None,
        ),
        (
            "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [name]",
            None,
        ),
        ("Watchdog detected hard LOCKUP on cpu 3", None),
    ];
    for (line, expected) in cases {
        let expected = expected.map(|(text, task)| match text {
            LOCKUP => ("cpu_soft_lockup", format!("{LOCKUP} ({task})")),
            seconds => {
                let text = format!("CPU task blocked for more than {seconds} seconds ({task})");
                ("cpu_blocked_too_long", text)
            }
        });
        let found = find(line).map(|(entry, text)| (entry.name, text));
        assert_eq!(found, expected, "{line}");
        if expected.is_some() {
            assert!(DELIVERED.is_match(line), "{line}");
        }
    }
}

#[test]
fn a_long_name_is_clipped() {
    let line = format!(
        "INFO: task {}:7 blocked for more than 120 seconds.",
        "x".repeat(8000)
    );
    let (_, text) = find(&line).unwrap();
    assert!(text.starts_with("CPU task blocked for more than 120 seconds"));
    assert!(text.len() < 1000, "{text}");
    let line = format!(
        "soft lockup - CPU#0 stuck for 22s! [{}:7]",
        "é".repeat(8000)
    );
    let (_, text) = find(&line).unwrap();
    assert!(text.starts_with(LOCKUP) && text.len() < 1000, "{text}");
}

static DELIVERED: LazyLock<Regex> = LazyLock::new(|| Regex::new(&PATTERNS.join("|")).unwrap());
/// The expressions that GPUd's behaviour implies (RE2's `\d` is ASCII).
static HUNG_TASK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("^(?:INFO: )?task ([^:]+:[0-9]+).+blocked for more than [0-9]+ seconds").unwrap()
});
static SOFT_LOCKUP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(?:NMI )?watchdog: )?(?:BUG: )?soft lockup - CPU#[0-9]+ stuck for [0-9]+s! \[([^:]+:[0-9]+)\]").unwrap()
});

#[test]
fn an_event_points_to_its_record_and_counts_repeats() {
    let message = Message {
        sequence: 77,
        time: 1_800_000_000_123,
        level: 3,
        facility: 0,
        text: "INFO: task loader:70411 blocked for more than 245 seconds.".into(),
        dictionary: None,
    };
    let context = |now| CheckContext {
        component: "cpu".to_owned(),
        now,
        trigger: Trigger::Event,
        boot_id: "b-1".to_owned(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    };
    let early = event(&context(1_800_000_000_100), &message).unwrap();
    assert_eq!(early.time, 1_800_000_000_100, "the future would be refused");
    let event = event(&context(1_800_000_000_200), &message).unwrap();
    assert_eq!(
        (event.time, event.event_type),
        (message.time, EventType::Warning)
    );
    assert_eq!(event.evidence, [Evidence::Kmsg(77)]);
    let merge = event.merge.unwrap();
    assert_eq!((merge.key, merge.window_seconds), (event.message, 60));
}

/// Lines put together from the pieces that the rules look at, so that near misses are common.
fn line() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "INFO: ",
        "task ",
        ":",
        "1",
        "23",
        " ",
        "x",
        "]",
        "[",
        "blocked for more than ",
        " seconds",
        "blocked for more than 12 seconds",
        "soft lockup - CPU#",
        " stuck for ",
        "s! [",
        "kworker/u1",
        "soft lockup - CPU#7 stuck for 9s! [",
        ":42]",
        "task a:17 ",
        "é",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

    /// Where GPUd's expressions match, we say the same.
    #[test]
    fn agrees_with_the_reference(line in line()) {
        let task = |captures: regex::Captures<'_>| captures[1].to_owned();
        if let Some(captures) = HUNG_TASK.captures(&line) {
            let found = hung_task(&line).map(|(task, _)| task.to_owned());
            prop_assert_eq!(found, Some(task(captures)));
        } else {
            prop_assert!(hung_task(&line).is_none() || line.contains("I/O wait"));
        }
        if let Some(captures) = SOFT_LOCKUP.captures(&line) {
            prop_assert_eq!(soft_lockup(&line).map(str::to_owned), Some(task(captures)));
        }
        if find(&line).is_some() {
            prop_assert!(DELIVERED.is_match(&line));
        }
    }
}
