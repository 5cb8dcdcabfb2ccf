//! The definition of a command: its entry in the table of commands, its flags, and its action.

use std::{any::Any, fmt::Debug, pin::Pin};

use clap::ArgMatches;

use super::{
    args::CommonArgs,
    exit::Exit,
    terminal::{ColorChoice, Terminal},
};
use crate::{
    logging::{LogLevel, LogOptions},
    node::local_socket::BoundSocket,
    service::Service,
};

/// An entry of the table of commands.
#[derive(Clone, Copy)]
pub struct Command {
    /// Its word on the command line.
    pub name: &'static str,
    /// Further words for it.
    aliases: &'static [&'static str],
    /// Its summary in the help of all commands.
    summary: &'static str,
    /// It is in no help, no completion and no manual: gpud runs it for itself.
    is_hidden: bool,
    /// Exit status of a command line that makes no sense.
    pub misuse_code: u8,
    augment: fn(clap::Command) -> clap::Command,
    read: fn(&ArgMatches, &mut Vec<String>) -> Result<Plan, PlanError>,
}

impl Command {
    /// Describes the command that has the flags `A`.
    pub const fn new<A: Arguments>(name: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
            summary,
            is_hidden: false,
            misuse_code: 1,
            augment: A::augment_args,
            read: read::<A>,
        }
    }

    /// Adds further words for it.
    pub const fn with_aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// Takes it out of help, completions and manual.
    pub const fn hidden(self) -> Self {
        Self {
            is_hidden: true,
            ..self
        }
    }

    /// Sets the exit status of a command line that makes no sense.
    pub const fn with_misuse_code(self, misuse_code: u8) -> Self {
        Self {
            misuse_code,
            ..self
        }
    }

    /// Returns the command as clap knows it, with its flags and its own commands.
    pub fn to_clap(self) -> clap::Command {
        (self.augment)(clap::Command::new(self.name))
            .about(self.summary)
            .visible_aliases(self.aliases.iter().copied())
            .hide(self.is_hidden)
    }

    /// Returns what the flags ask for. Remarks about flags that have no effect are added to `notes`.
    ///
    /// # Errors
    /// A flag is missing, or has a value that cannot be.
    pub fn plan(self, matches: &ArgMatches, notes: &mut Vec<String>) -> Result<Plan, PlanError> {
        (self.read)(matches, notes)
    }
}

fn read<A: Arguments>(matches: &ArgMatches, notes: &mut Vec<String>) -> Result<Plan, PlanError> {
    let args = A::from_arg_matches(matches).map_err(PlanError::Flags)?;
    args.plan(notes).map_err(PlanError::Values)
}

/// The flags of a command, as clap reads them.
pub trait Arguments: clap::Args {
    /// Validates the flags and returns what they ask for. Remarks about flags that have no effect are added to `notes`.
    ///
    /// # Errors
    /// A value that cannot be.
    fn plan(self, notes: &mut Vec<String>) -> Result<Plan, Exit>;
}

/// Why there is no plan.
pub enum PlanError {
    /// clap refuses the flags.
    Flags(clap::Error),
    /// The command refuses their values.
    Values(Exit),
}

/// Validated plain values that say what a command is to do.
pub trait Action: Debug + Sized + 'static {
    /// Does what has to be done before the process has a second thread. Remarks for the log are added to `notes`. Returns the
    /// daemon's Unix socket, if it is made here.
    ///
    /// # Errors
    /// What went wrong. The process is to end then.
    fn prepare(
        &mut self,
        _log: &LogOptions,
        _notes: &mut Vec<String>,
    ) -> Result<Option<BoundSocket>, Exit> {
        Ok(None)
    }

    /// Does it.
    ///
    /// # Errors
    /// The error, with its exit status.
    fn run(self, context: CommandContext) -> impl Future<Output = Result<Exit, Exit>>;
}

/// The parts of the process that a command may use.
pub struct CommandContext {
    /// Standard output.
    pub stdout: Terminal,
    /// Standard error.
    pub stderr: Terminal,
    /// The process that started gpud and receives notifications.
    pub service: Service,
    /// The daemon's Unix socket, where it was made before the process became another user.
    pub socket: Option<BoundSocket>,
}

/// A command while it runs. Its result has the output and the exit status.
pub type CommandFuture = Pin<Box<dyn Future<Output = Result<Exit, Exit>>>>;

/// An `Action` of any command.
pub trait Task: Any + Debug {
    /// Prepares the action, before the process has a second thread.
    ///
    /// # Errors
    /// As those of [`Action::prepare`].
    fn make_ready(
        &mut self,
        log: &LogOptions,
        notes: &mut Vec<String>,
    ) -> Result<Option<BoundSocket>, Exit>;

    /// Runs the action.
    fn carry_out(self: Box<Self>, context: CommandContext) -> CommandFuture;
}

impl<A: Action> Task for A {
    fn make_ready(
        &mut self,
        log: &LogOptions,
        notes: &mut Vec<String>,
    ) -> Result<Option<BoundSocket>, Exit> {
        self.prepare(log, notes)
    }

    fn carry_out(self: Box<Self>, context: CommandContext) -> CommandFuture {
        Box::pin((*self).run(context))
    }
}

/// The parsed request of a command line.
pub struct Plan {
    /// The flags that every command has.
    pub common: CommonArgs,
    /// What to do.
    pub task: Box<dyn Task>,
    /// How to log, unless the flags that every command has say otherwise.
    pub log: LogOptions,
    /// A wrong log level is answered in JSON.
    pub has_json_errors: bool,
}

impl Plan {
    /// Returns a plan that logs warnings as text on standard error.
    pub fn new(common: CommonArgs, action: impl Action) -> Self {
        Self {
            common,
            task: Box::new(action),
            log: LogOptions {
                level: LogLevel::Warn,
                json: false,
                file: None,
            },
            has_json_errors: false,
        }
    }

    /// Logs in another way.
    pub fn with_log(self, log: LogOptions) -> Self {
        Self { log, ..self }
    }

    /// Answers a wrong log level in JSON, if `json`.
    pub fn with_json_errors(self, json: bool) -> Self {
        Self {
            has_json_errors: json,
            ..self
        }
    }
}

/// A command, ready to be carried out.
#[derive(Debug)]
pub struct Invocation {
    /// What to do.
    pub task: Box<dyn Task>,
    /// How to log.
    pub log: LogOptions,
    /// When to colour.
    pub color: ColorChoice,
    /// Lines for the log about flags that have no effect, or another than they say.
    pub notes: Vec<String>,
}

impl Invocation {
    /// Does what has to be done before the process has a second thread. Returns the daemon's Unix socket, if it is made here.
    ///
    /// # Errors
    /// What went wrong. The process is to end then.
    pub fn make_ready(&mut self) -> Result<Option<BoundSocket>, Exit> {
        self.task.make_ready(&self.log, &mut self.notes)
    }
}
