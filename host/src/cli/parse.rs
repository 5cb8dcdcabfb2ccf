//! Parses the words of a command line into an [`Invocation`], or into the output that replaces it.

use std::ffi::OsString;

use clap::error::ContextKind;

use super::{
    argv::{Request, UsageError, respell},
    command::{Invocation, Plan, PlanError},
    commands,
    exit::{Exit, Stderr},
    version,
};
use crate::{logging::LogLevel, text::printable_lines};

/// Reads a command line, the program's name first.
///
/// # Errors
/// Everything that ends here: help and version (status 0), an unknown command (3), anything wrong with a flag (mostly 1).
pub fn parse(argv: impl IntoIterator<Item = OsString>) -> Result<Invocation, Exit> {
    let mut root = commands::root();
    root.build();
    let words: Vec<String> = argv
        .into_iter()
        .skip(1)
        .map(OsString::into_string)
        .collect::<Result<_, _>>()
        .map_err(|word| Exit::failure(format!("argument {word:?} is not valid UTF-8")))?;
    let (argv, ignored) = match respell(&root, words).map_err(|error| refuse(&mut root, error))? {
        Request::Command { argv, ignored } => (argv, ignored),
        Request::Help(topic) => return Err(Exit::success(help(&mut root, &topic))),
        Request::Version => return Err(Exit::success(format!("{}\n", version::line()))),
    };
    let path: Vec<String> = argv
        .iter()
        .skip(1)
        .take_while(|word| !word.starts_with('-'))
        .cloned()
        .collect();
    let flag = |error: &clap::Error| UsageError::Flag {
        command: path.clone(),
        message: describe(error),
    };
    let matches = root
        .try_get_matches_from_mut(argv)
        .map_err(|error| refuse(&mut root, flag(&error)))?;
    let chosen = matches.subcommand();
    let chosen = chosen.and_then(|(name, matches)| Some((commands::find(name)?, matches)));
    let (command, matches) = chosen.ok_or_else(|| {
        let name = path.first().cloned().unwrap_or_default();
        refuse(&mut root, UsageError::UnknownCommand(name))
    })?;
    let mut notes: Vec<_> = ignored
        .iter()
        .map(|word| {
            format!("argument {word:?} ignored (a switch takes a value only as --name=value)")
        })
        .collect();
    let of_command = |exit: Exit| Exit {
        code: command.misuse_code,
        ..exit
    };
    let plan = command
        .plan(matches, &mut notes)
        .map_err(|refusal| match refusal {
            PlanError::Flags(error) => refuse(&mut root, flag(&error)),
            PlanError::Values(exit) => of_command(exit),
        })?;
    invocation(plan, notes).map_err(of_command)
}

/// Applies the flags that every command has.
fn invocation(plan: Plan, notes: Vec<String>) -> Result<Invocation, Exit> {
    let Plan {
        common,
        task,
        mut log,
        has_json_errors,
    } = plan;
    let level = LogLevel::parse(&common.log_level).map_err(|error| match has_json_errors {
        true => Exit::json_failure("invalid_log_level", error),
        false => Exit::failure(error),
    })?;
    if let Some(level) = level {
        log.level = level;
    }
    Ok(Invocation {
        task,
        log,
        color: common.color,
        notes,
    })
}

/// The help of all commands or of the one with this path.
fn help(root: &mut clap::Command, path: &[String]) -> String {
    // Paths come from `respell`, so that every name is there.
    let command = path
        .iter()
        .try_fold(&*root, |command, name| command.find_subcommand(name));
    match command.cloned() {
        Some(mut command) => command.render_help().to_string(),
        None => root.render_help().to_string(),
    }
}

fn refuse(root: &mut clap::Command, error: UsageError) -> Exit {
    match error {
        UsageError::UnknownCommand(_) => Exit {
            code: 3,
            stdout: String::new(),
            stderr: Stderr::Line(error.to_string()),
        },
        UsageError::Flag { command, message } => {
            let usage = match command.is_empty() {
                false => "Incorrect Usage:",
                true => "Incorrect Usage.",
            };
            let help = help(root, &command);
            let failure = Exit::failure(&message);
            let entry = command.first().and_then(|name| commands::find(name));
            Exit {
                code: entry.map_or(failure.code, |entry| entry.misuse_code),
                stdout: format!("{usage} {}\n\n{help}", printable_lines(&message)),
                ..failure
            }
        }
    }
}

/// A refusal of clap in one line: `invalid value "x" for flag -gpu-count: why`.
fn describe(error: &clap::Error) -> String {
    let context = |kind| error.get(kind).map(ToString::to_string);
    let arg = context(ContextKind::InvalidArg).unwrap_or_default();
    let flag = arg
        .split([' ', '='])
        .next()
        .unwrap_or_default()
        .trim_start_matches('-');
    let Some(value) = context(ContextKind::InvalidValue) else {
        let text = error.render().to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        let words: Vec<_> = first
            .trim_start_matches("error: ")
            .split_whitespace()
            .collect();
        return words.join(" ");
    };
    let why = match (
        std::error::Error::source(error),
        context(ContextKind::ValidValue),
    ) {
        (Some(source), _) => source.to_string(),
        (None, Some(valid)) => format!("it is one of {valid}"),
        (None, None) => "parse error".to_owned(),
    };
    format!("invalid value {value:?} for flag -{flag}: {why}")
}

#[cfg(test)]
pub(super) mod tests;
