//! Respells a command line written for Go's flag parser in the way clap reads it.
//!
//! There `-name` is `--name`, booleans take a value only with `=`, flags may follow positional arguments, the last of
//! several values wins, and surplus arguments do not matter.

use std::any::TypeId;

use clap::{Arg, ArgAction, Command};

/// Has commands of its own here. In GPUd it is another name of [`CUSTOM_PLUGINS`], and goes on to be where none of them
/// follows.
const PLUGIN: &str = "plugin";
const CUSTOM_PLUGINS: &str = "custom-plugins";

/// The request in the words of a command line.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// A command, respelled.
    Command {
        /// The words for clap, the program's name first.
        argv: Vec<String>,
        /// Arguments that nothing reads.
        ignored: Vec<String>,
    },
    /// Help, on the command of this path (`release`, `gen-key`), or on all when it is empty.
    Help(Vec<String>),
    /// The version.
    Version,
}

/// Why a command line is invalid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// There is no such command.
    #[error("No help topic for '{0}'")]
    UnknownCommand(String),
    /// Something is wrong with a flag.
    #[error("{message}")]
    Flag {
        /// The path of the command whose flag it is; empty for one before the command.
        command: Vec<String>,
        /// The problem.
        message: String,
    },
}

/// Reads the words after the program's name. `root` must be built.
pub fn respell(root: &Command, words: Vec<String>) -> Result<Request, UsageError> {
    let mut words = words.into_iter().peekable();
    let Some(first) = words.next() else {
        return Ok(Request::Help(Vec::new()));
    };
    match first.as_str() {
        "-h" | "-help" | "--h" | "--help" => return Ok(Request::Help(Vec::new())),
        "-v" | "-version" | "--v" | "--version" => return Ok(Request::Version),
        "help" | "h" => return Ok(Request::Help(topic(root, words)?)),
        _ => {}
    }
    if let Some(flag) = flag_name(&first) {
        return Err(UsageError::Flag {
            command: Vec::new(),
            message: format!("flag provided but not defined: -{flag}"),
        });
    }
    let mut command = known(root, &first)?;
    if command.get_name() == PLUGIN && !names_command(command, words.peek()) {
        command = known(root, CUSTOM_PLUGINS)?;
    }
    let mut path = vec![command.get_name().to_owned()];
    // A command of commands takes its own first word as one of them; without one it may still do something itself.
    while command.has_subcommands() {
        match words.peek().map(String::as_str) {
            Some("help" | "h") => {
                words.next();
                path.extend(topic(command, words)?);
                return Ok(Request::Help(path));
            }
            Some(word) if flag_name(word).is_none() => {
                command = known(command, word)?;
                path.push(command.get_name().to_owned());
                words.next();
            }
            None if command.is_subcommand_required_set() => return Ok(Request::Help(path)),
            _ => break,
        }
    }
    let flags = match read_flags(command, words) {
        Ok(Some(flags)) => flags,
        Ok(None) => return Ok(Request::Help(path)),
        Err(message) => {
            return Err(UsageError::Flag {
                command: path,
                message,
            });
        }
    };
    let (flags, mut positional) = flags;
    let mut argv = vec![root.get_name().to_owned()];
    argv.extend(path);
    argv.extend(flags.spelled());
    let takes_positional = command.get_positionals().next().is_some();
    let ignored = if takes_positional {
        argv.push("--".to_owned());
        argv.append(&mut positional);
        Vec::new()
    } else {
        positional
    };
    Ok(Request::Command { argv, ignored })
}

/// The flags of a command and its other words; `None` where one of them asks for help.
fn read_flags(
    command: &Command,
    mut words: impl Iterator<Item = String>,
) -> Result<Option<(Flags<'_>, Vec<String>)>, String> {
    let mut flags = Flags::default();
    let mut positional = Vec::new();
    while let Some(word) = words.next() {
        if word == "--" {
            positional.extend(words.by_ref());
            break;
        }
        let Some(flag) = flag_name(&word) else {
            positional.push(word);
            continue;
        };
        let (flag, value) = match flag.split_once('=') {
            Some((flag, value)) => (flag, Some(value.to_owned())),
            None => (flag, None),
        };
        if matches!(flag, "h" | "help") {
            return Ok(None);
        }
        let arg = command
            .get_arguments()
            .find(|arg| is_named(arg, flag))
            .ok_or_else(|| format!("flag provided but not defined: -{flag}"))?;
        let value = if is_boolean(arg) {
            let text = value.as_deref().unwrap_or("true");
            let yes = go_bool(text).ok_or_else(|| {
                format!("invalid boolean value {text:?} for -{flag}: parse error")
            })?;
            yes.to_string()
        } else {
            value
                .or_else(|| words.next())
                .ok_or_else(|| format!("flag needs an argument: -{flag}"))?
        };
        flags.set(arg, flag, value)?;
    }
    Ok(Some((flags, positional)))
}

