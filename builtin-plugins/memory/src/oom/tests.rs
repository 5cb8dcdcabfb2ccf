use super::*;
use gpud_sdk::{EventType, Trigger};
use proptest::prelude::*;
use regex::Regex;
use std::sync::LazyLock;

const START: &str =
    "etl-worker invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=900";
const KILLED: &str =
    "Killed process 5120 (etl-worker) total-vm:1kB, anon-rss:1kB, UID:1000 pgtables:1kB (x)";

fn summary(limited: &str, task: &str, pid: &str) -> String {
    format!(
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=job7,mems_allowed=0-1,oom_memcg={limited},task_memcg=/kubepods/job7,task={task},pid={pid},uid=1000"
    )
}

fn run(lines: &[&str]) -> Vec<String> {
    let mut matcher = Matcher::default();
    lines.iter().filter_map(|line| matcher.line(line)).collect()
}

#[test]
fn kills_of_all_kernels() {
    let in_cgroup = "OOM encountered, victim process: etl-worker, pid: 5120";
    let of_system = "System OOM encountered, victim process: etl-worker, pid: 5120";
    let memcg = summary("/kubepods/job7", "etl-worker", "5120");
    let root = summary("/", "etl-worker", "5120");
    let (zero, odd) = (
        summary("/kubepods/job7", "etl-worker", "0"),
        summary("/", "a", "x"),
    );
    let tricky = summary("/a", "b,pid=1,uid=2", "7");
    let global = "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user,task=etl-worker,pid=5120,uid=0";
    let killed = "Out of memory: Killed process 5120 (etl-worker) total-vm:9kB";
    let long = format!("Killed process 5120 ({})", "x".repeat(8000));
    let clipped = format!(
        "System OOM encountered, victim process: {}, pid: 5120",
        "x".repeat(512)
    );
    let cases: &[(&[&str], &[&str])] = &[
        (&[START, &long], &[&clipped]),
        (&[START, &memcg], &[in_cgroup]),
        (
            &[
                START,
                &memcg,
                "Memory cgroup out of memory: Killed process 5120 (etl-worker)",
            ],
            &[in_cgroup],
        ),
        (&[START, &root], &[of_system]),
        (&[START, global, killed], &[of_system]),
        (&[START, global], &[of_system]),
        (&[global], &[of_system]),
        (&[global, killed], &[of_system]),
        (&[global, killed, global, killed], &[of_system, of_system]),
        (&[START, &zero, killed], &[in_cgroup]),
        (&[START, &odd, killed], &[of_system]),
        (
            &[START, &tricky],
            &["OOM encountered, victim process: b,pid=1,uid=2, pid: 7"],
        ),
        (
            &[
                START,
                "Task in /kube/pod9/c1 killed as a result of limit of /kube/pod9",
                killed,
            ],
            &[in_cgroup],
        ),
        (
            &[
                START,
                "Task in /a killed as a result of limit of /../",
                killed,
            ],
            &[of_system],
        ),
        (
            &[START, KILLED],
            &[
                "System OOM encountered, victim process: etl-worker) total-vm:1kB, anon-rss:1kB, UID:1000 pgtables:1kB (x, pid: 5120",
            ],
        ),
        (
            &[
                START,
                "Kill process 12 (x) score 9 or sacrifice child",
                killed,
            ],
            &[of_system],
        ),
        (
            &[START, START, &memcg, START, &memcg],
            &[in_cgroup, in_cgroup],
        ),
        // The kernel left the beginning out.
        (
            &[
                &memcg,
                killed,
                "oom_reaper: reaped process 5120 (etl-worker)",
            ],
            &[in_cgroup],
        ),
        (&[killed], &[of_system]),
        (&[killed, killed], &[of_system]),
        (&[killed, START, killed], &[of_system, of_system]),
        (
            &["Memory cgroup out of memory: Killed process 5120 (etl-worker) total-vm:9kB"],
            &[in_cgroup],
        ),
        (
            &[
                START,
                &memcg,
                "Memory cgroup out of memory: Killed process 5121 (etl-worker)",
            ],
            &[
                in_cgroup,
                "OOM encountered, victim process: etl-worker, pid: 5121",
            ],
        ),
        (
            &["Killed process 5120 (etl-worker) total-vm:1kB, anon-rss:1kB"],
            &[in_cgroup],
        ),
        // Neither the machine's nor a cgroup's.
        (&[&global.replace(",global_oom", "")], &[]),
        (&["lowmemorykiller: Killed process 5120 (etl-worker)"], &[]),
        // Within other lines, and with more before it than a process can be called.
        (
            &["tmpfs: Unknown parameter 'Killed process 1 (x) total-vm:1'"],
            &[],
        ),
        (
            &[
                "fuse: Unknown parameter 'x invoked oom-killer: y'",
                "Killed process 1 (x)",
            ],
            &[],
        ),
        (
            &["Out of memory (oom_kill_allocating_task): Killed process 5120 (etl-worker)"],
            &[of_system],
        ),
    ];
    for (lines, expected) in cases {
        assert_eq!(run(lines), *expected, "{lines:#?}");
    }
}

