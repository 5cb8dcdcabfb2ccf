//! Reads the file of exports, and applies edits.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use gpud_exports::{
    config::{self, ExportConfig},
    peer::ANY_USER,
    secret::{self, Secret, SecretSource},
};
use tokio::sync::{mpsc::Receiver, oneshot::Sender};

use super::DaemonExports;
use crate::{
    component::{Component, Registry, own_faults},
    node::{
        file_watch::FileWatch,
        local_file::FileStamp,
        port_holder::{self, PortHolder},
        process,
        slow_files::{self, NoAnswer},
        socket_owner,
        trusted::{self, Opener},
        users,
    },
};

/// Between two looks at a file that is being changed. An edit is applied when two looks in a row see the same, so that a file that is being written is
/// not read half.
const LOOK: Duration = Duration::from_secs(1);
/// Largest file, bytes.
const MAX_BYTES: usize = 1 << 20;
/// The component that shows an error in the file. It is registered only while the file has one.
const TROUBLE: &str = own_faults::EXPORTS_FILE;

/// Reads and checks a file of exports. Scripts do not get variables that it names as secrets, whether or not it has an
/// error.
///
/// # Errors
/// The first error, with file, line and column.
pub fn read(path: &Path, opener: Opener) -> Result<Vec<ExportConfig>, String> {
    let bytes = opener
        .read(path, MAX_BYTES)
        .map_err(|error| error.to_string())?;
    let name = path.display().to_string();
    let text = String::from_utf8(bytes).map_err(|_| format!("{name}: it is not UTF-8"))?;
    match config::parse(&name, &text) {
        Ok(configs) => {
            withhold_secrets(&configs);
            Ok(configs)
        }
        Err(error) => {
            process::withhold(Secret::variables_in(&text));
            Err(error.to_string())
        }
    }
}

/// Keeps the variables that exports name as secrets from scripts.
pub fn withhold_secrets(configs: &[ExportConfig]) {
    let secrets = configs.iter().flat_map(|config| config.settings.secrets());
    process::withhold(secrets.filter_map(Secret::variable));
}

/// Returns the files with secrets that a file of exports names, as far as it can be read. It blocks.
pub fn secret_files(path: &Path) -> Vec<PathBuf> {
    secret_files_of(&read(path, Opener::of_daemon()).unwrap_or_default())
}

/// Returns the files with secrets that exports name, and those that are named in these. It blocks.
pub fn secret_files_of(configs: &[ExportConfig]) -> Vec<PathBuf> {
    let source = TrustedFiles(Opener::of_daemon());
    let of_one = |config: &ExportConfig| {
        let secrets = config.settings.secrets().into_iter();
        let mut files: Vec<PathBuf> = secrets
            .filter_map(|secret| secret.file().map(Path::to_owned))
            .collect();
        files.extend(config.settings.further_secret_files(&source));
        files
    };
    configs.iter().flat_map(of_one).collect()
}

/// The user whose programs may have every secret.
const ROOT: &str = "root";

/// Reads files with secrets, which no other user may be able to change.
#[derive(Debug)]
struct TrustedFiles(Opener);

impl SecretSource for TrustedFiles {
    fn file(&self, path: &Path) -> Result<Vec<u8>, String> {
        self.0
            .read(path, secret::MAX_BYTES)
            .map_err(|error| error.to_string())
    }

    fn may_receive(&self, uid: u32, owner: &str) -> bool {
        let named = owner.parse().ok().or_else(|| users::uid_of(owner));
        uid == 0 || uid == socket_owner::own_uid() || named == Some(uid)
    }

    fn check_server(
        &self,
        local: SocketAddr,
        remote: SocketAddr,
        named: Option<&str>,
    ) -> Result<(), String> {
        if named == Some(ANY_USER) || !socket_owner::is_own_address(remote) {
            return Ok(());
        }
        match socket_owner::server_uid(local, remote) {
            Some(uid) if self.may_receive(uid, named.unwrap_or(ROOT)) => Ok(()),
            Some(uid) => {
                let found = port_holder::find(remote).filter(|holder| holder.uid == uid);
                let holder = found.unwrap_or(PortHolder { uid, process: None });
                let named = named.map(|named| format!(", {named}")).unwrap_or_default();
                Err(format!(
                    "{remote} is served by {holder}, not by root{named} or gpud's user, so nothing is sent to it without verified \
                     TLS; use that, or name its user with peer_user if it is yours"
                ))
            }
            None => Err(format!(
                "the kernel does not say which user serves {remote}, so nothing is sent to it without verified TLS; use that, or set \
                 `peer_user: {ANY_USER}` if no other user can take that port, for example one that is forwarded"
            )),
        }
    }
}

/// Secrets as the daemon reads them.
pub fn secrets_of_daemon() -> Arc<dyn SecretSource> {
    Arc::new(TrustedFiles(Opener::of_daemon()))
}

/// Secrets as a command reads them.
pub fn secrets_of_command() -> Arc<dyn SecretSource> {
    Arc::new(TrustedFiles(Opener::of_command()))
}

/// The file as it was at the start.
pub(super) struct First {
    stamp: Option<FileStamp>,
    /// It did not answer in time.
    is_late: bool,
}

