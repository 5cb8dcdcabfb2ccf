//! `gpud completion` and `gpud man`: what a package puts beside the program, made from the commands themselves.

use std::{
    ffi::OsStr,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use clap::{Command, ValueEnum as _};
use clap_complete::Shell;

use super::{VERSION, commands, exit::Exit};
use crate::node::trusted::output::{FileMode, OutputFolder};

/// The commands without what is hidden: flags that do nothing here, and commands for gpud itself.
fn visible() -> Command {
    // clap wants names that stay for ever; the process ends soon after this.
    fn kept(name: &str) -> &'static str {
        name.to_owned().leak()
    }
    fn copy(from: &Command) -> Command {
        let mut to = Command::new(kept(from.get_name()))
            .visible_aliases(from.get_visible_aliases().map(kept))
            .disable_help_subcommand(true)
            .subcommand_required(from.is_subcommand_required_set())
            .args(
                from.get_arguments()
                    .filter(|arg| !arg.is_hide_set())
                    .cloned(),
            )
            .subcommands(
                from.get_subcommands()
                    .filter(|command| !command.is_hide_set())
                    .map(copy),
            );
        if let Some(about) = from.get_about() {
            to = to.about(about.clone());
        }
        if let Some(after) = from.get_after_help() {
            to = to.after_help(after.clone());
        }
        to
    }
    let mut root = copy(&commands::root())
        .version(VERSION)
        .disable_version_flag(true);
    root.build();
    root
}

/// The shell with this name.
///
/// # Errors
/// There is none.
pub fn shell(names: &[String]) -> Result<Shell, String> {
    let known = "bash, zsh, fish, elvish or powershell";
    match names {
        [name] => Shell::from_str(name, true)
            .map_err(|_| format!("unknown shell {name:?}: it is {known}")),
        _ => Err(format!("exactly one argument is required: {known}")),
    }
}

/// The script for a shell.
pub fn completion(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut visible(), "gpud", &mut script);
    script
}

/// Prints what was made.
///
/// # Errors
/// It cannot be written.
pub fn print(bytes: &[u8]) -> Result<Exit, Exit> {
    let mut stdout = io::stdout();
    stdout.write_all(bytes)?;
    stdout.flush()?;
    Ok(Exit::success(""))
}

/// The page of the command with this path, as roff.
///
/// # Errors
/// There is no such command.
pub fn page(topic: &[String]) -> Result<Vec<u8>, Exit> {
    let root = visible();
    let command = topic
        .iter()
        .try_fold(&root, |command, name| command.find_subcommand(name))
        .ok_or_else(|| Exit::failure(format!("there is no command {:?}", topic.join(" "))))?;
    render(command.clone(), &name_of(command))
}

/// Writes the pages of all commands into a folder, as `gpud.1`, `gpud-run.1` and so on. Gives their paths.
///
/// # Errors
/// A file cannot be written.
pub fn pages(folder: &Path) -> Result<Vec<PathBuf>, Exit> {
    fn all<'a>(command: &'a Command, found: &mut Vec<&'a Command>) {
        found.push(command);
        for below in command.get_subcommands() {
            all(below, found);
        }
    }
    let root = visible();
    let mut commands = Vec::new();
    all(&root, &mut commands);
    let failed = |path: &Path, error: io::Error| {
        Exit::failure(format!("failed to write {}: {error}", path.display()))
    };
    let output = OutputFolder::open(folder).map_err(|error| failed(folder, error))?;
    let mut paths = Vec::new();
    for command in commands {
        let name = name_of(command);
        let file = format!("{name}.1");
        let path = folder.join(&file);
        let text = render(command.clone(), &name)?;
        // Another user's folder may have links with the names of pages.
        output
            .replace(OsStr::new(&file), &text, FileMode::ByUmask)
            .map_err(|error| failed(&path, error))?;
        paths.push(path);
    }
    Ok(paths)
}

/// `gpud-run` for `gpud run`.
fn name_of(command: &Command) -> String {
    let name = command.get_display_name();
    name.unwrap_or_else(|| command.get_name()).to_owned()
}

fn render(command: Command, name: &str) -> Result<Vec<u8>, Exit> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .title(name.to_owned())
        // A date would make two builds of one source differ.
        .date("")
        .source(format!("gpud {VERSION}"))
        .manual("gpud")
        .render(&mut page)
        .map_err(Exit::failure)?;
    Ok(page)
}

#[cfg(test)]
#[path = "shells_tests.rs"]
mod tests;
