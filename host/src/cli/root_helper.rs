//! `gpud root-helper`, which `gpud run --user` starts: the process of root's that answers the daemon.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use super::exit::Exit;
use crate::{
    node::{
        root_helper::{self, Allowed},
        trusted::Opener,
    },
    plugins::file,
    script,
};

/// Answers requests until the daemon ends. What it may run is read once, now.
///
/// # Errors
/// It was not started by gpud.
pub async fn root_helper(
    kernel_log: PathBuf,
    specs: Option<&Path>,
    plugins: &[String],
) -> Result<Exit, Exit> {
    let scripts = match specs {
        Some(specs) => scripts(specs, plugins),
        None => BTreeMap::new(),
    };
    let allowed = Allowed {
        kernel_log,
        scripts,
    };
    root_helper::serve(allowed).await.map_err(Exit::failure)?;
    Ok(Exit::success(""))
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
