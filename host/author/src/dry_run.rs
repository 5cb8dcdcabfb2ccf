//! `gpud plugin run`: one check of a component here and now, with what it cost. Nothing is kept, no daemon is asked.

use std::{path::PathBuf, sync::Arc};

use serde::Serialize;
use serde_json::Value;

use super::{
    check_result::CheckResult,
    component_file::{ComponentFile, runtime},
};
use crate::{
    capability::Grants,
    cli::{exit::Exit, terminal::Terminal},
    component::{config, trial::Trial},
    model::ComponentDescriptor,
    node::{
        Boot, Node,
        simulated::{Canned, Simulation},
    },
    runtime::{Limits, Plugin},
};

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRun {
    /// The component's file.
    pub file: PathBuf,
    /// What it may reach, as a spec has it.
    pub grants: Value,
    /// Its configuration, a mapping.
    pub config: Value,
    /// One of its components; all without.
    pub component: Option<String>,
    /// A folder that stands for `/` instead of this machine.
    pub node: Option<PathBuf>,
    /// Print one JSON document.
    pub json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    file: String,
    sha256: String,
    checks: &'a [CheckResult],
}

/// Runs and prints. The status is 1 when a component gave no report, whatever its verdicts.
///
/// # Errors
/// It cannot be loaded with these grants, or its configuration does not fit.
pub async fn dry_run(options: &DryRun, terminal: Terminal) -> Result<Exit, Exit> {
    let fail = |message: String| Exit::failure(message).in_json(options.json, "failed_to_run");
    let node = Arc::new(machine(options.node.clone()).await.map_err(fail)?);
    let runtime = runtime(Arc::clone(&node)).map_err(fail)?;
    let file = ComponentFile::read(&options.file).await.map_err(fail)?;
    let grants = Grants::parse(&options.grants).map_err(|error| fail(error.to_string()))?;
    let plugin = file
        .load(&runtime, grants, Limits::default())
        .await
        .map_err(|error| fail(format!("{error}; or here: --grant")))?;
    let chosen = chosen(&plugin, options.component.as_deref()).map_err(fail)?;
    let document: Arc<str> = options.config.to_string().into();
    let mut checks = Vec::new();
    for descriptor in chosen {
        config::check(&descriptor, &options.config)
            .map_err(|misfit| fail(format!("{}: {}", descriptor.name, misfit.message)))?;
        let trial = Trial::new(
            Arc::clone(&plugin),
            descriptor,
            Arc::clone(&document),
            Arc::clone(&node),
        );
        let mut trial = trial.await.map_err(|error| fail(error.to_string()))?;
        let outcome = trial.look().await;
        checks.push(CheckResult::of(&trial, &outcome));
    }
    let stdout = match options.json {
        true => {
            let document = Document {
                file: file.path.display().to_string(),
                sha256: file.digest(),
                checks: &checks,
            };
            serde_json::to_string(&document).map_err(|error| fail(error.to_string()))? + "\n"
        }
        false => {
            let texts = checks
                .iter()
                .map(|check_result| check_result.text(plugin.limits(), terminal));
            let note = match plugin.watches_kmsg() {
                true => {
                    "  (kernel messages are not handed over here: `gpud plugin test` does that)\n"
                }
                false => "",
            };
            texts.collect::<String>() + note
        }
    };
    Ok(Exit {
        code: u8::from(
            checks
                .iter()
                .any(|check_result| check_result.error.is_some()),
        ),
        ..Exit::success(stdout)
    })
}

/// This machine, or a folder that stands for one.
async fn machine(folder: Option<PathBuf>) -> Result<Node, String> {
    let Some(root) = folder else {
        return Node::live().await.map_err(|error| error.to_string());
    };
    let clock = crate::node::clock::Clock::Live;
    let simulation = Simulation {
        root,
        now: clock.now_ms(),
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
pub fn chosen(plugin: &Plugin, name: Option<&str>) -> Result<Vec<ComponentDescriptor>, String> {
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
