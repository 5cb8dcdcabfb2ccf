//! Remembers across restarts which health each state had last, so that a restart is no change of health.
//!
//! The daemon begins each life without a verdict. Without this memory a restart would report everything that is wrong once
//! more, and would not report repairs in between.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use crate::{
    Health, Subject,
    own_files::{check_own, make_folder, open_options},
    spool,
};

/// Name of the file in the folder of spools.
const FILE: &str = "last-healths.json";
const TEMPORARY: &str = "last-healths.json.new";
/// Most states that are remembered.
const MAX_STATES: usize = 10_000;
/// Largest file, bytes.
const MAX_BYTES: u64 = 4 << 20;

/// The last health of each state.
#[derive(Debug, Default)]
pub struct LastHealths {
    healths: BTreeMap<String, String>,
    folder: Option<PathBuf>,
    is_saved: bool,
}

impl LastHealths {
    /// Reads the memory of an earlier run from this folder. A file that makes no sense is the same as none. It blocks.
    pub fn load(folder: Option<&Path>) -> Self {
        let healths = folder.and_then(read).unwrap_or_default();
        Self {
            healths,
            folder: folder.map(Path::to_owned),
            is_saved: true,
        }
    }

    /// Takes a change as the daemon saw it. Returns the health before if it is news to the outside. A state that
    /// was not judged yet has the health of the daemon's last life. A state that begins healthy is no news.
    pub fn change(
        &mut self,
        component: &str,
        state: &str,
        subject: Option<&Subject>,
        was: &Health,
        is: &Health,
    ) -> Option<Health> {
        if *is == Health::Initializing {
            return None;
        }
        let subject = subject.map(ToString::to_string).unwrap_or_default();
        let key = [component, state, &subject].join("\n");
        let known = self
            .healths
            .get(&key)
            .map(|word| Health::from(word.as_str()));
        let from = match was {
            Health::Initializing => known.clone().unwrap_or_default(),
            was => was.clone(),
        };
        if known.as_ref() != Some(is) && (known.is_some() || self.healths.len() < MAX_STATES) {
            self.healths.insert(key, is.as_str().to_owned());
            self.is_saved = false;
        }
        let is_good_start = from == Health::Initializing && *is == Health::Healthy;
        (from != *is && !is_good_start).then_some(from)
    }

    /// Returns true if [`Self::save`] would write something.
    pub fn wants_saving(&self) -> bool {
        !self.is_saved && self.folder.is_some()
    }

    /// Writes it down, by rename. It blocks.
    ///
    /// # Errors
    /// The system's; the next call tries again.
    pub fn save(&mut self) -> io::Result<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        make_folder(folder)?;
        let temporary = folder.join(TEMPORARY);
        let mut file = spool::create(&temporary)?;
        file.write_all(&serde_json::to_vec(&self.healths)?)?;
        drop(file);
        fs::rename(&temporary, folder.join(FILE))?;
        self.is_saved = true;
        Ok(())
    }
}

fn read(folder: &Path) -> Option<BTreeMap<String, String>> {
    let path = folder.join(FILE);
    check_own(&path).ok()?;
    let file = open_options().read(true).open(path).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests;
