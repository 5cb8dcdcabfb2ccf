//! `gpud plugin`: for those who write plugins, and for those who are to grant them something.
//!
//! A file for each command; `component_file`, `grant_flags` and `check_result` are what they share. Only `shadow`
//! asks a daemon.

mod build;
mod cases;
mod check_result;
pub(crate) mod component_file;
mod diff;
mod dry_run;
mod encode;
pub(crate) mod grant_flags;
pub(crate) mod inspect;
pub(crate) mod new;
pub(crate) mod project;
mod sdk;
mod shadow;
pub(crate) mod templates;
mod test_project;
mod tools;
mod validate;

use std::path::PathBuf;

pub use self::{dry_run::DryRun, validate::Validation};
use super::{
    args::CommonArgs,
    exit::Exit,
    plugin_args::{PluginArgs, PluginCommand},
    terminal::Terminal,
};

/// What `gpud plugin` is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginAction {
    /// Say what a component is.
    Inspect {
        /// Its file.
        file: PathBuf,
        /// As one JSON document.
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
        /// As one JSON document.
        json: bool,
    },
    /// Hold it against the contract.
    Validate(Validation),
    /// Compare two.
    Diff {
        /// What runs.
        old: PathBuf,
        /// What is to take its place.
        new: PathBuf,
        /// As one JSON document.
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
        /// As one JSON document.
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
        /// As one JSON document.
        json: bool,
    },
}

/// From flags to values.
///
/// # Errors
/// A grant or a configuration makes no sense.
pub(super) fn action(args: PluginArgs) -> Result<(CommonArgs, PluginAction), String> {
    let here = |folder: Option<PathBuf>| folder.unwrap_or_else(|| PathBuf::from("."));
    Ok(match args.command {
        PluginCommand::Inspect(args) => {
            let (file, json) = (args.file, args.json);
            (args.common, PluginAction::Inspect { file, json })
        }
        PluginCommand::Run(args) => {
            let run = DryRun {
                file: args.file,
                grants: grant_flags::grants(&args.grant)?,
                config: grant_flags::config(args.config.as_deref())?,
                component: args.component,
                node: args.node,
                json: args.json,
            };
            (args.common, PluginAction::Run(run))
        }
        PluginCommand::Test(args) => {
            let action = PluginAction::Test {
                path: here(args.path),
                component: args.component,
                build: !args.no_build,
                variables: args.env,
                json: args.json,
            };
            (args.common, action)
        }
        PluginCommand::Validate(args) => {
            let validation = Validation {
                file: args.file,
                config: grant_flags::config(args.config.as_deref())?,
                json: args.json,
            };
            (args.common, PluginAction::Validate(validation))
        }
        PluginCommand::Diff(args) => {
            let action = PluginAction::Diff {
                old: args.old,
                new: args.new,
                json: args.json,
                exit_code: args.exit_code,
            };
            (args.common, action)
        }
        PluginCommand::Shadow(args) => {
            let action = PluginAction::Shadow {
                server: args.server,
                token_file: args.token_file,
                component: args.component,
                json: args.json,
            };
            (args.common, action)
        }
        PluginCommand::New(args) => {
            let action = PluginAction::New {
                language: args.lang,
                name: args.name,
                folder: args.folder,
                sdk: args.sdk,
            };
            (args.common, action)
        }
        PluginCommand::Build(args) => {
            let action = PluginAction::Build {
                folder: here(args.folder),
                install_tools: args.install_tools,
                variables: args.env,
                json: args.json,
            };
            (args.common, action)
        }
    })
}

/// Does it.
///
/// # Errors
/// What went wrong, in the form that was asked for.
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
