//! Notices that files may have changed, without looking at them again and again.
//!
//! The kernel reports what happens in folders (inotify). What a path leads to depends on every folder on the way, also
//! behind links: all of them are watched, each for the names that matter. The kernel does not report what other machines
//! do on a network filesystem, so a waiting thread also looks now and then, see [`FileWatch::pause`].

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ffi::{OsStr, OsString},
    future::pending,
    io,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Component, Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use tokio::io::unix::AsyncFd;

use crate::trusted::Opener;

/// The time between two looks where the kernel reports changes.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time between two looks where it does not, since there are no more watches.
const IMPATIENCE: Duration = Duration::from_secs(5);
/// Changes come in groups: one look for all of a group.
const GROUP: Duration = Duration::from_millis(100);
/// Most links on the way to one file, as in the kernel.
const MAX_LINKS: usize = 40;
/// Bytes of events that are read at once.
const BUFFER: usize = 4096;

/// Events of a folder that may change the target of a path in it. Writing alone is not reported: the end of writing is.
fn flags() -> WatchFlags {
    WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::ATTRIB
        | WatchFlags::DELETE_SELF
        | WatchFlags::MOVE_SELF
        | WatchFlags::ONLYDIR
        | WatchFlags::EXCL_UNLINK
}

/// A watch over a set of files and folders.
pub struct FileWatch {
    /// `None` if the kernel gives no instance.
    inotify: Option<AsyncFd<OwnedFd>>,
    watched: Mutex<Watched>,
}

#[derive(Default)]
struct Watched {
    /// By the number of the watch.
    names: HashMap<i32, Names>,
    /// Every folder that is there is watched.
    is_complete: bool,
}

/// Names in one folder that matter.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Names {
    some: BTreeSet<OsString>,
    all: bool,
}

impl FileWatch {
    /// Watches nothing yet. Must be called where tokio runs.
    pub fn new() -> Self {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
            .map_err(io::Error::from)
            .and_then(crate::async_fd::register);
        if let Err(error) = &inotify {
            tracing::warn!("files are looked at every {IMPATIENCE:?}: no inotify: {error}");
        }
        Self {
            inotify: inotify.ok(),
            watched: Mutex::default(),
        }
    }

    /// Watches these files, and everything in these folders, in place of what was watched. They need not be there. Blocks
    /// where a filesystem does.
    pub fn follow<'a>(
        &self,
        files: impl IntoIterator<Item = &'a Path>,
        folders: impl IntoIterator<Item = &'a Path>,
    ) {
        let Some(inotify) = &self.inotify else { return };
        let mut wanted = BTreeMap::new();
        let mut is_complete = true;
        // One of another user may never answer.
        let mut is_asked = |path: &Path| {
            let is_asked = Opener::of_daemon().check_servers(path).is_ok();
            is_complete &= is_asked;
            is_asked
        };
        for file in files.into_iter().filter(|file| is_asked(file)) {
            add_steps(file, &mut wanted);
        }
        for folder in folders.into_iter().filter(|folder| is_asked(folder)) {
            let folder = add_steps(folder, &mut wanted);
            wanted.entry(folder).or_default().all = true;
        }
        let mut now = Watched {
            names: HashMap::new(),
            is_complete,
        };
        for (folder, names) in wanted {
            match inotify::add_watch(inotify.get_ref(), &folder, flags()) {
                Ok(watch) => {
                    let known = now.names.entry(watch).or_default();
                    known.some.extend(names.some);
                    known.all |= names.all;
                }
                // The folder above is watched for it.
                Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {}
                Err(_) => now.is_complete = false,
            }
        }
        let before = std::mem::replace(&mut *self.lock(), now);
        let gone: Vec<i32> = {
            let now = self.lock();
            let before = before.names.into_keys();
            before
                .filter(|watch| !now.names.contains_key(watch))
                .collect()
        };
        for watch in gone {
            // The kernel removes the watch of a folder that is gone by itself.
            let _ = inotify::remove_watch(inotify.get_ref(), watch);
        }
    }

    /// Returns once something may have changed. Changes that come together are one.
    pub async fn changed(&self) {
        let Some(inotify) = &self.inotify else {
            return pending().await;
        };
        loop {
            let Ok(mut ready) = inotify.readable().await else {
                return pending().await;
            };
            let matters = self.take_events(inotify.get_ref());
            ready.clear_ready();
            if matters {
                return tokio::time::sleep(GROUP).await;
            }
        }
    }

    /// Returns how long to wait for a change before looking all the same.
    pub fn pause(&self) -> Duration {
        match self.inotify.is_some() && self.lock().is_complete {
            true => PATIENCE,
            false => IMPATIENCE,
        }
    }

    /// Reads all events that wait. Returns whether one of them matters.
    fn take_events(&self, inotify: &OwnedFd) -> bool {
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut events = inotify::Reader::new(inotify, &mut buffer);
        let mut matters = false;
        let watched = self.lock();
        while let Ok(event) = events.next() {
            let lost = event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let name = event
                .file_name()
                .map(|name| OsStr::from_bytes(name.to_bytes()));
            let known = watched.names.get(&event.wd());
            matters |= lost || known.is_some_and(|names| names.matter(name));
        }
        matters
    }

    /// A map is whole whatever panicked beside it.
    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for FileWatch {
    fn default() -> Self {
        Self::new()
    }
}

impl Names {
    /// Without a name, the event is about the folder itself.
    fn matter(&self, name: Option<&OsStr>) -> bool {
        self.all || name.is_none_or(|name| self.some.contains(name))
    }
}

/// Adds each folder on the way to a file with the name that is looked up in it. Returns what the path leads to, as far as
/// it exists.
fn add_steps(path: &Path, wanted: &mut BTreeMap<PathBuf, Names>) -> PathBuf {
    let mut at = PathBuf::from(".");
    let mut ahead: Vec<OsString> = reversed(path);
    let mut links = 0;
    while let Some(step) = ahead.pop() {
        let next = at.join(&step);
        if !matches!(
            Path::new(&step).components().next(),
            Some(Component::Normal(_))
        ) {
            at = next;
            continue;
        }
        wanted.entry(at.clone()).or_default().some.insert(step);
        match std::fs::read_link(&next) {
            Ok(target) if links < MAX_LINKS => {
                links += 1;
                ahead.extend(reversed(&target));
            }
            _ => at = next,
        }
    }
    at
}

/// The parts of a path, the last first. A leading `/` is one.
fn reversed(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev();
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests;
