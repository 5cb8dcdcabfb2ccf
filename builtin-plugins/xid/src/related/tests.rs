//! Logs of several lines, with the verdict of both catalogues. Most are of `tests/kernel-logs`, cut to their Xids.

use gpud_builtin_shared::driver::Driver;
use gpud_sdk::history::StoredEvent;
use gpud_sdk::incidents::fact;
use gpud_sdk::nvml::Library;
use gpud_sdk::{CheckContext, Event, Health, HealthState, Message, Trigger};

use crate::evaluate;
use crate::gpu::Gpu;

const REBOOT: &str = "REBOOT_SYSTEM";
const APP: &str = "CHECK_USER_APP_AND_GPU";
const IGNORE: &str = "IGNORE_NO_ACTION_REQUIRED";

fn context() -> CheckContext {
    CheckContext {
        component: crate::COMPONENT.into(),
        now: 10_000_000,
        trigger: Trigger::Event,
        boot_id: "b0".into(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

/// The events of lines, each with its second, and the state that follows.
fn judge(document: &str, lines: &[(u64, &str)]) -> (Vec<Event>, HealthState) {
    let config = crate::config::read(document).unwrap();
    let messages: Vec<Message> = (1..)
        .zip(lines)
        .map(|(sequence, (second, text))| Message {
            sequence,
            time: 1_000_000 + second * 1000,
            level: 3,
            facility: 0,
            text: (*text).to_owned(),
            dictionary: None,
        })
        .collect();
    let mut gpus: Vec<Gpu> = Vec::new();
    crate::names::add(&mut gpus, lines.iter().map(|(_, text)| *text));
    let events = evaluate::events(&context(), &config, &messages, || None, || gpus).unwrap();
    let stored: Vec<StoredEvent> = events
        .iter()
        .rev()
        .map(|event| StoredEvent {
            event: event.clone(),
            count: 1,
            last_time: event.time,
        })
        .collect();
    let driver = || Driver {
        library: Library::Loaded,
        product: Ok(String::new()),
    };
    let report = evaluate::check(&config, &stored, Ok(Vec::new()), || false, driver, Vec::new);
    (events, report.states[0].clone())
}

fn action(state: &HealthState) -> &'static str {
    let actions = state.suggested_actions.as_ref();
    let first = actions.and_then(|actions| actions.repair_actions.first());
    ["", REBOOT, APP, IGNORE, "HARDWARE_INSPECTION"]
        .into_iter()
        .find(|word| {
            first.cloned() == (!word.is_empty()).then(|| gpud_sdk::catalog::repair_action(word))
        })
        .unwrap()
}

const NVIDIA: &str = r#"{"xid_catalog":"nvidia"}"#;

/// Health, code of the reason and action, by GPUd's and by NVIDIA's catalogue.
#[track_caller]
fn expect(
    lines: &[(u64, &str)],
    gpud: (Health, &str, &str),
    nvidia: (Health, &str, &str),
) -> Vec<Event> {
    for (document, (health, code, expected)) in [("{}", gpud), (NVIDIA, nvidia)] {
        let (_, state) = judge(document, lines);
        assert_eq!(state.health, health, "{document}: {state:?}");
        assert!(
            state.reason.starts_with(&format!("XID {code}")),
            "{document}: {}",
            state.reason
        );
        assert_eq!(action(&state), expected, "{document}: {state:?}");
    }
    judge("{}", lines).0
}

use Health::{Healthy, Unhealthy};

#[test]
fn an_echo_points_to_its_cause() {
    let events = expect(
        &[
            (
                0,
                "NVRM: Xid (PCI:0000:0b:00): 31, pid=7, name=python3, Ch 00000008",
            ),
            (
                2,
                "NVRM: Xid (PCI:0000:0b:00): 45, pid=7, name=python3, Ch 00000009",
            ),
        ],
        (Healthy, "31 ", APP),
        (Healthy, "31 ", APP),
    );
    assert_eq!(fact(&events[1], "caused_by"), Some("31"));
    // The driver names it; the GPU of the cause is another, the process is the same.
    let events = expect(
        &[
            (
                0,
                "NVRM: Xid (PCI:0008:01:00): 149, pid=7, name=python3, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x025001c6 0x00000000 0x0 0x0 0x0 0x0)",
            ),
            (
                1,
                "NVRM: Xid (PCI:0009:01:00): 45, pid=7, name=python3, channel 0x00000008 caused by previous Xid 149",
            ),
        ],
        (Unhealthy, "149.37 ", REBOOT),
        (Unhealthy, "149.37 ", REBOOT),
    );
    assert_eq!(fact(&events[1], "caused_by"), Some("149"));
    // Alone it is the reason, and harmless. Neither another GPU nor a later time makes it an echo.
    for other in [
        (31, "NVRM: Xid (PCI:0000:0b:00): 45, pid=7, name=python3"),
        (1, "NVRM: Xid (PCI:0000:0c:00): 45, pid=8, name=python3"),
    ] {
        expect(
            &[
                (0, "NVRM: Xid (PCI:0000:0b:00): 31, pid=7, name=python3"),
                other,
            ],
            (Healthy, "45 ", IGNORE),
            (Healthy, "45 ", IGNORE),
        );
    }
}

#[test]
fn xid_154_overrides_the_others_of_its_gpu() {
    const RESET: &str = "NVRM: Xid (PCI:0000:0d:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (PF FLR)";
    const BAD_TSG: &str =
        "NVRM: Xid (PCI:0000:0d:00): 51, BAD_TSG encountered on runlist: 0 with error code: 4";
    // GPUd judges 154 as harmless; what the driver asks for is suggested all the same.
    let events = expect(
        &[(0, BAD_TSG), (0, RESET)],
        (Healthy, "154 ", REBOOT),
        (Unhealthy, "154 ", REBOOT),
    );
    assert_eq!(fact(&events[0], "recovery_action_of_154"), Some("PF FLR"));
    assert_eq!(fact(&events[1], "recovery_action_label"), Some("PF FLR"));
    // Not of another GPU, nor long after.
    for other in [(0, RESET.replace("0d", "0e")), (31, RESET.to_owned())] {
        let (_, state) = judge("{}", &[(0, BAD_TSG), (other.0, &other.1)]);
        assert_eq!(action(&state), "", "{other:?}");
    }
    // "None" makes GPUd's verdict no softer; NVIDIA's follows it.
    let none = RESET.replace("0x1 (PF FLR)", "0x0 (None)");
    expect(
        &[
            (
                0,
                "NVRM: Xid (PCI:0000:0d:00): 119, pid=1, name=x, Timeout after 45s of waiting for RPC response",
            ),
            (5, &none),
        ],
        (Unhealthy, "119 ", REBOOT),
        (Healthy, "119 ", IGNORE),
    );
    // One that came before says nothing of a later error.
    expect(
        &[
            (0, &none),
            (5, "NVRM: Xid (PCI:0000:0d:00): 119, pid=1, name=x, Timeout"),
        ],
        (Unhealthy, "119 ", REBOOT),
        (Unhealthy, "119 ", REBOOT),
    );
    // GPU lost, and the driver wants the host rebooted.
    expect(
        &[
            (
                0,
                "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.",
            ),
            (
                0,
                "NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (OS Reboot)",
            ),
        ],
        (Unhealthy, "79 ", REBOOT),
        (Unhealthy, "79 ", REBOOT),
    );
}

#[test]
fn a_double_bit_error_and_its_row_are_one_story() {
    let lines = [
        (
            0,
            "NVRM: Xid (PCI:0000:52:00): 48, pid='<unknown>', name=<unknown>, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at physAddr 0x18f31e00 partition 16, subpartition 3.",
        ),
        (
            0,
            "NVRM: Xid (PCI:0000:52:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row (0x0000000018f31e00) marked for remapping, reset gpu to activate.",
        ),
    ];
    for document in ["{}", NVIDIA, r#"{"saved_log":true}"#] {
        let (events, state) = judge(document, &lines);
        assert_eq!(state.health, Unhealthy, "{document}");
        assert!(state.reason.starts_with("XID 48 "), "{}", state.reason);
        assert_eq!(action(&state), REBOOT);
        assert_eq!(fact(&events[1], "part_of"), Some("48"));
        assert_eq!(fact(&events[1], "row"), Some("0x0000000018f31e00"));
        assert_eq!(fact(&events[0], "address"), Some("0x18f31e00"));
    }
    // With what follows on a contained error: for NVIDIA the application alone.
    let contained = "NVRM: Xid (PCI:0000:52:00): 94, pid='<unknown>', name=<unknown>, Contained: SM (0x1). RST: No, D-RST: No";
    let all = [lines[0], lines[1], (0, contained)];
    expect(&all, (Unhealthy, "94 ", REBOOT), (Unhealthy, "48 ", REBOOT));
    // A remapping that failed.
    expect(
        &[
            (0, "NVRM: Xid (PCI:0000:3b:00): 48, x"),
            (
                0,
                "NVRM: Xid (PCI:0000:3b:00): 64, pid='<unknown>', name=<unknown>, Row Remapper Error: (0x0000000bd1f3d200) - All reserved rows for bank are remapped",
            ),
        ],
        (Unhealthy, "64 ", REBOOT),
        (Unhealthy, "64 ", REBOOT),
    );
}

#[test]
fn a_saved_log_names_the_facts_that_xid_63_depends_on() {
    const BARE: &str = "NVRM: Xid (PCI:0000:04:00): 63, pid='<unknown>', name=<unknown>, unknown";
    const ROW: &str = "NVRM: Xid (PCI:0000:04:00): 63, Row Remapper: New row (0x1) marked for remapping, reset gpu to activate.";
    for (document, line, health, word) in [
        (r#"{"saved_log":true}"#, BARE, Unhealthy, "--product"),
        (r#"{"saved_log":true}"#, ROW, Healthy, "takes effect"),
        (
            r#"{"saved_log":true,"product":"NVIDIA H100 80GB HBM3"}"#,
            BARE,
            Healthy,
            "takes effect",
        ),
        (
            r#"{"saved_log":true,"product":"Tesla V100-SXM2-16GB"}"#,
            BARE,
            Unhealthy,
            "does not remap",
        ),
    ] {
        let (events, state) = judge(document, &[(0, line)]);
        assert_eq!(state.health, health, "{document} {line}");
        assert_eq!(action(&state), REBOOT);
        let note = fact(&events[0], "note").unwrap();
        assert!(note.contains(word), "{note}");
    }
    assert_eq!(fact(&judge("{}", &[(0, BARE)]).0[0], "note"), None);
}

#[test]
fn faults_of_one_process_on_many_gpus_are_the_application_s() {
    let events = expect(
        &[
            (
                0,
                "NVRM: Xid (PCI:0000:3b:00): 31, pid=99, name=python3, Ch 00000008",
            ),
            (
                1,
                "NVRM: Xid (PCI:0000:5e:00): 31, pid=99, name=python3, Ch 00000008",
            ),
            (
                1,
                "NVRM: Xid (PCI:0000:60:00): 31, pid=98, name=other, Ch 00000008",
            ),
        ],
        (Healthy, "31 ", APP),
        (Healthy, "31 ", APP),
    );
    let counts = events
        .iter()
        .map(|event| fact(event, "gpus_of_same_process"));
    assert_eq!(counts.collect::<Vec<_>>(), [Some("2"), Some("2"), None]);
}

#[test]
fn the_uuid_comes_from_the_log_and_repeats_add_what_they_say() {
    let lines = [
        (
            0,
            "NVRM: GPU at PCI:0000:00:08: GPU-aaaaaaaa-0000-0000-0000-000000000008",
        ),
        (0, "NVRM: GPU Board Serial Number: 1600000000008"),
        (
            0,
            "NVRM: Xid (PCI:0000:00:08): 94, pid='<unknown>', name=<unknown>, Contained: SM (0x1). RST: No, D-RST: No",
        ),
        (
            0,
            "NVRM: Xid (PCI:0000:00:08): 94, pid=3010004, name=pt_main_thread, Ch 00000008",
        ),
        (
            5,
            "NVRM: Xid (PCI:0000:00:08): 94, pid=3010005, name=pt_main_thread, Ch 00000008",
        ),
    ];
    let events = expect(&lines, (Unhealthy, "94 ", REBOOT), (Healthy, "94 ", APP));
    let first = &events[0];
    assert_eq!(fact(first, "pid"), Some("3010004, 3010005"));
    assert_eq!(fact(first, "process"), Some("pt_main_thread"));
    assert_eq!(
        fact(first, "gpu"),
        Some("0000:00:08.0, GPU-aaaaaaaa-0000-0000-0000-000000000008, serial 1600000000008")
    );
    assert!(
        first
            .message
            .ends_with("on GPU PCI:0000:00:08 UUID:GPU-aaaaaaaa-0000-0000-0000-000000000008"),
        "{}",
        first.message
    );
    assert_eq!(fact(first, "verdicts_differ"), Some("true"));
}

#[test]
fn logs_with_the_verdict_that_people_reached() {
    expect(
        &[
            (
                0,
                "NVRM: Xid (PCI:0000:07:00): 38, pid=326, name=modprobe, channel 0x00000003 0000c597 00000000 00000000",
            ),
            (
                0,
                "NVRM: Xid (PCI:0000:07:00): 109, pid=326, name=modprobe, channel 0x00000007, errorString CTX SWITCH TIMEOUT, Info 0x74007",
            ),
            (
                4,
                "NVRM: Xid (PCI:0000:07:00): 62, 323f0f30 0000c3d8 00000000",
            ),
        ],
        (Unhealthy, "62 ", REBOOT),
        (Unhealthy, "62 ", REBOOT),
    );
    // 45 is no fault.
    expect(
        &[
            (
                0,
                "NVRM: Xid (PCI:0000:01:00): 120, GSP kernel exception: store access page fault (cause:0xf) @ pc:0xffffffff93003d42, partition:4#0",
            ),
            (8, "NVRM: Xid (PCI:0000:01:00): 62, 223b6a66 00002100"),
            (
                8,
                "NVRM: Xid (PCI:0000:01:00): 45, pid=12541, name=VLLM::Worker, channel 0x00000002",
            ),
        ],
        (Unhealthy, "62 ", REBOOT),
        (Unhealthy, "62 ", REBOOT),
    );
    // User faults alone.
    expect(
        &[
            (
                0,
                "NVRM: Xid (PCI:0000:00:05): 43, pid=1045001, name=pt_main_thread, Ch 00000008",
            ),
            (
                90,
                "NVRM: Xid (PCI:0000:00:07): 31, pid=2512003, name=python3.10, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS",
            ),
        ],
        (Healthy, "31 ", APP),
        (Healthy, "31 ", APP),
    );
    // 149 fatal, 145 of XC1 not; "follow Xid 154" is not an inspection for NVIDIA.
    let nonfatal = "NVRM: Xid (PCI:0019:01:00): 145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000008 0x00000000 0x00000000 0x00000000 0x00000000)";
    let (events, state) = judge(NVIDIA, &[(0, nonfatal)]);
    assert_eq!(
        (state.health, fact(&events[0], "vendor_action")),
        (Healthy, Some("XID_154"))
    );
    assert_eq!(fact(&events[0], "link"), Some("12"));
}

#[test]
fn changing_the_catalogue_judges_the_past_too() {
    let off = [(
        0,
        "NVRM: Xid (PCI:0000:00:08): 94, pid=1, name=x, Contained: SM (0x1)",
    )];
    for (stored_by, judged_by, health) in [
        ("{}", NVIDIA, Healthy),
        (NVIDIA, "{}", Unhealthy),
        (NVIDIA, NVIDIA, Healthy),
    ] {
        let (events, _) = judge(stored_by, &off);
        let stored = events.into_iter().map(|event| StoredEvent {
            count: 1,
            last_time: event.time,
            event,
        });
        let report = evaluate::check(
            &crate::config::read(judged_by).unwrap(),
            &stored.collect::<Vec<_>>(),
            Ok(Vec::new()),
            || false,
            || unreachable!(),
            Vec::new,
        );
        assert_eq!(report.states[0].health, health, "{stored_by} {judged_by}");
        let catalog = (
            "xid_catalog".to_owned(),
            if judged_by == NVIDIA {
                "nvidia"
            } else {
                "gpud"
            }
            .to_owned(),
        );
        assert!(report.states[0].extra_info.contains(&catalog));
    }
}

#[test]
fn a_policy_has_the_last_word() {
    let echo = r#"{"policy":{"45":{"severity":"fatal","actions":["HARDWARE_INSPECTION"]}}}"#;
    let (_, state) = judge(
        echo,
        &[
            (0, "NVRM: Xid (PCI:0000:0b:00): 31, pid=7, name=python3"),
            (2, "NVRM: Xid (PCI:0000:0b:00): 45, pid=7, name=python3"),
        ],
    );
    assert_eq!(
        (state.health.clone(), action(&state)),
        (Unhealthy, "HARDWARE_INSPECTION")
    );
}
