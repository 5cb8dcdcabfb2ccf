//! Lines of many kernels, and lines that only look like them.

use super::*;

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
