//! `gpud explain`: what a kernel line, an error code or a saved kernel log means, and what to do about it.
//!
//! The lines go through the very checkers that the daemon runs, in their sandbox; nothing of this machine is asked.

mod asked;
mod known;
mod print;

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::tz::TimeZone;

use super::{
    checks::CheckOptions, components::ComponentSelection, exit::Exit, options::ScanOptions, output,
    scan::cache_folder, settings::config_for_saved_log, site_configs::SiteConfigs,
    terminal::Terminal,
};
use crate::{
    capture::{self, Capture},
    component::{
        Component, Services, builtin,
        offline::{self, Judgement},
    },
    daemon, metrics,
    model::UnixMillis,
    node::{Node, clock::Clock, local_file},
    runtime::{Compiler, Effort, Runtime},
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
    let unknown = judgements.is_empty() && matches!(subject, Subject::Words(_));
    Ok(Exit {
        code: u8::from(unknown),
        ..Exit::success(shown(&log, &judgements, json, terminal))
    })
}

/// `gpud scan --kmsg-file`: the verdicts of a saved log, with the operator's settings.
///
/// # Errors
/// It cannot be read, or no checker can run.
pub async fn scan(log: &Path, options: &ScanOptions, terminal: Terminal) -> Result<Exit, Exit> {
    let log = read(log.to_owned()).await.map_err(Exit::failure)?;
    let judgements = judge(&log, &options.components, &options.checks)
        .await
        .map_err(Exit::failure)?;
    let states: Vec<_> = judgements.iter().map(print::component).collect();
    let code = u8::from(output::fails(options.fail_on, &output::worst(&states)));
    Ok(Exit {
        code,
        ..Exit::success(shown(&log, &judgements, options.json, terminal))
    })
}

/// True when a catalogue has the code of an event.
fn is_listed(judgements: &[Judgement]) -> bool {
    let mut events = judgements.iter().flat_map(|judgement| &judgement.events);
    events.any(|seen| {
        let mut facts = seen.event.extra_info.iter();
        !facts.any(|(key, _)| key == "unlisted")
    })
}

fn shown(log: &Capture, judgements: &[Judgement], json: bool, terminal: Terminal) -> String {
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
        let bytes = local_file::read(&path, capture::MAX_BYTES)
            .map_err(|error| local_file::open_error(&path, &error))?;
        capture::read(&bytes, now(), &TimeZone::system())
            .map_err(|error| format!("{}: {error}", path.display()))
    });
    reading.await.map_err(|error| error.to_string())?
}

/// What the checkers make of messages.
async fn judge(
    log: &Capture,
    selection: &ComponentSelection,
    checks: &CheckOptions,
) -> Result<Vec<Judgement>, String> {
    let site = SiteConfigs::load(checks.site_file.as_deref())?;
    let messages = &log.messages;
    let end = messages.iter().map(|message| message.time).max();
    let node = Node::of_log(end.unwrap_or_else(now)).map_err(|error| error.to_string())?;
    let node = Arc::new(node);
    let compiler = env::current_exe().map_or(Compiler::InProcess(Effort::Quick), Compiler::Child);
    let runtime = Runtime::start(&cache_folder(), compiler, Arc::clone(&node))
        .map_err(|error| error.to_string())?;
    let store = Store::open(StoreOptions::new(Location::Memory)).map_err(|e| e.to_string())?;
    record_boots(log, &store.store)
        .await
        .map_err(|error| error.to_string())?;
    let metrics = Arc::new(metrics::Registry::new());
    let services = Services::new(node, Some(store.store), metrics).await;
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
    let messages: Vec<_> = messages.iter().cloned().map(Arc::new).collect();
    Ok(offline::judge(&services, &components, &messages).await)
}

/// Some verdicts depend on what came before a reboot. The first boot of a log is none.
async fn record_boots(log: &Capture, store: &Store) -> Result<(), StoreError> {
    for (boot, first) in log.boots.iter().enumerate().skip(1) {
        if let Some(message) = log.messages.get(*first) {
            let id = format!("boot {boot}");
            store.record_reboot(message.time, message.time, &id).await?;
        }
    }
    Ok(())
}
