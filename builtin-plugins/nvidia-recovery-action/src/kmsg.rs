//! Xid 154, by which the driver reports that it requests another action now:
//!
//! ```text
//! NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)
//! ```
//!
//! The words in parentheses differ between drivers (`Node Reboot Required`, `OS Reboot`, `PF FLR`); the numbers are
//! NVML's. `accelerator-nvidia-error-xid` has an event of the same line, which weighs there only by NVIDIA's catalogue.

use gpud_sdk::boots::BOOT;
use gpud_sdk::incidents::{Sighting, fact, is_driver_line};
use gpud_sdk::{CheckContext, Event, GpuId, Message, Subject};

use crate::action::Action;
use crate::patterns::{
    GPU_RECOVERY_ACTION_CHANGED as CHANGED, GPU_RECOVERY_ACTION_CLEARED as CLEARED,
};

pub use crate::patterns::PATTERNS;

/// Each change is an event of its own.
const MERGE_SECONDS: u32 = 1;
const MAX_ID: usize = 64;
/// Key of the number in an event's facts.
const NUMBER: &str = "recovery_action";

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// PCI id without function, in lower case with a four-digit domain: `0000:3b:00`.
    pub device: String,
    /// The action that the driver requested before.
    pub from: Action,
    /// The action that it requests now.
    pub to: Action,
}

/// Reads a line.
pub fn parse(text: &str) -> Option<Change> {
    let line = text.split('\n').next()?;
    let (id, rest) = line.strip_prefix("NVRM: Xid (")?.split_once("): 154, ")?;
    let (_, rest) = rest.split_once("GPU recovery action changed from 0x")?;
    let (from, rest) = number(rest)?;
    let (_, rest) = rest.split_once(" to 0x")?;
    let (to, _) = number(rest)?;
    Some(Change {
        device: device(id)?,
        from: Action::of(from),
        to: Action::of(to),
    })
}

fn number(text: &str) -> Option<(u32, &str)> {
    let after = text.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    let digits = text.get(..text.len() - after.len())?;
    Some((u32::from_str_radix(digits, 16).ok()?, after))
}

/// `PCI:0000:3b:00`, or the same without `PCI:`; on a GPU in MIG mode further words follow.
fn device(id: &str) -> Option<String> {
    let id = id.split(' ').next()?;
    let id = id.strip_prefix("PCI:").unwrap_or(id);
    let id = id.split('.').next()?.to_ascii_lowercase();
    let mut parts = id.splitn(2, ':');
    let (domain, rest) = (parts.next()?, parts.next()?);
    let is_id = |text: &str| text.bytes().all(|c| c.is_ascii_hexdigit() || c == b':');
    if id.len() > MAX_ID || !is_id(&id) || rest.len() != 5 {
        return None;
    }
    let domain = u32::from_str_radix(domain, 16).ok()?;
    Some(format!("{domain:04x}:{rest}"))
}

/// The event of a message, if it is one.
pub fn event(context: &CheckContext, message: &Message) -> Option<Event> {
    if !is_driver_line(message) {
        return None;
    }
    let change = parse(&message.text)?;
    let (entry, event_type) = match change.to {
        Action::None => (&CLEARED, CLEARED.event_type()),
        to if to.is_urgent() => (&CHANGED, CHANGED.event_type()),
        _ => (&CHANGED, CHANGED.other_type()),
    };
    let text = entry.say(&[
        ("device", &change.device),
        ("from", &change.from.name()),
        ("to", &change.to.name()),
    ]);
    let mut sighting = Sighting::new(entry.name, event_type, text)
        .fact(NUMBER, change.to.number().to_string())
        .fact(BOOT, context.boot_id.clone());
    sighting.subject = Some(Subject::Gpu(GpuId {
        uuid: None,
        serial: None,
        pci_id: Some(format!("{}.0", change.device)),
    }));
    let to = change.to.number();
    let key = format!("{} {} {to}", context.boot_id, change.device);
    let sighting = sighting.of(change.device);
    let event = sighting.event(context, message, MERGE_SECONDS);
    Some(event.merged_by(key, MERGE_SECONDS))
}

