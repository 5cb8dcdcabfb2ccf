use std::sync::LazyLock;

use gpud_sdk::{EventType, Evidence, Trigger};
use proptest::prelude::*;
use regex::Regex;

use super::*;

const NOW: u64 = 1_740_824_500_000;
const POWER: &str = "mlx5_core 0000:9a:00.0: mlx5_pcie_event:301:(pid 4711): Detected insufficient power on the PCIe slot (25W).";
const HOT: &str = "mlx5_core 0000:18:00.1: mlx5_port_module_event:1120:(pid 0): Port module event[error]: module 1, Cable error, High Temperature";
const STUCK: &str = "mlx5_core 0000:12:00.0: Port module event[error]: module 0, Cable error, Bus stuck (I2C or data shorted)";
const REFUSED: &str = "mlx5_core 0000:c3:00.0: mlx5_cmd_out_err:835:(pid 77): ACCESS_REG(0x805) op_mod(0x1) failed, status bad operation(0x2), syndrome (0x1c4d2e), err(-22)";

static PREFILTER: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    PATTERNS
        .iter()
        .map(|pattern| Regex::new(pattern).unwrap())
        .collect()
});

fn message(facility: u32, text: &str, dictionary: &[(&str, &str)]) -> Message {
    let pairs = dictionary
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()));
    Message {
        sequence: 7,
        time: NOW - 500,
        level: 4,
        facility,
        text: text.into(),
        dictionary: (!dictionary.is_empty()).then(|| pairs.collect()),
    }
}

