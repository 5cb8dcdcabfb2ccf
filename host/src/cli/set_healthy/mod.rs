//! `gpud set-healthy`: reports to the running daemon that components were repaired.

mod args;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use http::Method;
use serde::Deserialize;
use serde_json::json;

use self::args::SetHealthyArgs;
use super::{
    client::{Answer, Client},
    command::{Action, Command, CommandContext},
    exit::Exit,
    terminal::printable,
};
use crate::text::encode_query_value;

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<SetHealthyArgs>(
    "set-healthy",
    "Tell the running daemon that components were repaired",
)
.with_aliases(&["set-health"]);

#[derive(Deserialize, Default)]
#[serde(default)]
struct SetHealthyReply {
    message: String,
    successful: Vec<String>,
    failed: BTreeMap<String, String>,
}

/// The word for programs.
const ERROR_CODE: &str = "failed_to_set_healthy";

/// Which components of which daemon were repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetHealthyOptions {
    /// Base URL; empty is the default.
    pub server: String,
    /// Where the token is, if not in the data folder.
    pub token_file: Option<PathBuf>,
    /// The components; empty is all.
    pub components: Vec<String>,
    /// Whether to print one JSON document.
    pub json: bool,
}

impl Action for SetHealthyOptions {
    async fn run(self, _: CommandContext) -> Result<Exit, Exit> {
        set_healthy(
            &self.server,
            self.token_file.as_deref(),
            &self.components,
            self.json,
        )
        .await
    }
}

/// Sets these components healthy, or all. Returns the line to print, or the document.
///
/// # Errors
/// The daemon cannot be asked, refuses, or could not set one of them.
pub async fn set_healthy(
    server: &str,
    token_file: Option<&Path>,
    components: &[String],
    json: bool,
) -> Result<Exit, Exit> {
    let answer = ask(server, token_file, components).await;
    let done = answer.and_then(|answer| match json {
        true => read_json(&answer),
        false => read(&answer).map(Exit::success),
    });
    done.map_err(|exit| exit.in_json(json, ERROR_CODE))
}

async fn ask(
    server: &str,
    token_file: Option<&Path>,
    components: &[String],
) -> Result<Answer, Exit> {
    let client = Client::of_daemon(server, token_file).map_err(Exit::failure)?;
    let mut target = "/v1/health-states/set-healthy".to_owned();
    if !components.is_empty() {
        let names: Vec<_> = components
            .iter()
            .map(|name| encode_query_value(name))
            .collect();
        target.push_str("?components=");
        target.push_str(&names.join(","));
    }
    client
        .send(Method::POST, &target)
        .await
        .map_err(|error| Exit::failure(format!("failed to set healthy: {error}")))
}

/// Prints for programs which components were set and which were not. The status is 1 when one could not be set.
fn read_json(answer: &Answer) -> Result<Exit, Exit> {
    let reply = serde_json::from_slice::<SetHealthyReply>(&answer.body).unwrap_or_default();
    if !answer.status.is_success() && reply.failed.is_empty() {
        return read(answer).map(Exit::success);
    }
    let document = json!({"successful": reply.successful, "failed": reply.failed});
    Ok(Exit {
        code: u8::from(!reply.failed.is_empty()),
        ..Exit::success(format!("{document}\n"))
    })
}

fn read(answer: &Answer) -> Result<String, Exit> {
    let reply = serde_json::from_slice::<SetHealthyReply>(&answer.body).unwrap_or_default();
    let done = match reply.successful.as_slice() {
        [] => "no component has anything to set".to_owned(),
        names => format!(
            "successfully set components to healthy: {}",
            names.join(", ")
        ),
    };
    if !reply.failed.is_empty() {
        let failed: Vec<_> = reply
            .failed
            .iter()
            .map(|(name, why)| format!("{name}: {why}"))
            .collect();
        let stdout = match reply.successful.is_empty() {
            true => String::new(),
            false => printable(&done) + "\n",
        };
        return Err(Exit {
            stdout,
            ..Exit::failure(printable(&format!(
                "failed to set components to healthy: {}",
                failed.join("; ")
            )))
        });
    }
    if !answer.status.is_success() {
        let text = match reply.message.as_str() {
            "" => String::from_utf8_lossy(&answer.body)
                .chars()
                .take(500)
                .collect(),
            message => message.to_owned(),
        };
        return Err(Exit::failure(printable(&format!(
            "failed to set healthy: {} {text}",
            answer.status
        ))));
    }
    Ok(printable(&done) + "\n")
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;
    use crate::cli::exit::Stderr;

    #[test]
    fn answers() {
        for (status, body, expected) in [
            (
                200,
                r#"{"code":200,"message":"set healthy states completed","successful":["a","b"]}"#,
                Ok("successfully set components to healthy: a, b\n"),
            ),
            (
                200,
                r#"{"code":200,"message":"x"}"#,
                Ok("no component has anything to set\n"),
            ),
            (
                200,
                r#"{"code":200,"successful":["a"],"failed":{"c":"why"}}"#,
                Err((
                    "successfully set components to healthy: a\n",
                    "failed to set components to healthy: c: why",
                )),
            ),
            (
                400,
                r#"{"code":400,"message":"x","failed":{"c":"why","d":"so"}}"#,
                Err(("", "failed to set components to healthy: c: why; d: so")),
            ),
            (
                404,
                r#"{"code":404,"message":"component q not found (not found)"}"#,
                Err((
                    "",
                    "failed to set healthy: 404 Not Found component q not found (not found)",
                )),
            ),
            (
                502,
                "bad gateway",
                Err(("", "failed to set healthy: 502 Bad Gateway bad gateway")),
            ),
        ] {
            let answer = Answer {
                status: StatusCode::from_u16(status).unwrap(),
                body: body.into(),
            };
            let found = read(&answer).map_err(|exit| (exit.code, exit.stdout, exit.stderr));
            let expected = expected.map(str::to_owned).map_err(|(stdout, failure)| {
                (1, stdout.to_owned(), Stderr::Failure(failure.to_owned()))
            });
            assert_eq!(found, expected, "{body}");
        }
    }

    #[test]
    fn answers_for_programs() {
        for (status, body, code, expected) in [
            (
                200,
                r#"{"code":200,"successful":["a"],"failed":{"c":"why"}}"#,
                1,
                "{\"failed\":{\"c\":\"why\"},\"successful\":[\"a\"]}\n",
            ),
            (
                200,
                r#"{"code":200}"#,
                0,
                "{\"failed\":{},\"successful\":[]}\n",
            ),
        ] {
            let answer = Answer {
                status: StatusCode::from_u16(status).unwrap(),
                body: body.into(),
            };
            let exit = read_json(&answer).unwrap();
            assert_eq!((exit.code, exit.stdout.as_str()), (code, expected));
        }
        let answer = Answer {
            status: StatusCode::NOT_FOUND,
            body: r#"{"code":404,"message":"no"}"#.into(),
        };
        let exit = read_json(&answer).unwrap_err().in_json(true, ERROR_CODE);
        assert_eq!(
            exit.stdout,
            "{\"error\":{\"code\":\"failed_to_set_healthy\",\"message\":\"failed to set healthy: 404 Not Found no\"}}\n"
        );
    }
}
