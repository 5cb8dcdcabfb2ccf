//! The logs of Dell's controllers as `racadm` lists them (iDRAC RACADM CLI guide).
//!
//! `racadm getsel` lists the system event log: blocks of `Record`, `Date/Time`, `Source`, `Severity` and `Description`.
//! `racadm lclog view` lists the Lifecycle log, which has the storage behind the controllers as well: blocks of
//! `SeqNumber`, `Message ID`, `Category`, `AgentID`, `Severity`, `Timestamp`, `Message`, `FQDD` and more. Neither order is
//! relied upon: the number of a record decides.

mod sentences;

use gpud_builtin_ipmi::log::{Entry, Sentence};
use gpud_builtin_ipmi::states::Weight;

/// What lists the system event log.
pub const EVENT_LOG: [&str; 1] = ["getsel"];
/// What lists the newest records of the Lifecycle log that are about hardware.
pub const LIFECYCLE_LOG: [&str; 6] = ["lclog", "view", "-c", "System,Storage", "-n", "128"];

/// Entries that are taken; the newest.
const MAX_ENTRIES: usize = 128;
/// Longest line, bytes.
const MAX_LINE: usize = 1_024;
/// Longest sentence, bytes.
const MAX_TEXT: usize = 160;
/// Longest identity of an entry, bytes.
const MAX_ID: usize = 96;

/// The entries of the system event log, the oldest first.
///
/// # Errors
/// In words, when the output has no record and does not say that the log is empty.
pub fn event_log(text: &str) -> Result<Vec<Entry>, String> {
    entries(text, ':')
}

/// The entries of the Lifecycle log about hardware that the system event log does not have, the oldest first.
///
/// # Errors
/// As [`event_log`].
pub fn lifecycle_log(text: &str) -> Result<Vec<Entry>, String> {
    entries(text, '=')
}

fn entries(text: &str, separator: char) -> Result<Vec<Entry>, String> {
    let mut records = records(text, separator);
    records.retain(|record| record.number.is_some() && !record.text.is_empty());
    if records.is_empty() {
        return no_record(text);
    }
    records.sort_by_key(|record| record.number);
    let all: Vec<Entry> = records
        .iter()
        .filter(|record| record.is_about_hardware())
        .filter_map(Record::entry)
        .collect();
    let first = all.len().saturating_sub(MAX_ENTRIES);
    Ok(all.into_iter().skip(first).collect())
}

/// An empty log, or what racadm complains of: it may end with status 0 all the same.
fn no_record(text: &str) -> Result<Vec<Entry>, String> {
    let lower = text.to_ascii_lowercase();
    let is_error = |line: &&str| line.to_ascii_lowercase().starts_with("error");
    match text.lines().map(str::trim).find(is_error) {
        Some(line) => Err(clipped(line, MAX_TEXT).to_owned()),
        None if lower.contains("is empty") || lower.contains("no records") => Ok(Vec::new()),
        None => Err("racadm lists no record".to_owned()),
    }
}

/// One block.
#[derive(Debug, Clone, Copy, Default)]
struct Record<'a> {
    number: Option<u64>,
    when: &'a str,
    severity: &'a str,
    text: &'a str,
    /// `System`, `Storage`, `Audit` and others; of the Lifecycle log only.
    category: &'a str,
    /// What logged it; of the Lifecycle log only.
    agent: &'a str,
    /// Dell's name of the part; of the Lifecycle log only.
    part: &'a str,
}

fn records(text: &str, separator: char) -> Vec<Record<'_>> {
    let mut records: Vec<Record<'_>> = Vec::new();
    for line in text.lines().filter(|line| line.len() <= MAX_LINE) {
        let Some((key, value)) = line.split_once(separator) else {
            continue;
        };
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
        if matches!(key.as_str(), "record" | "seqnumber") {
            records.push(Record {
                number: value.parse().ok(),
                ..Record::default()
            });
            continue;
        }
        let Some(record) = records.last_mut() else {
            continue;
        };
        match key.as_str() {
            "date/time" | "timestamp" => record.when = value,
            "severity" => record.severity = value,
            "description" | "message" => record.text = value,
            "category" => record.category = value,
            "agentid" => record.agent = value,
            "fqdd" => record.part = value,
            _ => {}
        }
    }
    records
}

impl Record<'_> {
    /// Neither a login, a job or a setting, nor what the system event log has as well.
    fn is_about_hardware(&self) -> bool {
        let category = self.category.to_ascii_lowercase();
        let kind = category.split_whitespace().next().unwrap_or_default();
        matches!(kind, "" | "system" | "storage") && !self.agent.eq_ignore_ascii_case("SEL")
    }

    fn entry(&self) -> Option<Entry> {
        let number = self.number?;
        let text = clipped(self.text.trim_end_matches('.'), MAX_TEXT);
        if text.is_empty() {
            return None;
        }
        let meaning = sentences::read(text, self.part);
        let weight = match meaning.asserted && !meaning.is_well {
            true => self.weight(),
            false => Weight::Fine,
        };
        let direction = if meaning.asserted { "" } else { " over" };
        let id = format!("{number} {} {}{direction}", meaning.sensor, meaning.what);
        Some(Entry {
            id: clipped(&id, MAX_ID).to_owned(),
            when: clipped(self.when, MAX_ID).to_owned(),
            sensor: meaning.sensor,
            what: meaning.what,
            asserted: meaning.asserted,
            sentence: Some(Sentence {
                text: text.to_owned(),
                weight: (!meaning.is_known).then_some(weight),
                is_well: meaning.is_well,
            }),
        })
    }

    /// How grave Dell calls it.
    fn weight(&self) -> Weight {
        match self.severity.to_ascii_lowercase().as_str() {
            "critical" | "fatal" | "non-recoverable" => Weight::Failed,
            "non-critical" | "noncritical" | "warning" => Weight::Warning,
            _ => Weight::Fine,
        }
    }
}

/// The beginning of a text, at most so many bytes.
fn clipped(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
