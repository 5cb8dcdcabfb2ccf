//! The system event log as FreeIPMI lists it: `ipmi-sel -v --comma-separated-output --no-header-output` (ipmi-sel(8)), lines
//! `‹number›,‹date›,‹time›,‹sensor›,‹type›,‹direction›,‹event›`, and with `--output-event-state` a state before the direction.
//!
//! Words for events are those of the specification; what the catalogue calls otherwise is translated.

use crate::freeipmi::translated;
use crate::log::Entry;

/// Entries that are taken.
const MAX_ENTRIES: usize = 256;
/// Longest line, bytes.
const MAX_LINE: usize = 512;
/// Longest text of an entry, bytes.
const MAX_BYTES: usize = 256;
/// Judgements of FreeIPMI's own, which depend on a file that the operator can change.
const STATES: [&str; 4] = ["Nominal", "Warning", "Critical", "N/A"];

/// The entries, in the order of the log.
pub fn parse(text: &str) -> Vec<Entry> {
    let lines = text.lines().filter(|line| line.len() <= MAX_LINE);
    lines.filter_map(parse_line).take(MAX_ENTRIES).collect()
}

fn parse_line(line: &str) -> Option<Entry> {
    let mut fields = line.splitn(6, ',').map(str::trim);
    let (number, date, time) = (fields.next()?, fields.next()?, fields.next()?);
    number.parse::<u32>().ok()?;
    let (name, kind, mut rest) = (fields.next()?, fields.next()?, fields.next()?);
    if let Some((first, after)) = rest.split_once(',')
        && STATES.contains(&first.trim())
    {
        rest = after.trim();
    }
    let asserted = match rest.split_once(',') {
        Some((first, after)) if first.trim() == "Assertion Event" => {
            rest = after.trim();
            true
        }
        Some((first, after)) if first.trim() == "Deassertion Event" => {
            rest = after.trim();
            false
        }
        _ => true,
    };
    // After it stand the bytes of the record.
    let words = rest.split(" ; ").next().unwrap_or(rest);
    let what = translated(words).replace(" - going ", " going ");
    let what = what.get(..what.floor_char_boundary(MAX_BYTES))?.to_owned();
    // The type comes first, as the catalogue is asked by it.
    let sensor = match (kind, name) {
        ("" | "N/A", name) => name.to_owned(),
        (kind, "" | "N/A") => kind.to_owned(),
        (kind, name) => format!("{kind} {name}"),
    };
    let sensor = sensor
        .get(..sensor.floor_char_boundary(MAX_BYTES))?
        .to_owned();
    if sensor.is_empty() || what.is_empty() {
        return None;
    }
    let direction = if asserted { "" } else { " over" };
    Some(Entry {
        id: format!("{number} {sensor} {what}{direction}"),
        when: format!("{date} {time}"),
        sensor,
        what,
        asserted,
        sentence: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpud_sdk::EventType::{Critical, Info, Warning};
    use proptest::prelude::*;

    /// Composed on the forms of FreeIPMI 1.6.
    const TEXT: &str = "1,Apr-12-2024,10:20:30,SEL,Event Logging Disabled,Assertion Event,Log Area Reset/Cleared\n\
        2,Apr-12-2024,10:21:30,PS2 Status,Power Supply,Critical,Assertion Event,Power Supply input lost (AC/DC)\n\
        3,Apr-12-2024,10:25:30,PS2 Status,Power Supply,Nominal,Deassertion Event,Power Supply input lost (AC/DC)\n\
        4,PostInit,PostInit,Sensor #211,Memory,Critical,Uncorrectable memory error ; Event Data3 = 34h\n\
        5,Apr-12-2024,11:00:00,Fan1,Fan,Warning,Assertion Event,Lower Critical - going low ; Sensor Reading = 240.00 RPM\n\
        6,Apr-12-2024,11:00:00,Drive 3,Drive Slot,Assertion Event,Drive Fault\n\
        ID,Date,Time,Name,Type,Event Direction,Event\n\
        ipmi_sel_parse: internal IPMI error\n";

    #[test]
    fn lines() {
        let entries = parse(TEXT);
        let shown: Vec<_> = entries
            .iter()
            .map(|one| (one.sensor.as_str(), one.what.as_str(), one.asserted))
            .collect();
        assert_eq!(
            shown,
            [
                ("Event Logging Disabled SEL", "Log area reset/cleared", true),
                ("Power Supply PS2 Status", "Power Supply AC lost", true),
                ("Power Supply PS2 Status", "Power Supply AC lost", false),
                ("Memory Sensor #211", "Uncorrectable ECC", true),
                ("Fan Fan1", "Lower Critical going low", true),
                ("Drive Slot Drive 3", "Drive Fault", true),
            ]
        );
        let types: Vec<_> = entries.iter().map(Entry::event_type).collect();
        assert_eq!(types, [Info, Warning, Info, Critical, Warning, Critical]);
        assert!(entries[0].is_cleared_log());
        assert_eq!(entries[1].key(), entries[2].key());
        assert_eq!(entries[3].when, "PostInit PostInit");
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[ -~\\né,;]{0,200}|([0-9]{1,3},[ -~é]{0,40}\n){0,5}") {
            for entry in parse(&text) {
                prop_assert!(entry.what.len() <= MAX_BYTES && !entry.sensor.is_empty());
            }
        }
    }
}
