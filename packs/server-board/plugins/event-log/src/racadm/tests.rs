use super::*;
use gpud_builtin_ipmi::log::SeenEntries;
use gpud_builtin_ipmi::open::Open;
use gpud_builtin_ipmi::states;
use gpud_sdk::EventType;
use proptest::prelude::*;

/// Composed on the form of iDRAC 7 to 9.
const LOG: &str = "\
Record:      2
Date/Time:   08/14/2023 11:25:39
Source:      system
Severity:    Critical
Description: The power input for power supply 2 is lost.
-------------------------------------------------------------------------------
Record:      1
Date/Time:   08/14/2023 10:00:00
Source:      system
Severity:    Ok
Description: Log cleared.
-------------------------------------------------------------------------------
Record:      3
Date/Time:   08/14/2023 11:25:44
Source:      system
Severity:    Critical
Description: Power supply redundancy is lost.
-------------------------------------------------------------------------------
Record:      4
Date/Time:   08/14/2023 11:26
";

/// Composed on the form of iDRAC 8 and 9: the newest first.
const LIFECYCLE: &str = "\
SeqNumber       = 7206
Message ID      = VDR7
Category        = Storage
AgentID         = iDRAC
Severity        = Critical
Timestamp       = 2023-08-14 11:30:02
Message         = Virtual Disk 0 on Integrated RAID Controller 1 has failed.
Message Arg   1 = Virtual Disk 0 on Integrated RAID Controller 1
FQDD            = Disk.Virtual.0:RAID.Integrated.1-1
--------------------------------------------------------------------------------
SeqNumber       = 7205
Message ID      = USR0032
Category        = Audit
AgentID         = RACLOG
Severity        = Warning
Timestamp       = 2023-08-14 11:29:00
Message         = The session for root from 192.0.2.7 using GUI is logged off.
FQDD            = iDRAC.Embedded.1
--------------------------------------------------------------------------------
SeqNumber       = 7204
Message ID      = PSU0003
Category        = System
AgentID         = SEL
Severity        = Critical
Timestamp       = 2023-08-14 11:25:39
Message         = The power input for power supply 2 is lost.
FQDD            = PSU.Slot.2
--------------------------------------------------------------------------------
SeqNumber       = 7203
Message ID      = PDR3
Category        = Storage
AgentID         = iDRAC
Severity        = Critical
Timestamp       = 2023-08-14 11:20:00
Message         = Disk 2 in Backplane 1 of Integrated RAID Controller 1 failed.
FQDD            = Disk.Bay.2:Enclosure.Internal.0-1:RAID.Integrated.1-1
";

#[test]
fn records_of_both_logs() {
    let shown = |entries: Vec<Entry>| -> Vec<String> {
        entries
            .iter()
            .map(|one| format!("{} {} {}", one.when, one.key(), label(one)))
            .collect()
    };
    assert_eq!(
        shown(event_log(LOG).unwrap()),
        [
            "08/14/2023 10:00:00 Event Logging Disabled Log area reset/cleared Info",
            "08/14/2023 11:25:39 Power Supply 2 Power Supply AC lost Warning",
            "08/14/2023 11:25:44 Power Unit power supplies Redundancy Lost Warning",
        ]
    );
    assert!(event_log(LOG).unwrap()[0].is_cleared_log());
    assert_eq!(
        shown(lifecycle_log(&LIFECYCLE.replace('\n', "\r\n")).unwrap()),
        [
            "2023-08-14 11:20:00 Drive Slot disk 2 in backplane 1 of integrated raid controller 1 Drive Fault Critical",
            "2023-08-14 11:30:02 virtual disk 0 on integrated raid controller 1 has failed Critical",
        ]
    );
}

#[test]
fn what_is_no_log() {
    for (text, expected) in [
        (
            "ERROR: Unable to perform requested operation.\n",
            Err("ERROR: Unable to perform requested operation."),
        ),
        ("\n", Err("racadm lists no record")),
        ("The SEL is empty.\n", Ok(0)),
        (
            "Record: x\nDescription: Log cleared.\n",
            Err("racadm lists no record"),
        ),
    ] {
        let found = event_log(text).map(|entries| entries.len());
        assert_eq!(found, expected.map_err(str::to_owned), "{text}");
    }
}

