//! `gpud run-plugin-group`: makes the running daemon check every component with a tag.

mod args;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use http::Method;
use serde::Deserialize;
use serde_json::json;

use self::args::RunPluginGroupArgs;
use super::{
    client::{Answer, Client, reason_of},
    command::{Action, Command, CommandContext},
    exit::{Exit, Stderr},
    status::Daemon,
    terminal::printable,
};
use crate::{model::Health, text::encode_query_value};

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<RunPluginGroupArgs>(
    "run-plugin-group",
    "Make the running daemon check all components with a tag",
);

/// The daemon checks one component after another before it answers.
const LIMIT: Duration = Duration::from_secs(120);

#[derive(Deserialize)]
struct TriggerReply {
    components: Option<Vec<String>>,
    success: bool,
}

/// The word for programs.
const ERROR_CODE: &str = "failed_to_trigger_component_check";

/// Which components of which daemon to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPluginGroupOptions {
    /// Base URL; empty is the default.
    pub server: String,
    /// Where the token is, if not in the data folder.
    pub token_file: Option<PathBuf>,
    /// The tag.
    pub tag: String,
    /// Whether to print one JSON document.
    pub json: bool,
}

impl Action for RunPluginGroupOptions {
    async fn run(self, _: CommandContext) -> Result<Exit, Exit> {
        run_plugin_group(
            &self.server,
            self.token_file.as_deref(),
            &self.tag,
            self.json,
        )
        .await
    }
}

/// Checks the components with this tag. That there is none is no failure, but is said on standard error.
///
/// # Errors
/// The daemon cannot be asked or refuses, or a component is not healthy.
pub async fn run_plugin_group(
    server: &str,
    token_file: Option<&Path>,
    tag: &str,
    json: bool,
) -> Result<Exit, Exit> {
    let checked = async {
        let client = Client::of_daemon(server, token_file).map_err(|error| error.to_string())?;
        let client = client.with_limit(LIMIT);
        let target = format!(
            "/v1/components/trigger-tag?tagName={}",
            encode_query_value(tag)
        );
        let answer = client.send(Method::GET, &target).await;
        let answer = answer.map_err(|error| error.to_string())?;
        match json {
            true => read_json(&answer, tag),
            false => match read(&answer, tag)? {
                Checked::Well(exit) => Ok(exit),
                Checked::Badly(names) => Err(why(&client, tag, &names).await),
            },
        }
    };
    checked.await.map_err(|why| {
        let message = format!("failed to trigger component check for tag {tag}: {why}");
        Exit::failure(printable(&message)).in_json(json, ERROR_CODE)
    })
}

/// Prints for programs which components there are, and whether all are healthy, which is also the exit status.
fn read_json(answer: &Answer, tag: &str) -> Result<Exit, String> {
    if !answer.status.is_success() {
        return Err(reason_of(answer));
    }
    let reply: TriggerReply = serde_json::from_slice(&answer.body)
        .map_err(|error| format!("this is not an answer of gpud: {error}"))?;
    let components = reply.components.unwrap_or_default();
    let document = json!({"tag": tag, "components": components, "healthy": reply.success});
    Ok(Exit {
        code: u8::from(!reply.success),
        ..Exit::success(format!("{document}\n"))
    })
}

/// The outcome of the checks.
#[derive(Debug, PartialEq, Eq)]
enum Checked {
    /// All are healthy, or there is none.
    Well(Exit),
    /// One of these is not healthy.
    Badly(Vec<String>),
}

/// Which of these components are not healthy, and why; all of them where the daemon does not say.
async fn why(client: &Client, tag: &str, names: &[String]) -> String {
    let target = format!(
        "/v1/states?components={}",
        encode_query_value(&names.join(","))
    );
    let states = Daemon::states(client, &target).await.unwrap_or_default();
    let bad = states
        .iter()
        .filter(|one| one.health != Health::Healthy.as_str());
    let bad: Vec<String> = bad
        .map(|one| format!("{} ({}: {})", one.component, one.health, one.reason))
        .collect();
    let list = match bad.is_empty() {
        true => names.join(" "),
        false => bad.join(", "),
    };
    format!("health check failed for tag {tag}, components: [{list}]")
}

fn read(answer: &Answer, tag: &str) -> Result<Checked, String> {
    if !answer.status.is_success() {
        return Err(reason_of(answer));
    }
    let reply: TriggerReply = serde_json::from_slice(&answer.body)
        .map_err(|error| format!("this is not an answer of gpud: {error}"))?;
    let components = reply.components.unwrap_or_default();
    if !reply.success {
        return Ok(Checked::Badly(components));
    }
    let tag = printable(tag);
    Ok(Checked::Well(Exit {
        stderr: match components.is_empty() {
            true => Stderr::Line(format!("! no component has the tag {tag}")),
            false => Stderr::Nothing,
        },
        ..Exit::success(format!(
            "Successfully triggered component check for tag: {tag}\n"
        ))
    }))
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    #[test]
    fn answers() {
        let success = || Exit::success("Successfully triggered component check for tag: t\n");
        let well = |exit| Ok(Checked::Well(exit));
        for (status, body, expected) in [
            (
                200,
                r#"{"components":["a","b"],"exit":0,"success":true}"#,
                well(success()),
            ),
            (
                200,
                r#"{"components":[],"exit":0,"success":true}"#,
                well(Exit {
                    stderr: Stderr::Line("! no component has the tag t".into()),
                    ..success()
                }),
            ),
            (
                200,
                r#"{"components":["a","b"],"exit":1,"success":false}"#,
                Ok(Checked::Badly(vec!["a".into(), "b".into()])),
            ),
            (
                400,
                r#"{"error":"tagName parameter is required"}"#,
                Err("400 Bad Request: tagName parameter is required"),
            ),
            (502, "no", Err("502 Bad Gateway: no")),
        ] {
            let answer = Answer {
                status: StatusCode::from_u16(status).unwrap(),
                body: body.into(),
            };
            let expected = expected.map_err(str::to_owned);
            assert_eq!(read(&answer, "t"), expected, "{body}");
        }
    }

    #[test]
    fn answers_for_programs() {
        let answer = |body: &str| Answer {
            status: StatusCode::OK,
            body: body.to_owned().into(),
        };
        for (body, code, expected) in [
            (
                r#"{"components":["a"],"exit":0,"success":true}"#,
                0,
                "{\"components\":[\"a\"],\"healthy\":true,\"tag\":\"t\"}\n",
            ),
            (
                r#"{"components":null,"exit":1,"success":false}"#,
                1,
                "{\"components\":[],\"healthy\":false,\"tag\":\"t\"}\n",
            ),
        ] {
            let exit = read_json(&answer(body), "t").unwrap();
            assert_eq!((exit.code, exit.stdout.as_str()), (code, expected));
        }
        assert!(read_json(&answer("x"), "t").is_err());
    }
}
