//! `gpud set-healthy`: tells the running daemon that components were repaired.

use std::{collections::BTreeMap, path::Path};

use http::Method;
use serde::Deserialize;

use super::{
    client::{Answer, Client, escape, token::ClientToken},
    exit::Exit,
    terminal::printable,
};

#[derive(Deserialize, Default)]
#[serde(default)]
struct Reply {
    message: String,
    successful: Vec<String>,
    failed: BTreeMap<String, String>,
}

/// Sets these components healthy, or all. Returns the line to print.
///
/// # Errors
/// The daemon cannot be asked, refuses, or could not set one of them.
pub async fn set_healthy(
    server: &str,
    token_file: Option<&Path>,
    components: &[String],
) -> Result<String, Exit> {
    let token = ClientToken::find(token_file).map_err(Exit::failure)?;
    let client = Client::new(server)
        .map_err(Exit::failure)?
        .with_token(token);
    let mut target = "/v1/health-states/set-healthy".to_owned();
    if !components.is_empty() {
        let names: Vec<_> = components.iter().map(|name| escape(name)).collect();
        target.push_str("?components=");
        target.push_str(&names.join(","));
    }
    let answer = client
        .send(Method::POST, &target)
        .await
        .map_err(|error| Exit::failure(format!("failed to set healthy: {error}")))?;
    read(&answer)
}

fn read(answer: &Answer) -> Result<String, Exit> {
    let reply = serde_json::from_slice::<Reply>(&answer.body).unwrap_or_default();
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
}