fn label(entry: &Entry) -> &'static str {
    match entry.event_type() {
        EventType::Critical => "Critical",
        EventType::Warning => "Warning",
        _ => "Info",
    }
}

fn entries_of(sentences: &[(&str, &str)]) -> Vec<Entry> {
    let text: String = sentences
        .iter()
        .enumerate()
        .map(|(number, (severity, text))| {
            format!("Record: {number}\nSeverity: {severity}\nDescription: {text}\n")
        })
        .collect();
    event_log(&text).unwrap()
}

/// Severity, sentence, type of the event, key.
const SENTENCES: &str = "\
Critical|Power supply 1 failed.|Warning|Power Supply 1 Failure detected
Critical|A predictive failure detected on power supply 1.|Warning|Power Supply 1 Predictive failure
Critical|Power supply 2 is absent.|Warning|Power Supply 2 Presence detected
Critical|Power supply 2 is incorrectly configured.|Warning|Power Supply 2 Config Error
Critical|The power supplies are not redundant. Insufficient resources to maintain normal operations.|Critical|Power Unit power supplies Non-Redundant: Insufficient Resources
Non-Critical|Fan redundancy is degraded.|Warning|Cooling Device fans Redundancy Degraded
Critical|Internal Dual SD Module redundancy is lost.|Warning|Other internal dual sd module Redundancy Lost
Critical|Fan 1A RPM is less than the lower critical threshold.|Warning|fan 1a rpm Lower Critical going low
Non-Critical|Fan 1A RPM is less than the lower warning threshold.|Info|fan 1a rpm Lower Non-critical going low
Critical|The system inlet temperature is greater than the upper critical threshold.|Warning|Temperature system inlet temperature Upper Critical going high
Critical|CPU 2 temperature is greater than the upper critical threshold.|Warning|Temperature cpu 2 temperature Upper Critical going high
Critical|CPU 1 M01 VDDQ PG voltage is outside of range.|Warning|Voltage cpu 1 m01 vddq pg voltage Limit Exceeded
Critical|CPU 1 has an internal error (IERR).|Critical|Processor CPU 1 IERR
Critical|CPU 1 machine check error detected.|Critical|Processor CPU 1 Uncorrectable machine check exception
Critical|CPU 2 has a thermal trip (over-temperature) event.|Critical|Processor CPU 2 Thermal Trip
Critical|Multi-bit memory errors detected on a memory device at location(s) DIMM_A1.|Critical|Memory DIMM_A1 Uncorrectable ECC
Non-Critical|Correctable memory error rate exceeded for DIMM_B2.|Warning|Memory DIMM_B2 Correctable ECC logging limit reached
Critical|Correctable memory error logging disabled for a memory device at location DIMM B3.|Warning|Memory DIMM_B3 Correctable ECC logging limit reached
Critical|Fault detected on drive 4 in disk drive bay 1.|Critical|Drive Slot 4 bay 1 Drive Fault
Non-Critical|A predictive failure detected on drive 4 in disk drive bay 1.|Warning|Drive Slot 4 bay 1 Predictive Failure
Ok|Drive 4 is removed from disk drive bay 1.|Info|Drive Slot 4 bay 1 Drive Present
Critical|The system board CMOS battery has failed.|Warning|Battery system board cmos battery Failed
Non-Critical|The storage battery is low.|Warning|Battery storage battery Low
Critical|The watchdog timer reset the system.|Warning|Watchdog2 Hard reset
Critical|The watchdog timer expired.|Warning|Watchdog2 Timer expired
Critical|The chassis is open while the power is on.|Info|Physical Security General Chassis intrusion
Critical|A fatal error was detected on a component at bus 0 device 1 function 0.|Critical|component at bus 0 device 1 function 0 a fatal error
Non-Critical|The storage BP1 SAS A cable is not connected, or is improperly connected.|Warning|storage bp1 sas a cable is not connected, or is improperly connected
Ok|An OEM diagnostic event occurred.|Info|system an oem diagnostic event occurred
Critical|PS 2 Status: power supply sensor for PS 2, input lost was asserted|Warning|power supply PS 2 Status Power Supply AC lost
Non-Critical|Mem ECC Warning: memory sensor, transition to critical from less severe (DIMM_B3) was asserted|Warning|memory Mem ECC Warning transition to critical from less severe (DIMM_B3)
";

