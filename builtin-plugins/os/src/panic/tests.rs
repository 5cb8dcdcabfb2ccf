use super::*;
use proptest::prelude::*;
use regex::Regex;
use std::sync::LazyLock;

const PANIC: &str = "Kernel panic - not syncing: Fatal exception";
const CPU: &str = "CPU: 3 PID: 77 Comm: bash Not tainted 6.8.0";
const CPU_6_11: &str = "CPU: 3 UID: 0 PID: 77 Comm: bash Not tainted 6.12.0";
const END: &str = "---[ end Kernel panic - not syncing: Fatal exception ]---";
const VFS: &str = "VFS: file-max limit 1048576 reached";
const INFO: &str = "Kernel panic detected - CPU: 3, PID: 77, Process: bash";

fn message(sequence: u64, text: &str) -> Message {
    let (text, dictionary) = (text.to_owned(), None);
    Message {
        sequence,
        time: sequence * 1000,
        level: 0,
        facility: 0,
        text,
        dictionary,
    }
}

fn run(lines: &[(u64, &str)]) -> Vec<(u64, String)> {
    let (mut matcher, mut events) = (Matcher::default(), Vec::new());
    for (sequence, text) in lines {
        // Batches may end anywhere.
        matcher = Matcher::restore(matcher.save().as_deref());
        matcher.message("b-1", &message(*sequence, text), &mut events);
    }
    events
        .into_iter()
        .map(|event| (event.time / 1000, event.message))
        .collect()
}

#[test]
fn panics_in_the_log() {
    let vfs = "VFS file-max limit reached";
    type Lines<'a> = &'a [(u64, &'a str)];
    let cases: &[(Lines<'_>, Lines<'_>)] = &[
        (&[(1, PANIC), (2, CPU)], &[(2, INFO)]),
        (&[(1, "Kernel Panic"), (11, CPU_6_11)], &[(11, INFO)]),
        (&[(1, PANIC), (12, CPU)], &[(1, NO_INFO)]),
        (
            &[(1, PANIC), (3, PANIC), (4, CPU)],
            &[(1, NO_INFO), (4, INFO)],
        ),
        (&[(1, PANIC), (2, CPU), (9, END), (10, CPU)], &[(2, INFO)]),
        (&[(1, PANIC), (9, END), (10, CPU)], &[(1, NO_INFO)]),
        (&[(1, PANIC), (2, VFS), (3, CPU)], &[(2, vfs), (3, INFO)]),
        (&[(1, PANIC), (20, VFS)], &[(1, NO_INFO), (20, vfs)]),
        (&[(1, CPU), (2, "kernel panic"), (3, CPU)], &[]),
        (&[(1, PANIC)], &[]),
    ];
    for (lines, expected) in cases {
        let expected: Vec<_> = expected
            .iter()
            .map(|&(time, text)| (time, text.to_owned()))
            .collect();
        assert_eq!(run(lines), expected, "{lines:?}");
    }
}

#[test]
fn batches_may_end_anywhere_and_no_event_is_in_the_future() {
    let context = CheckContext {
        component: "os".to_owned(),
        now: 5_000,
        trigger: gpud_sdk::Trigger::Event,
        boot_id: "b-1".to_owned(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    };
    let (found, kept) = events(&context, vec![message(4, VFS), message(9, PANIC)], None);
    assert_eq!(
        found.iter().map(|event| event.time).collect::<Vec<_>>(),
        [4_000]
    );
    assert_eq!(kept.as_deref(), Some("b-1 9 5000"));
    let long = format!("CPU: 3 PID: 77 Comm: {}", "x".repeat(8000));
    let (found, kept) = events(&context, vec![message(10, &long)], kept.as_deref());
    let [event] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!((event.time, kept), (5_000, None));
    assert!(event.message.len() < 1000, "{}", event.message);
}

#[test]
fn a_panic_alone_is_reported_by_the_next_check() {
    let mut matcher = Matcher::default();
    matcher.message("b-1", &message(100, PANIC), &mut Vec::new());
    assert_eq!(matcher.overdue("b-1", 100_000 + PATIENCE_MS - 1), None);
    let saved = matcher.save();
    let event = matcher.overdue("b-1", 100_000 + PATIENCE_MS).unwrap();
    assert_eq!(
        (event.time, event.name.as_str(), event.message.as_str()),
        (100_000, "kernel_panic", NO_INFO)
    );
    assert_eq!(event.evidence, [Evidence::Kmsg(100)]);
    assert_eq!(event.merge.unwrap().window_seconds, 60);
    assert_eq!(
        (matcher.save(), matcher.overdue("b-1", u64::MAX)),
        (None, None)
    );

    let mut after_boot = Matcher::restore(saved.as_deref());
    assert!(after_boot.clone().overdue("b-2", 100_001).is_some());
    let mut events = Vec::new();
    after_boot.message("b-2", &message(3, VFS), &mut events);
    assert_eq!(events.len(), 2);
    for saved in [None, Some(""), Some("x y"), Some("b 1 z")] {
        assert_eq!(Matcher::restore(saved), Matcher::default());
    }
}

#[test]
fn panics_in_a_dump() {
    let lines = |count: usize| "<6>[ 1.0] other\n".repeat(count);
    let cases = [
        (
            format!(
                "<0>[ 9.1] {PANIC}\n<4>[ 9.2] {CPU}\n{}<0>[ 9.9] {END}",
                lines(3)
            ),
            vec![INFO],
        ),
        (
            format!("{}<0>[ 9.1] {PANIC}\n{VFS}\n{}", lines(3), lines(20)),
            vec![NO_INFO],
        ),
        (format!("{PANIC}\n"), vec![NO_INFO]),
        (lines(3) + VFS, vec![]),
    ];
    for (text, expected) in cases {
        let events = in_dump(&text, "/p/dmesg.txt", 42);
        let messages: Vec<_> = events.iter().map(|event| event.message.as_str()).collect();
        assert_eq!(messages, expected, "{text}");
        for event in &events {
            assert_eq!((event.time, &event.merge), (42, &None));
            assert_eq!(event.evidence, [Evidence::File("/p/dmesg.txt".into())]);
        }
    }
}

static PROCESSOR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^CPU: ([0-9]+) (?:UID: [0-9]+ )?PID: ([0-9]+) Comm: ([^\s]+)").unwrap()
});
static FILE_MAX: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^VFS: file-max limit [0-9]+ reached").unwrap());
static DELIVERED: LazyLock<Regex> = LazyLock::new(|| Regex::new(&PATTERNS.join("|")).unwrap());

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn agrees_with_the_reference(pieces in prop::collection::vec(prop::sample::select(vec![
        "CPU: ", "1", "42", " ", "UID: ", "PID: ", " PID: 7", " Comm: ", "sh", "é", "VFS: file-max limit ", " reached",
        "CPU: 1 UID: 0 PID: 2 Comm: ",
    ]), 0..10)) {
        let line = pieces.concat();
        let expected = PROCESSOR.captures(&line).map(|c| {
            format!("Kernel panic detected - CPU: {}, PID: {}, Process: {}", &c[1], &c[2], &c[3])
        });
        prop_assert_eq!(processor(&line), expected);
        prop_assert_eq!(exceeds_file_max(&line), FILE_MAX.is_match(&line));
        if processor(&line).is_some() || exceeds_file_max(&line) {
            prop_assert!(DELIVERED.is_match(&line));
        }
    }
}
