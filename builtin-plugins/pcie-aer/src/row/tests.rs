use gpud_sdk::Subject;
use proptest::prelude::*;

use super::*;
use crate::device::Facts;
use gpud_sdk::incidents::fact;

mod lookups;

fn context() -> CheckContext {
    CheckContext {
        component: "pcie-aer".into(),
        now: 1_800_000_000_000,
        trigger: gpud_sdk::Trigger::Scheduled,
        boot_id: "b-1".into(),
        boot_time: 1_799_000_000_000,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn message(sequence: u64, text: &str) -> Message {
    Message {
        sequence,
        time: 1_799_500_000_000 + sequence,
        level: 3,
        facility: 0,
        text: text.into(),
        dictionary: None,
    }
}

fn gpu(id: &str) -> Device {
    let facts = Facts {
        class: "0x030200".into(),
        vendor: "0x10de".into(),
        link: format!("../../../devices/pci0000:39/0000:3a:00.0/{id}"),
        ..Facts::default()
    };
    Device::new(id, &facts)
}

fn events_of(lines: &[&str]) -> Vec<Event> {
    let messages: Vec<Message> = (0..).zip(lines).map(|(n, text)| message(n, text)).collect();
    events(&context(), &messages, gpu)
}

/// Name, type and message of each event.
fn short(lines: &[&str]) -> Vec<(String, EventType, String)> {
    let events = events_of(lines).into_iter();
    events
        .map(|event| (event.name, event.event_type, event.message))
        .collect()
}

const G: &str = "0000:3b:00.0 (GPU NVIDIA)";

#[test]
fn an_error_of_several_lines_is_one_event() {
    let lines = [
        "pcieport 0000:3a:00.0: AER: Multiple Uncorrected (Non-Fatal) error received: 0000:3b:00.0",
        "nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)",
        "nvidia 0000:3b:00.0:   device [10de:2330] error status/mask=00104000/00000000",
        "nvidia 0000:3b:00.0:    [20] UnsupReq",
        "nvidia 0000:3b:00.0:    [14] CmpltTO                (First)",
        "nvidia 0000:3b:00.0: AER: can't recover (no error_detected callback)",
    ];
    let mut found = events_of(&lines);
    assert_eq!(found.len(), 1);
    let event = found.remove(0);
    assert_eq!(
        (event.name.as_str(), event.event_type.clone()),
        (NONFATAL, EventType::Warning)
    );
    assert_eq!(
        event.message,
        format!(
            "uncorrected (non-fatal) PCIe error on {G}, Transaction Layer, Requester ID: CmpltTO (completion timeout), UnsupReq (unsupported request)"
        )
    );
    assert_eq!(event.evidence, [1, 3, 4].map(Evidence::Kmsg));
    assert!(
        matches!(&event.subject, Some(Subject::Gpu(gpu)) if gpu.pci_id.as_deref() == Some("0000:3b:00.0"))
    );
    let facts = [DEVICE, TITLE, ABOVE, BOOT, "errors"].map(|key| fact(&event, key));
    assert_eq!(
        facts,
        [
            Some("0000:3b:00.0"),
            Some(G),
            Some("0000:3a:00.0"),
            Some("b-1"),
            Some("CmpltTO,UnsupReq")
        ]
    );
    assert_eq!(event.time, 1_799_500_000_001);
}

#[test]
fn severities_of_the_kernel_and_of_the_firmware() {
    let aer = |rest: &str| format!("nvidia 0000:3b:00.0: AER: {rest}");
    let status = |bits: &str| aer(&format!("aer_status: 0x{bits}, aer_mask: 0x00000000"));
    let layer = aer("aer_layer=Transaction Layer, aer_agent=Requester ID");
    let fatal = aer("aer_uncor_severity: 0x00463010");
    for (lines, name, event_type, text) in [
        (
            vec!["nvidia 0000:3b:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)".to_owned(), aer("   [ 0] RxErr                  (First)")],
            CORRECTED,
            EventType::Info,
            format!("corrected PCIe error on {G}, Physical Layer, Receiver ID: RxErr (receiver error)"),
        ),
        (
            vec!["nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Inaccessible, (Unregistered Agent ID)".to_owned()],
            FATAL,
            EventType::Fatal,
            format!("uncorrected (fatal) PCIe error on {G}, Inaccessible, Unregistered Agent ID"),
        ),
        (
            vec![status("00000001"), aer("   [ 0] RxErr                 "), layer.clone()],
            CORRECTED,
            EventType::Info,
            format!("corrected PCIe error on {G}, Transaction Layer, Requester ID: RxErr (receiver error)"),
        ),
        (
            vec![status("00004000"), aer("   [14] CmpltTO               "), layer.clone(), fatal.clone()],
            NONFATAL,
            EventType::Warning,
            format!("uncorrected (non-fatal) PCIe error on {G}, Transaction Layer, Requester ID: CmpltTO (completion timeout)"),
        ),
        (
            vec![status("00040000"), aer("   [18] MalfTLP               "), layer.clone(), fatal.clone()],
            FATAL,
            EventType::Fatal,
            format!("uncorrected (fatal) PCIe error on {G}, Transaction Layer, Requester ID: MalfTLP (malformed packet)"),
        ),
        // Cut by a batch: what there is.
        (vec![status("00004000"), aer("   [14] CmpltTO               ")], NONFATAL, EventType::Warning, format!("uncorrected (non-fatal) PCIe error on {G}: CmpltTO (completion timeout)")),
        (vec![fatal], NONFATAL, EventType::Warning, format!("uncorrected (non-fatal) PCIe error on {G}")),
        (vec![aer("   [14] CmpltTO               ")], "pcie_aer_detail", EventType::Info, format!("PCIe error on {G}, more of it: CmpltTO (completion timeout)")),
    ] {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(short(&lines), [(name.to_owned(), event_type, text)], "{lines:?}");
    }
    assert_eq!(short(&[&layer]), []);
}

#[test]
fn lines_of_their_own() {
    for (line, name, event_type, text) in [
        (
            "pcieport 0000:3b:00.0: AER: device recovery successful",
            RECOVERED,
            EventType::Info,
            "recovered from a PCIe error:",
        ),
        (
            "pcieport 0000:3b:00.0: AER: Device recovery failed",
            FAILED,
            EventType::Critical,
            "did not recover from a PCIe error:",
        ),
        (
            "pcieport 0000:3b:00.0: DPC: containment event, status:0x1f01 source:0x0000",
            CONTAINED,
            EventType::Critical,
            "link switched off to contain a PCIe error:",
        ),
        (
            "pcieport 0000:3a:00.0: AER: Uncorrectable (Fatal) error message received from 0000:3b:00.0 (no details found",
            "pcie_aer_no_details",
            EventType::Warning,
            "uncorrected (fatal) PCIe error announced, without details, by",
        ),
        (
            "pcieport 0000:3a:00.0: AER: found no error details for 0000:3b:00.0",
            "pcie_aer_no_details",
            EventType::Info,
            "PCIe error announced, without details, by",
        ),
        (
            "pcieport 0000:3b:00.0: AER: can't find device of ID3b00",
            "pcie_aer_no_details",
            EventType::Info,
            "PCIe error announced, without details, by",
        ),
    ] {
        assert_eq!(
            short(&[line]),
            [(name.to_owned(), event_type, format!("{text} {G}"))],
            "{line}"
        );
    }
}

#[test]
fn errors_of_several_devices_do_not_mix() {
    let lines = [
        "a 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
        "b 0000:4b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)",
        "a 0000:3b:00.0:    [ 0] RxErr                  (First)",
        "b 0000:4b:00.0:    [18] MalfTLP                (First)",
        "a 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
    ];
    let found: Vec<_> = events_of(&lines)
        .iter()
        .map(|event| {
            (
                event.name.clone(),
                fact(event, DEVICE).unwrap().to_owned(),
                fact(event, "errors").map(str::to_owned),
            )
        })
        .collect();
    let one = |name: &str, device: &str, errors: Option<&str>| {
        (
            name.to_owned(),
            device.to_owned(),
            errors.map(str::to_owned),
        )
    };
    assert_eq!(
        found,
        [
            one(CORRECTED, "0000:3b:00.0", Some("RxErr")),
            one(FATAL, "0000:4b:00.0", Some("MalfTLP")),
            one(CORRECTED, "0000:3b:00.0", None),
        ]
    );
}

#[test]
fn repeats_are_counted_by_device_kind_and_boot() {
    let key = |device: &str, severity: &str, bit: &str| {
        let lines = [
            format!(
                "x {device}: PCIe Bus Error: severity={severity}, type=Physical Layer, (Receiver ID)"
            ),
            format!("x {device}:    [ 0] {bit}"),
        ];
        let merge = events_of(&[&lines[0], &lines[1]]).remove(0).merge.unwrap();
        (merge.key, merge.window_seconds)
    };
    let first = key("0000:3b:00.0", "Corrected", "RxErr");
    assert!(first.0.starts_with("b-1 ") && first.1 == 3_600, "{first:?}");
    assert_eq!(first, key("0000:3b:00.0", "Correctable", "RxErr"));
    assert_ne!(first.0, key("0000:3b:00.0", "Corrected", "BadTLP").0);
    assert_ne!(first.0, key("0000:4b:00.0", "Corrected", "RxErr").0);
    assert_eq!(key("0000:3b:00.0", "Uncorrected (Fatal)", "MalfTLP").1, 60);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    /// Events stay within the host's bounds, whatever a line holds.
    #[test]
    fn bounded(layer in "\\PC{0,2000}", agent in "\\PC{0,2000}", repeats in 0..40usize) {
        let mut lines = vec![format!("a 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type={layer}, ({agent})")];
        lines.extend((0..repeats).map(|n| format!("a 0000:3b:00.0:    [{n:2}] {}", crate::line::KINDS[n % 31].name)));
        lines.push(format!("a 0000:3b:00.0: aer_layer={layer}, aer_agent={agent}"));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        for event in events_of(&lines) {
            prop_assert!(event.message.len() <= 4096 && event.merge.unwrap().key.len() <= 16_384);
            prop_assert!(event.evidence.len() <= 64);
        }
    }
}
