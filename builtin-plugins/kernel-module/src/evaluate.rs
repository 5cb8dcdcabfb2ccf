//! The verdict. Questions that are not always needed are asked only then.

use std::collections::BTreeSet;

use gpud_sdk::{AccessError, CheckContext, Evidence, Health, HealthState, Report};
use serde::Serialize;

use crate::config::Config;
use crate::modules::{self, plain};

/// Bound of the host on one fact, with some room.
const MAX_DATA_BYTES: usize = 60 * 1024;

/// Bound of the host on a reason, with some room.
const MAX_REASON_BYTES: usize = 3_500;

/// The machine's answers.
pub trait Machine {
    /// `/proc/modules`.
    ///
    /// # Errors
    /// `not-found` on a kernel that cannot load modules.
    fn loaded(&self) -> Result<String, AccessError>;

    /// `modules.builtin` of the running kernel.
    ///
    /// # Errors
    /// `not-found` where the kernel's files are not installed (containers, some virtual machines).
    fn built_in(&self) -> Result<String, AccessError>;

    /// Is there a folder of this name in `/sys/module`? Loaded modules have one, and built-in ones with parameters.
    ///
    /// # Errors
    /// When this cannot be determined.
    fn has_folder(&self, module: &str) -> Result<bool, AccessError>;
}

/// The document under `data`.
#[derive(Serialize)]
struct Data<'a> {
    loaded_modules: &'a [&'a str],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    builtin_modules: &'a [&'a str],
}

/// Judges the modules of a machine.
pub fn judge(context: &CheckContext, config: &Config, machine: &impl Machine) -> Report {
    let text = match machine.loaded() {
        Ok(text) => text,
        Err(AccessError::NotFound(_)) => String::new(),
        Err(error) => {
            let state = HealthState::unjudged(context, &error);
            return Report::of(with_evidence(state));
        }
    };
    let loaded = modules::loaded(&text);
    let not_loaded: Vec<&str> = config
        .modules_to_check
        .iter()
        .map(String::as_str)
        .filter(|name| !loaded.contains(plain(name).as_str()) && !loaded.contains(name))
        .collect();

    let found = look_further(&not_loaded, machine);
    let mut state = if found.missing.is_empty() {
        HealthState::healthy(context, "all modules are loaded")
    } else {
        // Where built-in modules cannot be distinguished from missing ones, the machine is not called broken.
        let health = match found.unknown {
            None => Health::Unhealthy,
            Some(_) => Health::Degraded,
        };
        let reason = format!("missing modules: {}", listed(&found.missing));
        with_evidence(HealthState::new(context, health, reason))
    };
    if let Some(error) = &found.unknown {
        let why = format!(
            "cannot tell whether they are built into the kernel: {}",
            error.text()
        );
        state = state.error(why);
    }
    let loaded: Vec<&str> = loaded.into_iter().collect();
    if !loaded.is_empty() || !found.built_in.is_empty() {
        state = state.info("data", data(&loaded, &found.built_in));
    }
    Report::of(state)
}

fn with_evidence(mut state: HealthState) -> HealthState {
    state
        .evidence
        .push(Evidence::File("/proc/modules".to_owned()));
    state
}

/// The modules that are not in `/proc/modules`, by where they were found.
#[derive(Default)]
struct ModuleSearch<'a> {
    built_in: Vec<&'a str>,
    missing: Vec<&'a str>,
    /// Why some of the missing modules may exist all the same.
    unknown: Option<AccessError>,
}

fn look_further<'a>(names: &[&'a str], machine: &impl Machine) -> ModuleSearch<'a> {
    let mut found = ModuleSearch::default();
    if names.is_empty() {
        return found;
    }
    let (listed, no_list) = match machine.built_in() {
        Ok(text) => (modules::built_in(&text), None),
        Err(error) => (BTreeSet::new(), Some(error)),
    };
    for &name in names {
        let module = plain(name);
        // Without the list, a folder is the only sign. With it, a folder of a module that is not in /proc/modules is
        // one that is just being loaded or removed.
        let there = match &no_list {
            None => listed.contains(&module),
            Some(_) => machine.has_folder(&module).unwrap_or(false),
        };
        if there {
            found.built_in.push(name);
        } else {
            found.missing.push(name);
        }
    }
    if !found.missing.is_empty() {
        found.unknown = no_list;
    }
    found
}

/// Quoted names in brackets, as many as fit a reason.
fn listed(names: &[&str]) -> String {
    let mut text = String::new();
    let mut more = 0;
    for name in names {
        if more > 0 || text.len() + name.len() > MAX_REASON_BYTES {
            more += 1;
            continue;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&format!("{name:?}"));
    }
    let more = (more > 0).then(|| format!(" and {more} more"));
    format!("[{text}]{}", more.unwrap_or_default())
}

/// The `data` document, cut to the bound.
fn data(loaded: &[&str], built_in: &[&str]) -> String {
    let mut kept = loaded.len();
    loop {
        let document = Data {
            loaded_modules: loaded.get(..kept).unwrap_or(loaded),
            builtin_modules: built_in,
        };
        let text = serde_json::to_string(&document).unwrap_or_default();
        if text.len() <= MAX_DATA_BYTES || kept <= 1 {
            return text;
        }
        kept /= 2;
    }
}

#[cfg(test)]
mod tests;
