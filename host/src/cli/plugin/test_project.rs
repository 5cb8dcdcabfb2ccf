//! `gpud plugin test`: builds a project, runs its own tests, and tries its component on made-up machines.

use std::path::Path;

use gpud_author::{build::CommandOptions, cases::Outcome, test_project};
use serde_json::json;

use super::compilation;
use crate::cli::{
    exit::Exit,
    terminal::{Terminal, printable},
};

/// Tries the cases of a file, or a project, and prints the outcomes. The status is 1 when a case is not as expected.
///
/// # Errors
/// It is no project, it cannot be built, its own tests failed, or the cases cannot be read.
pub async fn test(
    path: &Path,
    component: Option<&Path>,
    builds: bool,
    variables: &[String],
    json: bool,
    stdout: Terminal,
) -> Result<Exit, Exit> {
    let command_options = CommandOptions {
        shown: !json,
        install_tools: false,
        variables,
    };
    let tested = test_project::test(path, component, builds, command_options, &compilation())
        .await
        .map_err(|message| Exit::failure(message).in_json(json, "failed_to_test"))?;
    let failed = tested.cases.iter().any(|outcome| !outcome.passed);
    let stdout = match json {
        true => format!("{}\n", json!({"passed": !failed, "cases": tested.cases})),
        false => {
            let commands = tested.commands.iter();
            let commands = commands.map(|command| format!("{} {command}\n", stdout.good()));
            commands.collect::<String>() + &text(&tested.cases, stdout)
        }
    };
    Ok(Exit {
        code: u8::from(failed),
        ..Exit::success(stdout)
    })
}

/// The outcomes of the cases, for people.
fn text(outcomes: &[Outcome], terminal: Terminal) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        let sign = match outcome.passed {
            true => terminal.good(),
            false => terminal.bad(),
        };
        text.push_str(&format!("{sign} {}\n", printable(&outcome.case)));
        for difference in &outcome.differences {
            text.push_str(&format!("    {}\n", printable(difference)));
        }
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.passed).count();
    text.push_str(&match failed {
        0 => format!("{} cases, all as expected\n", outcomes.len()),
        failed => format!("{} cases, {failed} not as expected\n", outcomes.len()),
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_for_people() {
        let outcome = |case: &str, differences: &[&str]| Outcome {
            case: case.into(),
            passed: differences.is_empty(),
            differences: differences.iter().map(|text| (*text).into()).collect(),
        };
        let good = outcome("nothing but an OOM kill", &[]);
        assert_eq!(
            text(std::slice::from_ref(&good), Terminal::PLAIN),
            "✔ nothing but an OOM kill\n1 cases, all as expected\n"
        );
        let bad = outcome("another\u{1b}[2J", &["state 1, reason is \"x\""]);
        assert_eq!(
            text(&[good, bad], Terminal::PLAIN),
            "✔ nothing but an OOM kill\n✘ another\\u{1b}[2J\n    state 1, reason is \"x\"\n2 cases, 1 not as expected\n"
        );
    }
}
