//! `gpud root-helper`, which `gpud run --user` starts: the process of root's that answers the daemon.

mod args;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use self::args::RootHelperArgs;
use super::{
    command::{Action, Command, CommandContext},
    exit::Exit,
};
use crate::{
    node::{
        root_helper::{self, AllowedRequests},
        trusted::Opener,
    },
    plugins::file,
    script,
};

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<RootHelperArgs>(
    "root-helper",
    "Do what needs root, for a daemon that runs as another user; `gpud run --user` starts this",
)
.hidden();

/// The requests that the helper accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootHelperOptions {
    /// The kernel log that it opens.
    pub kernel_log: PathBuf,
    /// Specs of the plugins that it runs.
    pub plugin_specs_file: Option<PathBuf>,
    /// Names of these plugins.
    pub plugins: Vec<String>,
}

impl Action for RootHelperOptions {
    /// Answers requests until the daemon ends. What it may run is read once, at the start.
    async fn run(self, _: CommandContext) -> Result<Exit, Exit> {
        let scripts = match &self.plugin_specs_file {
            Some(specs) => scripts(specs, &self.plugins),
            None => BTreeMap::new(),
        };
        let allowed = AllowedRequests {
            kernel_log: self.kernel_log,
            scripts,
        };
        root_helper::serve(allowed).await.map_err(Exit::failure)?;
        Ok(Exit::success(""))
    }
}

/// Returns the scripts of these plugins, each with the longest time that a check may take. The file, and the lists that it names,
/// count only if nobody but root can change them.
fn scripts(specs: &Path, plugins: &[String]) -> BTreeMap<Vec<u8>, Duration> {
    let file = match file::read(specs, Opener::of_daemon()) {
        Ok(file) => file,
        Err(problem) => {
            tracing::warn!("no plugin runs as root: {problem}");
            return BTreeMap::new();
        }
    };
    let mut scripts = BTreeMap::new();
    for name in plugins {
        let mut is_there = false;
        let named = file.plugins.iter().map(|plugin| &plugin.spec);
        for spec in named.filter(|spec| spec.plugin_name == *name) {
            is_there = true;
            let timeout = Duration::from_nanos(u64::try_from(spec.timeout.0).unwrap_or(0));
            for script in script::scripts(spec) {
                // Two plugins may have the same script.
                let longest: &mut Duration = scripts.entry(script).or_default();
                *longest = timeout.max(*longest);
            }
        }
        if !is_there {
            let specs = specs.display();
            tracing::warn!("--root-plugins: {specs} has no plugin {name:?}");
        }
    }
    scripts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_of_named_plugins_are_taken_whole() {
        let folder = tempfile::tempdir().unwrap();
        let specs = folder.path().join("specs.yaml");
        let plugin = |name: &str, script: &str, timeout: &str| {
            format!(
                "- plugin_name: {name}\n  plugin_type: component\n  timeout: {timeout}\n  interval: 10m\n  health_state_plugin:\n    \
                 steps:\n      - name: s\n        run_bash_script:\n          content_type: plaintext\n          script: {script}\n"
            )
        };
        let text = [
            plugin("raid", "echo raid", "30s"),
            plugin("other", "echo other", "1m"),
            plugin("again", "echo raid", "2m"),
        ]
        .concat();
        std::fs::write(&specs, text).unwrap();
        let names = ["raid", "again", "missing"].map(str::to_owned);
        let expected = BTreeMap::from([(b"echo raid".to_vec(), Duration::from_secs(120))]);
        assert_eq!(scripts(&specs, &names), expected);
        assert_eq!(
            scripts(&folder.path().join("none"), &names),
            BTreeMap::new()
        );
    }
}
