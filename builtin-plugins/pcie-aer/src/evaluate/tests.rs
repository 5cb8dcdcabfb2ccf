use gpud_sdk::incidents::as_stored;
use gpud_sdk::{Evidence, GpuId, Message, Trigger};

use super::*;
use crate::counters::Totals;
use crate::device::Facts;
use crate::row;

const DAY: u64 = 86_400_000;
const NOW: u64 = 1_800_000_000_000;

fn context() -> CheckContext {
    CheckContext {
        component: "pcie-aer".into(),
        now: NOW,
        trigger: Trigger::Scheduled,
        boot_id: "now".into(),
        boot_time: NOW - DAY / 2,
        previous_check: None,
        extra: Vec::new(),
    }
}

/// GPUs are `0000:3b:00.0` and `0000:4b:00.0`, below ports `0000:3a:00.0` and `0000:4a:00.0`.
fn describe(id: &str) -> Device {
    let gpu = id.contains("b:");
    let (class, link) = if gpu {
        (
            "0x030200",
            format!(
                "../../../devices/pci0000:39/{}/{id}",
                id.replace("b:", "a:")
            ),
        )
    } else {
        ("0x060400", format!("../../../devices/pci0000:39/{id}"))
    };
    let facts = Facts {
        class: class.into(),
        vendor: "0x10de".into(),
        link,
        ..Facts::default()
    };
    Device::new(id, &facts)
}

const GPU: &str = "0000:3b:00.0";
const PORT: &str = "0000:3a:00.0";
const OTHER: &str = "0000:4b:00.0";
const OTHER_PORT: &str = "0000:4a:00.0";

#[derive(Clone, Copy)]
enum ErrorKind {
    Corrected,
    NonFatal,
    Fatal,
    Contained,
    Recovered,
    Failed,
}
use ErrorKind::{Contained, Corrected, Failed, Fatal, NonFatal, Recovered};

/// A stored event: boot, how long before now, what, of which device, count.
fn stored(boot: &str, before: u64, what: ErrorKind, device: &str, count: u64) -> StoredEvent {
    let error = |severity| {
        format!("PCIe Bus Error: severity={severity}, type=Transaction Layer, (Receiver ID)")
    };
    let text = match what {
        Corrected => error("Corrected"),
        NonFatal => error("Uncorrected (Non-Fatal)"),
        Fatal => error("Uncorrected (Fatal)"),
        Contained => "DPC: containment event, status:0x1f01 source:0x0000".to_owned(),
        Recovered => "AER: device recovery successful".to_owned(),
        Failed => "AER: device recovery failed".to_owned(),
    };
    let message = Message {
        sequence: 7,
        time: NOW - before,
        level: 3,
        facility: 0,
        text: format!("x {device}: {text}"),
        dictionary: None,
    };
    let context = CheckContext {
        boot_id: boot.into(),
        ..context()
    };
    StoredEvent {
        event: row::events(&context, &[message], describe).remove(0),
        count,
        last_time: NOW - before,
    }
}

fn counters(of: &[(&str, u64, u64, u64)]) -> Counters {
    let devices = of.iter().map(|(id, corrected, nonfatal, fatal)| {
        let totals = Totals {
            corrected: *corrected,
            nonfatal: *nonfatal,
            fatal: *fatal,
        };
        ((*id).to_owned(), totals)
    });
    Counters {
        exist: true,
        devices: devices.collect(),
    }
}

fn judge(
    context: &CheckContext,
    config: &Config,
    events: &[StoredEvent],
    counters: &Counters,
    before: Option<&Memory>,
    describe: impl FnMut(&str) -> Device,
) -> (Report, Memory) {
    super::judge(
        context,
        config,
        |_| false,
        events,
        counters,
        before,
        describe,
        || false,
    )
}

fn judged(events: &[StoredEvent], of: &[(&str, u64, u64, u64)]) -> Report {
    judge(
        &context(),
        &Config::default(),
        events,
        &counters(of),
        None,
        describe,
    )
    .0
}

