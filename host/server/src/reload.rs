//! Values that are loaded from files that may change: reloaded when they do, and at once on SIGHUP.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::{sync::Notify, time::sleep};

use crate::node::{file_watch::FileWatch, local_file::FileStamp, trusted};

/// Between two looks at files that are being changed. A change is taken when two looks in a row see the same, so that a file that is being written is
/// not read half.
const LOOK: Duration = Duration::from_secs(1);

/// A value that can be reloaded from its files.
pub trait Reload: Send + Sync + 'static {
    /// Names it for the log.
    fn what(&self) -> &'static str;
    /// Its files.
    fn files(&self) -> Vec<PathBuf>;
    /// Reloads it; on an error everything is as before. Blocks.
    ///
    /// # Errors
    /// Why it cannot be, with the place.
    fn reload(&self) -> Result<(), String>;
}

/// Looks after these for ever. `now` asks for a look at once.
pub(super) async fn watch(items: Vec<Arc<dyn Reload>>, now: Arc<Notify>) {
    let mut watched: Vec<WatchedItem> = items.into_iter().map(WatchedItem::new).collect();
    if watched.is_empty() {
        return;
    }
    let watch = Arc::new(FileWatch::new());
    // The first look is due at once: the files were not watched since they were read.
    let mut pause = Duration::ZERO;
    loop {
        let asked = tokio::select! {
            () = sleep(pause) => false,
            () = watch.changed() => false,
            () = now.notified() => true,
        };
        let watching = Arc::clone(&watch);
        // The files may be on a dead mount.
        let looked = tokio::task::spawn_blocking(move || {
            // First, so that no change falls between.
            let files: Vec<PathBuf> = watched.iter().flat_map(|item| item.item.files()).collect();
            watching.follow(files.iter().map(PathBuf::as_path), []);
            for item in &mut watched {
                item.look(asked);
            }
            watched
        });
        match looked.await {
            Ok(again) => watched = again,
            Err(error) => return tracing::error!("files are no longer watched: {error}"),
        }
        pause = match watched.iter().all(|item| item.before == item.taken) {
            true => watch.pause(),
            false => LOOK,
        };
    }
}

struct WatchedItem {
    item: Arc<dyn Reload>,
    /// Stamps of the files that are in use, or were refused.
    taken: Vec<Option<FileStamp>>,
    before: Vec<Option<FileStamp>>,
}

impl WatchedItem {
    fn new(item: Arc<dyn Reload>) -> Self {
        let stamps = stamps(item.as_ref());
        Self {
            item,
            taken: stamps.clone(),
            before: stamps,
        }
    }

    /// `asked`: an operator asked for the reload, so a change is complete.
    fn look(&mut self, asked: bool) {
        let now = stamps(self.item.as_ref());
        let settled = now == self.before;
        self.before.clone_from(&now);
        if !asked && (now == self.taken || !settled) {
            return;
        }
        self.taken = now;
        let what = self.item.what();
        match self.item.reload() {
            Ok(()) => tracing::info!("the {what} is read again"),
            Err(problem) => tracing::error!("the {what} of before stays in use: {problem}"),
        }
    }
}

fn stamps(item: &dyn Reload) -> Vec<Option<FileStamp>> {
    item.files()
        .iter()
        .map(|file| trusted::stamp(file))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    struct Counted {
        file: PathBuf,
        times: AtomicUsize,
    }

    impl Reload for Counted {
        fn what(&self) -> &'static str {
            "test"
        }

        fn files(&self) -> Vec<PathBuf> {
            vec![self.file.clone()]
        }

        fn reload(&self) -> Result<(), String> {
            self.times.fetch_add(1, Ordering::Relaxed);
            Err("always".to_owned())
        }
    }

    #[test]
    fn a_change_is_taken_once_it_has_settled_and_once_only() {
        let folder = tempfile::tempdir().unwrap();
        let item = Arc::new(Counted {
            file: folder.path().join("f"),
            times: AtomicUsize::new(0),
        });
        let mut watched = WatchedItem::new(Arc::<Counted>::clone(&item));
        let mut look = |asked| {
            watched.look(asked);
            item.times.load(Ordering::Relaxed)
        };
        assert_eq!(look(false), 0);
        fs::write(&item.file, "1").unwrap();
        assert_eq!(look(false), 0, "perhaps it is being written");
        assert_eq!(look(false), 1);
        assert_eq!(look(false), 1, "what was refused is not tried for ever");
        assert_eq!(look(true), 2, "but when asked");
        fs::remove_file(&item.file).unwrap();
        assert_eq!((look(false), look(false)), (2, 3));
    }
}
