use proptest::prelude::*;
use regex::{Regex, RegexSet};
use std::sync::LazyLock;

use super::*;

static DELIVERED: LazyLock<RegexSet> = LazyLock::new(|| RegexSet::new(PATTERNS).unwrap());

fn rcu<'a>(flavour: &'a str, kind: RcuKind, cpus: &[u32], jiffies: Option<u64>) -> MatchedLine<'a> {
    MatchedLine::Rcu {
        flavour,
        kind,
        cpus: cpus.to_vec(),
        jiffies,
    }
}

#[test]
fn lines_of_real_kernels() {
    let skew = "skew";
    let hung = |name, pid, seconds| MatchedLine::HungTask { name, pid, seconds };
    for (line, expected) in [
        (
            "rcu: INFO: rcu_preempt self-detected stall on CPU",
            rcu("rcu_preempt", RcuKind::Own, &[], None),
        ),
        (
            "rcu: INFO: rcu_sched self-detected stall on CPU",
            rcu("rcu_sched", RcuKind::Own, &[], None),
        ),
        (
            "INFO: rcu_sched self-detected stall on CPU { 3}",
            rcu("rcu_sched", RcuKind::Own, &[], None),
        ),
        (
            "rcu: INFO: rcu_sched detected stalls on CPUs/tasks:",
            rcu("rcu_sched", RcuKind::Other, &[], None),
        ),
        (
            "rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 3-...D 12-.... P161097 } 63616 jiffies s: 1074129 root: 0x4/.",
            rcu("rcu_preempt", RcuKind::Expedited, &[3, 12], Some(63_616)),
        ),
        (
            "rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: {12-... } 22 jiffies s: 277 root: 0x1/.",
            rcu("rcu_preempt", RcuKind::Expedited, &[12], Some(22)),
        ),
        (
            "INFO: rcu_tasks detected stalls on tasks:",
            rcu("rcu_tasks", RcuKind::Tasks, &[], None),
        ),
        (
            "NMI watchdog: Watchdog detected hard LOCKUP on cpu 3",
            MatchedLine::HardLockup { cpus: "3" },
        ),
        (
            "watchdog: Watchdog detected hard LOCKUP on cpu 11",
            MatchedLine::HardLockup { cpus: "11" },
        ),
        (
            "watchdog: CPU3: Watchdog detected hard LOCKUP on cpu 7",
            MatchedLine::HardLockup { cpus: "7" },
        ),
        (
            "NMI watchdog: Watchdog detected hard LOCKUP on cpu 0Modules linked in: nvidia",
            MatchedLine::HardLockup { cpus: "0" },
        ),
        (
            "watchdog: CPU 5 self-detected hard LOCKUP @ plpar_hcall_norets+0x1c/0x28",
            MatchedLine::HardLockup { cpus: "5" },
        ),
        (
            "watchdog: CPU 0 detected hard LOCKUP on other CPUs 2-3,9",
            MatchedLine::HardLockup { cpus: "2-3,9" },
        ),
        (
            "BUG: workqueue lockup - pool cpus=10 node=1 flags=0x0 nice=-20 stuck for 35s!",
            MatchedLine::Workqueue {
                cpus: Some("10"),
                seconds: Some(35),
            },
        ),
        (
            "BUG: workqueue lockup - pool cpus=0-15 flags=0x4 nice=0 stuck for 1382s!",
            MatchedLine::Workqueue {
                cpus: Some("0-15"),
                seconds: Some(1382),
            },
        ),
        (
            "BUG: workqueue lockup - pool",
            MatchedLine::Workqueue {
                cpus: None,
                seconds: None,
            },
        ),
        (
            "INFO: task nvidia-smi:1234 blocked for more than 122 seconds.",
            hung("nvidia-smi", "1234", 122),
        ),
        (
            "INFO: task kworker/u130:2:8841 blocked in I/O wait for more than 245 seconds.",
            hung("kworker/u130:2", "8841", 245),
        ),
        (
            "INFO: task a b:c, d:7 blocked for more than 122 seconds.",
            hung("a b:c, d", "7", 122),
        ),
        (
            "clocksource: timekeeping watchdog on CPU7: Marking clocksource 'tsc' as unstable because the skew is too large:",
            MatchedLine::Clock {
                name: "tsc",
                why: skew,
            },
        ),
        (
            "clocksource: timekeeping watchdog on CPU2: Marking clocksource 'tsc-early' as unstable because the skew is too large:",
            MatchedLine::Clock {
                name: "tsc-early",
                why: skew,
            },
        ),
        (
            "clocksource: timekeeping watchdog on CPU1: hpet read-back delay of 120000ns, attempt 4, marking unstable",
            MatchedLine::Clock {
                name: "",
                why: "read-back delay",
            },
        ),
        (
            "clocksource: timekeeping watchdog on CPU1: wd-tsc-wd excessive read-back delay of 95828ns vs. limit of 62500ns, wd-wd read-back delay only 21234ns, attempt 4, marking tsc unstable",
            MatchedLine::Clock {
                name: "tsc",
                why: "read-back delay",
            },
        ),
        (
            "tsc: Marking TSC unstable due to clocksource watchdog",
            MatchedLine::Clock {
                name: "tsc",
                why: "clocksource watchdog",
            },
        ),
    ] {
        assert_eq!(find(line), Some(expected), "{line}");
        assert!(DELIVERED.is_match(line), "{line}");
    }
}