#[test]
fn timelines() {
    use Health::{Degraded, Healthy, Unhealthy};
    use RepairAction::{HardwareInspection, RebootSystem};
    let (reboot, inspect) = (vec![RebootSystem], vec![HardwareInspection]);
    let until_reboot = vec![Recovery::Reboot, Recovery::SetHealthy];
    let until_good = vec![Recovery::NextGoodReading, Recovery::SetHealthy];
    let now = |before, what, device| stored("now", before, what, device, 1);
    let old = |boot, before, what| stored(boot, before, what, GPU, 1);
    let quiet: &[(&str, u64, u64, u64)] = &[];
    for (what, events, counts, health, actions, recovery) in [
        ("nothing", vec![], quiet, Healthy, vec![], vec![]),
        (
            "one corrected",
            vec![now(10, Corrected, GPU)],
            quiet,
            Healthy,
            vec![],
            vec![],
        ),
        (
            "one non-fatal",
            vec![now(10, NonFatal, GPU)],
            quiet,
            Healthy,
            vec![],
            vec![],
        ),
        (
            "fatal, recovered",
            vec![now(10, Recovered, PORT), now(20, Fatal, GPU)],
            quiet,
            Healthy,
            vec![],
            vec![],
        ),
        (
            "contained, recovered",
            vec![now(10, Recovered, PORT), now(20, Contained, PORT)],
            quiet,
            Healthy,
            vec![],
            vec![],
        ),
        (
            "fatal",
            vec![now(10, Fatal, GPU)],
            quiet,
            Unhealthy,
            reboot.clone(),
            until_reboot.clone(),
        ),
        (
            "contained",
            vec![now(10, Contained, PORT)],
            quiet,
            Unhealthy,
            reboot.clone(),
            until_reboot.clone(),
        ),
        (
            "fatal, not recovered",
            vec![now(10, Failed, PORT), now(20, Fatal, GPU)],
            quiet,
            Unhealthy,
            reboot.clone(),
            until_reboot.clone(),
        ),
        (
            "recovered, then fatal again",
            vec![
                now(10, Fatal, GPU),
                now(20, Recovered, PORT),
                now(30, Fatal, GPU),
            ],
            quiet,
            Unhealthy,
            reboot.clone(),
            until_reboot.clone(),
        ),
        (
            "recovered, then not",
            vec![
                now(10, Failed, PORT),
                now(20, Recovered, PORT),
                now(30, Fatal, GPU),
            ],
            quiet,
            Unhealthy,
            reboot.clone(),
            until_reboot.clone(),
        ),
        (
            "not recovered, then recovered",
            vec![
                now(10, Recovered, PORT),
                now(20, Failed, PORT),
                now(30, Fatal, GPU),
            ],
            quiet,
            Healthy,
            vec![],
            vec![],
        ),
        (
            "another recovered",
            vec![now(10, Recovered, OTHER_PORT), now(20, Fatal, GPU)],
            quiet,
            Unhealthy,
            reboot.clone(),
            until_reboot.clone(),
        ),
        (
            "after the reboot",
            vec![old("old", 10, Fatal)],
            quiet,
            Healthy,
            vec![],
            vec![],
        ),
        (
            "back after one",
            vec![now(10, Fatal, GPU), old("a", DAY, Fatal)],
            quiet,
            Unhealthy,
            reboot.clone(),
            until_reboot.clone(),
        ),
        (
            "back after two",
            vec![
                now(10, Fatal, GPU),
                old("a", DAY, Fatal),
                old("b", 2 * DAY, Fatal),
            ],
            quiet,
            Unhealthy,
            inspect.clone(),
            until_reboot.clone(),
        ),
        (
            "two of another",
            vec![
                now(10, Fatal, OTHER),
                old("a", DAY, Fatal),
                old("b", 2 * DAY, Fatal),
            ],
            quiet,
            Unhealthy,
            reboot.clone(),
            until_reboot.clone(),
        ),
        (
            "non-fatal, not recovered",
            vec![now(10, Failed, PORT), now(20, NonFatal, GPU)],
            quiet,
            Degraded,
            reboot,
            until_reboot,
        ),
        (
            "the same, then recovered",
            vec![
                now(5, Recovered, PORT),
                now(10, Failed, PORT),
                now(20, NonFatal, GPU),
            ],
            quiet,
            Healthy,
            vec![],
            vec![],
        ),
        (
            "999 corrected",
            vec![stored("now", 10, Corrected, GPU, 999)],
            quiet,
            Healthy,
            vec![],
            vec![],
        ),
        (
            "1000 corrected over two boots",
            vec![
                stored("now", 10, Corrected, GPU, 600),
                stored("old", 20, Corrected, GPU, 400),
            ],
            quiet,
            Degraded,
            inspect.clone(),
            until_good.clone(),
        ),
        (
            "long ago",
            vec![stored("now", DAY + 1, Corrected, GPU, 5000)],
            quiet,
            Healthy,
            vec![],
            vec![],
        ),
        (
            "corrected by the counter",
            vec![],
            &[(GPU, 1000, 0, 0)],
            Degraded,
            inspect.clone(),
            until_good.clone(),
        ),
        (
            "log and counter tell of the same",
            vec![stored("now", 10, Corrected, GPU, 600)],
            &[(GPU, 600, 0, 0)],
            Healthy,
            vec![],
            vec![],
        ),
        (
            "uncorrected by the counter",
            vec![],
            &[(GPU, 0, 8, 2)],
            Degraded,
            inspect.clone(),
            until_good.clone(),
        ),
        (
            "ten non-fatal",
            vec![stored("now", 10, NonFatal, GPU, 10)],
            quiet,
            Degraded,
            inspect.clone(),
            until_good.clone(),
        ),
        (
            "ten fatal, all recovered",
            vec![now(10, Recovered, PORT), stored("now", 20, Fatal, GPU, 10)],
            quiet,
            Degraded,
            inspect,
            until_good,
        ),
        (
            "fatal, and too many corrected",
            vec![now(10, Fatal, GPU)],
            &[(OTHER, 1000, 0, 0)],
            Unhealthy,
            vec![RebootSystem, HardwareInspection],
            vec![Recovery::SetHealthy],
        ),
    ] {
        let state = judged(&events, counts).states.remove(0);
        let found = state
            .suggested_actions
            .map(|actions| actions.repair_actions)
            .unwrap_or_default();
        assert_eq!(
            (state.health, found, state.recovery),
            (health, actions, recovery),
            "{what}: {}",
            state.reason
        );
    }
}

