use std::collections::HashSet;

use proptest::prelude::*;

use super::fabric::hex16;
use super::node::{Node, bus};
use super::*;
use crate::code::Code;

fn node(text: &str) -> Node {
    let scenario = Scenario::read("t.yaml", text).unwrap();
    let product = Product::find(&scenario.product.value).unwrap();
    Node::build(&scenario, product, &vec![true; scenario.timeline.len()], 0)
}

fn complaint(text: &str) -> String {
    Scenario::read("t.yaml", text).unwrap_err().to_string()
}

#[test]
fn all_products_parse_and_give_every_gpu_its_own_identity() {
    for (name, text) in Product::files() {
        let product: Product = parse(name, text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(product.name, *name);
        let node = node(&format!("product: {name}\ngpus: 16"));
        let ids: HashSet<_> = node
            .gpus
            .iter()
            .map(|gpu| gpu.uuid.clone().unwrap())
            .collect();
        let buses: HashSet<_> = node
            .gpus
            .iter()
            .map(|gpu| bus(gpu.pci.bus_id.as_deref().unwrap()).unwrap())
            .collect();
        assert_eq!((ids.len(), buses.len()), (16, 16), "{name}");
        assert!(
            ids.iter()
                .all(|id| id.len() == 40 && id.starts_with("GPU-")),
            "{ids:?}"
        );
    }
    assert_eq!(Product::all().len(), Product::names().count());
}

#[test]
fn all_scenario_files_of_the_folder_parse() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let scenario = Scenario::read(
            &path.display().to_string(),
            &std::fs::read_to_string(&path).unwrap(),
        );
        assert!(
            scenario.unwrap_or_else(|e| panic!("{e}")).about.is_some(),
            "{path:?} does not say what it is for"
        );
        seen += 1;
    }
    assert!(seen >= 7);
}

#[test]
fn problems_of_bad_files_have_place_and_reason() {
    let cases = [
        ("", "t.yaml"),
        ("product: [", "t.yaml:1:"),
        (
            "product: nope",
            "t.yaml:1:10: at `product`: no product `nope`; there are a100-sxm, ",
        ),
        (
            "product: h100\nall: {temperatur: {gpu: 3}}",
            "t.yaml:2:7: at `all.temperatur`: unknown field `temperatur`",
        ),
        (
            "product: h100\ngpu:\n  3: {temperature: {gpu: hot}}",
            "t.yaml:3:26: at `gpu.3.temperature.gpu`: invalid u32",
        ),
        (
            "product: h100\ngpu:\n  8: {name: x}",
            "t.yaml:3:6: at `gpu.8`: there are only 8 GPUs, counted from 0",
        ),
        (
            "product: h100\ngpus: 73",
            "t.yaml:2:7: at `gpus`: more than 72 GPUs",
        ),
        (
            "product: h100\nfaults:\n- {call: nvmlDeviceGetName}",
            "t.yaml:3:3: at `faults[0]`: says nothing that happens",
        ),
        (
            "product: h100\nfaults:\n- {call: nvmlDeviceGetNam, error: 3}",
            "at `faults[0]`: no function is called `nvmlDeviceGetNam`",
        ),
        (
            "product: h100\nfaults: [{call: '*', error: nope}]",
            "at `faults[0].error`: no NVML return code is called `nope`",
        ),
        (
            "product: h100\nfaults: [{call: '*', hang: 3}]",
            "at `faults[0].hang`",
        ),
        (
            "product: h100\nfaults: [{call: '*', hang: forever, hang_ms: 1}]",
            "exclude each other",
        ),
        (
            "product: h100\ntimeline: [{set: {}}]",
            "at `timeline[0]`: says no time",
        ),
        (
            "product: h100\ntimeline: [{after_ms: 1, gpus: 73}]",
            "at `timeline[0]`: `gpus` is more than 72",
        ),
        (
            "product: h100\ntimeline: [{after_ms: 1, after_call: nvmlShutdown}]",
            "exclude each other",
        ),
        (
            "product: h100\nmissing_symbols: [nvmlNope]",
            "at `missing_symbols[0]`: no function is called `nvmlNope`",
        ),
        ("product: h100\nproduct: h100", "duplicate"),
    ];
    for (text, want) in cases {
        let got = complaint(text);
        assert!(got.contains(want), "{text:?}: {got}");
    }
}

