//! Versions of Wasm entries that worked. They are stored in the data folder, so that one can run again, also after a restart.
//!
//! For each component name of a spec there is a record, `‹sha256 of the name, 32 digits›.json`; the components' files
//! are stored beside it as `‹sha256 of the file›.wasm`. A record holds the last two versions that worked (an older one
//! is for the case that the newest fails on its first kernel messages), the one that is on probation, and the one that
//! was taken back. Whatever is missing, damaged or too large only means that there is nothing to go back to.
#![allow(
    clippy::disallowed_methods,
    reason = "gpud's own files, not the machine's"
)]

mod version;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};

pub(crate) use version::{Version, entry_text};

use super::spec_source::REQUEST;
use crate::{node::trusted, pack::hex};

/// Folder inside the data folder.
pub const FOLDER: &str = "plugin-versions";
/// Most bytes of all retained files; the records that were changed longest ago are dropped first.
const MAX_BYTES: u64 = 512 << 20;
/// Most records.
const MAX_RECORDS: usize = 1024;
/// Longest record: two entries of 256 KiB of configuration and as much of grants, with room for JSON's escapes.
const MAX_RECORD_BYTES: usize = 8 << 20;
/// Versions of one component that worked.
const GOOD: usize = 2;
/// Longest reason that is stored, bytes.
const MAX_REASON: usize = 1024;

/// A version that is stored so that it can run again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RetainedVersion {
    /// The version.
    pub(crate) version: Version,
    /// Its entry, in the form of a spec file with one entry.
    pub(crate) spec: String,
}

/// A version that was taken back, and is not tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RolledBackVersion {
    /// The version.
    pub(crate) version: Version,
    /// Why it was taken back.
    pub(crate) reason: String,
    /// When it was taken back, Unix milliseconds.
    pub(crate) time: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    component: String,
    /// The spec file that contains the entry.
    source: String,
    /// The versions that worked, newest first.
    good: Vec<RetainedVersion>,
    /// The version on probation.
    candidate: Option<RetainedVersion>,
    refused: Option<RolledBackVersion>,
    /// Number of the last change, counted over all records.
    turn: u64,
}

impl Record {
    /// Returns the versions that may run again.
    fn versions(&self) -> impl Iterator<Item = &Version> {
        let retained = self.good.iter().chain(&self.candidate);
        retained.map(|retained| &retained.version)
    }
}

/// The retained versions. Every method may wait for the disk.
pub(crate) struct RetainedVersions {
    folder: PathBuf,
    max_bytes: u64,
    records: Mutex<BTreeMap<String, Record>>,
}

impl RetainedVersions {
    /// Reads the records of earlier runs. A record that cannot be read is left out, with a line in the log.
    pub(crate) fn open(folder: PathBuf) -> Self {
        Self::with_room(folder, MAX_BYTES)
    }

    fn with_room(folder: PathBuf, max_bytes: u64) -> Self {
        let mut records = BTreeMap::new();
        let there = fs::symlink_metadata(&folder).is_ok();
        let usable = match there.then(|| check_folder(&folder)) {
            Some(Err(error)) => {
                tracing::warn!("versions of plugins are not kept: {error}");
                false
            }
            Some(Ok(())) => true,
            None => false,
        };
        let found = if usable {
            files(&folder, "json")
        } else {
            Vec::new()
        };
        for file in found.into_iter().take(MAX_RECORDS) {
            match read_record(&file) {
                // A plugin of a request lasted until the daemon stopped.
                Ok(record)
                    if record.source != REQUEST && name_of(&record.component) == stem(&file) =>
                {
                    records.insert(record.component.clone(), record);
                }
                Ok(_) => drop(fs::remove_file(&file)),
                Err(problem) => {
                    tracing::warn!("{}: {problem}; it is left out", file.display());
                    let _ = fs::remove_file(&file);
                }
            }
        }
        let retained = Self {
            folder,
            max_bytes,
            records: Mutex::new(records),
        };
        if usable {
            retained.sweep(&retained.records());
        }
        retained
    }

