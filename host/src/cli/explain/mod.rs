//! `gpud explain`: what a kernel line, an error code or a saved kernel log means, and what to do about it.
//!
//! The lines go through the very checkers that the daemon runs, in their sandbox; nothing of this machine is asked.

mod asked;
mod known;
mod print;
mod saved;

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::mpsc;

use self::saved::Log;
use super::{
    checks::CheckOptions,
    components::ComponentSelection,
    exit::{Exit, Stderr},
    options::ScanOptions,
    output,
    scan::cache_folder,
    settings::component_config,
    site_configs::SiteConfigs,
    terminal::Terminal,
};
use crate::{
    capture::Capture,
    component::{
        Component, Services, builtin,
        offline::{Judge, Judgement},
    },
    daemon, metrics,
    model::UnixMillis,
    node::{Node, clock::Clock},
    runtime::{Compiler, Effort, Runtime},
    store::{Location, Store, StoreError, StoreOptions},
};

/// Batches of messages that wait for a checker.
const BATCHES: usize = 8;

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
/// It cannot be read, or no checker can run.
pub async fn explain(
    subject: &Subject,
    site_file: Option<PathBuf>,
    json: bool,
    terminal: Terminal,
) -> Result<Exit, Exit> {
    let fail = |message: String| match json {
        true => Exit::json_failure("failed_to_explain", message),
        false => Exit::failure(message),
    };
    let log = match subject {
        Subject::Words(words) => asked::line(words, now()).map(Log::of_messages),
        Subject::File(path) => Log::open(path.clone()).await,
    }
    .map_err(fail)?;
    let all = ComponentSelection::parse("");
    let checks = CheckOptions {
        site_file,
        ..CheckOptions::default()
    };
    let (capture, judgements) = judge(log, &all, &checks).await.map_err(fail)?;
    let unknown = judgements.is_empty() && matches!(subject, Subject::Words(_));
    Ok(Exit {
        code: u8::from(unknown),
        ..Exit::success(shown(&capture, &judgements, json, terminal))
    })
}

/// `gpud scan --kmsg-file`: the verdicts of a saved log, with the operator's settings.
///
/// # Errors
/// It cannot be read, or no checker can run.
pub async fn scan(log: &Path, options: &ScanOptions, terminal: Terminal) -> Result<Exit, Exit> {
    let log = Log::open(log.to_owned()).await.map_err(Exit::failure)?;
    let (capture, judgements) = judge(log, &options.components, &options.checks)
        .await
        .map_err(Exit::failure)?;
    let states: Vec<_> = judgements.iter().map(print::component).collect();
    let fails = output::fails(options.fail_on, &output::worst(&states));
    // A gate is for what is known to be well.
    let incomplete = print::incomplete(&judgements).filter(|_| options.fail_on.is_some());
    Ok(Exit {
        code: u8::from(fails || incomplete.is_some()),
        stderr: incomplete.map_or(Stderr::Nothing, Stderr::Failure),
        ..Exit::success(shown(&capture, &judgements, options.json, terminal))
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

/// What the checkers make of a log.
async fn judge(
    log: Log,
    selection: &ComponentSelection,
    checks: &CheckOptions,
) -> Result<(Capture, Vec<Judgement>), String> {
    let site = SiteConfigs::load(checks.site_file.as_deref())?;
    let node = Node::of_log(log.end().unwrap_or_else(now)).map_err(|error| error.to_string())?;
    let node = Arc::new(node);
    let compiler = env::current_exe().map_or(Compiler::InProcess(Effort::Quick), Compiler::Child);
    let runtime = Runtime::start(&cache_folder(), compiler, Arc::clone(&node))
        .map_err(|error| error.to_string())?;
    let store = Store::open(StoreOptions::new(Location::Memory)).map_err(|e| e.to_string())?;
    // The first boot of a log is none.
    let boots: Vec<UnixMillis> = log.boot_times().into_iter().skip(1).collect();
    record_boots(&boots, &store.store)
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
        let config = component_config(builtin.component, checks, &site);
        daemon::load(&runtime, &builtin, &component, &config).await;
        components.push(component);
    }
    let (mut judge, mut sorter) = Judge::new(&services, &components, boots).await;
    // Reading and judging go on side by side.
    let (sender, mut batches) = mpsc::channel(BATCHES);
    let reading = tokio::task::spawn_blocking(move || {
        // Without a receiver there is nobody to hand anything to.
        let mut hand_on = |batch| drop(sender.blocking_send(batch));
        let capture = log.messages(|message| sorter.take(message, &mut hand_on))?;
        sorter.finish(&mut hand_on);
        Ok::<_, String>(capture)
    });
    while let Some(batch) = batches.recv().await {
        judge.feed(batch).await;
    }
    let capture = reading.await.map_err(|error| error.to_string())??;
    Ok((capture, judge.finish().await))
}

/// Some verdicts depend on what came before a reboot.
async fn record_boots(boots: &[UnixMillis], store: &Store) -> Result<(), StoreError> {
    for (number, time) in (1..).zip(boots) {
        let id = format!("boot {number}");
        store.record_reboot(*time, *time, &id).await?;
    }
    Ok(())
}
