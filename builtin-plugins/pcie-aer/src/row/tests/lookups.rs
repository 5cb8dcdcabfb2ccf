//! Which lines are heard, and which devices are looked up.

use super::*;

#[test]
fn only_the_kernel_is_heard_and_lookups_are_bounded() {
    let text =
        "a 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)";
    for (facility, heard) in [(0, 1), (1, 1), (3, 0), (5, 1)] {
        let message = Message {
            facility,
            ..message(1, text)
        };
        assert_eq!(
            events(&context(), &[message], gpu).len(),
            heard,
            "{facility}"
        );
    }
    let lines: Vec<String> = (0..512)
        .map(|n| format!("a 0000:{:02x}:{:02x}.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)", n / 32, n % 32))
        .collect();
    let messages: Vec<Message> = (0..)
        .zip(&lines)
        .map(|(n, text)| message(n, text))
        .collect();
    let mut lookups = 0;
    let found = events(&context(), &messages, |id| {
        lookups += 1;
        gpu(id)
    });
    assert_eq!((found.len(), lookups), (512, MAX_LOOKUPS));
}

#[test]
fn the_devices_of_a_saved_log_are_not_looked_up_here() {
    let text =
        "a 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)";
    let elsewhere = CheckContext {
        boot_id: String::new(),
        ..context()
    };
    let found = events(&elsewhere, &[message(1, text)], |id| panic!("{id}"));
    assert_eq!(
        found[0].message,
        "corrected PCIe error on 0000:3b:00.0, Physical Layer, Receiver ID"
    );
}
