use super::*;
use proptest::prelude::*;

const LOG: &str = "1,04/12/2024,10:20:30,Power Supply #0x51,Failure detected,Asserted\n\
        2,04/12/2024,10:21:30,Power Supply #0x51,Failure detected,Deasserted\n\
        1a,Pre-Init,0000000012,Memory #0x01,Uncorrectable ECC,Asserted\n\
        1b,04/12/2024,11:00:00,Fan #0x30,Lower Critical going low,Asserted\n\
        1c,04/12/2024,11:00:00,System Event #0x83,Timestamp Clock Sync,Asserted\n\
        1d,04/12/2024,11:00:00,OEM,something\nSEL has no entries\n";

#[test]
fn entries() {
    let entries = parse(LOG);
    let types: Vec<_> = entries.iter().map(Entry::event_type).collect();
    use EventType::{Critical, Info, Warning};
    assert_eq!(types, [Warning, Info, Critical, Warning, Info, Info]);
    assert_eq!(entries[1].key(), entries[0].key());
    assert_eq!(entries[2].when, "Pre-Init 0000000012");
}

#[test]
fn how_serious() {
    use EventType::{Critical, Info, Warning};
    for (line, expected) in [
        ("1f,,,Linux kernel panic: Fatal, exce", Critical),
        (
            "1,04/12/24,10:20:30 UTC,OS Critical Stop,Run-time critical stop,Asserted",
            Critical,
        ),
        (
            "1,04/12/24,10:20:30 UTC,Memory #0x01,Parity,Asserted",
            Warning,
        ),
        (
            "1,04/12/24,10:20:30 UTC,Drive Slot #0x01,Parity Check In Progress,Asserted",
            Info,
        ),
        (
            "1,04/12/24,10:20:30 UTC,Drive Slot #0x01,In Failed Array,Asserted",
            Warning,
        ),
        (
            "1,04/12/24,10:20:30 UTC,Fan #0x30,Lower Non-critical going low ,Asserted",
            Info,
        ),
        ("1f,,,OEM record e0,00157c", Info),
        (
            "20,10/26/2014,20:17:51,Power Supply #0x51,Presence detected,Deasserted",
            Warning,
        ),
        (
            "2beb,10/03/25,13:16:53 UTC,Watchdog2 #0x71,Hard reset,Asserted",
            Warning,
        ),
        (
            "1,01/20/2010,14:27:46,Voltage #0x0d,Lower Non-recoverable going low",
            Critical,
        ),
        (
            "1,01/20/2010,14:27:46,Power Unit #0x02,Non-Redundant: Insufficient Resources,Asserted",
            Critical,
        ),
        (
            "1,01/20/2010,14:27:46,Board #0x02,Uncorrectable error in the bridge,Asserted",
            Critical,
        ),
        (
            "33,02/25/2025,04:40:00 PM EST,Unknown #0xff,,Asserted",
            Info,
        ),
    ] {
        let entries = parse(line);
        assert_eq!(entries[0].event_type(), expected, "{line}");
    }
    assert_eq!(
        parse("1f,,,Linux kernel panic: Fatal, exce")[0].key(),
        "Operating system Linux kernel panic: Fatal, exce"
    );
}

#[test]
fn another_time_zone_makes_no_news() {
    let mut seen = SeenEntries::default();
    seen.take(&parse(LOG));
    let moved = LOG
        .replace("04/12/2024,1", "04/12/24,2")
        .replace(":00,", ":00 CEST,");
    assert!(seen.take(&parse(&moved)).is_empty());
}

#[test]
fn news() {
    let all = parse(LOG);
    let mut seen = SeenEntries::default();
    assert!(seen.take(&all[..0]).is_empty());
    assert_eq!(seen.take(&all[..1]).len(), 1);
    assert!(seen.take(&all[..1]).is_empty());
    assert_eq!(seen.take(&all[..3]).len(), 2);
    // An old log is no news.
    assert!(SeenEntries::default().take(&all).is_empty());
    // A log that was cleared.
    assert!(seen.take(&[]).is_empty());
    assert_eq!(seen.take(&all[..1]).len(), 1);
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "[ -~\n,]{0,200}") {
        let entries = parse(&text);
        SeenEntries::default().take(&entries);
        entries.iter().for_each(|entry| { entry.event_type(); });
    }
}
