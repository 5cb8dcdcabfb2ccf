//! `gpud custom-plugins`: reads a file of plugins, says what is in it or what is wrong with it, and runs it once.
//!
//! `load` reads, `run` runs, `print` and `json` show; `outcome` and `complaint` are the plain values in between. What a
//! plugin printed is shown as soon as it has run and then forgotten, so that a file of thousands needs no more memory
//! than its largest output.

mod args;
mod complaint;
mod example;
mod json;
mod load;
mod outcome;
mod print;
mod run;

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::PathBuf,
};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::{
    args::CustomPluginsArgs,
    complaint::Complaint,
    load::{LoadedFile, load},
    outcome::Outcome,
    run::Runner,
};
use super::{
    command::{Action, Command, CommandContext},
    exit::Exit,
    terminal::{Terminal, printable, printable_json},
};

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<CustomPluginsArgs>(
    "custom-plugins",
    "Check a file of plugins, and run them once",
)
.with_aliases(&["cs", "plugins"]);

/// How to check a file of plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomPluginsOptions {
    /// The file; `None` is the built-in example.
    pub file: Option<PathBuf>,
    /// Run every plugin once.
    pub run: bool,
    /// End at the first that is not healthy, and fail.
    pub fail_fast: bool,
    /// Warnings count as problems.
    pub strict: bool,
    /// Print one JSON document.
    pub json: bool,
}

impl Action for CustomPluginsOptions {
    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
        custom_plugins(&self, context.stdout, context.stderr).await
    }
}

/// Checks the file, prints what was found, and runs it if asked to. With `--json` nothing but the document is printed.
///
/// # Errors
/// The output cannot be written, or signals cannot be caught.
pub async fn custom_plugins(
    options: &CustomPluginsOptions,
    stdout: Terminal,
    stderr: Terminal,
) -> Result<Exit, Exit> {
    let loaded = load(options.file.as_deref()).await;
    let mut view = match options.json {
        true => PluginView::Json { results: 0 },
        false => PluginView::Text {
            stdout,
            stderr,
            results: print::Results::default(),
            harmless: io::stdout().is_terminal(),
        },
    };
    let passes = loaded.is_valid() && (!options.strict || loaded.warnings.is_empty());
    let runs = options.run && passes;
    let shown = view.file(&loaded, runs);
    if !passes {
        // Whether or not anybody reads on.
        return Ok(exit(true));
    }
    shown?;
    if !runs {
        return Ok(exit(false));
    }
    let stop = CancellationToken::new();
    super::run::stop_on_signals(stop.clone()).map_err(Exit::failure)?;
    let failure = run_all(&loaded, &stop, options.fail_fast, &mut view).await?;
    let shown = view.end(failure.as_deref());
    if failure.is_none() {
        shown?;
    }
    Ok(exit(failure.is_some()))
}

/// Runs and shows every plugin. Gives what ended that early, if something did.
async fn run_all(
    loaded: &LoadedFile,
    stop: &CancellationToken,
    fail_fast: bool,
    view: &mut PluginView,
) -> io::Result<Option<String>> {
    let runner = Runner::new(stop, Instant::now() + run::LIMIT);
    for check in loaded.checks() {
        let outcome = runner.run(&check).await;
        view.outcome(&outcome)?;
        if stop.is_cancelled() {
            return Ok(Some(format!("interrupted while {} ran", outcome.component)));
        }
        if fail_fast && !outcome.is_healthy() {
            return Ok(Some(outcome.failure()));
        }
    }
    Ok(None)
}

fn exit(failed: bool) -> Exit {
    Exit {
        code: u8::from(failed),
        ..Exit::success("")
    }
}

/// The form of the output: for people or for programs.
enum PluginView {
    Text {
        stdout: Terminal,
        stderr: Terminal,
        results: print::Results,
        /// Control characters in what plugins print are made visible.
        harmless: bool,
    },
    Json {
        /// How many are in the document so far.
        results: usize,
    },
}

impl PluginView {
    /// Shows the content of the file and its problems. Results follow if it `runs`.
    fn file(&self, loaded: &LoadedFile, runs: bool) -> io::Result<()> {
        let (stdout, stderr) = match self {
            Self::Text { stdout, stderr, .. } => (*stdout, *stderr),
            Self::Json { .. } => {
                return write(printable_json(&json::head(loaded, runs)?).as_bytes());
            }
        };
        complain(&loaded.warnings, "!");
        // As in GPUd: no table of a file that does not load.
        if loaded.problems.is_empty() {
            write(print::table(&loaded.rows(), stdout).as_bytes())?;
        }
        complain(&loaded.problems, stderr.bad());
        complain(&loaded.late, stderr.bad());
        Ok(())
    }

    fn outcome(&mut self, outcome: &Outcome) -> io::Result<()> {
        match self {
            Self::Text {
                stdout,
                results,
                harmless,
                ..
            } => {
                results.add(outcome);
                write(&print::outcome(outcome, *stdout, *harmless))
            }
            Self::Json { results } => {
                let comma = if *results == 0 { "" } else { "," };
                *results += 1;
                let result = json::result(outcome)?;
                write(format!("{comma}{}", printable_json(&result)).as_bytes())
            }
        }
    }

    /// The table of results, or the reason for which there is none.
    fn end(&self, failure: Option<&str>) -> io::Result<()> {
        match (self, failure) {
            (Self::Json { .. }, _) => write(json::TAIL.as_bytes()),
            (
                Self::Text {
                    stdout, results, ..
                },
                None,
            ) => write(results.render(*stdout).as_bytes()),
            (Self::Text { stderr, .. }, Some(failure)) => {
                let _ = writeln!(io::stderr(), "{} {}", stderr.bad(), printable(failure));
                Ok(())
            }
        }
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// On standard error, where nobody may be listening.
fn complain(complaints: &[Complaint], sign: &str) {
    let mut stderr = io::stderr().lock();
    for complaint in complaints {
        let _ = writeln!(stderr, "{}", print::complaint(complaint, sign));
    }
}