    /// Stores the file and entry of a new version that begins its probation.
    ///
    /// # Errors
    /// They cannot be written. Later versions then cannot be replaced by this one.
    pub(crate) fn begin(
        &self,
        component: &str,
        source: &str,
        new: RetainedVersion,
        wasm: &[u8],
    ) -> io::Result<()> {
        let mut records = self.records();
        make_folder(&self.folder)?;
        let mut record = records.get(component).cloned().unwrap_or_else(|| Record {
            component: component.to_owned(),
            source: String::new(),
            good: Vec::new(),
            candidate: None,
            refused: None,
            turn: 0,
        });
        source.clone_into(&mut record.source);
        let file = self.file(&new.version);
        if fs::metadata(&file).map(|facts| facts.size()).ok() != Some(wasm.len() as u64) {
            self.make_room(&mut records, component, wasm.len() as u64)?;
            replace(&file, wasm)?;
        }
        record.candidate = Some(new);
        self.put(&mut records, record)
    }

    /// Notes that the version on probation has worked, if it is this one.
    ///
    /// # Errors
    /// The record cannot be written.
    pub(crate) fn worked(&self, component: &str, version: &Version) -> io::Result<()> {
        let mut records = self.records();
        let Some(mut record) = records.get(component).cloned() else {
            return Ok(());
        };
        if record.candidate.as_ref().map(|retained| &retained.version) != Some(version) {
            return Ok(());
        }
        record.good.retain(|retained| retained.version != *version);
        record.good.splice(0..0, record.candidate.take());
        record.good.truncate(GOOD);
        record.refused = None;
        self.put(&mut records, record)
    }

    /// Notes that a version was taken back.
    ///
    /// # Errors
    /// The record cannot be written: a restart would try the version again.
    pub(crate) fn refuse(&self, component: &str, refused: RolledBackVersion) -> io::Result<()> {
        let mut records = self.records();
        let Some(mut record) = records.get(component).cloned() else {
            return Ok(());
        };
        let this = |retained: &RetainedVersion| retained.version == refused.version;
        record.good.retain(|retained| !this(retained));
        if record.candidate.as_ref().is_some_and(this) {
            record.candidate = None;
        }
        let end = refused.reason.floor_char_boundary(MAX_REASON);
        record.refused = Some(RolledBackVersion {
            reason: refused.reason.get(..end).unwrap_or_default().to_owned(),
            ..refused
        });
        self.put(&mut records, record)
    }

    /// Removes all versions of a component.
    pub(crate) fn forget(&self, component: &str) {
        let mut records = self.records();
        if records.remove(component).is_some() {
            let _ = fs::remove_file(self.record_file(component));
            self.sweep(&records);
        }
    }

    /// Removes the versions of a spec file's components that are not among these.
    pub(crate) fn forget_others(&self, source: &str, present: &BTreeSet<String>) {
        let gone: Vec<String> = self
            .records()
            .values()
            .filter(|record| record.source == source && !present.contains(&record.component))
            .map(|record| record.component.clone())
            .collect();
        gone.iter().for_each(|component| self.forget(component));
    }

    /// Returns why this version of an entry of this file was taken back, if it was.
    pub(crate) fn refused(
        &self,
        component: &str,
        source: &str,
        version: &Version,
    ) -> Option<RolledBackVersion> {
        let records = self.records();
        let refused = of_source(&records, component, source)?.refused.clone()?;
        (refused.version == *version).then_some(refused)
    }

    /// Returns whether this version of an entry of this file has worked before.
    pub(crate) fn has_worked(&self, component: &str, source: &str, version: &Version) -> bool {
        let records = self.records();
        of_source(&records, component, source).is_some_and(|record| {
            record
                .good
                .iter()
                .any(|retained| retained.version == *version)
        })
    }

    /// Returns the newest version of an entry of this file that worked, other than this one.
    pub(crate) fn before(
        &self,
        component: &str,
        source: &str,
        not: &Version,
    ) -> Option<RetainedVersion> {
        let records = self.records();
        let mut good = of_source(&records, component, source)?.good.iter();
        good.find(|retained| retained.version != *not).cloned()
    }

    /// Reads the component's file of a version.
    ///
    /// # Errors
    /// It was removed or changed.
    pub(crate) fn wasm(&self, version: &Version) -> Result<Vec<u8>, String> {
        let file = self.file(version);
        let wasm = trusted::read(&file, super::wasm::MAX_COMPONENT_BYTES)
            .map_err(|error| error.to_string())?;
        match hex(&wasm) == version.file {
            true => Ok(wasm),
            false => Err(format!("{} was changed", file.display())),
        }
    }

