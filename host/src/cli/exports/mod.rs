//! `gpud exports`: lists exports, checks a file of them, and tries one.

mod args;
#[cfg(test)]
mod tests;

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Instant,
};

use gpud_exports::{Context, Record, config::ExportConfig, status::Status};
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use self::args::ExportsArgs;
use super::{
    client::Client,
    command::{Action, Command, CommandContext},
    exit::Exit,
    table::Table,
    terminal::{Terminal, printable},
};
use crate::{
    exports,
    node::{
        Node,
        trusted::{self, Opener},
    },
    text::encode_query_value,
};

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<ExportsArgs>(
    "exports",
    "List, check and try exports: where verdicts and events are sent to",
);

/// An action of `gpud exports`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportsAction {
    /// List the exports of a file, with their states.
    List {
        /// The file.
        file: PathBuf,
        /// Base URL of the daemon; empty is the default.
        server: String,
        /// Where the token is, if not in the data folder.
        token_file: Option<PathBuf>,
        /// Whether to print one JSON document.
        json: bool,
    },
    /// Send a sample.
    Test {
        /// The file.
        file: PathBuf,
        /// The export.
        name: String,
        /// Whether to print one JSON document.
        json: bool,
    },
    /// Check a file.
    Check {
        /// The file.
        file: PathBuf,
        /// Whether to print one JSON document.
        json: bool,
    },
}

impl Action for ExportsAction {
    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
        exports(&self, context.stdout).await
    }
}

/// Carries it out.
///
/// # Errors
/// The file is wrong, there is no such export, or nothing was delivered.
pub async fn exports(action: &ExportsAction, stdout: Terminal) -> Result<Exit, Exit> {
    match action {
        ExportsAction::List {
            file,
            server,
            token_file,
            json,
        } => list(file, server, token_file.as_deref(), *json, stdout)
            .await
            .map_err(|exit| exit.in_json(*json, "failed_to_list_exports")),
        ExportsAction::Test { file, name, json } => test(file, name, *json, stdout)
            .await
            .map_err(|exit| exit.in_json(*json, "failed_to_test_export")),
        ExportsAction::Check { file, json } => {
            check(file, *json).map_err(|exit| exit.in_json(*json, "invalid_exports_file"))
        }
    }
}

fn read(file: &Path) -> Result<Vec<ExportConfig>, Exit> {
    exports::read(file, Opener::of_command()).map_err(|why| Exit::failure(printable(&why)))
}

fn check(file: &Path, json: bool) -> Result<Exit, Exit> {
    let configs = read(file)?;
    if json {
        let named = configs.iter().map(|c| document(c, None));
        let document =
            json!({"file": file.display().to_string(), "exports": named.collect::<Vec<_>>()});
        return Ok(Exit::success(format!("{document}\n")));
    }
    let mut text = String::new();
    for config in &configs {
        let (kind, target) = (config.settings.kind(), config.settings.target());
        let _ = writeln!(text, "{}: {kind} to {}", config.name, printable(&target));
    }
    let count = configs.len();
    let exports = if count == 1 { "export" } else { "exports" };
    let _ = writeln!(
        text,
        "{}: {count} {exports}, nothing is wrong",
        file.display()
    );
    Ok(Exit::success(text))
}

/// A state as the API gives it.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct ExportState {
    health: String,
    reason: String,
}

#[derive(Deserialize)]
struct ShownExport {
    component: String,
    states: Vec<ExportState>,
}