fn context() -> CheckContext {
    CheckContext {
        component: crate::COMPONENT.into(),
        now: NOW,
        trigger: Trigger::Scheduled,
        boot_id: "b0".into(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

fn events_of(messages: &[Message]) -> Vec<Event> {
    events(&context(), messages, |id| {
        (id == "0000:9a:00.0").then(|| "mlx5_3".into())
    })
}

fn of(text: &str) -> Option<Event> {
    events_of(&[message(0, text, &[])]).pop()
}

#[test]
fn names_and_messages() {
    let refused = "MLX5 ACCESS_REG command failed - device may have restricted PF access";
    for (text, name, said, window, card) in [
        (
            POWER,
            "pci_power_insufficient",
            "Insufficient power on MLX5 PCIe slot".to_owned(),
            300,
            "0000:9a:00.0",
        ),
        (
            HOT,
            "port_module_high_temperature",
            "Overheated MLX5 adapter".to_owned(),
            300,
            "0000:18:00.1",
        ),
        (
            REFUSED,
            "access_reg_failed",
            format!("{refused} (PCI device 0000:c3:00.0)"),
            86_400,
            "0000:c3:00.0",
        ),
        (
            "mlx5_cmd_out_err:835:(pid 77): ACCESS_REG(0x805) op_mod(0x1) failed, status bad operation",
            "access_reg_failed",
            refused.to_owned(),
            300,
            "",
        ),
    ] {
        let event = of(text).unwrap();
        assert_eq!((event.name.as_str(), &event.message), (name, &said));
        assert_eq!(
            (event.event_type, event.time),
            (EventType::Warning, NOW - 500)
        );
        assert_eq!(event.evidence, [Evidence::Kmsg(7)]);
        let merge = event.merge.unwrap();
        assert_eq!(
            (merge.window_seconds, merge.key),
            (window, format!("b0 {name} {card}"))
        );
        let device = event.extra_info.iter().find(|(key, _)| key == "device");
        assert_eq!(device.map_or("", |(_, value)| value), card);
    }
}

#[test]
fn modules_that_cannot_be_used() {
    let event = of(STUCK).unwrap();
    assert_eq!(
        (event.name.as_str(), event.message.as_str()),
        (
            "port_module_error",
            "MLX5 port cannot use its cable module: Bus stuck (I2C or data shorted)"
        )
    );
    let module = ("module".to_owned(), "0".to_owned());
    assert!(event.extra_info.contains(&module));
    let event = of("mlx5_core 0000:12:00.0: Port module event: module 0, Cable unplugged").unwrap();
    assert_eq!(
        (event.name.as_str(), event.event_type),
        ("port_module_unplugged", EventType::Info)
    );
    assert_eq!(
        of("mlx5_core 0000:12:00.0: Port module event: module 0, Cable plugged"),
        None
    );
}

#[test]
fn the_card_is_the_subject_if_it_has_a_name() {
    let event = of(POWER).unwrap();
    let port = PortId {
        device: "mlx5_3".into(),
        port: 1,
    };
    assert_eq!(event.subject, Some(Subject::Port(port)));
    let name = ("rdma_device".to_owned(), "mlx5_3".to_owned());
    assert!(event.extra_info.contains(&name));
    assert_eq!(of(HOT).unwrap().subject, None);
}

#[test]
fn the_card_may_stand_in_the_dictionary() {
    let text = "mlx5_cmd_out_err:835:(pid 77): ACCESS_REG(0x805) failed";
    let dictionary = [("SUBSYSTEM", "pci"), ("DEVICE", "+pci:0000:9a:00.0")];
    let event = events_of(&[message(0, text, &dictionary)]).pop().unwrap();
    assert!(event.message.ends_with("(PCI device 0000:9a:00.0)"));
    // The line goes first.
    let event = events_of(&[message(0, REFUSED, &dictionary)])
        .pop()
        .unwrap();
    assert!(event.message.ends_with("(PCI device 0000:c3:00.0)"));
}

#[test]
fn lines_that_match_two_are_of_the_first() {
    let both = format!("{HOT} Detected insufficient power on the PCIe slot (25W)");
    assert_eq!(find(&both), Some(Complaint::Power));
    assert_eq!(
        find(&format!("{REFUSED} {HOT}")),
        Some(Complaint::Temperature)
    );
}

#[test]
fn whose_lines_are_believed() {
    for (facility, believed) in [(0, true), (1, true), (5, true), (3, false), (9, false)] {
        let found = events_of(&[message(facility, POWER, &[])]);
        assert_eq!(!found.is_empty(), believed, "{facility}");
    }
}

#[test]
fn cards_are_looked_up_once_and_not_without_end() {
    let lines: Vec<Message> = (0..100)
        .flat_map(|bus| {
            let text = POWER.replace("9a", &format!("{bus:02x}"));
            [message(0, &text, &[]), message(0, &text, &[])]
        })
        .collect();
    let mut asked = 0;
    let events = events(&context(), &lines, |_| {
        asked += 1;
        None
    });
    assert_eq!((events.len(), asked), (200, 32));
}

#[test]
fn lookalikes() {
    for line in [
        "",
        "mlx5_core 0000:9a:00.0: Detected insufficient power on the PCIe slot (W).",
        "mlx5_core 0000:9a:00.0: Detected insufficient power on the PCIe slot (25 W).",
        "mlx5_core 0000:9a:00.0: Detected insufficient power on the PCIe slot.",
        "mlx5_core 0000:9a:00.0: detected insufficient power on the PCIe slot (25W).",
        "mlx5_core 0000:9a:00.0: mlx5_pcie_event:295:(pid 1): PCIe slot advertised sufficient power (75W).",
        "mlx5_core 0000:18:00.1: Port module event: module 1, Cable plugged",
        "mlx5_core 0000:18:00.1: Port module event[error]: module x, Cable error, Bus stuck",
        "mlx5_core 0000:18:00.1: Port module event[error]: module 1, Cable errors, Bus stuck",
        "mlx5_core 0000:18:00.1: High Temperature: Port module event",
        "mlx5_core 0000:18:00.1: Port module event\nHigh Temperature",
        "mlx5_core 0000:c3:00.0: mlx5_cmd_out_err:835:(pid 77): CREATE_MKEY(0x200) op_mod(0x0) failed",
        "mlx5_core 0000:c3:00.0: mlx5_cmd_out_err:835:(pid 77): ACCESS_REG(0x805) op_mod(0x1) passed",
        "mlx5_core 0000:c3:00.0: failed ACCESS_REG mlx5_cmd_out_err",
    ] {
        assert_eq!(find(line), None, "{line}");
    }
}

#[test]
fn each_pattern_has_its_line() {
    for (pattern, line) in PREFILTER.iter().zip([POWER, HOT, STUCK, REFUSED]) {
        assert!(pattern.is_match(line), "{pattern}");
        let others = PREFILTER.iter().filter(|other| other.is_match(line));
        assert_eq!(others.count(), 1, "{line}");
    }
}

#[test]
fn pci_ids() {
    for (text, id) in [
        ("x 0000:9a:00.0: y", Some("0000:9a:00.0")),
        ("+pci:0001:FE:1f.7", Some("0001:fe:1f.7")),
        ("10000:9a:00.0", Some("0000:9a:00.0")),
        ("a 0000:01:00.0 b 0000:02:00.0", Some("0000:01:00.0")),
        ("é0000:01:00.0é", Some("0000:01:00.0")),
        ("0000:9a:00.8", None),
        ("000:9a:00.0", None),
        ("0000:9g:00.0", None),
        ("0000:9a:00", None),
        ("", None),
    ] {
        assert_eq!(pci_id(text).as_deref(), id, "{text}");
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "mlx5_core 0000:9a:00.0: ",
        "Detected insufficient power on the PCIe slot (",
        "25",
        "W)",
        "Port module event",
        "[error]: ",
        "High Temperature",
        "mlx5_cmd_out_err",
        "ACCESS_REG",
        "(0x805) ",
        "failed",
        "\n",
        "é",
    ]);
    proptest::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_patterns_are_the_rule(text in pieces()) {
        let first = PREFILTER.iter().position(|pattern| pattern.is_match(&text));
        let expected = first.map(|place| [Complaint::Power, Complaint::Temperature, Complaint::Module, Complaint::Refusal][place]);
        prop_assert_eq!(find(&text), expected);
    }

    #[test]
    fn any_text_is_survived(text in "\\PC{0,200}") {
        find(&text);
        pci_id(&text);
    }
}