/// Returns the action that the driver requests in an event, if it is one of these.
pub fn wanted(event: &Event) -> Option<Action> {
    if ![CHANGED.name, CLEARED.name].contains(&event.name.as_str()) {
        return None;
    }
    Some(Action::of(fact(event, NUMBER)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_builtin_nvidia_common::testing::context;
    use gpud_sdk::EventType;
    use proptest::prelude::*;
    use regex::Regex;

    const RESET: &str = "NVRM: Xid (PCI:0000:3B:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)";

    fn message(facility: u8, text: &str) -> Message {
        Message {
            sequence: 9,
            time: 1_740_824_400_000,
            level: 3,
            facility: facility.into(),
            text: text.into(),
            dictionary: None,
        }
    }

    #[test]
    fn lines() {
        let change = |device: &str, from, to| {
            Some(Change {
                device: device.into(),
                from: Action::of(from),
                to: Action::of(to),
            })
        };
        for (text, expected) in [
            (RESET.to_owned(), change("0000:3b:00", 0, 1)),
            (
                RESET.replace("0x1 (GPU Reset Required)", "0x2 (OS Reboot)"),
                change("0000:3b:00", 0, 2),
            ),
            (
                RESET
                    .replace("0x1 (GPU Reset Required)", "0x0 (None)")
                    .replace("from 0x0 (None)", "from 0x4 (Drain and Reset)"),
                change("0000:3b:00", 4, 0),
            ),
            (RESET.replace("0x1", "0x1f"), change("0000:3b:00", 0, 31)),
            (
                RESET.replace("154, ", "154, pid=7, name=x, "),
                change("0000:3b:00", 0, 1),
            ),
            (
                RESET.replace("PCI:0000:3B:00", "PCI:0018:01:00 GPU-I:05"),
                change("0018:01:00", 0, 1),
            ),
            (
                RESET.replace("PCI:0000:3B:00", "00000018:01:00.0"),
                change("0018:01:00", 0, 1),
            ),
            (format!("other\n{RESET}"), None),
            (format!("x {RESET}"), None),
            (RESET.replace("154", "155"), None),
            (RESET.replace("0x1 ", "x "), None),
            (RESET.replace("to 0x1", "to 0x"), None),
            (RESET.replace("to 0x1", "to 0x123456789"), None),
            (RESET.replace("PCI:0000:3B:00", "PCI:zz"), None),
            (RESET.replace("NVRM: ", ""), None),
            (String::new(), None),
        ] {
            assert_eq!(parse(&text), expected, "{text}");
        }
    }

    #[test]
    fn events() {
        let event = event(&context(), &message(0, RESET)).unwrap();
        assert_eq!(event.name, "gpu_recovery_action_changed");
        assert_eq!(event.event_type, EventType::Critical);
        assert_eq!(
            event.message,
            "GPU recovery action of 0000:3b:00 changed from None to Reset"
        );
        assert_eq!(wanted(&event), Some(Action::Reset));
        assert_eq!(gpud_sdk::incidents::device(&event), "0000:3b:00");
        assert_eq!(super::event(&context(), &message(4, RESET)), None);
        let none = RESET.replace("0x1 (GPU Reset Required)", "0x0 (None)");
        let event = super::event(&context(), &message(0, &none)).unwrap();
        assert_eq!(event.name, "gpu_recovery_action_cleared");
        assert_eq!(event.event_type, EventType::Info);
        assert_eq!(wanted(&event), Some(Action::None));
        let other = Event::new(1, "other", EventType::Info, "");
        assert_eq!(wanted(&other), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn what_is_taken_is_delivered(
            before in "(|x |NVRM: )",
            id in "(PCI:)?[0-9a-fA-F]{1,8}:[0-9a-f]{2}:[0-9a-f]{2}(\\.0|)( GPU-I:0[0-9])?",
            words in "(|pid=[0-9]{1,4}, )",
            from in "[0-9a-fA-F]{0,3}( \\(None\\)|)",
            to in "[0-9a-fA-F]{0,9}( \\(x\\)|)",
        ) {
            let text = format!("{before}NVRM: Xid ({id}): 154, {words}GPU recovery action changed from 0x{from} to 0x{to}");
            let delivered = Regex::new(PATTERNS[0]).unwrap().is_match(&text);
            prop_assert!(parse(&text).is_none() || delivered, "{text}");
        }

        #[test]
        fn anything_is_survived(text in "\\PC{0,100}") {
            parse(&text);
            parse(&format!("NVRM: Xid ({text}): 154, GPU recovery action changed from 0x0 to 0x1"));
        }
    }
}