#[test]
fn json_is_read_as_well() {
    let node = node(r#"{"product": "a100", "gpu": {"3": {"temperature": {"gpu": 99}}}}"#);
    assert_eq!(node.gpu(3).unwrap().temperature.gpu, Some(99));
}

#[test]
fn null_takes_a_reading_away_and_a_missing_key_leaves_it() {
    let node =
        node("product: h100\nall: {serial: null, power: {usage: null}}\ngpu: {1: {serial: abc}}");
    let (first, second) = (node.gpu(0).unwrap(), node.gpu(1).unwrap());
    assert_eq!(
        (first.serial.as_deref(), second.serial.as_deref()),
        (None, Some("abc"))
    );
    assert_eq!(
        (first.power.usage, first.power.limit),
        (None, Some(700_000))
    );
}

#[test]
fn links_are_changed_all_at_once_or_one_by_one() {
    let node = node(
        "product: h100\nall: {nvlink: {count: 4, all: {replay: 7}, link: {2: {active: false}, 9: {active: false}}}}",
    );
    let links: Vec<_> = node.gpus[0]
        .nvlink
        .links
        .iter()
        .map(|l| (l.active.unwrap(), l.replay.unwrap()))
        .collect();
    assert_eq!(links, [(true, 7), (true, 7), (false, 7), (true, 7)]);
    // New links are as link 0.
    let more = self::node("product: h100\nall: {nvlink: {count: 20}}");
    assert_eq!(more.gpus[0].nvlink.links[19], more.gpus[0].nvlink.links[0]);
}

#[test]
fn peer_to_peer() {
    let cases = [
        ("", 0),
        ("p2p: [{status: 3}]", 3),
        ("p2p: [{gpus: [0, 1], status: 3}]", 3),
        ("p2p: [{gpus: [0, 2], status: 3}]", 0),
        ("p2p: [{index: 1, status: 3}]", 0),
    ];
    for (text, want) in cases {
        assert_eq!(
            node(&format!("product: h100\n{text}")).p2p_status(0, 1, 2),
            want,
            "{text}"
        );
    }
    assert_eq!(
        node("product: rtx-6000-ada\ngpus: 2").p2p_status(0, 1, 2),
        5
    );
}

#[test]
fn ecc_totals_are_sums_unless_given() {
    let node = node(
        "product: h100\nall: {ecc: {volatile_corrected: {dram: 3, sram: 4}, volatile_uncorrected: {dram: 18446744073709551615, l1: 9, total: 5}}}",
    );
    let ecc = &node.gpus[0].ecc;
    assert_eq!(ecc.counts(0, 0).unwrap().sum(), Some(7));
    assert_eq!(ecc.counts(1, 0).unwrap().sum(), Some(5));
    assert_eq!(ecc.counts(2, 0), None);
}

#[test]
fn codes_by_number_and_name() {
    let cases = [
        ("gpu_is_lost", Some(15)),
        ("NVML_ERROR_GPU_IS_LOST", Some(15)),
        ("NVML_SUCCESS", Some(0)),
        ("lost", None),
    ];
    for (name, want) in cases {
        assert_eq!(Code::from_name(name).map(|code| code.0), want, "{name}");
    }
    assert_eq!(Code(15).text(), c"GPU is lost");
    assert_eq!(Code(4711).text(), c"Unknown Error");
    assert_eq!(Code::all().count(), 32);
}

#[test]
fn function_names_are_sorted_and_fit_patterns() {
    assert!(crate::functions::NAMES.is_sorted());
    let cases = [
        ("*", true),
        ("nvmlDeviceGetCount", true),
        ("nvmlDeviceGetCount_v2", true),
        ("nvmlDeviceGetC", false),
        ("nvmlDeviceGetC*", true),
        ("", false),
    ];
    for (pattern, want) in cases {
        assert_eq!(crate::functions::any_fits(pattern), want, "{pattern}");
    }
    assert!(!selector::call_matches(
        "nvmlDeviceGetTemperature",
        "nvmlDeviceGetTemperatureThreshold"
    ));
}

#[test]
fn hexadecimal_and_bus_ids() {
    assert_eq!(hex16("a1b2-c3")[..4], [0xa1, 0xb2, 0xc3, 0]);
    assert_eq!(hex16("zz"), [0; 16]);
    for (id, want) in [
        ("0000:0f:00.0", Some((0, 15, 0))),
        ("00000008:01:02.0", Some((8, 1, 2))),
        ("0f:00.0", None),
        ("x:y:z", None),
    ] {
        assert_eq!(bus(id), want, "{id}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_with_the_file_named(text in ".{0,200}") {
        if let Err(error) = Scenario::read("t.yaml", &text) {
            prop_assert!(error.to_string().starts_with("t.yaml"));
        }
    }

    /// A good file with a piece of it replaced.
    #[test]
    fn a_damaged_file_is_read_or_refused(at in 0_usize..600, with in "[\\PC\\n]{0,6}") {
        let good = include_str!("../../scenarios/absurd.yaml");
        let at = good.floor_char_boundary(at);
        let text = format!("{}{with}{}", &good[..at], &good[good.ceil_char_boundary(at + 3)..]);
        if let Ok(scenario) = Scenario::read("t.yaml", &text) {
            let product = Product::find(&scenario.product.value).unwrap();
            let node = Node::build(&scenario, product, &[], 0);
            prop_assert!(node.gpus.len() <= MAX_GPUS as usize);
        }
    }

    #[test]
    fn numbers_of_any_size(value in any::<u64>(), number in 0_u32..8) {
        let node = node(&format!("product: h100\ngpu: {{{number}: {{memory: {{total: {value}}}, clocks: {{event_reasons: {value}}}}}}}"));
        prop_assert_eq!(node.gpu(number).unwrap().memory.total, Some(value));
    }

    #[test]
    fn hex_and_bus_take_anything(text in ".{0,60}") {
        let _ = (hex16(&text), bus(&text));
    }
}
