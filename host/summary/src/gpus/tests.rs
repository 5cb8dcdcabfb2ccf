use super::*;

fn gpu(uuid: Option<&str>, serial: Option<&str>, id: Option<&str>) -> Subject {
    Subject::Gpu {
        uuid: uuid.map(Into::into),
        serial: serial.map(Into::into),
        pci_id: id.map(Into::into),
    }
}

#[test]
fn pci_ids_in_every_spelling() {
    for (text, expected) in [
        ("PCI:0000:3b:00", Some("0000:3b:00.0")),
        ("00000000:3B:00.0", Some("0000:3b:00.0")),
        ("00010000:3B:00.1", Some("10000:3b:00.1")),
        ("14:02:11", None),
        ("0000:3b:00:1", None),
        ("0000:3b:0é", None),
        ("0000:+b:00.0", None),
        ("0000:3b:00.", None),
        ("", None),
    ] {
        assert_eq!(pci_id(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn a_gpu_without_names_is_found_by_its_number() {
    let nameless = KnownGpu {
        uuid: Some("unknown-gpu-3".to_owned()),
        index: Some(3),
        ..KnownGpu::default()
    };
    let gpus = Gpus::new([nameless]);
    let label = |uuid| gpus.describe(&gpu(Some(uuid), None, None)).label;
    assert_eq!(label("unknown-gpu-3"), "GPU 3");
    // The only one that never gave a name.
    assert_eq!(gpus.describe(&gpu(None, None, None)).label, "GPU 3");
    let nameless = |index| KnownGpu {
        index: Some(index),
        ..KnownGpu::default()
    };
    let gpus = Gpus::new([nameless(3), nameless(4)]);
    assert_eq!(gpus.describe(&gpu(None, None, None)).label, "a GPU");
}

#[test]
fn all_names_lead_to_one_gpu() {
    let known = |index: usize| KnownGpu {
        uuid: Some(format!("GPU-{index}")),
        serial: Some("17".into()),
        pci: Some(format!("00000000:{index}B:00.0")),
        index: Some(index),
    };
    // Two GPUs on one board have one serial number.
    let mut gpus = Gpus::new([known(3), known(4)]);
    for subject in [
        gpu(Some("GPU-4"), None, None),
        gpu(None, None, Some("PCI:0000:4b:00")),
        gpu(None, Some("17"), Some("0000:4b:00.0")),
        Subject::Other {
            kind: "pci".into(),
            id: "0000:4B:00.0".into(),
        },
    ] {
        assert_eq!(gpus.place(&subject), Some(1), "{subject:?}");
    }
    let stranger = gpu(None, None, Some("0000:c1:00.0"));
    assert_eq!(gpus.place(&stranger), Some(2));
    assert_eq!(
        gpus.place(&gpu(Some("GPU-x"), None, Some("0000:c1:00"))),
        Some(2)
    );
    assert_eq!(gpus.place(&gpu(Some("GPU-x"), None, None)), Some(2));
    assert_eq!(gpus.place(&gpu(None, None, None)), None);
    assert_eq!(gpus.place(&Subject::Node), None);
    assert_eq!(gpus.view(2).1.label, "GPU 0000:c1:00.0");
    assert_eq!(gpus.view(0).1.detail, "0000:3b:00.0, serial 17");
    assert_eq!(gpus.count(), 2);
}

#[test]
fn a_gpu_that_was_lost_before_anybody_asked_has_a_number_only() {
    let lost = KnownGpu {
        uuid: Some("unknown-gpu-1".into()),
        serial: None,
        pci: Some(String::new()),
        index: Some(1),
    };
    let well = KnownGpu {
        uuid: Some("GPU-0".into()),
        pci: Some("0000:0b:00.0".into()),
        index: Some(0),
        ..KnownGpu::default()
    };
    let mut gpus = Gpus::new([well, lost]);
    assert_eq!(gpus.view(1).0, "gpu:1");
    let before = gpus.describe(&gpu(Some("GPU-1"), Some("7"), Some("0000:4b:00")));
    assert_eq!(before.label, "GPU 1");
    assert_eq!(before.detail, "0000:4b:00.0, serial 7");
    assert_eq!(gpus.place(&gpu(None, None, Some("0000:4b:00"))), Some(2));
    gpus.join_strangers();
    assert_eq!(gpus.place(&gpu(None, None, Some("0000:4b:00.0"))), Some(1));
    assert_eq!(gpus.view(1).1.detail, "0000:4b:00.0");
    // Two strangers could be anybody.
    gpus.place(&gpu(None, None, Some("0000:5b:00")));
    gpus.place(&gpu(None, None, Some("0000:6b:00")));
    gpus.join_strangers();
    assert_eq!(gpus.by_pci("0000:6b:00"), Some(3));
}

#[test]
fn long_names_become_numbers() {
    let gpus = Gpus::new([KnownGpu {
        uuid: Some("GPU-a".into()),
        serial: None,
        pci: Some("0000:0b:00.0".into()),
        index: Some(0),
    }]);
    for (text, expected) in [
        ("GPU GPU-a (0000:0b:00.0) needs x", "GPU 0 needs x"),
        ("GPU-a (0000:0b:00.0): y", "GPU 0: y"),
        ("GPU-a y, 0000:0b:00.0 z", "GPU 0 y, GPU 0 z"),
        ("GPU unknown-gpu-0: lost", "GPU 0: lost"),
        ("0000:0c:00.0", "0000:0c:00.0"),
    ] {
        assert_eq!(gpus.shortened(text), expected, "{text}");
    }
}
