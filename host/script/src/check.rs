//! A script plugin made ready, and one check of it.

use std::{path::PathBuf, sync::Arc};

use tokio_util::sync::CancellationToken;

use super::{
    judge::{Judge, Verdict},
    log_file,
    run::{self, DecodedScript},
};
use crate::{
    model::UnixMillis,
    node::{append::append, root_helper},
    wire::{GoDuration, PluginSpec},
};

/// A script plugin made ready: scripts decoded, queries and patterns compiled once.
pub struct Script {
    steps: Vec<DecodedScript>,
    timeout: GoDuration,
    judge: Arc<Judge>,
    plugin_name: String,
    run_mode: String,
    log: Option<PathBuf>,
    as_root: bool,
}

/// Returns the scripts of a plugin's steps as they run. Those that cannot be decoded do not run.
pub fn scripts(spec: &PluginSpec) -> Vec<Vec<u8>> {
    let plugin = spec.health_state_plugin.as_ref();
    run::prepare(plugin.map_or(&[], |plugin| &plugin.steps))
        .into_iter()
        .flatten()
        .collect()
}

/// The verdict and output of one check.
#[derive(Debug)]
pub struct CheckOutput {
    /// The verdict.
    pub verdict: Verdict,
    /// The output of all steps, at most the first mebibyte.
    pub output: Vec<u8>,
    /// Exit code of the last step that ran; -1 if a signal ended it.
    pub exit_code: i32,
}

impl Script {
    /// Makes a plugin ready. Never fails: what is wrong with it is the verdict of its checks.
    pub fn new(spec: &PluginSpec) -> Self {
        let plugin = spec.health_state_plugin.as_ref();
        let parser = plugin.and_then(|plugin| plugin.parser.as_ref());
        let log_path = parser.map_or("", |parser| parser.log_path.as_str());
        Self {
            steps: run::prepare(plugin.map_or(&[], |plugin| &plugin.steps)),
            timeout: spec.timeout,
            judge: Arc::new(Judge::new(parser)),
            plugin_name: spec.plugin_name.clone(),
            run_mode: spec.run_mode.clone(),
            log: log_file::target(log_path, &spec.plugin_name, &spec.run_mode),
            as_root: root_helper::runs_plugin(&spec.plugin_name),
        }
    }

    /// Runs the steps and judges what they printed. `stop` ends a step at once.
    pub async fn check(&self, now: UnixMillis, stop: &CancellationToken) -> CheckOutput {
        let execution = run::steps(&self.steps, self.timeout, stop, self.as_root).await;
        let log = match &self.log {
            Some(path) if !execution.output.is_empty() => {
                let entry =
                    log_file::entry(now, &self.plugin_name, &self.run_mode, &execution.output);
                Some((path.clone(), entry))
            }
            _ => None,
        };
        let judge = Arc::clone(&self.judge);
        // On a thread of its own: an operator's pattern may take a second to compile, a log may be on a dead mount.
        let work = move || {
            let failure = log.and_then(|(path, entry)| append(&path, &entry).err());
            let verdict = judge.judge(&execution, failure.map(|error| error.to_string()));
            CheckOutput {
                verdict,
                output: execution.output,
                exit_code: execution.exit_code,
            }
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(checked) => checked,
            // A panic, which would be a bug, or the runtime is going down.
            Err(error) => CheckOutput {
                verdict: Verdict {
                    reason: "failed to parse plugin output".to_owned(),
                    error: Some(error.to_string()),
                    ..Verdict::default()
                },
                output: Vec::new(),
                exit_code: 0,
            },
        }
    }
}
