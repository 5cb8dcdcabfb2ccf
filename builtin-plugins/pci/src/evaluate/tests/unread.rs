//! Devices that cannot be listed or read.

use super::*;

#[test]
fn what_cannot_be_listed() {
    let machine = Fake {
        devices: Err(AccessError::Denied("/sys/bus/pci/devices".into())),
        ..metal(vec![])
    };
    let report = check(&context(), &machine);
    assert_eq!(
        short(&report),
        (
            Health::Degraded,
            "cannot be judged: /sys/bus/pci/devices: permission denied",
            Some("/sys/bus/pci/devices: permission denied")
        )
    );
}

#[test]
fn without_root_it_is_said() {
    let mut short_space = port("0000:3a:01.0", 0x1d);
    short_space.config = Ok(vec![0; 64]);
    let mut unread = port("0000:3a:02.0", 0x1d);
    unread.config = Err(NoConfigSpace::Unread("/x: permission denied".into()));
    let mut asleep = port("0000:3a:03.0", 0x1d);
    asleep.config = Err(NoConfigSpace::Suspended);
    let report = check(
        &context(),
        &metal(vec![short_space.clone(), unread.clone(), asleep.clone()]),
    );
    assert_eq!(
        short(&report),
        (
            Health::Healthy,
            "non-KVM host env, ACS of 2 of 3 devices cannot be read without root",
            Some("configuration space of 0000:3a:01.0: only the first 64 bytes are shown")
        )
    );
    let report = check(&context(), &metal(vec![unread]));
    assert_eq!(
        short(&report).2,
        Some("configuration space of 0000:3a:02.0: /x: permission denied")
    );
    assert_eq!(
        short(&check(&context(), &metal(vec![asleep]))),
        (Health::Healthy, NONE, None)
    );
}