#[test]
fn a_row_that_went_on_after_the_recovery_is_not_resolved() {
    let fatal = StoredEvent {
        last_time: NOW - 5,
        count: 2,
        ..stored("now", 30, Fatal, GPU, 1)
    };
    let state = judged(&[stored("now", 10, Recovered, PORT, 1), fatal], &[])
        .states
        .remove(0);
    assert_eq!(state.health, Health::Unhealthy);
}

#[test]
fn the_outcome_of_a_device_that_was_gone_is_taken_from_any_port() {
    let gone = |id: &str| {
        if id == GPU {
            Device::unknown(id)
        } else {
            describe(id)
        }
    };
    let message = |sequence, text: &str| Message {
        sequence,
        time: NOW - 100 + sequence,
        level: 3,
        facility: 0,
        text: text.into(),
        dictionary: None,
    };
    let fatal = "nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Inaccessible, (Unregistered Agent ID)";
    let recovered = "pcieport 0000:3a:00.0: AER: device recovery successful";
    for (second, health) in [(recovered, Health::Healthy), ("x", Health::Unhealthy)] {
        let rows = as_stored(row::events(
            &context(),
            &[message(1, fatal), message(2, second)],
            gone,
        ));
        assert_eq!(judged(&rows, &[]).states[0].health, health, "{second}");
    }
}