#[test]
fn how_grave_a_sentence_is() {
    for line in SENTENCES.lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let entries = entries_of(&[(fields[0], fields[1])]);
        let entry = &entries[0];
        let found = [label(entry).to_owned(), entry.key()];
        assert_eq!(found, [fields[2], fields[3]], "{line}");
        if entry.sentence.as_ref().unwrap().weight.is_none() {
            let kind = states::of_sensor(&entry.sensor);
            assert!(states::find(kind, &entry.what).is_some(), "{line}");
        }
    }
}

/// What is open after these sentences.
fn open_after(sentences: &[(&str, &str)]) -> Vec<String> {
    let all = entries_of(sentences);
    let (mut seen, mut open) = (SeenEntries::default(), Open::default());
    seen.take(&[]);
    let new = seen.take(&all);
    open.take(1, 1_000, &all, &new);
    open.0.into_keys().collect()
}

#[test]
fn what_ends_a_trouble() {
    let lost = ("Critical", "The power input for power supply 2 is lost.");
    let redundancy = ("Critical", "Power supply redundancy is lost.");
    let slow = (
        "Critical",
        "Fan 1A RPM is less than the lower critical threshold.",
    );
    let fault = ("Critical", "Fault detected on drive 4 in disk drive bay 1.");
    let failed = (
        "Critical",
        "Virtual Disk 0 on Integrated RAID Controller 1 has failed.",
    );
    let no_open: [&str; 0] = [];
    for end in [
        "The power supplies are redundant.",
        "Power supply redundancy is regained.",
    ] {
        assert_eq!(
            open_after(&[lost, redundancy, ("Ok", end)]),
            no_open,
            "{end}"
        );
    }
    for (trouble, end) in [
        (
            lost,
            "The input power for power supply 2 has been restored.",
        ),
        (lost, "Power supply 2 is operating normally."),
        (slow, "Fan 1A RPM is within range."),
        (fault, "Drive 4 in disk drive bay 1 is operating normally."),
        (fault, "Drive 4 is installed in disk drive bay 1."),
        (
            failed,
            "Virtual Disk 0 on Integrated RAID Controller 1 has returned to optimal state.",
        ),
        (
            ("Critical", "Power supply 2 is absent."),
            "Power supply 2 is present.",
        ),
        (
            ("Critical", "The storage battery has failed."),
            "The storage battery is operating normally.",
        ),
        (
            (
                "Critical",
                "PS Redundancy: PS redundancy sensor, redundancy lost was asserted",
            ),
            "PS Redundancy: PS redundancy sensor, redundancy lost was deasserted",
        ),
        (
            (
                "Critical",
                "PS Redundancy: PS redundancy sensor, redundancy lost was asserted",
            ),
            "PS Redundancy: PS redundancy sensor, fully redundant was asserted",
        ),
        (failed, "Log cleared."),
    ] {
        assert_eq!(open_after(&[trouble]).len(), 1, "{trouble:?}");
        assert_eq!(open_after(&[trouble, ("Ok", end)]), no_open, "{end}");
    }
    // Another part that is well ends nothing.
    for (trouble, end) in [
        (lost, "Power supply 1 is operating normally."),
        (slow, "Fan 1 RPM is within range."),
        (fault, "Drive 4 in disk drive bay 2 is operating normally."),
        (lost, "The fans are redundant."),
    ] {
        assert_eq!(open_after(&[trouble, ("Ok", end)]).len(), 1, "{end}");
    }
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "((Record|SeqNumber|Description|Message|Severity) ?[:=] ?[ -~é]{0,60}\n){0,8}|[ -~\nß]{0,200}") {
        for entries in [event_log(&text), lifecycle_log(&text)].into_iter().flatten() {
            for entry in entries {
                prop_assert!(entry.id.len() <= MAX_ID && !entry.sensor.is_empty());
                let _ = (entry.event_type(), entry.key());
            }
        }
    }
}
