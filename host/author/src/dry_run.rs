//! One check of a component here and now, with what it cost. Nothing is stored, no daemon is asked.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

use super::{
    check_result::CheckResult,
    component_file::{Compilation, ComponentFile},
};
use crate::{
    capability::Grants,
    component::{config, trial::Trial},
    model::ComponentDescriptor,
    node::{
        Boot, Node,
        clock::Clock,
        simulated::{Canned, Simulation},
    },
    runtime::{Limits, Plugin},
};

/// A component to check, and what it gets.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The component's file.
    pub file: &'a Path,
    /// What it may reach, as a spec has it.
    pub grants: &'a Value,
    /// Its configuration, a mapping.
    pub config: &'a Value,
    /// One of its components; all without.
    pub component: Option<&'a str>,
    /// A folder that stands for `/` instead of this machine.
    pub node: Option<&'a Path>,
}

/// The results of the checks of one file.
#[derive(Debug)]
pub struct Checked {
    /// SHA-256 of the file.
    pub sha256: String,
    /// One for each component.
    pub checks: Vec<CheckResult>,
    /// What a check was allowed to use.
    pub limits: Limits,
    /// Whether it watches the kernel log, of which it was handed nothing.
    pub watches_kmsg: bool,
}

impl Candidate<'_> {
    /// Checks once with each component.
    ///
    /// # Errors
    /// It cannot be loaded with these grants, or its configuration does not fit.
    pub async fn check(&self, compilation: &Compilation) -> Result<Checked, String> {
        let node = Arc::new(machine(self.node).await?);
        let runtime = compilation.start(Arc::clone(&node))?;
        let file = ComponentFile::read(self.file).await?;
        let grants = Grants::parse(self.grants).map_err(|error| error.to_string())?;
        let plugin = file
            .load(&runtime, grants, Limits::default())
            .await
            .map_err(|error| format!("{error}; or here: --grant"))?;
        let chosen = chosen(&plugin, self.component)?;
        let document: Arc<str> = self.config.to_string().into();
        let mut checks = Vec::new();
        for descriptor in chosen {
            config::check(&descriptor, self.config, runtime.program())
                .await
                .map_err(|mismatch| format!("{}: {}", descriptor.name, mismatch.message))?;
            let trial = Trial::new(
                Arc::clone(&plugin),
                descriptor,
                Arc::clone(&document),
                Arc::clone(&node),
            );
            let mut trial = trial.await.map_err(|error| error.to_string())?;
            let outcome = trial.look().await;
            checks.push(CheckResult::of(&trial, &outcome));
        }
        Ok(Checked {
            sha256: file.digest(),
            checks,
            limits: *plugin.limits(),
            watches_kmsg: plugin.watches_kmsg(),
        })
    }
}

/// This machine, or a folder that stands for one.
async fn machine(folder: Option<&Path>) -> Result<Node, String> {
    let Some(root) = folder else {
        return Node::live().await.map_err(|error| error.to_string());
    };
    let simulation = Simulation {
        root: root.to_owned(),
        now: Clock::Live.now_ms(),
        boot: Boot::default(),
        kmsg: PathBuf::from("/dev/null"),
        canned: Canned::default(),
    };
    Node::simulated(simulation).map_err(|error| error.to_string())
}

/// The component of this name, or all.
///
/// # Errors
/// There is none; names those that are there.
pub(crate) fn chosen(
    plugin: &Plugin,
    name: Option<&str>,
) -> Result<Vec<ComponentDescriptor>, String> {
    let all = plugin.components();
    let Some(name) = name else {
        return Ok(all.to_vec());
    };
    match all.iter().find(|described| described.name == name) {
        Some(described) => Ok(vec![described.clone()]),
        None => {
            let names: Vec<_> = all
                .iter()
                .map(|described| described.name.as_str())
                .collect();
            Err(format!(
                "it has no component {name:?}; there are: {}",
                names.join(", ")
            ))
        }
    }
}
