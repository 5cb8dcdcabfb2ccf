//! Where the scenario comes from: a file, read again when it changes.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::scenario::{Scenario, ScenarioError};

/// Environment variable that names the scenario file.
pub const SCENARIO_ENV: &str = "GPUD_NVML_MOCK_SCENARIO";
/// Environment variable that names the log of calls.
pub const CALL_LOG_ENV: &str = "GPUD_NVML_MOCK_CALL_LOG";
/// File beside the library that is taken where the environment names none.
pub const BESIDE: &str = "nvml-mock.yaml";

/// A file and what it was like when it was read.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    stamp: Option<Stamp>,
}

type Stamp = (SystemTime, u64, u64);

impl Source {
    /// Finds the file: by the environment, else beside the library.
    ///
    /// # Errors
    /// [`ScenarioError::None`].
    pub fn find(library: Option<PathBuf>) -> Result<Source, ScenarioError> {
        let named = std::env::var_os(SCENARIO_ENV)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from);
        let beside = || {
            library
                .and_then(|path| Some(path.parent()?.join(BESIDE)))
                .filter(|path| path.exists())
        };
        let path = named.or_else(beside).ok_or(ScenarioError::None)?;
        Ok(Source { path, stamp: None })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Was the file changed since it was read? Forgets the change: the next question is about the next.
    pub fn changed(&mut self) -> bool {
        let now = self.look();
        // A file that is away for a moment, because an editor is replacing it, has not changed yet.
        let changed = now.is_some() && now != self.stamp;
        if changed {
            self.stamp = now;
        }
        changed
    }

    /// Reads the file.
    ///
    /// # Errors
    /// Unreadable or not a scenario.
    pub fn read(&mut self) -> Result<Scenario, ScenarioError> {
        let file = self.path.display().to_string();
        self.stamp = self.look();
        let text =
            std::fs::read_to_string(&self.path).map_err(|error| ScenarioError::Unreadable {
                file: file.clone(),
                error,
            })?;
        Scenario::read(&file, &text)
    }

    fn look(&self) -> Option<Stamp> {
        let meta = std::fs::metadata(&self.path).ok()?;
        Some((meta.modified().ok()?, meta.len(), meta.ino()))
    }
}
