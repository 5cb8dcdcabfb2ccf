use gpud_sdk::{EventType, Evidence, Health, Recovery, RepairAction, Trigger};

use super::*;
use crate::patterns::CATALOG;

const MINUTE: u64 = 60_000;
const NOW: u64 = 1_800_000_000_000;

fn context(now: u64) -> CheckContext {
    CheckContext {
        component: crate::COMPONENT.into(),
        now,
        trigger: Trigger::Event,
        boot_id: "boot".into(),
        boot_time: 0,
        previous_check: None,
        extra: vec![],
    }
}

fn message(sequence: u64, time: u64, text: &str) -> Message {
    Message {
        sequence,
        time,
        level: 3,
        facility: 0,
        text: text.into(),
        dictionary: None,
    }
}

fn all(texts: &[(u64, &str)]) -> Vec<Event> {
    let messages: Vec<Message> = texts
        .iter()
        .enumerate()
        .map(|(n, (minute, text))| message(n as u64, NOW - 60 * MINUTE + minute * MINUTE, text))
        .collect();
    let mut blocked = Blocked::restore(None, "boot");
    let mut oops = Oops::restore(None, "boot");
    events(
        &context(NOW),
        &Config::default(),
        &messages,
        &mut blocked,
        &mut oops,
    )
}

#[test]
fn names_that_users_choose_are_no_oops() {
    for line in [
        // A network device in a namespace of the user's own.
        "Oops: renamed from [#1]",
        "Oops: port 1([#1]) entered blocking state",
        "Oops: Releasing active interface [#1]",
        "Oops: option mode: invalid value (x: 0000 [#1] SMP)",
        // A process in a cgroup of the user's own.
        "Oops: page allocation failure: order:4, mode:0xcc0(GFP_KERNEL),nodemask=(null),cpuset=x [#1]",
    ] {
        assert_eq!(all(&[(1, line)]), [], "{line}");
    }
}

fn report(texts: &[(u64, &str)], clock: Option<&str>) -> Report {
    let stored = incidents::as_stored(all(texts));
    let clock = || clock.map(str::to_owned);
    judge(
        &context(NOW),
        &Config::default(),
        &Policy::none(&CATALOG),
        &stored,
        &[],
        clock,
    )
}

#[test]
fn a_stall_gathers_its_processors() {
    let events = all(&[
        (1, "rcu: INFO: rcu_sched detected stalls on CPUs/tasks:"),
        (1, r"rcu: \x097-....: (20999 ticks this GP) idle=64a/1/0x2"),
        (1, r"rcu: \x093-....: (1 GPs behind) idle=64a/1/0x2"),
        (
            1,
            r"rcu: \x09(detected by 2, t=21016 jiffies, g=7753, q=296 ncpus=4)",
        ),
        (2, "rcu: INFO: rcu_sched self-detected stall on CPU"),
        (
            3,
            r"rcu: \x095-....: (1 GPs behind) too late to be of that stall",
        ),
    ]);
    assert_eq!(events.len(), 2);
    let first = &events[0];
    assert_eq!(
        (first.name.as_str(), &first.event_type),
        (RCU, &EventType::Warning)
    );
    assert_eq!(incidents::fact(first, "cpus"), Some("3,7"));
    assert_eq!(incidents::fact(first, "kind"), Some("detected"));
    assert_eq!(first.evidence, [Evidence::Kmsg(0)]);
    assert_eq!(incidents::fact(&events[1], "cpus"), None);
}

#[test]
fn short_expedited_stalls_are_for_the_record() {
    let line = "rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: {12-... } 22 jiffies s: 277 root: 0x1/.";
    let texts: Vec<_> = (0..9).map(|minute| (minute, line)).collect();
    assert_eq!(all(&texts)[0].event_type, EventType::Info);
    assert_eq!(report(&texts, None).states[0].health, Health::Healthy);
}

#[test]
fn a_single_stall_is_no_verdict_several_are() {
    let stall = "rcu: INFO: rcu_preempt self-detected stall on CPU";
    let one = report(&[(59, stall)], None);
    assert_eq!(one.states[0].health, Health::Healthy);
    assert_eq!(
        one.states[0].reason,
        "1 stall within 3600 s, below the threshold"
    );
    let state = &report(&[(56, stall), (57, stall), (58, stall)], None).states[0];
    assert_eq!(state.health, Health::Degraded);
    assert_eq!(state.reason, "3 RCU stalls (rcu_preempt) within 3600 s");
    assert_eq!(
        state.recovery,
        [
            Recovery::Reboot,
            Recovery::At(NOW + 58 * MINUTE),
            Recovery::SetHealthy
        ]
    );
    // An hour after the last one it is over.
    let stored = incidents::as_stored(all(&[(1, stall), (2, stall), (3, stall)]));
    let later = judge(
        &context(NOW + 4 * MINUTE),
        &Config::default(),
        &Policy::none(&CATALOG),
        &stored,
        &[],
        || None,
    );
    assert_eq!(later.states[0].health, Health::Healthy);
    assert_eq!(later.states[0].reason, "nothing is stuck");
}

