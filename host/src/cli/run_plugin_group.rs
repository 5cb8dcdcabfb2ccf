//! `gpud run-plugin-group`: makes the running daemon check every component with a tag.

use std::{path::Path, time::Duration};

use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::{
    client::{Answer, Client, escape, reason_of},
    exit::{Exit, Stderr},
    terminal::printable,
};

/// The daemon checks one component after another before it answers.
const LIMIT: Duration = Duration::from_secs(120);

#[derive(Deserialize)]
struct Reply {
    components: Option<Vec<String>>,
    success: bool,
}

/// The word for programs.
const ERROR_CODE: &str = "failed_to_trigger_component_check";

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
        let target = format!("/v1/components/trigger-tag?tagName={}", escape(tag));
        let answer = client.with_limit(LIMIT).send(Method::GET, &target).await;
        let answer = answer.map_err(|error| error.to_string())?;
        match json {
            true => read_json(&answer, tag),
            false => read(&answer, tag),
        }
    };
    checked.await.map_err(|why| {
        let message = format!("failed to trigger component check for tag {tag}: {why}");
        Exit::failure(printable(&message)).in_json(json, ERROR_CODE)
    })
}

/// For programs: which components there are, and whether all are healthy, which is also the exit status.
fn read_json(answer: &Answer, tag: &str) -> Result<Exit, String> {
    if !answer.status.is_success() {
        return Err(reason_of(answer));
    }
    let reply: Reply = serde_json::from_slice(&answer.body)
        .map_err(|error| format!("this is not an answer of gpud: {error}"))?;
    let components = reply.components.unwrap_or_default();
    let document = json!({"tag": tag, "components": components, "healthy": reply.success});
    Ok(Exit {
        code: u8::from(!reply.success),
        ..Exit::success(format!("{document}\n"))
    })
}

fn read(answer: &Answer, tag: &str) -> Result<Exit, String> {
    if !answer.status.is_success() {
        return Err(reason_of(answer));
    }
    let reply: Reply = serde_json::from_slice(&answer.body)
        .map_err(|error| format!("this is not an answer of gpud: {error}"))?;
    let components = reply.components.unwrap_or_default();
    if !reply.success {
        let names = components.join(" ");
        return Err(format!(
            "health check failed for tag {tag}, components: [{names}]"
        ));
    }
    let tag = printable(tag);
    Ok(Exit {
        stderr: match components.is_empty() {
            true => Stderr::Line(format!("! no component has the tag {tag}")),
            false => Stderr::Nothing,
        },
        ..Exit::success(format!(
            "Successfully triggered component check for tag: {tag}\n"
        ))
    })
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    #[test]
    fn answers() {
        let success = || Exit::success("Successfully triggered component check for tag: t\n");
        for (status, body, expected) in [
            (
                200,
                r#"{"components":["a","b"],"exit":0,"success":true}"#,
                Ok(success()),
            ),
            (
                200,
                r#"{"components":[],"exit":0,"success":true}"#,
                Ok(Exit {
                    stderr: Stderr::Line("! no component has the tag t".into()),
                    ..success()
                }),
            ),
            (
                200,
                r#"{"components":["a","b"],"exit":1,"success":false}"#,
                Err("health check failed for tag t, components: [a b]"),
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
