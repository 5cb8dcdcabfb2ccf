//! The sources of plugins: the file of specs, and installed packs.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::{
    Notify,
    mpsc::{self, Sender},
    oneshot,
};

use super::parts::{Parts, look_now};
use crate::{
    pack::installed::Packs,
    plugins::{
        Plugins,
        file::Stamps,
        packs,
        watch::{self, ReadSpecFile},
    },
    service::reload::Reload,
};

/// The path of the spec file, and what is in it.
pub type Specs = Option<(PathBuf, Result<ReadSpecFile, String>)>;

/// The spec file, if there is one; GPUd's daemon does without one that is not there, too.
pub async fn read_specs(path: Option<PathBuf>) -> Specs {
    let path = path?;
    let read = watch::read(path.clone()).await;
    if let Err(problem) = &read {
        tracing::warn!("no plugins: {problem}");
    }
    Some((path, read))
}

/// Starts the plugins of both, and follows their changes.
pub async fn start(
    parts: &Parts,
    plugins: &Arc<Plugins>,
    specs: Specs,
    data_dir: &Path,
    reload: &mut Reload,
) {
    if let Some((path, read)) = specs {
        let look = start_plugins(parts, plugins, path, read).await;
        reload.on("the plugin specs", move || look_now(look.clone()));
    }
    let look_at_packs = Arc::new(Notify::new());
    parts.spawn(packs::run(
        Arc::clone(plugins),
        Packs::of(data_dir),
        Arc::clone(&look_at_packs),
    ));
    reload.on("installed packs", move || {
        look_at_packs.notify_one();
        std::future::ready(Ok(()))
    });
}

/// Starts the plugins of the spec file, and follows its edits. A file that is not there may come. Gives the way to have
/// the file looked at now.
async fn start_plugins(
    parts: &Parts,
    plugins: &Arc<Plugins>,
    path: PathBuf,
    read: Result<ReadSpecFile, String>,
) -> Sender<oneshot::Sender<()>> {
    let (look, hurry) = mpsc::channel(1);
    let stamps = match read {
        Ok(ReadSpecFile { file, stamps }) => {
            plugins.start(file, &path, &stamps).await;
            stamps
        }
        Err(_) => Stamps::missing(path.clone()),
    };
    parts.spawn(watch::run(Arc::clone(plugins), path, stamps, hurry));
    look
}