#[test]
fn lookalikes() {
    for line in [
        "",
        "rcu: Hierarchical RCU implementation.",
        "rcu: INFO: Stall ended before state dump start",
        "rcu: blocking rcu_node structures (internal RCU debug):",
        "rcu: rcu_preempt kthread starved for 21000 jiffies! g7753 f0x0 RCU_GP_WAIT_FQS(5) ->state=0x0 ->cpu=3",
        "rcu: INFO: srcu self-detected stall on CPU",
        "myapp: INFO: rcu_preempt self-detected stall on CPU",
        "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [dd:12]",
        "Kernel panic - not syncing: Watchdog detected hard LOCKUP on cpu 0",
        "Kernel panic - not syncing: Hard LOCKUP",
        "watchdog: Watchdog detected hard LOCKUP on cpu",
        "watchdog: CPU  0 detected hard LOCKUP on other CPUs 2-3,9",
        "watchdog: CPU0 self-detected hard LOCKUP @ x",
        "NMI watchdog: CPU 0 self-detected hard LOCKUP @ x",
        "watchdog: CPU  3: Watchdog detected hard LOCKUP on cpu 3",
        "watchdog: CPU3 Watchdog detected hard LOCKUP on cpu x",
        "watchdog: CPU 5 became unstuck TB:12",
        "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
        "workqueue: drm_fb_helper_damage_work hogged CPU for >10000us 4 times",
        "INFO: task nvidia-smi:1234 is blocked on a mutex likely owned by task dd:77.",
        "INFO: task nvidia-smi:1234 <writer> blocked on an rw-semaphore likely owned by task dd:7 <reader>",
        "INFO: task :1234 blocked for more than 122 seconds.",
        "INFO: task x: blocked for more than 122 seconds.",
        "INFO: task x:y blocked for more than 122 seconds.",
        "INFO: task x:1 blocked for more than soon seconds.",
        "INFO: task x:1 blocked for more than 122 seconds"
            .strip_suffix(" seconds")
            .unwrap(),
        "logger: INFO: task nvidia-smi:1234 blocked for more than 122 seconds.",
        "clocksource: timekeeping watchdog on CPU0: Marking clocksource 'wdtest-ktime' as unstable because the skew is too large:",
        "clocksource: Switched to clocksource hpet",
        "clocksource:                       'hpet' wd_nsec: 495997815 wd_now: 36f24f3 wd_last: 302c799 mask: ffffffff",
        "tsc: Fast TSC calibration using PIT",
        "TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.",
    ] {
        assert_eq!(find(line), None, "{line}");
    }
}

#[test]
fn processors_of_a_stall() {
    for (line, expected) in [
        (
            r"rcu: \x093-....: (20999 ticks this GP) idle=64a/1/0x4000000000000002 softirq=4091/4091 fqs=2437",
            Some(3),
        ),
        (
            r"rcu: \x090-O..!: (1 GPs behind) idle=64a/0/0x3 softirq=4091/4091 fqs=2437",
            Some(0),
        ),
        ("rcu:  12-...!: (0 ticks this GP) idle=4d4/0/0x0", Some(12)),
        ("rcu: \t3-....: (1 GPs behind)", Some(3)),
        (
            r"rcu: \x09(detected by 2, t=21016 jiffies, g=7753, q=296 ncpus=4)",
            None,
        ),
        (
            r"rcu: \x09Tasks blocked on level-1 rcu_node (CPUs 32-47): P183189",
            None,
        ),
        (r"rcu: \x09Offload RCU callbacks from CPUs: (none).", None),
        (r"rcu: \x090-15: (x)", None),
        (r"rcu: \x0999999999999-....: (1 GPs behind)", None),
        (r"x: \x093-....: (1 GPs behind)", None),
    ] {
        assert_eq!(stalled_cpu(line), expected, "{line}");
        assert!(expected.is_none() || DELIVERED.is_match(line), "{line}");
    }
}