impl First {
    /// Reads the file for the first time, and starts its exports. A file with an error starts none.
    pub(super) async fn read(
        file: Option<PathBuf>,
        further: &[ExportConfig],
        daemon: &DaemonExports,
    ) -> Self {
        let Some(path) = file else {
            daemon.exports.apply(further.to_vec()).await;
            return Self {
                stamp: None,
                is_late: false,
            };
        };
        let named = path.clone();
        let looked = slow_files::in_time(&path, move || trusted::stamp(&named)).await;
        let is_late = looked.is_err();
        if let Err(late) = &looked {
            show_late(&daemon.registry, late);
        }
        let stamp = looked.ok().flatten();
        match stamp {
            None => daemon.exports.apply(further.to_vec()).await,
            Some(_) => {
                if !apply(daemon, &path, further, "nothing of it is used").await {
                    daemon.exports.apply(further.to_vec()).await;
                }
            }
        }
        Self { stamp, is_late }
    }
}

/// Applies edits for ever. Each item of `hurry` asks for a look at once, and is answered when an edit that is there has
/// been applied or refused.
pub(super) async fn follow(
    daemon: Arc<DaemonExports>,
    file: Option<PathBuf>,
    further: Vec<ExportConfig>,
    first: First,
    mut hurry: Receiver<Sender<()>>,
) {
    let Some(path) = file else {
        // Each request is answered at once: there is nothing to look at.
        while hurry.recv().await.is_some() {}
        return std::future::pending().await;
    };
    let (mut applied, mut before) = (first.stamp, first.stamp);
    let watch = Arc::new(FileWatch::new());
    // The first look is due at once: the file was not watched since it was read.
    let mut pause = Duration::ZERO;
    let mut was_late = first.is_late;
    loop {
        // Dropped at the end of the turn: that is the answer.
        let mut asked = tokio::select! {
            Some(asked) = hurry.recv() => Some(asked),
            () = watch.changed() => None,
            () = tokio::time::sleep(pause) => None,
        };
        let late = async {
            show_late(&daemon.registry, &NoAnswer(path.clone()));
            was_late = true;
            asked = None;
            while hurry.recv().await.is_some() {}
        };
        let now = look_and_watch(&watch, &path, late).await;
        let settled = now == before || asked.is_some();
        pause = match settled {
            true => watch.pause(),
            false => LOOK,
        };
        before = now;
        let again = (asked.is_some() || was_late) && is_in_trouble(&daemon.registry);
        if (now == applied && !again) || !settled {
            continue;
        }
        applied = now;
        was_late = false;
        if now.is_none() {
            tracing::info!("{} is gone: its exports end", path.display());
            daemon.exports.apply(further.clone()).await;
            show_trouble(&daemon.registry, None);
            continue;
        }
        let refused = "the exports of before still run";
        if apply(&daemon, &path, &further, refused).await {
            tracing::info!("{} was read again", path.display());
        }
    }
}

/// Runs the exports of the file. Returns false where the file has an error: the present exports go on, and a component
/// shows the error.
async fn apply(
    daemon: &DaemonExports,
    path: &Path,
    further: &[ExportConfig],
    otherwise: &str,
) -> bool {
    let named = path.to_owned();
    let read = slow_files::in_time(path, move || read(&named, Opener::of_daemon())).await;
    let read = read.unwrap_or_else(|late| Err(late.to_string()));
    let configs = read.and_then(|configs| with_further(configs, further));
    match configs {
        Ok(configs) => {
            daemon.exports.apply(configs).await;
            show_trouble(&daemon.registry, None);
            true
        }
        Err(problem) => {
            let problem = format!("the file of exports is wrong, {otherwise}: {problem}");
            tracing::error!("{problem}");
            show_trouble(&daemon.registry, Some(problem));
            false
        }
    }
}

/// Adds the exports of flags to those of the file.
fn with_further(
    mut configs: Vec<ExportConfig>,
    further: &[ExportConfig],
) -> Result<Vec<ExportConfig>, String> {
    for one in further {
        if configs.iter().any(|config| config.name == one.name) {
            return Err(format!(
                "it has an export {:?}, as the flag --{} makes one; give it another name",
                one.name,
                flag_of(one)
            ));
        }
        configs.push(one.clone());
    }
    Ok(configs)
}

/// Returns the flag that an export is of.
fn flag_of(config: &ExportConfig) -> &'static str {
    match config.settings.kind() {
        "inventory" => "inventory-from-env",
        "otlp" => "otlp-endpoint",
        _ => "webhook-url",
    }
}

/// Looks at the file, which is watched from before the look on, so that no change falls between.
/// `late` runs while it does not answer.
async fn look_and_watch(
    watch: &Arc<FileWatch>,
    path: &Path,
    late: impl Future<Output = ()>,
) -> Option<FileStamp> {
    let (watch, path) = (Arc::clone(watch), path.to_owned());
    let look = move || {
        watch.follow([path.as_path()], []);
        trusted::stamp(&path)
    };
    slow_files::wait(look, late).await.flatten()
}

fn is_in_trouble(registry: &Registry) -> bool {
    registry.get(TROUBLE).is_some_and(|c| !c.is_plugin())
}

/// Shows that the file does not answer.
fn show_late(registry: &Registry, late: &NoAnswer) {
    let problem = format!("the file of exports cannot be looked at: {late}");
    tracing::error!("{problem}");
    show_trouble(registry, Some(problem));
}

/// Shows an error in the file, or removes the component that did.
fn show_trouble(registry: &Registry, problem: Option<String>) {
    if let Some(component) = registry.get(TROUBLE).filter(|c| !c.is_plugin()) {
        registry.remove(&component);
    }
    let Some(problem) = problem else { return };
    if registry
        .add(Component::of_problem(TROUBLE, problem))
        .is_err()
    {
        tracing::error!("a plugin has the name {TROUBLE}, so no component shows the problem");
    }
}