#[test]
fn a_kill_may_be_cut_in_two_by_a_batch_but_not_by_a_boot() {
    let mut first = Matcher::default();
    assert_eq!(first.save("b-1"), None);
    assert_eq!(first.line(START), None);
    assert_eq!(
        first.line("Task in /a killed as a result of limit of /a/"),
        None
    );
    let saved = first.save("b-1").unwrap();
    assert_eq!(Matcher::restore(Some(&saved), "b-1"), first);
    assert_eq!(Matcher::restore(Some(&saved), "b-2"), Matcher::default());
    assert_eq!(Matcher::restore(None, "b-1"), Matcher::default());
    let mut later = Matcher::restore(Some(&saved), "b-1");
    let text = later.line(KILLED).unwrap();
    assert!(text.starts_with("OOM encountered, "), "{text}");
    let saved_again = later.save("b-1").unwrap();
    let mut later = Matcher::restore(Some(&saved_again), "b-1");
    assert_eq!(
        (later.line(KILLED), later),
        (None, Matcher::Reported { pid: 5120 })
    );
}

#[test]
fn two_kills_in_a_minute_are_two_events() {
    let mut matcher = Matcher::default();
    let mut event = |sequence, text: String| {
        let (time, dictionary) = (1_800_000_000_000 + sequence, None);
        let context = CheckContext {
            component: "memory".to_owned(),
            now: 1_800_000_000_030,
            trigger: Trigger::Event,
            boot_id: "b-1".to_owned(),
            boot_time: 0,
            previous_check: None,
            extra: Vec::new(),
        };
        let message = Message {
            sequence,
            time,
            level: 4,
            facility: 0,
            text,
            dictionary,
        };
        matcher.event(&context, &message)
    };
    let mut kill = |sequence, pid: &str| {
        assert_eq!(event(sequence, START.to_owned()), None);
        event(sequence + 1, summary("/a", "etl", pid)).unwrap()
    };
    let (one, two) = (kill(10, "1"), kill(20, "2"));
    let ahead = kill(40, "3");
    assert_eq!(ahead.time, 1_800_000_000_030, "the future would be refused");
    assert_eq!(
        (one.name.as_str(), one.event_type),
        ("OOM", EventType::Warning)
    );
    assert_eq!(
        (one.time, one.evidence),
        (1_800_000_000_011, vec![Evidence::Kmsg(11)])
    );
    let (one, two) = (one.merge.unwrap(), two.merge.unwrap());
    assert_eq!((one.window_seconds, two.window_seconds), (60, 60));
    assert_ne!(one.key, two.key);
}

static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("^oom-kill:constraint=(.*),nodemask=(.*),cpuset=(.*),mems_allowed=(.*),oom_memcg=(.*),task_memcg=(.*),task=(.*),pid=(.*),uid=(.*)").unwrap()
});
static GLOBAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("^oom-kill:constraint=(.*),nodemask=(.*),cpuset=(.*),mems_allowed=(.*),global_oom,task_memcg=(.*),task=(.*),pid=(.*),uid=(.*)").unwrap()
});
static LEGACY: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^Task in (.*) killed as a result of limit of (.*)").unwrap());
static KILL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^Killed process ([0-9]+) \((.+)\)").unwrap());

/// Lines put together from the pieces that the rules look at, so that near misses are common.
fn line() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "oom-kill:constraint=",
        "C,nodemask=",
        ",cpuset=",
        "c,mems_allowed=",
        "0,oom_memcg=",
        ",global_oom",
        ",task_memcg=",
        "/a,task=",
        "x,pid=",
        "12",
        ",uid=",
        "0",
        "Killed process ",
        " (",
        ")",
        "Task in ",
        " killed as a result of limit of ",
        "é",
        "oom-kill:constraint=C,nodemask=n,cpuset=c,mems_allowed=0",
        ",oom_memcg=/a,task_memcg=/b",
        ",global_oom,task_memcg=/b",
        ",task=t,pid=7,uid=9",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn agrees_with_the_reference(line in line()) {
        let found = Summary::parse(&line).map(|s| [s.limited, s.task, s.pid].map(str::to_owned));
        let of_cgroup = SUMMARY.captures(&line).map(|c| [5, 7, 8].map(|group| c[group].to_owned()));
        if of_cgroup.is_some() || !line.contains("global_oom") {
            prop_assert_eq!(found, of_cgroup);
        } else if !line.contains("oom_memcg") {
            let of_all = GLOBAL.captures(&line).map(|c| [ROOT, &c[6], &c[7]].map(str::to_owned));
            prop_assert_eq!(found, of_all);
        }
        let expected = LEGACY.captures(&line).map(|c| c[2].to_owned());
        prop_assert_eq!(legacy_limit(&line).map(str::to_owned), expected);
        let expected = KILL.captures(&line).map(|c| (c[1].parse().unwrap(), c[2].to_owned()));
        prop_assert_eq!(killed_process(&line).map(|(pid, name)| (pid, name.to_owned())), expected);
    }

    #[test]
    fn every_line_that_matters_is_delivered(line in line()) {
        static DELIVERED: LazyLock<Regex> = LazyLock::new(|| Regex::new(&PATTERNS.join("|")).unwrap());
        for before in [Matcher::Outside, Matcher::Begun { limited: "/x".to_owned() }, Matcher::Reported { pid: 12 }] {
            let mut matcher = before.clone();
            if matcher.line(&line).is_some() || matcher != before {
                prop_assert!(DELIVERED.is_match(&line));
            }
        }
    }
}
