use super::*;

#[test]
fn reads_pci_ids_in_every_spelling() {
    for (text, id) in [
        ("PCI:0000:3b:00", Some("0000:3b:00.0")),
        ("0000:3B:00", Some("0000:3b:00.0")),
        ("00000000:3B:00.0", Some("0000:3b:00.0")),
        ("00000018:01:00.0", Some("0018:01:00.0")),
        ("PCI:0018:01:00", Some("0018:01:00.0")),
        ("PCI:10000:01:00", Some("10000:01:00.0")),
        ("3b:00", Some("0000:3b:00.0")),
        ("PCI:3b:00.4", Some("0000:3b:00.4")),
        ("PCI:0000:03b:00", None),
        ("0000:0000:3b:00", None),
        ("000000000:3b:00", None),
        ("3b", None),
        ("", None),
        (":", None),
        ("0000:3b:00.", None),
        ("0000:3b:+0", None),
    ] {
        assert_eq!(pci_id(text).as_deref(), id, "{text}");
    }
}

#[test]
fn finds_uuids() {
    let gpus = [
        Gpu {
            uuid: "GPU-a".into(),
            bus_id: "0000:0f:00.0".into(),
            ..Gpu::default()
        },
        Gpu {
            uuid: "GPU-b".into(),
            bus_id: "0018:01:00.0".into(),
            ..Gpu::default()
        },
    ];
    for (device, uuid) in [
        ("PCI:0000:0f:00", Some("GPU-a")),
        ("0000:0F:00", Some("GPU-a")),
        ("PCI:00000018:01:00", Some("GPU-b")),
        ("PCI:0000:01:00", None),
        ("PCI:0000:0f:00.1", None),
        ("garbage", None),
    ] {
        let found = find(&gpus, device).map(|gpu| gpu.uuid.as_str());
        assert_eq!(found, uuid, "{device}");
    }
}

#[test]
fn names_in_words() {
    let mut gpu = Gpu {
        uuid: "GPU-a".into(),
        bus_id: "0000:0f:00.0".into(),
        ..Gpu::default()
    };
    assert_eq!(words("PCI:0000:0F:00", None), "0000:0f:00.0");
    assert_eq!(words("PCI:0000:0F:00", Some(&gpu)), "0000:0f:00.0, GPU-a");
    gpu.index = Some(3);
    gpu.serial = Some("17".into());
    assert_eq!(
        words("PCI:0000:0F:00", Some(&gpu)),
        "GPU 3, 0000:0f:00.0, GPU-a, serial 17"
    );
}

#[test]
fn names_what_is_known_of_the_subject() {
    let gpu = |uuid: Option<&str>, pci_id: Option<&str>| {
        Some(Subject::Gpu(GpuId {
            uuid: uuid.map(Into::into),
            serial: None,
            pci_id: pci_id.map(Into::into),
        }))
    };
    assert_eq!(
        subject("PCI:0000:3B:00", None, None),
        gpu(None, Some("0000:3b:00.0"))
    );
    assert_eq!(subject("x", Some("GPU-a"), None), gpu(Some("GPU-a"), None));
    assert_eq!(subject("x", None, None), None);
}

#[test]
fn knows_which_products_remap_rows() {
    for product in [
        "NVIDIA A100-SXM4-80GB",
        "NVIDIA H100 80GB HBM3",
        "NVIDIA-H100-80GB-HBM3",
        "NVIDIA H200",
        "NVIDIA GH200 480GB",
        "NVIDIA GB200",
        "NVIDIA B200",
        "NVIDIA A10",
        "NVIDIA A10G",
        "NVIDIA A100X",
        "nvidia h100 pcie",
        "NVIDIA A30",
        "NVIDIA L40S",
        "NVIDIA H20",
        "NVIDIA H800",
        "NVIDIA GB300",
    ] {
        assert!(remaps_rows(product), "{product}");
    }
    for product in [
        "",
        "NVIDIA RTX A1000",
        "Tesla V100-SXM2-16GB",
        "NVIDIA RTX A10000",
    ] {
        assert!(!remaps_rows(product), "{product}");
    }
}