#[test]
fn lockups() {
    let pool = "BUG: workqueue lockup - pool cpus=2 node=0 flags=0x0 nice=0 stuck for 72s!";
    let state = &report(&[(51, pool), (52, pool), (58, pool)], None).states[0];
    assert_eq!(state.reason, "3 work queue lockups (CPU 2) within 3600 s");
    let report = report(
        &[
            (50, "watchdog: Watchdog detected hard LOCKUP on cpu 3"),
            (51, pool),
        ],
        None,
    );
    let state = &report.states[0];
    assert_eq!(
        (&state.health, state.reason.as_str()),
        (&Health::Unhealthy, "hard lockup on CPU 3")
    );
    let actions = state.suggested_actions.as_ref().unwrap();
    assert_eq!(actions.repair_actions, [RepairAction::RebootSystem]);
    let gauges: Vec<_> = report
        .metrics
        .iter()
        .map(|m| (m.labels[0].1.as_str(), m.value))
        .collect();
    assert_eq!(
        gauges,
        [
            (RCU, 0.0),
            (HARD_LOCKUP, 1.0),
            (WORKQUEUE, 1.0),
            (BLOCKED, 0.0)
        ]
    );
}

#[test]
fn a_hard_lockup_in_three_boots_is_for_the_workshop() {
    let line = "NMI watchdog: Watchdog detected hard LOCKUP on cpu 3";
    let stored = incidents::as_stored(all(&[(10, line), (20, line), (30, line)]));
    let boots = [25, 15].map(|minute| NOW - 60 * MINUTE + minute * MINUTE);
    let state = judge(
        &context(NOW),
        &Config::default(),
        &Policy::none(&CATALOG),
        &stored,
        &boots,
        || None,
    )
    .states
    .remove(0);
    let actions = state.suggested_actions.unwrap();
    assert_eq!(actions.repair_actions, [RepairAction::HardwareInspection]);
    // A reboot after the last one clears it.
    let state = judge(
        &context(NOW),
        &Config::default(),
        &Policy::none(&CATALOG),
        &stored,
        &[NOW - MINUTE],
        || None,
    );
    assert_eq!(state.states[0].health, Health::Healthy);
}

#[test]
fn blocked_tasks_are_named_when_they_come_back() {
    let smi = "INFO: task nvidia-smi:1234 blocked for more than 122 seconds.";
    let again = "INFO: task nvidia-smi:1234 blocked for more than 245 seconds.";
    let other = "INFO: task dd:9 blocked for more than 122 seconds.";
    assert_eq!(all(&[(1, smi), (2, other), (3, again)]), []);
    let events = all(&[
        (50, smi),
        (51, other),
        (52, again),
        (53, other),
        (54, again),
    ]);
    assert_eq!(events.len(), 1);
    assert_eq!(
        events[0].message,
        "Task nvidia-smi blocked again and again (3 reports within 3600 s)"
    );
    assert_eq!(incidents::fact(&events[0], "pid"), Some("1234"));
    let state = &report(&[(50, smi), (52, again), (54, again)], None).states[0];
    assert_eq!(state.health, Health::Degraded);
    assert_eq!(state.reason, "task nvidia-smi is blocked again and again");
    assert_eq!(state.suggested_actions, None);
    // Workers count together.
    let worker =
        |n: u32| format!("INFO: task kworker/{n}:1:{n} blocked for more than 122 seconds.");
    let (a, b, c) = (worker(1), worker(2), worker(3));
    assert_eq!(
        incidents::device(&all(&[(1, &a), (2, &b), (3, &c)])[0]),
        "kworker"
    );
}

