use proptest::prelude::*;
use regex::{Regex, RegexSet};
use std::sync::LazyLock;

use super::*;

mod real_lines;

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
        ("Oops - illegal instruction [#1]", Some("1")),
        ("Oops: 0004 ilc:2 [#1] SMP", Some("1")),
        ("Oops: 0000 [#1] PREEMPT(voluntary) SMP NOPTI", Some("1")),
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
        "Oops: Setting primary slave [#1]",
        "Oops[#1]SMP: Setting [#1] as primary slave",
        "Oops: 0000 [#1](311): READ block 1 on Oops: 0000 [#1] SMP",
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
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

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
