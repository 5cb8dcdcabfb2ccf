//! `gpud plugin build`: builds a project and says what came out.

use std::path::Path;

use gpud_author::build::{self, CommandOptions};
use serde_json::json;

use crate::cli::{exit::Exit, sizes::iec, terminal::Terminal};

/// Builds and reports the outcome.
///
/// # Errors
/// It is no project, a command failed, or what it left is no component.
pub async fn build(
    folder: &Path,
    install_tools: bool,
    variables: &[String],
    json: bool,
    terminal: Terminal,
) -> Result<Exit, Exit> {
    let command_options = CommandOptions {
        shown: !json,
        install_tools,
        variables,
    };
    let built = build::build(folder, command_options)
        .await
        .map_err(|message| Exit::failure(message).in_json(json, "failed_to_build"))?;
    let shown = built.component.display();
    Ok(Exit::success(match json {
        true => {
            let document = json!({
                "component": shown.to_string(),
                "size": built.size,
                "sha256": built.sha256,
            });
            format!("{document}\n")
        }
        false => format!(
            "{} {shown}: {}, sha256 {}\n",
            terminal.good(),
            iec(built.size as u64),
            built.sha256
        ),
    }))
}
