//! Kinds of block devices, by the names that the kernel gives them (`Documentation/admin-guide/devices.txt`).

/// Whether this is an image in a file, or a partition of one: `loop0`, `loop0p1`. What is wrong with one says nothing of the
/// machine's disks, and users may mount their own.
pub fn is_image(device: &str) -> bool {
    is_numbered(device, "loop")
}

/// Whether this is a drive with media that come and go (`fd0`, `sr0`): an empty one fails every request, and nothing is
/// lost.
pub fn is_removable(device: &str) -> bool {
    is_numbered(device, "fd") || is_numbered(device, "sr")
}

fn is_numbered(device: &str, kind: &str) -> bool {
    device
        .strip_prefix(kind)
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_and_removable_media_are_known_by_name() {
        for (device, image, removable) in [
            ("loop0", true, false),
            ("loop12p3", true, false),
            ("fd0", false, true),
            ("sr11", false, true),
            ("sda", false, false),
            ("loop", false, false),
            ("loopback", false, false),
            ("sr", false, false),
            ("srx0", false, false),
            ("fdx", false, false),
            ("", false, false),
        ] {
            assert_eq!(is_image(device), image, "{device}");
            assert_eq!(is_removable(device), removable, "{device}");
        }
    }
}
