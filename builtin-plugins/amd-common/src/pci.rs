//! PCI ids.

/// True of an id as sysfs spells it, `0000:c1:00.0`: a domain of four digits or more, lower case.
pub fn is_id(name: &str) -> bool {
    parts(name).is_some()
}

fn parts(name: &str) -> Option<()> {
    let (domain, rest) = name.split_once(':')?;
    let (bus, rest) = rest.split_once(':')?;
    let (device, function) = rest.split_once('.')?;
    let hexadecimal = |text: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&text.len())
            && text
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let fits = hexadecimal(domain, 4..=8)
        && hexadecimal(bus, 2..=2)
        && hexadecimal(device, 2..=2)
        && hexadecimal(function, 1..=1);
    fits.then_some(())
}

/// The ids in a path, from the root port to the device: `…/pci0000:00/0000:00:03.1/0000:0a:00.0` has two.
pub fn ids_in(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|segment| is_id(segment))
}

/// A value of a `uevent` file, one `KEY=value` to a line.
pub fn uevent<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids() {
        for (name, expected) in [
            ("0000:c1:00.0", true),
            ("10000:e1:00.0", true),
            ("0000:C1:00.0", false),
            ("c1:00.0", false),
            ("0000:c1:00", false),
            ("0000:c1:00.00", false),
            ("bind", false),
            ("", false),
        ] {
            assert_eq!(is_id(name), expected, "{name}");
        }
        let path = "../../../devices/pci0000:00/0000:00:03.1/0000:0a:00.0";
        let found: Vec<&str> = ids_in(path).collect();
        assert_eq!(found, ["0000:00:03.1", "0000:0a:00.0"]);
    }

    #[test]
    fn values() {
        let text = "DRIVER=amdgpu\nPCI_CLASS=120000\n";
        assert_eq!(uevent(text, "PCI_CLASS"), Some("120000"));
        assert_eq!(uevent(text, "PCI"), None);
        assert_eq!(uevent("", "DRIVER"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn any_text_is_survived(text in "\\PC{0,60}") {
            is_id(&text);
            let _ = ids_in(&text).count();
            let _ = uevent(&text, "A");
        }

        #[test]
        fn every_id_is_one(domain in 0u32..0x1_0000, bus: u8, device in 0u8..32, function in 0u8..8) {
            let id = format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}");
            prop_assert!(is_id(&id), "{}", id);
        }
    }
}
