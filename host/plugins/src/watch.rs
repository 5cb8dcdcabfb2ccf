//! Looks after the spec file while the daemon runs, and applies what an operator changes.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::sync::{mpsc::Receiver, oneshot::Sender};

use super::{
    Plugins,
    file::{self, Stamps},
    trouble, wasm,
};
use crate::{
    node::{
        file_watch::FileWatch,
        slow_files::{self, NoAnswer},
        trusted::Opener,
    },
    spec::PluginFile,
};

/// Between two looks at a file that is being changed. An edit is applied when two looks in a row see the same, so that a
/// file that is being written is not read half.
const LOOK: Duration = Duration::from_secs(1);

/// A spec file that was read, with stamps from before it was read.
pub struct ReadSpecFile {
    /// Its content.
    pub file: PluginFile,
    /// Stamps of the spec and of the files that it names.
    pub stamps: Stamps,
}

/// Reads the file.
///
/// # Errors
/// It cannot be read, or does not answer.
pub async fn read(path: PathBuf) -> Result<ReadSpecFile, String> {
    let shown = path.clone();
    let work = move || {
        let stamp = Stamps::take([path.clone()]);
        let file = file::read(&path, Opener::of_daemon())?;
        // Whatever changes while it is read is seen as a change by the next look.
        let stamps = match Stamps::take([path.clone()]) == stamp {
            true => Stamps::take(files(&path, &file)),
            false => stamp,
        };
        Ok(ReadSpecFile { file, stamps })
    };
    let read = slow_files::in_time(&shown, work).await;
    read.map_err(|late| late.to_string())?
}

/// The spec file and everything that it names.
fn files(path: &Path, file: &PluginFile) -> Vec<PathBuf> {
    let folder = file::folder(path);
    let wasm = file.plugins.iter().filter_map(|p| p.spec.wasm.as_ref());
    let wasm = wasm.flat_map(|wasm| wasm::paths(wasm, &folder));
    let mut files = vec![path.to_owned()];
    files.extend(file.list_files.iter().cloned());
    files.extend(wasm);
    files
}

/// Applies edits for ever. `stamps` are of what runs. Each item of `hurry` asks for a look at once, and is answered
/// when an edit that is there has been applied or refused.
pub async fn run(
    plugins: Arc<Plugins>,
    path: PathBuf,
    stamps: Stamps,
    mut hurry: Receiver<Sender<()>>,
) {
    let (mut applied, mut before) = (stamps.clone(), stamps);
    let watch = Arc::new(FileWatch::new());
    // The first look is due at once: the files were not watched since they were read.
    let mut pause = Duration::ZERO;
    let mut was_late = false;
    loop {
        // Dropped at the end of the turn, whichever it is: that is the answer.
        let mut asked = tokio::select! {
            Some(asked) = hurry.recv() => Some(asked),
            () = watch.changed() => None,
            () = tokio::time::sleep(pause) => None,
        };
        let (last, watching) = (before.clone(), Arc::clone(&watch));
        let look = move || {
            // First, so that no change falls between.
            watching.follow(last.files(), []);
            last.again()
        };
        let late = async {
            let problem = NoAnswer(path.clone()).to_string();
            tracing::error!("plugin specs: {problem}");
            let what = "the plugin specs cannot be looked at, the plugins of before still run";
            trouble::show(plugins.registry(), what, &[problem]);
            was_late = true;
            asked = None;
            while hurry.recv().await.is_some() {}
        };
        let Some(now) = slow_files::wait(look, late).await else {
            return;
        };
        // A caller that requests a look confirms that the file is complete.
        let settled = now == before || asked.is_some();
        pause = match settled {
            true => watch.pause(),
            false => LOOK,
        };
        before.clone_from(&now);
        // The file may be as it was, and a folder on the way to it is good now.
        let again = (asked.is_some() || was_late) && trouble::is_shown(plugins.registry());
        if (now == applied && !again) || !settled {
            continue;
        }
        applied = now;
        was_late = false;
        if let Some(stamps) = edit(&plugins, &path).await {
            applied.clone_from(&stamps);
            before = stamps;
        }
        // It may name other files now.
        pause = Duration::ZERO;
    }
}

/// Takes an edit over, or says why not. The stamps to go on with are those of the files that it names now.
async fn edit(plugins: &Plugins, path: &Path) -> Option<Stamps> {
    let refused = |problems: &[String]| {
        for problem in problems {
            tracing::error!("plugin specs not applied: {problem}");
        }
        let what = "an edit of the plugin specs was refused, the plugins of before still run";
        trouble::show(plugins.registry(), what, problems);
    };
    let read = match read(path.to_owned()).await {
        Ok(read) => read,
        Err(problem) => {
            refused(&[problem]);
            return None;
        }
    };
    match plugins.apply(read.file, path, &read.stamps).await {
        Ok(()) => {
            if trouble::is_shown(plugins.registry()) {
                trouble::show(plugins.registry(), "", &[]);
            }
        }
        Err(problems) => refused(&problems),
    }
    Some(read.stamps)
}
