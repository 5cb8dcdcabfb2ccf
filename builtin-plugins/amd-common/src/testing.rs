//! Machines for the tests of checkers, made of plain values.

use std::collections::{BTreeMap, BTreeSet};

use gpud_sdk::{AccessError, CheckContext, HealthState, RepairAction, Report, Trigger};

use crate::card::{self, Card, CardFile, DRIVER};
use crate::tree::{Files, Tree};

/// A tree of files.
#[derive(Debug, Clone, Default)]
pub struct Fixture {
    files: BTreeMap<String, Result<String, AccessError>>,
    folders: BTreeSet<String>,
    links: BTreeMap<String, String>,
}

impl Fixture {
    /// With a file.
    pub fn file(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.to_owned(), Ok(text.to_owned()));
        self
    }

    /// With files of a GPU: `gpu_busy_percent=7;mem_busy_percent=1`.
    pub fn gpu(mut self, id: &str, files: &str) -> Self {
        self = self.folder(&format!("{DRIVER}/{id}"));
        for (name, text) in files.split(';').filter_map(|file| file.split_once('=')) {
            self = self.file(&format!("{DRIVER}/{id}/{name}"), text);
        }
        self
    }

    /// With a file (or folder) that cannot be read.
    pub fn fails(mut self, path: &str, error: AccessError) -> Self {
        self.files.insert(path.to_owned(), Err(error));
        self
    }

    /// With an empty folder.
    pub fn folder(mut self, path: &str) -> Self {
        self.folders.insert(path.to_owned());
        self
    }

    /// With a link.
    pub fn symlink(mut self, path: &str, target: &str) -> Self {
        self.links.insert(path.to_owned(), target.to_owned());
        self
    }

    /// The GPUs with the files that are wanted.
    ///
    /// # Panics
    /// When they cannot be listed.
    #[expect(clippy::panic, reason = "for tests")]
    pub fn cards(&self, wanted: &[CardFile]) -> Vec<Card> {
        match card::all(self, wanted) {
            Ok(cards) => cards,
            Err(error) => panic!("{error:?}"),
        }
    }
}

impl Tree for Fixture {
    fn names(&self, folder: &str) -> Result<Vec<String>, AccessError> {
        if let Some(Err(error)) = self.files.get(folder) {
            return Err(error.clone());
        }
        let paths = self
            .files
            .keys()
            .chain(&self.folders)
            .chain(self.links.keys());
        let below = paths.filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
        let names: BTreeSet<String> = below
            .filter_map(|rest| rest.split('/').next())
            .map(str::to_owned)
            .collect();
        if names.is_empty() && !self.folders.contains(folder) {
            return Err(AccessError::NotFound(folder.to_owned()));
        }
        Ok(names.into_iter().collect())
    }

    fn text(&self, path: &str, max_bytes: u32) -> Result<String, AccessError> {
        let missing = || Err(AccessError::NotFound(path.to_owned()));
        let text = self.files.get(path).cloned().unwrap_or_else(missing)?;
        if text.len() > max_bytes as usize {
            return Err(AccessError::TooLarge(gpud_sdk::types::SizeInfo {
                what: path.to_owned(),
                limit: u64::from(max_bytes),
                size: text.len() as u64,
            }));
        }
        Ok(text.trim().to_owned())
    }

    fn files(&self, pattern: &str, max_bytes: u32) -> Result<Files, AccessError> {
        let paths = self.files.keys().filter(|path| matches(pattern, path));
        let read = paths.map(|path| (path.clone(), self.text(path, max_bytes)));
        Ok(read.collect())
    }

    fn link(&self, path: &str) -> Result<String, AccessError> {
        let target = self.links.get(path).cloned();
        target.ok_or_else(|| AccessError::NotFound(path.to_owned()))
    }
}

/// `*` within a segment.
fn matches(pattern: &str, path: &str) -> bool {
    let (mut patterns, mut segments) = (pattern.split('/'), path.split('/'));
    loop {
        match (patterns.next(), segments.next()) {
            (None, None) => return true,
            (Some(pattern), Some(segment)) if segment_matches(pattern, segment) => {}
            _ => return false,
        }
    }
}

fn segment_matches(pattern: &str, segment: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == segment,
        Some((before, after)) => segment.strip_prefix(before).is_some_and(|rest| {
            let mut tails = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            tails.any(|at| {
                rest.get(at..)
                    .is_some_and(|tail| segment_matches(after, tail))
            })
        }),
    }
}

/// A check in March 2025.
pub fn context(component: &str) -> CheckContext {
    CheckContext {
        component: component.to_owned(),
        now: 1_740_824_500_000,
        trigger: Trigger::Scheduled,
        boot_id: "b-1".to_owned(),
        boot_time: 0,
        previous_check: None,
        extra: Vec::new(),
    }
}

/// The only state of a report.
///
/// # Panics
/// When there is not one.
#[expect(clippy::panic, reason = "for tests")]
pub fn only_state(report: &Report) -> &HealthState {
    match report.states.as_slice() {
        [state] => state,
        states => panic!("{} states", states.len()),
    }
}

/// The actions of the only state.
pub fn actions(report: &Report) -> &[RepairAction] {
    let actions = only_state(report).suggested_actions.as_ref();
    actions.map_or(&[], |actions| &actions.repair_actions)
}

/// The document of the only state; empty without one.
pub fn data(report: &Report) -> &str {
    let mut info = only_state(report).extra_info.iter();
    info.find(|(key, _)| key == "data")
        .map_or("", |(_, text)| text)
}

/// A metric of the GPU with this PCI id.
pub fn metric(report: &Report, name: &str, id: &str) -> Option<f64> {
    let label = ("bus_id".to_owned(), id.to_owned());
    let mut metrics = report.metrics.iter();
    metrics
        .find(|metric| metric.name == name && metric.labels.contains(&label))
        .map(|metric| metric.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, path, expected) in [
            ("/a/b*/c", "/a/b12/c", true),
            ("/a/b*/c", "/a/b/c", true),
            ("/a/*_x", "/a/y_x_x", true),
            ("/a/*", "/a/b/c", false),
            ("/a", "/a/b", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