/// Whether a word asks for a command of a command, or for help on it.
fn names_command(command: &Command, word: Option<&String>) -> bool {
    let Some(word) = word.map(String::as_str) else {
        return false;
    };
    matches!(word, "help" | "h" | "-h" | "--h" | "-help" | "--help")
        || command.find_subcommand(word).is_some()
}

/// The path of the command that these words name, as far as there are words.
fn topic(root: &Command, words: impl Iterator<Item = String>) -> Result<Vec<String>, UsageError> {
    let mut path = Vec::new();
    let mut command = root;
    for word in words {
        command = known(command, &word)?;
        path.push(command.get_name().to_owned());
        if !command.has_subcommands() {
            break;
        }
    }
    Ok(path)
}

fn known<'a>(root: &'a Command, name: &str) -> Result<&'a Command, UsageError> {
    root.find_subcommand(name)
        .ok_or_else(|| UsageError::UnknownCommand(name.to_owned()))
}

/// Returns the text after the one or two dashes; `None` for a word that is no flag (`-` alone is none).
fn flag_name(word: &str) -> Option<&str> {
    let name = word.strip_prefix('-')?;
    let name = name.strip_prefix('-').unwrap_or(name);
    (!name.is_empty()).then_some(name)
}

fn is_named(arg: &Arg, name: &str) -> bool {
    let mut letters = name.chars();
    let letter = letters.next().filter(|_| letters.next().is_none());
    arg.get_long() == Some(name)
        || arg
            .get_all_aliases()
            .is_some_and(|aliases| aliases.contains(&name))
        || (letter.is_some() && arg.get_short() == letter)
}

fn is_boolean(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
        || arg.get_value_parser().type_id() == TypeId::of::<bool>()
}

/// The words that Go's `strconv.ParseBool` knows.
fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// The flags so far, in order of first appearance.
#[derive(Default)]
struct Flags<'a> {
    set: Vec<Flag<'a>>,
}

struct Flag<'a> {
    arg: &'a Arg,
    spelling: String,
    value: String,
}

impl<'a> Flags<'a> {
    /// The last value wins, but the flag must be called by the same name each time.
    fn set(&mut self, arg: &'a Arg, spelling: &str, value: String) -> Result<(), String> {
        let spelling = spelling.to_owned();
        match self
            .set
            .iter_mut()
            .find(|flag| flag.arg.get_id() == arg.get_id())
        {
            Some(flag) if flag.spelling != spelling => {
                return Err(format!(
                    "Cannot use two forms of the same flag: {spelling} {}",
                    flag.spelling
                ));
            }
            // One that may be repeated has all its values.
            Some(flag) if !matches!(arg.get_action(), ArgAction::Append) => flag.value = value,
            _ => self.set.push(Flag {
                arg,
                spelling,
                value,
            }),
        }
        Ok(())
    }

