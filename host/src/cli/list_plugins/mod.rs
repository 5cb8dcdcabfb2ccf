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

/// What is printed of a spec.
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
    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
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
mod tests {
    use http::StatusCode;

    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer {
            status: StatusCode::from_u16(status).unwrap(),
            body: body.to_owned().into(),
        }
    }

    #[test]
    fn plugins_by_their_component_names() {
        let two = r#"[{"plugin_name":"Fan Tray","plugin_type":"component","run_mode":"auto","timeout":"20s"},
            {"plugin_name":"b\u001b","plugin_type":"wasm","run_mode":""},
            {"plugin_name":"fans","plugin_type":"wasm","run_mode":"auto",
             "not_applicable":{"fans":"not applicable here: no fans","pumps":"not applicable here"}}]"#;
        for (body, expected) in [
            ("null", "No custom plugins registered\n"),
            ("[]", "No custom plugins registered\n"),
            (
                two,
                concat!(
                    "Registered custom plugins:\n",
                    "- fan-tray (Type: component, Run Mode: auto)\n",
                    "- b\\u{1b} (Type: wasm, Run Mode: )\n",
                    "- fans (Type: wasm, Run Mode: auto), not applicable here: no fans, pumps: not applicable here\n",
                ),
            ),
        ] {
            assert_eq!(lines(&answer(200, body)).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn specs_as_json() {
        assert_eq!(specs(&answer(200, "null")).as_deref(), Ok("[]\n"));
        let body = r#"[ {"plugin_name": "a"} ]"#;
        assert_eq!(
            specs(&answer(200, body)).as_deref(),
            Ok("[{\"plugin_name\":\"a\"}]\n")
        );
    }

    #[test]
    fn what_is_no_list_is_said() {
        for (status, body, why) in [
            (200, "{}", "this is not a list of plugins: "),
            (
                200,
                r#"[{"plugin_name":"a"}]"#,
                "this is not a list of plugins: missing field",
            ),
            (
                400,
                r#"{"code":{},"message":"invalid content type"}"#,
                "400 Bad Request: invalid content type",
            ),
            (502, "bad gateway", "502 Bad Gateway: bad gateway"),
        ] {
            let error = lines(&answer(status, body)).unwrap_err();
            assert!(error.starts_with(why), "{error}");
        }
    }
}
