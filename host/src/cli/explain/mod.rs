//! `gpud explain`: what a kernel line, an error code or a saved kernel log means, and what to do about it.
//!
//! The lines go through the very checkers that the daemon runs, in their sandbox; nothing of this machine is asked.

mod asked;
mod known;
mod print;
mod saved;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::tz::TimeZone;

use self::saved::Saved;
use super::{
    checks::CheckOptions,
    components::ComponentSelection,
    exit::{Exit, Stderr},
    options::ScanOptions,
    output,
    scan::cache_folder,
    settings::config_for_saved_log,
    site_configs::SiteConfigs,
    terminal::Terminal,
};
use crate::{
    capture::{self, Capture, HostLog},
    component::{
        Component, Services, builtin,
        offline::{Judge, Judgement},
    },
    daemon, metrics,
    model::UnixMillis,
    node::{Node, clock::Clock, local_file},
    runtime::{Compiler, Runtime},
    store::{Location, Store, StoreError, StoreOptions},
};

/// What to explain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// `xid 79`, `sxid 12028`, or the words of a pasted line.
    Words(Vec<String>),
    /// A saved kernel log.
    File(PathBuf),
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
        Subject::Words(words) => asked::line(words, now()).map_err(fail)?,
        Subject::File(path) => read(path.clone()).await.map_err(fail)?,
    };
    let all = ComponentSelection::parse("");
    let judgements = judge(&log, &all, checks).await.map_err(fail)?;
    if let Subject::Words(words) = subject
        && let Some((family, code)) = asked::code(words)
        && !is_listed(&judgements)
    {
        return Err(fail(format!(
            "{family} {code} is in no catalogue, neither GPUd's nor NVIDIA's; look for it in the release notes of the driver"
        )));
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
    let log = read(path.to_owned()).await.map_err(Exit::failure)?;
    let judgements = judge(&log, &options.components, &options.checks)
        .await
        .map_err(Exit::failure)?;
    let all = judgements.iter().flat_map(|host| &host.judgements);
    let states: Vec<_> = all.map(print::component).collect();
    let fails = output::fails(options.fail_on, &output::worst(&states));
    // A gate passes only what was judged as a whole.
    let incomplete = print::incomplete(&judgements).filter(|_| options.fail_on.is_some());
    let saved = Saved {
        path,
        log: &log,
        hosts: &judgements,
        verbose: options.verbose,
        terminal,
    };
    let failed = options.fail_on.filter(|_| fails);
    let failed = failed.map(|fail_on| output::why_it_fails(fail_on, &saved.worst()));
    let why: Vec<String> = failed.into_iter().chain(incomplete).collect();
    let stdout = match options.json || options.classic {
        true => shown(&log, &judgements, options.json, terminal),
        false => saved.text(),
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

/// True when a catalogue has the code of an event.
fn is_listed(hosts: &[HostJudgement]) -> bool {
    let judgements = hosts.iter().flat_map(|host| &host.judgements);
    let mut events = judgements.flat_map(|judgement| &judgement.events);
    events.any(|seen| {
        let mut facts = seen.event.extra_info.iter();
        !facts.any(|(key, _)| key == "unlisted")
    })
}

fn shown(log: &Capture, judgements: &[HostJudgement], json: bool, terminal: Terminal) -> String {
    match json {
        true => print::json(log, judgements),
        false => print::text(log, judgements, terminal),
    }
}

fn now() -> UnixMillis {
    Clock::Live.now_ms()
}

/// Reads a saved log.
async fn read(path: PathBuf) -> Result<Capture, String> {
    let reading = tokio::task::spawn_blocking(move || {
        let file =
            local_file::open(&path).map_err(|error| local_file::open_error(&path, &error))?;
        capture::read_from(file, now(), &TimeZone::system())
            .map_err(|error| format!("{}: {error}", path.display()))
    });
    reading.await.map_err(|error| error.to_string())?
}

/// What the checkers make of a capture, host by host. Each host has a history and a clock of its own, so that nothing of
/// one clears or worsens a verdict of another.
async fn judge(
    capture: &Capture,
    selection: &ComponentSelection,
    checks: &CheckOptions,
) -> Result<Vec<HostJudgement>, String> {
    let site = SiteConfigs::load(checks.site_file.as_deref())?;
    let node = Node::of_log(now()).map_err(|error| error.to_string())?;
    let node = Arc::new(node);
    let compiler = Compiler::of_this_program();
    let runtime = Runtime::start(&cache_folder(), compiler, Arc::clone(&node))
        .map_err(|error| error.to_string())?;
    let mut hosts = Vec::new();
    for log in &capture.logs {
        let end = log.messages.iter().map(|message| message.time).max();
        node.clock.set_ms(end.unwrap_or_else(now));
        let store = Store::open(StoreOptions::new(Location::Memory)).map_err(|e| e.to_string())?;
        let boots = boot_times(log);
        record_boots(&boots, &store.store)
            .await
            .map_err(|error| error.to_string())?;
        let metrics = Arc::new(metrics::Registry::new());
        let services = Services::new(Arc::clone(&node), Some(store.store), metrics).await;
        let mut components = Vec::new();
        for builtin in builtin::all() {
            if !selection.includes(builtin.component) {
                continue;
            }
            let component = Component::loading(builtin.component);
            let config = config_for_saved_log(builtin.component, checks, &site);
            daemon::load(&runtime, &builtin, &component, &config).await;
            components.push(component);
        }
        let (mut judge, mut sorter) = Judge::new(&services, &components, boots).await;
        let mut batches = Vec::new();
        for message in &log.messages {
            sorter.take(message, |batch| batches.push(batch));
            for batch in batches.drain(..) {
                judge.feed(batch).await;
            }
        }
        sorter.finish(|batch| batches.push(batch));
        for batch in batches.drain(..) {
            judge.feed(batch).await;
        }
        hosts.push(HostJudgement {
            host: log.host.clone(),
            judgements: judge.finish().await,
        });
    }
    Ok(hosts)
}

/// What the checkers make of the log of one host.
struct HostJudgement {
    /// As [`HostLog::host`].
    host: Option<String>,
    judgements: Vec<Judgement>,
}

/// When each boot of a log began, but for the first, which is no reboot.
fn boot_times(log: &HostLog) -> Vec<UnixMillis> {
    // Where the clock was set back after a boot, what happened since would seem to be before it: a boot is no later than
    // the earliest message after it.
    let mut earliest = UnixMillis::MAX;
    let mut times = vec![0; log.boots.len()];
    let mut end = log.messages.len();
    for (first, time) in log.boots.iter().zip(&mut times).rev() {
        let messages = log.messages.get(*first..end).unwrap_or_default();
        let since = messages.iter().map(|message| message.time).min();
        earliest = since.map_or(earliest, |since| since.min(earliest));
        *time = earliest;
        end = *first;
    }
    times.into_iter().skip(1).collect()
}

/// Records reboots, since some verdicts depend on what came before one.
async fn record_boots(boots: &[UnixMillis], store: &Store) -> Result<(), StoreError> {
    for (number, time) in (1..).zip(boots) {
        let id = format!("boot {number}");
        store.record_reboot(*time, *time, &id).await?;
    }
    Ok(())
}
