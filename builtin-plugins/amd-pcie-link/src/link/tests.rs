use super::*;
use gpud_builtin_amd_common::testing::Fixture;
use proptest::prelude::*;

const GPU: &str = "0000:0c:00.0";

fn device(tree: Fixture, id: &str, vendor: &str, now: &str, best: &str) -> Fixture {
    let folder = format!("{DEVICES}/{id}");
    let (speed, width) = now.split_once('x').unwrap();
    let (max_speed, max_width) = best.split_once('x').unwrap();
    tree.file(&format!("{folder}/vendor"), vendor)
        .file(&format!("{folder}/current_link_speed"), speed)
        .file(&format!("{folder}/current_link_width"), width)
        .file(&format!("{folder}/max_link_speed"), max_speed)
        .file(&format!("{folder}/max_link_width"), max_width)
}

#[test]
fn looks_past_the_switch_of_the_board() {
    let full = "16.0 GT/s PCIe x16";
    let full = &full.replace(" x", "x");
    let mut tree = Fixture::default().symlink(
        &format!("{DEVICES}/{GPU}"),
        "../../../devices/pci0000:00/0000:00:03.1/0000:0a:00.0/0000:0b:00.0/0000:0c:00.0",
    );
    tree = device(tree, GPU, ATI, full, full);
    tree = device(tree, "0000:0b:00.0", ATI, full, full);
    tree = device(tree, "0000:0a:00.0", ATI, "8.0 GT/s PCIex8", full);
    tree = device(
        tree,
        "0000:00:03.1",
        "0x1022",
        "8.0 GT/s PCIex8",
        "16.0 GT/s PCIex16",
    );
    let link = of(&tree, GPU).unwrap().unwrap();
    let expected = Link {
        end: "0000:0a:00.0".into(),
        now: LinkRate {
            generation: Some(3),
            width: Some(8),
        },
        best: LinkRate {
            generation: Some(4),
            width: Some(16),
        },
        trouble: None,
    };
    assert_eq!(link, expected);
    // A virtual port can do anything.
    let virtual_port = device(tree, "0000:00:03.1", "0x1b36", "8.0 GT/s PCIex8", full);
    let link = of(&virtual_port, GPU).unwrap().unwrap();
    assert_eq!(link.best, LinkRate::default());
}

#[test]
fn what_is_not_there() {
    assert_eq!(of(&Fixture::default(), GPU), Ok(None));
    let path = format!("{DEVICES}/{GPU}");
    let alone = Fixture::default().symlink(&path, "../../../devices/pci0000:00/0000:0c:00.0");
    let link = of(&alone, GPU).unwrap().unwrap();
    assert_eq!(
        (link.now, link.best),
        (LinkRate::default(), LinkRate::default())
    );
    let vendor = format!("{DEVICES}/0000:00:03.1/vendor");
    let denied = alone.fails(
        &format!("{path}/max_link_width"),
        AccessError::Denied("max_link_width".into()),
    );
    let link = of(&denied, GPU).unwrap().unwrap();
    assert_eq!(
        link.trouble.as_deref(),
        Some("max_link_width: permission denied")
    );
    let spent = Fixture::default()
        .symlink(&path, "../0000:00:03.1/0000:0c:00.0")
        .fails(&vendor, AccessError::OverBudget("x".into()));
    assert!(of(&spent, GPU).is_err());
}

#[test]
fn texts() {
    for (speed, expected) in [
        ("2.5 GT/s PCIe", Some(1)),
        ("5 GT/s", Some(2)),
        ("8.0 GT/s PCIe", Some(3)),
        ("64.0 GT/s PCIe", Some(6)),
        ("Unknown", None),
        ("7 GT/s", None),
        ("", None),
    ] {
        assert_eq!(generation(speed), expected, "{speed}");
    }
    for (width, expected) in [
        ("16", Some(16)),
        ("0", None),
        ("63", None),
        ("255", None),
        ("x", None),
    ] {
        assert_eq!(lanes(width), expected, "{width}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_text_is_survived(text in "[0-9.]{0,6}( GT/s)?\\PC{0,6}") {
        prop_assert!(generation(&text).is_none_or(|generation| (1..=6).contains(&generation)));
        prop_assert!(lanes(&text).is_none_or(|lanes| (1..=32).contains(&lanes)));
    }
}
