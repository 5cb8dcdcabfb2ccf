use super::*;

fn facts(class: &str, vendor: &str, device: &str) -> Facts {
    Facts {
        class: format!("{class}\n"),
        vendor: format!("{vendor}\n"),
        device: format!("{device}\n"),
        ..Facts::default()
    }
}

const INFORMATION: &str = "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 345\nGPU UUID: \t GPU-8f2a9c1e-0000-1111-2222-333344445555\nVideo BIOS: \t 96.00.5e.00.01\nBus Location: \t 0000:3b:00.0\n";

#[test]
fn names() {
    let gpu = Facts {
        nvidia: INFORMATION.into(),
        link: "../../../devices/pci0000:39/0000:39:01.0/0000:3a:00.0/0000:3b:00.0".into(),
        ..facts("0x030200", "0x10de", "0x2330")
    };
    let gpu = Device::new("0000:3b:00.0", &gpu);
    assert_eq!(gpu.title(), "0000:3b:00.0 (GPU NVIDIA H100 80GB HBM3)");
    let above = ["0000:39:01.0", "0000:3a:00.0"].map(str::to_owned).to_vec();
    assert_eq!(gpu.above, Some(above));
    let on_root_bus = Facts {
        link: "../../../devices/pci0000:00/0000:00:05.0".into(),
        ..Facts::default()
    };
    assert_eq!(
        Device::new("0000:00:05.0", &on_root_bus).above,
        Some(vec![])
    );
    assert_eq!(Device::unknown("0000:00:05.0").above, None);
    let uuid = Some("GPU-8f2a9c1e-0000-1111-2222-333344445555".to_owned());
    assert_eq!(
        gpu.subject(),
        Subject::Gpu(GpuId {
            uuid,
            serial: None,
            pci_id: Some("0000:3b:00.0".into())
        })
    );

    let nic = Facts {
        names: vec!["mlx5_0".into(), "ibs1".into()],
        ..facts("0x020700", "0x15b3", "0x1021")
    };
    let nic = Device::new("0000:17:00.0", &nic);
    assert_eq!(nic.title(), "0000:17:00.0 (NIC Mellanox mlx5_0 ibs1)");
    assert_eq!(
        nic.subject(),
        Subject::Other(("pci".into(), "0000:17:00.0".into()))
    );

    let port = Device::new("0000:39:01.0", &facts("0x060400", "0x8086", "0x347a"));
    assert_eq!(port.title(), "0000:39:01.0 (PCIe port Intel)");
    assert_eq!(
        port.with_below(&[gpu, nic]).title(),
        "0000:39:01.0 (PCIe port above 0000:3b:00.0 (GPU NVIDIA H100 80GB HBM3), 0000:17:00.0 (NIC Mellanox mlx5_0 ibs1))"
    );
    for (facts, title) in [
        (facts("0x030200", "0x10de", "0x2330"), "i (GPU NVIDIA)"),
        (facts("0x068000", "0x10de", "0x22a3"), "i (NVSwitch NVIDIA)"),
        (facts("0x120000", "0x1002", "0x74a1"), "i (GPU AMD)"),
        (
            facts("0x010802", "0x144d", "0xa80a"),
            "i (NVMe disk Samsung)",
        ),
        (
            facts("0x030000", "0x1a03", "0x2000"),
            "i (device 1a03:2000)",
        ),
        (facts("0x020000", "", ""), "i (NIC)"),
        (facts("0x08800", "0x8086", "0x1"), "i (device Intel)"),
        (Facts::default(), "i"),
    ] {
        assert_eq!(Device::new("i", &facts).title(), title);
    }
    let lost = Facts {
        nvidia: "GPU UUID: \t GPU-????????\n".into(),
        ..Facts::default()
    };
    assert_eq!(Device::new("i", &lost).uuid, None);
}

#[test]
fn long_names_are_cut() {
    let facts = Facts {
        nvidia: format!("Model: {}", "é".repeat(5_000)),
        ..facts("0x030200", "0x10de", "0x2330")
    };
    let device = Device::new("0000:3b:00.0", &facts);
    assert!(device.title().len() < 120);
    let port = Device::unknown("0000:39:01.0").with_below(&vec![device; 100]);
    assert_eq!(port.below.len(), MAX_BELOW);
}