    /// `--name=value` each, switches as `--name` or not at all.
    fn spelled(self) -> impl Iterator<Item = String> {
        self.set.into_iter().filter_map(|flag| {
            let name = flag.arg.get_long()?;
            match (flag.arg.get_action(), flag.value.as_str()) {
                (ArgAction::SetTrue, "true") => Some(format!("--{name}")),
                (ArgAction::SetTrue, _) => None,
                (_, value) => Some(format!("--{name}={value}")),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands;

    fn read(line: &str) -> Result<Request, UsageError> {
        let mut root = commands::root();
        root.build();
        let words = line.split('|').filter(|word| !word.is_empty());
        respell(&root, words.map(str::to_owned).collect())
    }

    fn command(line: &str) -> (String, Vec<String>) {
        match read(line) {
            Ok(Request::Command { argv, ignored }) => (argv.join("|"), ignored),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn respells_gos_syntax() {
        for (line, expected) in [
            ("run|-log-level=x", "gpud|run|--log-level=x"),
            ("run|--log-level|x", "gpud|run|--log-level=x"),
            ("run|-l|debug", "gpud|run|--log-level=debug"),
            ("run|--l=debug", "gpud|run|--log-level=debug"),
            // The value of a flag may begin with a dash.
            ("run|--components|-disk", "gpud|run|--components=-disk"),
            (
                "run|--auto-update-exit-code|-1",
                "gpud|run|--auto-update-exit-code=-1",
            ),
            // The last value wins.
            ("run|--gpu-count=1|-gpu-count|2", "gpud|run|--gpu-count=2"),
            ("run|--pprof|--pprof=false", "gpud|run"),
            ("run|--pprof=1", "gpud|run|--pprof"),
            (
                "run|--enable-auto-update=F",
                "gpud|run|--enable-auto-update=false",
            ),
            (
                "run|--enable-auto-update",
                "gpud|run|--enable-auto-update=true",
            ),
            (
                "run|--retention-period=1h",
                "gpud|run|--metrics-retention-period=1h",
            ),
            ("run|--log-file=\"\"", "gpud|run|--log-file=\"\""),
            // Aliases of commands, flags behind positionals, and the end of flags.
            ("s|--json", "gpud|scan|--json"),
            ("check", "gpud|scan"),
            (
                "set-health|cpu,disk|--server|x",
                "gpud|set-healthy|--server=x|--|cpu,disk",
            ),
            ("set-healthy|--|-odd", "gpud|set-healthy|--|-odd"),
            (
                "cs|f.yaml|-r|-f=false",
                "gpud|custom-plugins|--run|--fail-fast=false|--|f.yaml",
            ),
            (
                "nt|startup|-data-dir|/d",
                "gpud|notify|startup|--data-dir=/d",
            ),
            ("update", "gpud|update"),
            ("update|--url=x", "gpud|update|--from=x"),
            ("update|check|-l|info", "gpud|update|check|--log-level=info"),
            (
                "plugin|-f|f.yaml",
                "gpud|custom-plugins|--fail-fast=true|--|f.yaml",
            ),
            ("plugin|f.yaml|-r", "gpud|custom-plugins|--run|--|f.yaml"),
            ("plugin|./run", "gpud|custom-plugins|--|./run"),
            ("plugin", "gpud|custom-plugins|--"),
            (
                "plugin|inspect|x.wasm|-json",
                "gpud|plugin|inspect|--json|--|x.wasm",
            ),
            (
                "plugin|run|--grant|kmsg|x.wasm|-grant=exec=bash",
                "gpud|plugin|run|--grant=kmsg|--grant=exec=bash|--|x.wasm",
            ),
        ] {
            assert_eq!(command(line), (expected.to_owned(), Vec::new()), "{line}");
        }
    }

    #[test]
    fn surplus_arguments_are_reported_and_not_passed_on() {
        assert_eq!(
            command("run|--enable-auto-update|false|-|--pprof"),
            (
                "gpud|run|--enable-auto-update=true|--pprof".to_owned(),
                vec!["false".to_owned(), "-".to_owned()]
            )
        );
    }

    #[test]
    fn help_and_version() {
        for (line, topic) in [
            ("", ""),
            ("help", ""),
            ("h", ""),
            ("-h", ""),
            ("--help", ""),
            ("help|check", "scan"),
            ("help|scan|more", "scan"),
            ("run|--help", "run"),
            ("run|--pprof|-h", "run"),
            // Commands of commands.
            ("release", "release"),
            ("notify", "notify"),
            ("nt|help|startup", "notify startup"),
            ("help|release|gen-key", "release gen-key"),
            ("release|gen-key|-h", "release gen-key"),
            ("update|-h", "update"),
            ("plugin|-h", "plugin"),
            ("plugin|run|-h", "plugin run"),
        ] {
            let topic = topic.split_whitespace().map(str::to_owned).collect();
            assert_eq!(read(line), Ok(Request::Help(topic)), "{line}");
        }
        for line in ["-v", "--version"] {
            assert_eq!(read(line), Ok(Request::Version));
        }
    }

    #[test]
    fn errors_name_the_fault() {
        for (line, message) in [
            ("x", "No help topic for 'x'"),
            ("help|x", "No help topic for 'x'"),
            ("release|x", "No help topic for 'x'"),
            ("release|help|x", "No help topic for 'x'"),
            ("release|--x", "flag provided but not defined: -x"),
            ("--x|run", "flag provided but not defined: -x"),
            ("run|--x=1", "flag provided but not defined: -x"),
            // A prefix is not the flag.
            (
                "run|--log-lev=info",
                "flag provided but not defined: -log-lev",
            ),
            ("run|--log-level", "flag needs an argument: -log-level"),
            (
                "run|--pprof=maybe",
                "invalid boolean value \"maybe\" for -pprof: parse error",
            ),
            (
                "run|-l|x|--log-level|y",
                "Cannot use two forms of the same flag: log-level l",
            ),
        ] {
            assert_eq!(read(line).unwrap_err().to_string(), message, "{line}");
        }
    }
}