async fn list(
    file: &Path,
    server: &str,
    token_file: Option<&Path>,
    json: bool,
    stdout: Terminal,
) -> Result<Exit, Exit> {
    let configs = read(file)?;
    let states = states(&configs, server, token_file).await;
    let state = |config: &ExportConfig| {
        let states = states.as_ref().ok()?;
        let name = format!("{}{}", gpud_exports::COMPONENT_PREFIX, config.name);
        let found = states.iter().find(|component| component.component == name);
        Some(
            found
                .and_then(|c| c.states.first().cloned())
                .unwrap_or_else(|| ExportState {
                    health: "-".to_owned(),
                    reason: "the running daemon does not have it".to_owned(),
                }),
        )
    };
    if json {
        let exports = configs.iter().map(|config| document(config, state(config)));
        let document =
            json!({"file": file.display().to_string(), "exports": exports.collect::<Vec<_>>()});
        return Ok(Exit::success(format!("{document}\n")));
    }
    if configs.is_empty() {
        let file = file.display();
        return Ok(Exit::success(format!("{file} lists no export\n")));
    }
    let mut table = Table::with_header(["NAME", "KIND", "TARGET", "HEALTH", "REASON"]);
    for config in &configs {
        let ExportState { health, reason } = state(config).unwrap_or_default();
        let (kind, target) = (config.settings.kind(), config.settings.target());
        table.row([config.name.as_str(), kind, &target, &health, &reason]);
    }
    let mut text = table.render_on(stdout);
    if let Err(why) = states {
        let _ = writeln!(text, "How they do is not known: {}", printable(&why));
    }
    Ok(Exit::success(text))
}

fn document(config: &ExportConfig, state: Option<ExportState>) -> Value {
    let mut document = json!({
        "name": config.name,
        "kind": config.settings.kind(),
        "target": config.settings.target(),
    });
    if let (Some(state), Some(document)) = (state, document.as_object_mut()) {
        document.insert("health".to_owned(), state.health.into());
        document.insert("reason".to_owned(), state.reason.into());
    }
    document
}

async fn states(
    configs: &[ExportConfig],
    server: &str,
    token_file: Option<&Path>,
) -> Result<Vec<ShownExport>, String> {
    let client = Client::of_daemon(server, token_file).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    // One by one: the API refuses a list with a component that it does not have.
    for config in configs {
        let name = format!("{}{}", gpud_exports::COMPONENT_PREFIX, config.name);
        let target = format!("/v1/states?components={}", encode_query_value(&name));
        let answer = client.send(Method::GET, &target).await;
        let answer = answer.map_err(|error| error.to_string())?;
        if answer.status.is_success() {
            let listed = serde_json::from_slice::<Vec<ShownExport>>(&answer.body);
            found.extend(listed.map_err(|error| error.to_string())?);
        }
    }
    Ok(found)
}

async fn test(file: &Path, name: &str, json: bool, stdout: Terminal) -> Result<Exit, Exit> {
    let configs = read(file)?;
    let known: Vec<_> = configs.iter().map(|config| config.name.clone()).collect();
    let config = configs.into_iter().find(|config| config.name == name);
    let config = config.ok_or_else(|| {
        let file = file.display();
        Exit::failure(match known.is_empty() {
            true => format!("{file} lists no export"),
            false => format!("{file} has no export {name:?}; it has {}", known.join(", ")),
        })
    })?;
    trusted::check_certificates().map_err(Exit::failure)?;
    let node = Node::live().await.map_err(Exit::failure)?;
    let identity = exports::identity(&node).await;
    let mut environment = exports::environment(
        identity.clone(),
        node.clock.clone(),
        exports::secrets_of_command(),
        None,
    );
    environment.machine = exports::machine(&node).await;
    let sample = Record::sample(node.clock.now_ms(), identity);
    let context = Context {
        export: config.name.clone(),
        timeout: config.timeout,
        select: config.select.clone(),
        peer_user: config.peer_user.clone(),
        environment,
        status: std::sync::Arc::new(Status::default()),
    };
    let began = Instant::now();
    let sent = tokio::time::timeout(config.timeout, config.settings.test(&sample, &context)).await;
    let took = began.elapsed().as_millis();
    let outcome = match sent {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => return Err(Exit::failure(printable(&error.to_string()))),
        Err(_) => {
            let (target, limit) = (config.settings.target(), config.timeout);
            let message = format!("{target}: no answer within {limit:?}");
            return Err(Exit::failure(printable(&message)));
        }
    };
    if json {
        let document = json!({"name": name, "kind": config.settings.kind(), "target": config.settings.target(),
            "id": sample.id.to_string(), "outcome": outcome, "milliseconds": took});
        return Ok(Exit::success(format!("{document}\n")));
    }
    let (good, target) = (stdout.good(), config.settings.target());
    let text = printable(&format!("{good} {target}: {outcome}, in {took} ms"));
    Ok(Exit::success(text + "\n"))
}
