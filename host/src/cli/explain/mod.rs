//! `gpud explain`: what a kernel line, an error code or a saved kernel log means, and what to do about it.
//!
//! The lines go through the very checkers that the daemon runs, in their sandbox; nothing of this machine is asked.

mod affected_devices;
mod args;
mod code;
mod error_code;
mod gate;
mod input;
mod layout;
mod print;
mod saved;

use std::path::{Path, PathBuf};

use super::{
    checks::CheckOptions,
    command::{Action, Command, CommandContext},
    components::ComponentSelection,
    exit::{Exit, Stderr},
    output,
    scan::ScanOptions,
    terminal::Terminal,
};
use crate::{
    capture::Overview, component::offline::Judgement, model::UnixMillis, node::clock::Clock,
};
use args::ExplainArgs;
use code::Explained;
use error_code::ErrorCode;
use input::ExplainInput;
use layout::LogLayout;
use saved::SavedLog;

/// The entry of the table of commands.
pub(super) const COMMAND: Command = Command::new::<ExplainArgs>(
    "explain",
    "Say what a kernel line, an error code or a saved kernel log means",
);

/// The subject to explain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// `xid 79`, `sxid 12028`, or the words of a pasted line.
    Words(Vec<String>),
    /// A saved kernel log.
    File(PathBuf),
}

/// The subject to explain, and the form of the explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainOptions {
    /// The subject.
    pub subject: Subject,
    /// Settings of the checks.
    pub checks: CheckOptions,
    /// Whether to print one JSON document.
    pub json: bool,
}

impl Action for ExplainOptions {
    async fn run(self, context: CommandContext) -> Result<Exit, Exit> {
        explain(&self.subject, &self.checks, self.json, context.stdout).await
    }
}

/// Explains. The exit status is 1 when nothing is known of it.
///
/// # Errors
/// It cannot be read, no checker can run, or no catalogue has the code.
pub async fn explain(
    subject: &Subject,
    checks: &CheckOptions,
    json: bool,
    terminal: Terminal,
) -> Result<Exit, Exit> {
    let fail = |message: String| match json {
        true => Exit::json_failure("failed_to_explain", message),
        false => Exit::failure(message),
    };
    let log = match subject {
        Subject::Words(words) => match input::line(words, now()).map_err(fail)? {
            ExplainInput::Log(text) => SavedLog::Text(text.into()),
            ExplainInput::Message(message) => SavedLog::Message(message),
        },
        Subject::File(path) => SavedLog::open(path.clone()).await.map_err(fail)?,
    };
    let all = ComponentSelection::parse("");
    let (log, judgements) = saved::judge(log, &all, checks).await.map_err(fail)?;
    if let Subject::Words(words) = subject
        && let Some(Ok(code)) = ErrorCode::read(words)
    {
        let explained = Explained::of(code, &judgements).ok_or_else(|| {
            fail(format!(
                "unknown code: {code} is in no catalogue, neither GPUd's nor NVIDIA's; look for it in the release \
                 notes of the driver"
            ))
        })?;
        return Ok(Exit::success(match json {
            true => explained.json(&print::json(&log, &judgements)),
            false => explained.text(),
        }));
    }
    let nothing = judgements.iter().all(|host| host.judgements.is_empty());
    let unknown = nothing && matches!(subject, Subject::Words(_));
    Ok(Exit {
        code: u8::from(unknown),
        ..Exit::success(shown(&log, &judgements, json, terminal))
    })
}

/// `gpud scan --kmsg-file`: the verdicts of a saved log, with the operator's settings.
///
/// # Errors
/// It cannot be read, or no checker can run.
pub async fn scan(path: &Path, options: &ScanOptions, terminal: Terminal) -> Result<Exit, Exit> {
    let log = SavedLog::open(path.to_owned())
        .await
        .map_err(Exit::failure)?;
    let (log, judgements) = saved::judge(log, &options.components, &options.checks)
        .await
        .map_err(Exit::failure)?;
    let states: Vec<_> = judgements.iter().flat_map(gate::states).collect();
    let fails = output::fails(options.fail_on, &output::worst(&states));
    // A gate passes only what was judged as a whole.
    let incomplete = print::incomplete(&log, &judgements).filter(|_| options.fail_on.is_some());
    let layout = LogLayout {
        path,
        log: &log,
        hosts: &judgements,
        gate: &states,
        verbose: options.verbose,
        terminal,
    };
    let failed = options.fail_on.filter(|_| fails);
    let failed = failed.map(|fail_on| layout.why_it_fails(fail_on));
    let why: Vec<String> = failed.into_iter().chain(incomplete).collect();
    let stdout = match options.json || options.classic {
        true => shown(&log, &judgements, options.json, terminal),
        false => layout.text(),
    };
    Ok(Exit {
        code: u8::from(!why.is_empty()),
        stderr: match why.is_empty() {
            true => Stderr::Nothing,
            false => Stderr::Failure(why.join("; ")),
        },
        ..Exit::success(stdout)
    })
}

fn shown(log: &Overview, judgements: &[HostJudgement], json: bool, terminal: Terminal) -> String {
    match json {
        true => print::json(log, judgements),
        false => print::text(log, judgements, terminal),
    }
}

fn now() -> UnixMillis {
    Clock::Live.now_ms()
}

/// The checkers' judgements about the log of one host.
struct HostJudgement {
    /// Its name, where lines have it.
    host: Option<String>,
    /// When its last boot began; 0 where the log has but one.
    last_boot: UnixMillis,
    judgements: Vec<Judgement>,
}
