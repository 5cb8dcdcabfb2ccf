//! The file of exports.
//!
//! It is read in two passes: the first finds the kind of each export, the second reads each export's keys as that kind has
//! them. So unknown keys are refused, and everything that is wrong has its place.

mod entry;
mod problem;
#[cfg(test)]
mod tests;
mod values;

use std::{collections::BTreeSet, time::Duration};

use serde::Deserialize;
use serde_yaml::Spanned;

pub use problem::ConfigError;
pub use values::{Address, ByteSize, ConfigDuration};

use crate::{kinds::Settings, select::Select};
use entry::{Entry, ListSeed};
use problem::FilePosition;

/// Most exports of one file.
const MAX_EXPORTS: usize = 32;
/// Longest name of an export.
const MAX_NAME: usize = 40;

/// One export, as an operator wants it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportConfig {
    /// Its unique name: small letters, digits and hyphens.
    pub name: String,
    /// Which records it gets.
    pub select: Select,
    /// Time limit of one delivery.
    pub timeout: Duration,
    /// Most records in memory.
    pub queue_records: usize,
    /// Most records of one delivery.
    pub batch_records: usize,
    /// Most bytes of records on disk; `None` keeps them in memory only.
    pub spool_bytes: Option<u64>,
    /// The longest pause between two tries.
    pub longest_pause: Duration,
    /// The user of this machine whose programs may have what is sent without TLS.
    pub peer_user: Option<String>,
    /// The keys of its kind.
    pub settings: Settings,
}

impl ExportConfig {
    /// Makes an export with the defaults of everything that is not about its kind.
    pub fn new(name: &str, settings: Settings) -> Self {
        Self {
            name: name.to_owned(),
            select: Select::default(),
            timeout: Duration::from_secs(10),
            queue_records: 1000,
            batch_records: 100,
            spool_bytes: Some(16 << 20),
            longest_pause: Duration::from_secs(60),
            peer_user: None,
            settings,
        }
    }
}

/// Reads a file of exports.
///
/// # Errors
/// [`ConfigError`] about the first thing that is wrong.
pub fn parse(file: &str, text: &str) -> Result<Vec<ExportConfig>, ConfigError> {
    let outline: Option<Outline> =
        serde_yaml::from_str(text).map_err(|error| ConfigError::of_yaml(file, &error, &[]))?;
    let Some(outline) = outline else {
        return Ok(Vec::new());
    };
    let kinds = outline.exports.unwrap_or_default();
    let kinds = kinds.into_iter().map(|head| head.kind).collect::<Vec<_>>();
    for kind in kinds.iter().flatten() {
        if !crate::kinds::KINDS.contains(&kind.value.as_str()) {
            let known = crate::kinds::KINDS.join(", ");
            let message = format!("there is no kind {:?}; the kinds are {known}", kind.value);
            return Err(ConfigError::at(
                file,
                FilePosition::of(&kind.referenced),
                message,
            ));
        }
    }
    let kinds = kinds.into_iter().map(|kind| kind.map(|kind| kind.value));
    let kinds: Vec<Option<String>> = kinds.collect();
    if kinds.len() > MAX_EXPORTS {
        let message = format!("{} exports, more than {MAX_EXPORTS}", kinds.len());
        return Err(ConfigError::whole(file, message));
    }
    let fields = std::cell::RefCell::new(Vec::new());
    let seed = ListSeed {
        kinds: &kinds,
        fields: &fields,
    };
    let entries = serde_yaml::with_deserializer_from_str(text, |from| seed.read(from));
    let entries = entries.map_err(|error| ConfigError::of_yaml(file, &error, &fields.borrow()))?;
    let mut names = BTreeSet::new();
    entries
        .into_iter()
        .map(|entry| {
            let place = FilePosition::of(&entry.name.referenced);
            if !names.insert(entry.name.value.clone()) {
                let message = format!("two exports have the name {:?}", entry.name.value);
                return Err(ConfigError::at(file, place, message));
            }
            checked(entry).map_err(|message| ConfigError::at(file, place, message))
        })
        .collect()
}

/// Checks the values of an export against each other, and their ranges.
fn checked(entry: Entry) -> Result<ExportConfig, String> {
    let Entry {
        name,
        common,
        settings,
    } = entry;
    let name = name.value;
    let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_good) {
        return Err(format!(
            "the name {name:?} is not 1 to {MAX_NAME} small letters, digits and hyphens"
        ));
    }
    settings
        .check()
        .map_err(|why| format!("export {name}: {why}"))?;
    let default = ExportConfig::new(&name, settings);
    let config = ExportConfig {
        select: common.select.unwrap_or_default(),
        timeout: common.timeout.map_or(default.timeout, |span| span.0),
        queue_records: common.queue_records.unwrap_or(default.queue_records),
        batch_records: common.batch_records.unwrap_or(default.batch_records),
        spool_bytes: match common.spool {
            None => default.spool_bytes,
            Some(bytes) => (bytes.0 > 0).then_some(bytes.0),
        },
        longest_pause: common
            .longest_pause
            .map_or(default.longest_pause, |span| span.0),
        peer_user: common.peer_user,
        ..default
    };
    for (key, value, most) in [
        ("queue_records", config.queue_records, 100_000),
        ("batch_records", config.batch_records, 1000),
    ] {
        if !(1..=most).contains(&value) {
            return Err(format!("export {name}: {key} is from 1 to {most}"));
        }
    }
    for (key, value, most) in [
        ("timeout", config.timeout, 300),
        ("longest_pause", config.longest_pause, 3600),
    ] {
        if value.as_millis() < 10 || value.as_secs() > most {
            return Err(format!("export {name}: {key} is from 10ms to {most}s"));
        }
    }
    if let Some(user) = &config.peer_user {
        crate::row_origin::check_name("peer_user", user)
            .map_err(|why| format!("export {name}: {why}"))?;
    }
    let least = crate::spool::LEAST_BYTES;
    if config
        .spool_bytes
        .is_some_and(|bytes| bytes < least || bytes > 1 << 30)
    {
        return Err(format!(
            "export {name}: spool is 0 (no spool), or from {least} bytes to 1GiB"
        ));
    }
    Ok(config)
}

/// The part of the file that the first pass reads.
#[derive(Deserialize)]
struct Outline {
    exports: Option<Vec<Head>>,
}

#[derive(Deserialize)]
struct Head {
    kind: Option<Spanned<String>>,
}
