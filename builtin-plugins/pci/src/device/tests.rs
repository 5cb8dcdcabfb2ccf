use super::*;
use proptest::prelude::*;

const H100: &str = "DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID=10DE:2330\nPCI_SUBSYS_ID=10DE:16C1\nPCI_SLOT_NAME=0000:0f:00.0\n";

#[test]
fn uevents() {
    let numbers = |class, vendor, device| Numbers {
        class,
        vendor,
        device,
    };
    for (uevent, expected, driver, gpu, rdma) in [
        (
            H100,
            numbers(0x0302, 0x10de, 0x2330),
            Some("nvidia"),
            true,
            false,
        ),
        (
            "PCI_CLASS=30000\nPCI_ID=10DE:26B1\n",
            numbers(0x0300, 0x10de, 0x26b1),
            None,
            true,
            false,
        ),
        (
            "PCI_CLASS=68000\nPCI_ID=10DE:22A3\n",
            numbers(0x0680, 0x10de, 0x22a3),
            None,
            false,
            false,
        ),
        (
            "PCI_CLASS=20700\nPCI_ID=15B3:1021\n",
            numbers(0x0207, 0x15b3, 0x1021),
            None,
            false,
            true,
        ),
        (
            "PCI_CLASS=20000\nPCI_ID=15B3:1021\n",
            numbers(0x0200, 0x15b3, 0x1021),
            None,
            false,
            true,
        ),
        (
            "PCI_CLASS=20000\nPCI_ID=8086:1533\n",
            numbers(0x0200, 0x8086, 0x1533),
            None,
            false,
            false,
        ),
        (
            "DRIVER=\nPCI_CLASS=x\nPCI_ID=10DE:\n",
            numbers(0, 0x10de, 0),
            None,
            false,
            false,
        ),
        ("\u{fffd}\0", numbers(0, 0, 0), None, false, false),
    ] {
        let device = Device::new("0000:0f:00.0", uevent).unwrap();
        assert_eq!(
            (device.numbers, device.driver.as_deref()),
            (expected, driver),
            "{uevent}"
        );
        assert_eq!((device.is_gpu(), device.is_rdma()), (gpu, rdma), "{uevent}");
    }
}

#[test]
fn addresses() {
    for (address, good) in [
        ("0000:3b:00.0", true),
        ("10000:e1:1f.7", true),
        ("3b:00.0", false),
        ("0000:3b:00", false),
        ("0000:3b:00.0.1", false),
        ("0000:3g:00.0", false),
        ("", false),
    ] {
        assert_eq!(Device::new(address, H100).is_some(), good, "{address}");
    }
}

#[test]
fn what_is_known_of_acs() {
    let mut with = vec![0; 4096];
    with[0x100..0x108].copy_from_slice(&[0x0d, 0, 1, 0, 0x1f, 0, 0x1d, 0]);
    let mut device = Device::new("0000:0f:00.0", H100).unwrap();
    assert_eq!(device.control(), Control::NotShown);
    for (config, has, shown) in [
        (Ok(with), true, true),
        (Ok(vec![0; 4096]), false, true),
        (Ok(vec![0; 256]), false, true),
        (Ok(vec![0; 64]), false, false),
        (Ok(vec![]), false, false),
        (Err(NoConfigSpace::Suspended), false, true),
        (Err(NoConfigSpace::Unread("x".into())), false, false),
    ] {
        device.config = config;
        let control = device.control();
        assert_eq!(matches!(control, Control::Has(_)), has);
        assert_eq!(control != Control::NotShown, shown);
    }
}

#[test]
fn names() {
    let text = "10de  NVIDIA Corporation\n\t2330  GH100 [H100 SXM5 80GB]\nC 03  Display controller\n\t02  3D controller\n";
    for (uevent, revision, known, expected) in [
        (
            H100,
            Some(0xa1),
            true,
            "3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)",
        ),
        (
            H100,
            Some(0),
            true,
            "3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB]",
        ),
        (
            "PCI_CLASS=30300\nPCI_ID=10DE:9999",
            None,
            true,
            "Display controller: NVIDIA Corporation Device 9999",
        ),
        (H100, None, false, "Class 0302: Device 10de:2330"),
    ] {
        let mut devices = [Device::new("0000:0f:00.0", uevent).unwrap()];
        devices[0].revision = revision;
        name(&mut devices, || known.then(|| Ids::new(text.to_owned())));
        assert_eq!(devices[0].name, expected);
    }
    name(&mut [], || unreachable!("nobody asks"));
}

#[test]
fn revisions() {
    for (text, number) in [
        ("0xa1\n", Some(0xa1)),
        ("a1", None),
        ("0x1a1", None),
        ("", None),
    ] {
        assert_eq!(hex(text), number);
    }
}

proptest! {
    #[test]
    fn any_text_is_survived(address in "[0-9a-f:.]{0,14}|\\PC{0,9}", uevent in "((DRIVER|PCI_CLASS|PCI_ID)=[0-9A-F:]{0,9}\n|\\PC{0,9}\n){0,5}") {
        if let Some(device) = Device::new(&address, &uevent) {
            name(&mut [device], || None);
        }
    }
}
