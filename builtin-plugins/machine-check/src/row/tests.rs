use proptest::prelude::*;

use super::*;
use gpud_sdk::incidents::fact;

fn context() -> CheckContext {
    CheckContext {
        component: "machine-check".into(),
        now: 1_800_000_000_000,
        trigger: gpud_sdk::Trigger::Scheduled,
        boot_id: "b-1".into(),
        boot_time: 1_799_000_000_000,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn message(sequence: u64, time: u64, text: &str) -> Message {
    Message {
        sequence,
        time,
        level: 0,
        facility: 0,
        text: text.into(),
        dictionary: None,
    }
}

fn one(time: u64, text: &str) -> Event {
    let (mut events, _) = events(&context(), &[message(7, time, text)], || None);
    assert_eq!(events.len(), 1, "{text}");
    events.remove(0)
}

const LATER: u64 = 1_799_500_000_000;

/// Lines of each form, and the name, the type and the text of their events.
const EVENTS: &[(&str, &str, EventType, &str)] = &[
    (
        "mce: [Hardware Error]: CPU 5: Machine Check: 0 Bank 7: 8c00004000010090",
        "machine_check_corrected",
        EventType::Info,
        "corrected machine check on CPU 5, bank 7: memory controller, status 0x8c00004000010090",
    ),
    (
        "mce: [Hardware Error]: CPU 24: Machine Check Exception: 5 Bank 4: b200000000070005",
        "machine_check_fatal",
        EventType::Fatal,
        "fatal machine check on CPU 24, bank 4: internal parity, status 0xb200000000070005",
    ),
    (
        "mce: [Hardware Error]: CPU 1: Machine Check Exception: f Bank 1: bd80000000100134",
        "machine_check_uncorrected",
        EventType::Critical,
        "uncorrected machine check on CPU 1, bank 1: cache, status 0xbd80000000100134",
    ),
    (
        "[Hardware Error]: CPU:8 (17:31:0) MC21_STATUS[-|-|-|AddrV|-|-|-|-|-|UECC|Deferred]: 0x8400300000000400",
        "machine_check_deferred",
        EventType::Warning,
        "deferred machine check on CPU 8, bank 21: internal timer, status 0x8400300000000400",
    ),
    (
        "mce: [Hardware Error]: Machine check: Processor context corrupt",
        "machine_check_panic",
        EventType::Fatal,
        "the kernel stops after a machine check: Processor context corrupt",
    ),
    (
        "CPU3 BANK7 CMCI storm detected",
        "cmci_storm",
        EventType::Warning,
        "storm of corrected machine checks detected (CPU 3, bank 7)",
    ),
    (
        "mce: CMCI storm subsided: switching to interrupt mode",
        "cmci_storm_subsided",
        EventType::Info,
        "storm of corrected machine checks subsided (all banks)",
    ),
    (
        "Memory failure: 0x17c: recovery action for dirty LRU page: Recovered",
        "memory_failure",
        EventType::Warning,
        "memory page 0x17c has lost data (dirty LRU page): Recovered",
    ),
    (
        "Memory failure: 0x17c: recovery action for reserved kernel page: Ignored",
        "memory_failure_unhandled",
        EventType::Warning,
        "memory page 0x17c has lost data (reserved kernel page): Ignored",
    ),
    (
        "Memory failure: 0x17c: recovery action for already poisoned page: Failed",
        "memory_failure",
        EventType::Warning,
        "memory page 0x17c has lost data (already poisoned page): Failed",
    ),
    (
        "RAS: Soft-offlining pfn: 0x17c08ac",
        "page_soft_offlined",
        EventType::Info,
        "memory page 0x17c08ac is taken out of use after many corrected errors",
    ),
    (
        "{1}[Hardware Error]:   section_type: memory error",
        "firmware_error_info",
        EventType::Info,
        "info hardware error reported by the firmware: memory error",
    ),
];

#[test]
fn every_form_has_its_event() {
    let events = |text: &str| {
        let event = one(LATER, text);
        assert_eq!(event.evidence, [Evidence::Kmsg(7)]);
        assert_eq!(fact(&event, BOOT), Some("b-1"));
        (event.name, event.event_type, event.message)
    };
    for (line, name, event_type, text) in EVENTS.iter().cloned() {
        assert_eq!(
            events(line),
            (name.to_owned(), event_type, text.to_owned()),
            "{line}"
        );
    }
}

#[test]
fn records_of_the_firmware() {
    let record = |severity: &str, kind: &str, mark: &str| {
        let texts = [
            format!("{mark}[Hardware Error]: event severity: {severity}"),
            format!("{mark}[Hardware Error]:  Error 0, type: {severity}"),
            format!("{mark}[Hardware Error]:   section_type: {kind}"),
            format!("{mark}[Hardware Error]:   error_type: 3, multi-bit ECC"),
        ];
        let messages: Vec<Message> = (0..)
            .zip(&texts)
            .map(|(n, text)| message(n, LATER, text))
            .collect();
        let (mut events, keep) = events(&context(), &messages, || None);
        assert_eq!(events.len(), 1);
        assert!(keep.is_some());
        let event = events.remove(0);
        let previous = fact(&event, PREVIOUS_BOOT).is_some();
        (event.name, event.event_type, event.message, previous)
    };
    for (severity, kind, mark, event_type, message) in [
        (
            "recoverable",
            "memory error",
            "{3}",
            EventType::Critical,
            "recoverable hardware error reported by the firmware: memory error, error_type: 3, multi-bit ECC",
        ),
        (
            "recoverable",
            "PCIe error",
            "{3}",
            EventType::Warning,
            "recoverable hardware error reported by the firmware: PCIe error, error_type: 3, multi-bit ECC",
        ),
        (
            "corrected",
            "PCIe error",
            "{3}",
            EventType::Info,
            "corrected hardware error reported by the firmware: PCIe error, error_type: 3, multi-bit ECC",
        ),
        (
            "fatal",
            "memory error",
            "",
            EventType::Fatal,
            "fatal hardware error of the previous boot reported by the firmware: memory error, error_type: 3, multi-bit ECC",
        ),
    ] {
        let name = format!("firmware_error_{severity}");
        let expected = (name, event_type, message.to_owned(), mark.is_empty());
        assert_eq!(record(severity, kind, mark), expected);
    }
}

#[test]
fn what_is_found_at_the_start_is_of_the_previous_boot() {
    let start = context().boot_time;
    let polled = "mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 5: bea0000000000108";
    let new = "mce: [Hardware Error]: CPU 0: Machine Check Exception: 4 Bank 5: bea0000000000108";
    let corrected = "mce: [Hardware Error]: CPU 0: Machine Check: 0 Bank 5: 9c20000000000108";
    for (text, time, expected) in [
        (polled, start + 3_000, true),
        (polled, start + 119_999, true),
        (polled, start + 120_000, false),
        (new, start + 3_000, false),
        (corrected, start + 3_000, false),
    ] {
        let event = one(time, text);
        assert_eq!(
            fact(&event, PREVIOUS_BOOT).is_some(),
            expected,
            "{text} {time}"
        );
    }
}

#[test]
fn repeats_are_counted_by_place_and_boot() {
    let key = |text: &str| {
        let merge = one(LATER, text).merge.unwrap();
        (merge.key, merge.window_seconds)
    };
    let line = |cpu: u32, status: &str| {
        format!("mce: [Hardware Error]: CPU {cpu}: Machine Check: 0 Bank 7: {status}")
    };
    let first = key(&line(5, "8c00004000010090"));
    assert_eq!(first, key(&line(5, "8c00008000010090")));
    assert_ne!(first, key(&line(6, "8c00004000010090")));
    assert_ne!(first, key(&line(5, "8c00004000010005")));
    assert!(first.0.starts_with("b-1 ") && first.1 == 3_600, "{first:?}");
    assert_eq!(key(&line(5, "be00004000010090")).1, 60);
}

#[test]
fn only_the_kernel_is_heard() {
    for (facility, heard) in [(0, true), (1, true), (3, false), (5, true), (16, false)] {
        let text =
            "mce: [Hardware Error]: CPU 1: Machine Check Exception: f Bank 1: bd80000000100134";
        let message = Message {
            facility,
            ..message(1, LATER, text)
        };
        assert_eq!(
            events(&context(), &[message], || None).0.len(),
            usize::from(heard),
            "{facility}"
        );
    }
}

#[test]
fn a_record_cut_by_a_batch_goes_on() {
    let asked = std::cell::Cell::new(0);
    let run = |texts: &[&str], saved: Option<String>| {
        let messages: Vec<Message> = (0..)
            .zip(texts)
            .map(|(n, text)| message(n, LATER, text))
            .collect();
        events(&context(), &messages, || {
            asked.set(asked.get() + 1);
            saved
        })
    };
    let (none, keep) = run(&["{1}[Hardware Error]: event severity: fatal"], None);
    assert!(none.is_empty());
    let (events, _) = run(&["{1}[Hardware Error]:   section_type: memory error"], keep);
    assert_eq!(events[0].name, "firmware_error_fatal");
    assert_eq!(asked.get(), 2);
    // Other lines ask nothing of the store.
    let (events, keep) = run(&["CPU3 BANK7 CMCI storm detected"], None);
    assert_eq!((events.len(), keep, asked.get()), (1, None, 2));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    /// Events stay within the host's bounds, whatever a line holds.
    #[test]
    fn bounded(tail in "\\PC{0,3000}", form in 0..6usize) {
        let head = [
            "mce: [Hardware Error]: Machine check: ", "{1}[Hardware Error]:   section_type: ",
            "Memory failure: 0x1: recovery action for ", "[Hardware Error]: CPU:", "{1}[Hardware Error]:  fru_text: ", "",
        ][form];
        let lines = [format!("{head}{tail}"), "{1}[Hardware Error]:   section_type: x".to_owned()];
        let messages: Vec<Message> = lines.iter().map(|text| message(1, LATER, text)).collect();
        for event in events(&context(), &messages, || None).0 {
            prop_assert!(event.message.len() <= 4096 && event.merge.unwrap().key.len() <= 16_384);
        }
    }
}
