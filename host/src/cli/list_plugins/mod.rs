//! `gpud list-plugins`: which plugins the running daemon has.

mod args;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use http::Method;
use serde::Deserialize;
use serde_json::Value;

use self::args::ListPluginsArgs;
use super::{
    client::{Answer, Client, reason_of},
    command::{Action, Command, CommandContext},
    exit::Exit,
    terminal::printable,
};
use crate::spec::component_name;

/// The entry of the table of commands.
pub(super) const COMMAND: Command =
    Command::new::<ListPluginsArgs>("list-plugins", "List the plugins of the running daemon")
        .with_aliases(&["lp"]);

/// The word for programs.
const ERROR_CODE: &str = "failed_to_get_custom_plugins";

/// The printed fields of a spec.
#[derive(Deserialize)]
struct ListedPlugin {
    plugin_name: String,
    plugin_type: String,
    #[serde(default)]
    run_mode: String,
    #[serde(default)]
    not_applicable: BTreeMap<String, String>,
}

/// Which daemon to ask, and how to show its plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPluginsOptions {
    /// Base URL; empty is the default.
    pub server: String,
    /// Where the token is, if not in the data folder.
    pub token_file: Option<PathBuf>,
    /// The specs as JSON.
    pub json: bool,
}

impl Action for ListPluginsOptions {
    async fn run(self, _: CommandContext) -> Result<Exit, Exit> {
        let listed = list_plugins(&self.server, self.token_file.as_deref(), self.json).await;
        listed.map(Exit::success)
    }
}

/// Asks the daemon. Returns what to print: a line for each plugin, or the specs as one line of JSON.
///
/// # Errors
/// The daemon cannot be asked, or does not answer with specs.
pub async fn list_plugins(
    server: &str,
    token_file: Option<&Path>,
    json: bool,
) -> Result<String, Exit> {
    let listed = async {
        let client = Client::of_daemon(server, token_file).map_err(|error| error.to_string())?;
        let answer = client.send(Method::GET, "/v1/plugins").await;
        let answer = answer.map_err(|error| error.to_string())?;
        match json {
            true => specs(&answer),
            false => lines(&answer),
        }
    };
    listed.await.map_err(|why: String| {
        let message = printable(&format!("failed to get custom plugins: {why}"));
        match json {
            true => Exit::json_failure(ERROR_CODE, message),
            false => Exit::failure(message),
        }
    })
}

fn lines(answer: &Answer) -> Result<String, String> {
    let plugins = decode::<ListedPlugin>(answer)?;
    if plugins.is_empty() {
        return Ok("No custom plugins registered\n".to_owned());
    }
    let line = |plugin: &ListedPlugin| {
        let name = component_name(&plugin.plugin_name);
        let mut text = format!(
            "- {name} (Type: {}, Run Mode: {})",
            plugin.plugin_type, plugin.run_mode
        );
        for (component, reason) in &plugin.not_applicable {
            text.push_str(&match *component == name {
                true => format!(", {reason}"),
                false => format!(", {component}: {reason}"),
            });
        }
        printable(&text) + "\n"
    };
    let lines = plugins.iter().map(line);
    Ok("Registered custom plugins:\n".to_owned() + &lines.collect::<String>())
}

fn specs(answer: &Answer) -> Result<String, String> {
    let specs = decode::<Value>(answer)?;
    Ok(Value::Array(specs).to_string() + "\n")
}

/// The list that the daemon gave; `null` is an empty one.
fn decode<'a, T: Deserialize<'a>>(answer: &'a Answer) -> Result<Vec<T>, String> {
    if !answer.status.is_success() {
        return Err(reason_of(answer));
    }
    let specs: Option<Vec<T>> = serde_json::from_slice(&answer.body)
        .map_err(|error| format!("this is not a list of plugins: {error}"))?;
    Ok(specs.unwrap_or_default())
}

#[cfg(test)]
mod tests;