#[test]
fn reasons_name_the_device() {
    let state =
        |events: &[StoredEvent], of: &[(&str, u64, u64, u64)]| judged(events, of).states.remove(0);
    assert_eq!(state(&[], &[]).reason, "ok");
    let one = state(
        &[
            stored("now", 10, Fatal, GPU, 2),
            stored("a", DAY, Fatal, GPU, 1),
            stored("b", 2 * DAY, Fatal, GPU, 1),
        ],
        &[(GPU, 1500, 0, 2)],
    );
    assert_eq!(
        one.reason,
        "fatal PCIe errors without recovery since the machine started: 2 on 0000:3b:00.0 (GPU NVIDIA), as in earlier \
         boots: 0000:3b:00.0; too many corrected PCIe errors within 24 h: 1500 on 0000:3b:00.0 (GPU NVIDIA)"
    );
    let gpu = GpuId {
        uuid: None,
        serial: None,
        pci_id: Some(GPU.into()),
    };
    assert_eq!(
        (one.subject, one.evidence),
        (Some(Subject::Gpu(gpu)), vec![Evidence::Kmsg(7); 1])
    );
    let two = state(
        &[
            stored("now", 10, Fatal, GPU, 1),
            stored("now", 10, Contained, OTHER_PORT, 1),
        ],
        &[],
    );
    assert_eq!(
        two.reason,
        "fatal PCIe errors without recovery since the machine started: 1 on 0000:3b:00.0 (GPU NVIDIA), 1 on 0000:4a:00.0 \
         (PCIe port NVIDIA)"
    );
    assert_eq!(two.subject, None);
    let ids: Vec<String> = (0..6).map(|n| format!("0000:{n}b:00.0")).collect();
    let many: Vec<_> = ids.iter().map(|id| (id.as_str(), 0, 20, 0)).collect();
    assert!(
        state(&[], &many)
            .reason
            .ends_with("20 on 0000:3b:00.0 (GPU NVIDIA) and 2 more")
    );
}

#[test]
fn only_devices_that_matter_are_looked_up() {
    let counters = counters(&[(GPU, 999, 9, 0), (OTHER, 1, 0, 0)]);
    let (report, kept) = judge(&context(), &Config::default(), &[], &counters, None, |id| {
        panic!("{id}")
    });
    assert_eq!(report.states[0].health, Health::Healthy);
    let data =
        r#"{"devices_with_errors":2,"corrected_errors":1000,"nonfatal_errors":9,"fatal_errors":0}"#;
    assert_eq!(
        report.states[0].extra_info,
        [("data".to_owned(), data.to_owned())]
    );
    let metrics: Vec<_> = report
        .metrics
        .iter()
        .map(|metric| (metric.labels[1].1.as_str(), metric.value))
        .collect();
    assert_eq!(
        metrics[..3],
        [("corrected", 999.0), ("nonfatal", 9.0), ("fatal", 0.0)]
    );
    assert_eq!(report.metrics.len(), 6);
    // set-healthy restarts the counts.
    let more = super::tests::counters(&[(GPU, 5_000, 50, 0)]);
    let (report, kept) = judge(
        &context(),
        &Config::default(),
        &[],
        &more,
        Some(&kept),
        describe,
    );
    assert_eq!(report.states[0].health, Health::Degraded);
    let cleared = CheckContext {
        trigger: Trigger::SetHealthy,
        ..context()
    };
    let (report, kept) = judge(
        &cleared,
        &Config::default(),
        &[],
        &more,
        Some(&kept),
        describe,
    );
    assert_eq!(report.states[0].health, Health::Healthy);
    let (report, _) = judge(
        &context(),
        &Config::default(),
        &[],
        &more,
        Some(&kept),
        describe,
    );
    assert_eq!(report.states[0].health, Health::Healthy);
}

#[test]
fn a_machine_without_aer_is_hidden() {
    let judge = |events: &[StoredEvent]| {
        judge(
            &context(),
            &Config::default(),
            events,
            &Counters::default(),
            None,
            describe,
        )
        .0
    };
    let report = judge(&[]);
    assert_eq!(
        (report.supported, report.states[0].health.clone()),
        (false, Health::Healthy)
    );
    assert!(report.metrics.is_empty());
    assert!(judge(&[stored("now", 10, Corrected, GPU, 1)]).supported);
    let none = Counters::default();
    let seen = super::judge(
        &context(),
        &Config::default(),
        |_| false,
        &[],
        &none,
        None,
        describe,
        || true,
    )
    .0;
    assert!(seen.supported && seen.states[0].health == Health::Healthy);
}