#[test]
fn a_lost_clock_matters_where_a_slow_one_takes_its_place() {
    let lines = [
        (
            1,
            "clocksource: timekeeping watchdog on CPU7: Marking clocksource 'tsc' as unstable because the skew is too large:",
        ),
        (1, "tsc: Marking TSC unstable due to clocksource watchdog"),
    ];
    for (clock, health, reason) in [
        (
            Some("hpet\n"),
            Health::Degraded,
            "clocksource tsc was given up, now hpet",
        ),
        (Some("kvm-clock\n"), Health::Healthy, "nothing is stuck"),
        (None, Health::Healthy, "nothing is stuck"),
    ] {
        let report = report(&lines, clock);
        assert_eq!(
            (&report.states[0].health, report.states[0].reason.as_str()),
            (&health, reason)
        );
    }
    let asked = std::cell::Cell::new(false);
    let clock = || {
        asked.set(true);
        None
    };
    judge(
        &context(NOW),
        &Config::default(),
        &Policy::none(&CATALOG),
        &[],
        &[],
        clock,
    );
    assert!(!asked.get());
}

#[test]
fn an_oops_is_one_event_of_its_first_line() {
    let first = "BUG: kernel NULL pointer dereference, address: 0000000000000010";
    let lines = [
        (10, first),
        (10, "#PF: supervisor read access in kernel mode"),
        (10, "Oops: Oops: 0000 [#1] SMP PTI"),
        (10, "Oops: general protection fault: 0000 [#2] SMP PTI"),
        (12, "kernel BUG at mm/slub.c:4000!"),
        (12, "invalid opcode: 0000 [#3] SMP NOPTI"),
    ];
    let events = all(&lines);
    assert_eq!(events.len(), 3);
    assert_eq!(events[0].message, format!("Kernel oops: {first}"));
    assert_eq!(events[0].event_type, EventType::Critical);
    assert_eq!(incidents::fact(&events[1], "number"), Some("2"));
    let merge = |at: usize| events[at].merge.clone().unwrap();
    assert_eq!((merge(0).key, merge(0).window_seconds), (merge(2).key, 60));

    let state = &report(&lines[..3], None).states[0];
    assert_eq!(
        (&state.health, state.reason.clone()),
        (&Health::Degraded, format!("Kernel oops: {first}"))
    );
    assert_eq!(state.recovery[0], Recovery::Reboot);
    let actions = state.suggested_actions.as_ref().unwrap();
    assert_eq!(actions.repair_actions, [RepairAction::RebootSystem]);
    let long = format!("kernel BUG at {}:1!", "é".repeat(5000));
    assert!(all(&[(1, &long)])[0].message.len() <= 512);
}

#[test]
fn services_are_not_believed() {
    let mut line = message(1, NOW, "watchdog: Watchdog detected hard LOCKUP on cpu 3");
    for (facility, found) in [(0, 1), (5, 1), (3, 0)] {
        line.facility = facility;
        let mut blocked = Blocked::restore(None, "");
        let mut oops = Oops::restore(None, "");
        let lines = [line.clone()];
        assert_eq!(
            events(
                &context(NOW),
                &Config::default(),
                &lines,
                &mut blocked,
                &mut oops
            )
            .len(),
            found
        );
    }
}

#[test]
fn a_site_has_its_own_view() {
    let stall = "rcu: INFO: rcu_sched self-detected stall on CPU";
    let short = "rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 3-...D } 24 jiffies s: 1 root: 0x8/.";
    for (policy, line, health, reason) in [
        (
            "{}",
            stall,
            Health::Healthy,
            "1 stall within 3600 s, below the threshold",
        ),
        (
            r#"{"rcu_stall":{"threshold":1,"window_seconds":600}}"#,
            stall,
            Health::Degraded,
            "1 RCU stalls (rcu_sched) within 600 s (site policy)",
        ),
        (
            r#"{"rcu_stall_short":{"severity":"critical"}}"#,
            short,
            Health::Degraded,
            "RCU stall (rcu_preempt): processors or tasks hold up the kernel's grace period (site policy)",
        ),
        (
            r#"{"clocksource_unstable":{"severity":"fatal"}}"#,
            "tsc: Marking TSC unstable due to clocksource watchdog",
            Health::Unhealthy,
            "Clocksource tsc is unstable; the kernel no longer takes the time from it (site policy)",
        ),
    ] {
        let document = format!("{{\"policy\":{policy}}}");
        let policy = gpud_sdk::policy::alone(&document, &CATALOG).unwrap();
        let stored = incidents::as_stored(all(&[(55, line)]));
        let report = judge(
            &context(NOW),
            &Config::default(),
            &policy,
            &stored,
            &[],
            || None,
        );
        let state = &report.states[0];
        assert_eq!(
            (&state.health, state.reason.as_str()),
            (&health, reason),
            "{document}"
        );
    }
}
