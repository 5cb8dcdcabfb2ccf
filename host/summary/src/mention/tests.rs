use proptest::prelude::*;

use super::{super::KnownGpu, *};

fn known() -> Gpus {
    Gpus::new((0..8).map(|index| KnownGpu {
        uuid: Some(format!("GPU-1582a755-bac3-4f01-a000-00000000000{index}")),
        serial: None,
        pci: Some(format!("0000:{index}b:00.0")),
        index: Some(index),
    }))
}

#[test]
fn uuids_pci_ids_and_numbers() {
    for (text, expected) in [
        (
            "GPU lost: GPU-1582a755-bac3-4f01-a000-000000000003 (0000:3b:00.0): gone",
            &[3][..],
        ),
        ("XID 79 detected on GPU PCI:0000:4B:00 UUID:GPU-x", &[4]),
        ("XID 79 detected on GPU 00000000:4B:00.0", &[4]),
        ("GPU 3 is hot", &[3]),
        ("GPU 3, GPU 5: hot", &[3, 5]),
        ("(GPU 3)", &[3]),
        (
            "GPU lost: unknown-gpu-3: x of GPU 3 (unknown-gpu-3): lost",
            &[3],
        ),
        ("GPU 3: hot", &[3]),
        ("GPU 3:5 links", &[]),
        ("GPU 3.5", &[]),
        ("GPU 33", &[]),
        ("8 GPU(s) were checked", &[]),
        ("at 2026-11-26T14:02:11Z", &[]),
        ("0000:af:00.0 lost", &[]),
        ("GPU-1582a755-bac3-4f01-a000-0000000000031", &[]),
        ("", &[]),
    ] {
        let found: Vec<_> = gpus(text, &known()).into_iter().collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn what_is_said_of_one_of_several() {
    let text = "0000:2b:00.0 needs reset (detected pending), 0000:3b:00.0 qualifies for RMA (failed, due to 0), all";
    for (place, expected) in [
        (2, "0000:2b:00.0 needs reset (detected pending)"),
        (3, "0000:3b:00.0 qualifies for RMA (failed, due to 0), all"),
        (4, ""),
    ] {
        assert_eq!(about(text, place, &known()), expected);
    }
}

proptest! {
    #[test]
    fn any_text_is_read(text in "(\\PC|GPU |GPU-|0000:3b:00|[0-9:.]){0,40}") {
        for place in gpus(&text, &known()) {
            about(&text, place, &known());
        }
    }
}
