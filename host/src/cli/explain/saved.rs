//! A saved log through the checkers, host by host. Each host has a history and a clock of its own, so that nothing of one
//! clears or worsens a verdict of another.

use std::{
    fs::File,
    io::{self, Read, Seek},
    path::PathBuf,
    sync::Arc,
};

use jiff::tz::TimeZone;
use tokio::{sync::mpsc, task::spawn_blocking};

use super::{
    super::{
        checks::CheckOptions, components::ComponentSelection, scan::cache_folder,
        settings::config_for_saved_log, site_configs::SiteConfigs,
    },
    HostJudgement, now,
};
use crate::{
    capture::{self, LogOverview, Overview, Select, Selected, SelectedMessages},
    component::{
        Component, Services, builtin,
        offline::{Judge, MatchedComponents, Matcher},
    },
    daemon, metrics,
    model::UnixMillis,
    node::{Node, kmsg::KernelMessage, local_file},
    runtime::{Compiler, Runtime},
    store::{Location, Store, StoreError, StoreOptions},
};

/// Portions of a log that is read once more and that wait to be judged.
const PORTIONS: usize = 2;

/// The log to judge.
pub enum SavedLog {
    /// A file, as far as it had been written when it was opened.
    File {
        /// As the operator named it.
        path: PathBuf,
        /// Opened to be read.
        file: File,
        /// Its size in bytes.
        size: u64,
    },
    /// Lines.
    Text(Arc<str>),
    /// One message.
    Message(KernelMessage),
}

impl SavedLog {
    /// Opens a file.
    ///
    /// # Errors
    /// The system's, in words.
    pub async fn open(path: PathBuf) -> Result<Self, String> {
        let opening = spawn_blocking(move || {
            let opened = local_file::open_sized(&path);
            let (file, size) = opened.map_err(|error| local_file::open_error(&path, &error))?;
            Ok(Self::File { path, file, size })
        });
        opening.await.map_err(|error| error.to_string())?
    }

    /// Returns its bytes from the start. They are the same each time, also of a file that still grows.
    fn bytes(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match self {
            Self::File { file, size, .. } => {
                let mut file = file;
                file.rewind()?;
                Box::new(file.take(*size))
            }
            Self::Text(text) => Box::new(text.as_bytes()),
            Self::Message(_) => Box::new(io::empty()),
        })
    }

    /// An error with the name of the file.
    fn named(&self, error: impl std::fmt::Display) -> String {
        match self {
            Self::File { path, .. } => format!("{}: {error}", path.display()),
            Self::Text(_) | Self::Message(_) => error.to_string(),
        }
    }

    fn read_selected(
        &self,
        matcher: &mut Matcher,
    ) -> Result<SelectedMessages<MatchedComponents>, String> {
        if let Self::Message(message) = self {
            return Ok(SelectedMessages::of_message(message.clone(), matcher));
        }
        let bytes = self.bytes().map_err(|error| self.named(error))?;
        capture::read_selected(bytes, now(), &TimeZone::system(), matcher)
            .map_err(|error| self.named(error))
    }
}

/// Judges a log with all selected checkers, host by host.
///
/// # Errors
/// It cannot be read, or no checker can run.
pub async fn judge(
    log: SavedLog,
    selection: &ComponentSelection,
    checks: &CheckOptions,
) -> Result<(Overview, Vec<HostJudgement>), String> {
    let site = SiteConfigs::load(checks.site_file.as_deref())?;
    let node = Node::of_log(now()).map_err(|error| error.to_string())?;
    let node = Arc::new(node);
    let compiler = Compiler::of_this_program();
    let runtime = Runtime::start(&cache_folder(), compiler, Arc::clone(&node))
        .map_err(|error| error.to_string())?;
    let load = async || {
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
        components
    };
    let mut components = load().await;
    let services = services(&node, None).await;
    let mut matcher = Matcher::new(&services, &components).await;
    let log = Arc::new(log);
    let reading = Arc::clone(&log);
    let (mut messages, mut matcher) = spawn_blocking(move || {
        let messages = reading.read_selected(&mut matcher)?;
        Ok::<_, String>((messages, matcher))
    })
    .await
    .map_err(|error| error.to_string())??;
    let logs = messages.overview.logs.clone();
    let mut hosts = Vec::new();
    for (number, of_host) in logs.into_iter().enumerate() {
        let selected = messages.take(number);
        let last_boot = of_host.boot_times.last().copied().unwrap_or(0);
        // No component selects a message; the trouble of a component is shown with the first host.
        if number > 0 && selected.as_ref().is_some_and(Vec::is_empty) {
            hosts.push(HostJudgement {
                host: of_host.host,
                last_boot,
                judgements: Vec::new(),
            });
            continue;
        }
        if number > 0 {
            components = load().await;
        }
        node.clock.set_ms(of_host.end);
        let store = history(&of_host).await.map_err(|error| error.to_string())?;
        let services = self::services(&node, Some(store)).await;
        let mut judge = Judge::new(&services, &components, &matcher, of_host.boot_times);
        if let Some(selected) = selected {
            judge.take(selected).await;
        } else {
            let (send, mut portions) = mpsc::channel(PORTIONS);
            let log = Arc::clone(&log);
            let reading = spawn_blocking(move || {
                let read = read_again(&log, &messages, number, &mut matcher, &send);
                (read, messages, matcher)
            });
            while let Some(portion) = portions.recv().await {
                judge.take(portion).await;
            }
            let read;
            (read, messages, matcher) = reading.await.map_err(|error| error.to_string())?;
            read?;
        }
        hosts.push(HostJudgement {
            host: of_host.host,
            last_boot,
            judgements: judge.finish().await,
        });
    }
    Ok((messages.overview, hosts))
}

/// Reads the log for one host that has more messages than could be remembered.
fn read_again(
    log: &SavedLog,
    messages: &SelectedMessages<MatchedComponents>,
    number: usize,
    matcher: &mut impl Select<Tag = MatchedComponents>,
    portions: &mpsc::Sender<Vec<Selected<MatchedComponents>>>,
) -> Result<(), String> {
    let bytes = log.bytes().map_err(|error| log.named(error))?;
    let hand_on = |portion| portions.blocking_send(portion).is_ok();
    messages
        .read_again(number, bytes, matcher, hand_on)
        .map_err(|error| log.named(error))
}

async fn services(node: &Arc<Node>, store: Option<Store>) -> Services {
    let metrics = Arc::new(metrics::Registry::new());
    let services = Services::new(Arc::clone(node), store, metrics).await;
    services.of_saved_log()
}

/// A history in memory with the log's reboots, since some verdicts depend on what came before one.
async fn history(log: &LogOverview) -> Result<Store, StoreError> {
    let store = Store::open(StoreOptions::new(Location::Memory))?.store;
    record_boots(&log.boot_times, &store).await?;
    Ok(store)
}

async fn record_boots(boots: &[UnixMillis], store: &Store) -> Result<(), StoreError> {
    for (number, time) in (1..).zip(boots) {
        let id = format!("boot {number}");
        store.record_reboot(*time, *time, &id).await?;
    }
    Ok(())
}
