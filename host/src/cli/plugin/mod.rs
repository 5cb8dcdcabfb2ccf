//! `gpud plugin`: for those who write plugins, and for those who are to grant them something.
//!
//! A file for each command, with what it prints; the crate `gpud-author` does the work. `grant_flags` and `check_result` are
//! what commands share. Only `shadow` asks a daemon.

mod args;
mod build;
mod check_result;
mod diff;
mod dry_run;
pub(crate) mod grant_flags;
mod inspect;
mod new;
mod shadow;
mod test_project;
mod validate;

use std::path::PathBuf;

use gpud_author::Compilation;

use self::args::PluginArgs;
pub use self::{dry_run::DryRun, validate::Validation};
use super::{
    command::{Action, Command, CommandContext},
    exit::Exit,
    scan::cache_folder,
    terminal::Terminal,
};
use crate::runtime::Compiler;

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<PluginArgs>(
    "plugin",
    "Write, try and compare WebAssembly plugins; with a YAML file the same as custom-plugins",
);

/// An action of `gpud plugin`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginAction {
    /// Say what a component is.
    Inspect {
        /// Its file.
        file: PathBuf,
        /// Whether to print one JSON document.
        json: bool,
    },
    /// Check once.
    Run(DryRun),
    /// Try it on made-up machines.
    Test {
        /// A file of cases, or a project's folder.
        path: PathBuf,
        /// Takes the place of the component that is named there.
        component: Option<PathBuf>,
        /// The component of a project is built before it is tried.
        build: bool,
        /// Variables that root's builds get besides the usual ones.
        variables: Vec<String>,
        /// Whether to print one JSON document.
        json: bool,
    },
    /// Hold it against the contract.
    Validate(Validation),
    /// Compare two.
    Diff {
        /// The present version.
        old: PathBuf,
        /// The version that is to replace it.
        new: PathBuf,
        /// Whether to print one JSON document.
        json: bool,
        /// Status 1 when the new one asks for more.
        exit_code: bool,
    },
    /// Ask the daemon how the version beside a component compares with it.
    Shadow {
        /// Its URL; empty for the one of this machine.
        server: String,
        /// File with the token.
        token_file: Option<PathBuf>,
        /// The component.
        component: String,
        /// Whether to print one JSON document.
        json: bool,
    },
    /// Make a folder.
    New {
        /// In this language.
        language: String,
        /// Its name.
        name: String,
        /// Where.
        folder: Option<PathBuf>,
        /// Where the packages of SDKs are; that of gpud itself without one.
        sdk: Option<PathBuf>,
    },
    /// Build a project.
    Build {
        /// Its folder.
        folder: PathBuf,
        /// Install tools that are missing.
        install_tools: bool,
        /// Variables that root's builds get besides the usual ones.
        variables: Vec<String>,
        /// Whether to print one JSON document.
        json: bool,
    },
}

impl Action for PluginAction {
    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
        plugin(&self, context.stdout).await
    }
}

/// Does it.
///
/// # Errors
/// The error, in the form that was asked for.
pub async fn plugin(action: &PluginAction, stdout: Terminal) -> Result<Exit, Exit> {
    match action {
        PluginAction::Inspect { file, json } => inspect::inspect(file, *json).await,
        PluginAction::Run(run) => dry_run::dry_run(run, stdout).await,
        PluginAction::Test {
            path,
            component,
            build,
            variables,
            json,
        } => {
            let component = component.as_deref();
            test_project::test(path, component, *build, variables, *json, stdout).await
        }
        PluginAction::Validate(validation) => validate::validate(validation, stdout).await,
        PluginAction::Diff {
            old,
            new,
            json,
            exit_code,
        } => diff::diff(old, new, *json, *exit_code).await,
        PluginAction::Shadow {
            server,
            token_file,
            component,
            json,
        } => shadow::shadow(server, token_file.as_deref(), component, *json).await,
        PluginAction::New {
            language,
            name,
            folder,
            sdk,
        } => new::new(language, name, folder.as_deref(), sdk.as_deref()),
        PluginAction::Build {
            folder,
            install_tools,
            variables,
            json,
        } => build::build(folder, *install_tools, variables, *json, stdout).await,
    }
}

/// How the commands for authors compile: in a child of this program, with the cache of commands.
pub(super) fn compilation() -> Compilation {
    // A test binary is no gpud that could compile for itself.
    let compiler = match cfg!(test) {
        true => Compiler::InProcess,
        false => Compiler::of_this_program(),
    };
    Compilation {
        cache: cache_folder(),
        compiler,
    }
}