#[test]
fn oopses() {
    for (line, expected) in [
        (
            "BUG: unable to handle page fault for address: ffffc90000a3f000",
            None,
        ),
        (
            "BUG: kernel NULL pointer dereference, address: 0000000000000010",
            None,
        ),
        (
            "BUG: unable to handle kernel paging request at ffffc90000a3f000",
            None,
        ),
        ("kernel BUG at mm/slub.c:4000!", None),
        (
            "Unable to handle kernel NULL pointer dereference at virtual address 0000000000000010",
            None,
        ),
        (
            "BUG: Kernel NULL pointer dereference on read at 0x00000010",
            None,
        ),
        ("Oops: 0002 [#1] SMP PTI", Some("1")),
        ("Oops: Oops: 0000 [#12] SMP NOPTI", Some("12")),
        ("Oops: Kernel access of bad area, sig: 11 [#1]", Some("1")),
        ("Oops [#3]", Some("3")),
        (
            "general protection fault, probably for non-canonical address 0xdead000000000100: 0000 [#1] SMP",
            Some("1"),
        ),
        ("general protection fault: 0000 [#1] SMP", Some("1")),
        ("invalid opcode: 0000 [#1] SMP NOPTI", Some("1")),
        (
            "Internal error: synchronous external abort: 0000000096000210 [#1] SMP",
            Some("1"),
        ),
    ] {
        let found = MatchedLine::Oops {
            what: line,
            number: expected,
        };
        assert_eq!(find(line), Some(found), "{line}");
        assert!(DELIVERED.is_match(line), "{line}");
    }
    for line in [
        "traps: x[1] general protection fault ip:7f sp:7f error:0 in libc.so.6[7f+1]",
        "x[1]: segfault at 0 ip 00007f sp 00007e error 4",
        "general protection fault ip:7f",
        "Oops: 0000 [#]",
        "Oops: 0000 [#1",
        "Internal error: x [ #1]",
        "BUG: soft lockup - CPU#3 stuck for 22s! [x:1]",
        "BUG: scheduling while atomic: x/1/0x2",
        "BUG: KASAN: use-after-free in x",
        "unhandled level 3 translation fault (11) at 0x00000010",
        "app: kernel BUG at x",
        "kernel BUG at x (311): Using mlock ulimits for SHM_HUGETLB is obsolete",
        "Oops [#1] (311): Using mlock ulimits for SHM_HUGETLB is obsolete",
        "Oops [#1] X (311): Using mlock ulimits for SHM_HUGETLB is obsolete",
        "Kernel panic - not syncing: Fatal exception",
    ] {
        assert_eq!(find(line), None, "{line}");
    }
}

/// Lines put together from the pieces that the rules look at, so that near misses are common.
fn line() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "rcu: ",
        "INFO: ",
        "rcu_preempt ",
        "self-",
        "detected ",
        "stall on CPU",
        "expedited ",
        "stalls on CPUs/tasks:",
        "stalls on tasks:",
        " { ",
        "3-...D",
        "}",
        " 77 jiffies",
        "\\x09",
        "3-....: (",
        "NMI ",
        "watchdog: ",
        "CPU3: ",
        "CPU 3 ",
        "Watchdog detected hard LOCKUP on cpu ",
        "7",
        "detected hard LOCKUP on other CPUs ",
        "BUG: workqueue lockup - pool",
        " cpus=4",
        " stuck for ",
        "s!",
        "task ",
        "x:1",
        " blocked for more than ",
        " blocked in I/O wait for more than ",
        "12",
        " seconds",
        "clocksource: timekeeping watchdog on CPU",
        "1: ",
        "Marking clocksource '",
        "tsc",
        "' as unstable",
        ", marking ",
        "unstable",
        "tsc: Marking TSC unstable due to ",
        "BUG: unable to handle ",
        "page fault for address",
        "kernel ",
        "kernel BUG at ",
        "Unable to handle kernel ",
        "Oops",
        "Internal error: ",
        "general protection fault",
        " [#",
        "]",
        "é",
        ":",
        " ",
    ]);
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..Default::default() })]

    /// What is understood is delivered.
    #[test]
    fn the_prefilter_is_no_narrower(line in line()) {
        if find(&line).is_some() || stalled_cpu(&line).is_some() {
            prop_assert!(DELIVERED.is_match(&line), "{}", line);
        }
    }

    /// The simple lines of the format, and nothing that is not of it.
    #[test]
    fn hung_tasks_as_by_regular_expression(line in line()) {
        static FORM: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new("^INFO: task (.+):([0-9]+) blocked (?:in I/O wait )?for more than ([0-9]+) seconds").unwrap()
        });
        let captures = FORM.captures(&line);
        let parts = captures.as_ref().map(|c| (&c[1], &c[2], c[3].parse::<u64>().unwrap()));
        if line.matches(" blocked ").count() == 1 {
            let found = hung_task(&line).map(|found| match found {
                MatchedLine::HungTask { name, pid, seconds } => (name, pid, seconds),
                other => panic!("{other:?}"),
            });
            prop_assert_eq!(found, parts);
        } else if hung_task(&line).is_some() {
            prop_assert!(captures.is_some());
        }
    }

    #[test]
    fn anything_goes(line in any::<String>()) {
        let _ = (find(&line), stalled_cpu(&line));
    }
}