    /// Writes a record, and removes files that no record needs any more.
    fn put(&self, records: &mut BTreeMap<String, Record>, mut record: Record) -> io::Result<()> {
        if !records.contains_key(&record.component) && records.len() >= MAX_RECORDS {
            return Err(io::Error::other(format!(
                "there are {MAX_RECORDS} records already"
            )));
        }
        record.turn = 1 + records.values().map(|other| other.turn).max().unwrap_or(0);
        let text = serde_json::to_vec(&record)?;
        if text.len() > MAX_RECORD_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        replace(&self.record_file(&record.component), &text)?;
        let needed: Vec<String> = record.versions().map(|it| it.file.clone()).collect();
        let before = records.insert(record.component.clone(), record);
        // Looking at all files for each of a thousand plugins would be a million looks.
        let let_go = |before: Record| before.versions().any(|it| !needed.contains(&it.file));
        if before.is_some_and(let_go) {
            self.sweep(records);
        }
        Ok(())
    }

    /// Frees space for so many bytes. Removes the record that was changed longest ago first, never that of `component`.
    fn make_room(
        &self,
        records: &mut BTreeMap<String, Record>,
        component: &str,
        wanted: u64,
    ) -> io::Result<()> {
        let full = || {
            let text = format!(
                "more than {} bytes of versions would be kept",
                self.max_bytes
            );
            io::Error::other(text)
        };
        if wanted > self.max_bytes {
            return Err(full());
        }
        loop {
            let used: u64 = files(&self.folder, "wasm")
                .iter()
                .filter_map(|file| fs::metadata(file).ok())
                .map(|facts| facts.size())
                .sum();
            if used.saturating_add(wanted) <= self.max_bytes {
                return Ok(());
            }
            let others = records
                .values()
                .filter(|record| record.component != component);
            let oldest = others.min_by_key(|record| record.turn);
            let Some(name) = oldest.map(|record| record.component.clone()) else {
                return Err(full());
            };
            tracing::warn!(
                component = name,
                "its versions are not kept any more: there is no room for all"
            );
            records.remove(&name);
            fs::remove_file(self.record_file(&name))?;
            self.sweep(records);
        }
    }

    /// Removes files that no record names.
    fn sweep(&self, records: &BTreeMap<String, Record>) {
        let named: BTreeSet<PathBuf> = records
            .values()
            .flat_map(Record::versions)
            .map(|version| self.file(version))
            .collect();
        let all = files(&self.folder, "wasm")
            .into_iter()
            .chain(files(&self.folder, "tmp"));
        for file in all.filter(|file| !named.contains(file)) {
            let _ = fs::remove_file(file);
        }
    }

    fn file(&self, version: &Version) -> PathBuf {
        self.folder.join(format!("{}.wasm", version.file))
    }

    fn record_file(&self, component: &str) -> PathBuf {
        self.folder.join(format!("{}.json", name_of(component)))
    }

    fn records(&self) -> MutexGuard<'_, BTreeMap<String, Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn of_source<'a>(
    records: &'a BTreeMap<String, Record>,
    component: &str,
    source: &str,
) -> Option<&'a Record> {
    records
        .get(component)
        .filter(|record| record.source == source)
}

fn name_of(component: &str) -> String {
    hex(component.as_bytes()).chars().take(32).collect()
}

fn stem(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// The files of a folder with this extension, by name.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    found.sort_unstable();
    found
}

fn read_record(file: &Path) -> Result<Record, String> {
    let text = trusted::read(file, MAX_RECORD_BYTES).map_err(|error| error.to_string())?;
    let mut record: Record = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    record.good.truncate(GOOD);
    let well_formed = record.versions().all(Version::is_well_formed);
    match well_formed {
        true => Ok(record),
        false => Err("a digest in it is none".to_owned()),
    }
}

/// Only gpud's user may change the folder: its files run as code.
fn make_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    check_folder(folder)
}

fn check_folder(folder: &Path) -> io::Result<()> {
    let facts = fs::symlink_metadata(folder)?;
    let own = rustix::process::geteuid().as_raw();
    match facts.is_dir() && facts.uid() == own && facts.mode() & 0o022 == 0 {
        true => Ok(()),
        false => {
            let text = format!(
                "{} is not a folder that only we can write to",
                folder.display()
            );
            Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
        }
    }
}

/// Writes a file completely or not at all, also across a power cut.
fn replace(file: &Path, content: &[u8]) -> io::Result<()> {
    let new = file.with_extension("tmp");
    let opened = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new);
    let written = opened.and_then(|mut opened| {
        io::Write::write_all(&mut opened, content)?;
        opened.sync_data()
    });
    let placed = written.and_then(|()| fs::rename(&new, file));
    if placed.is_err() {
        let _ = fs::remove_file(&new);
    }
    placed
}

#[cfg(test)]
mod tests;
