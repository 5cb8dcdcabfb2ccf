//! Compiled code on disk, so that a restart does not compile anything.
//!
//! Loading compiled code runs it, so the folder must be ours alone: mode 0700, our user, not a link, below folders that
//! nobody else can change ([`crate::node::trusted`]); otherwise a private temporary folder is used and the trouble is said.
//! An entry's name is the SHA-256 of the component and the engine's compatibility hash; beside it stands the SHA-256 of the
//! code, since Wasmtime does not notice flipped bits. An entry is opened once: what is hashed is the file that is loaded.
//! Whatever does not fit is thrown away and compiled once more.
//!
//! What was compiled quickly has a name of its own and its component beside it, until it has been compiled thoroughly.
#![allow(
    clippy::disallowed_methods,
    reason = "gpud's own files, not the machine's"
)]

use std::{
    ffi::OsStr,
    fs, io,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use sha2::{Digest, Sha256};
use wasmtime::{Engine, component::Component};

use super::{
    compiler::{self, Compiler, Effort},
    error::LoadError,
};
use crate::node::trusted::{self, OwnFolder};

/// Entries that were not used for this long are removed.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Total size beyond which the oldest entries are removed, bytes.
const MAX_TOTAL: u64 = 1 << 30;
/// Less room than this, in bytes, is a full disk: code takes about 1 MiB, that of an interpreter guest 60.
const FULL: u64 = 8 << 20;
/// Largest compiled component, bytes.
const MAX_CODE: usize = 1 << 30;
/// Longest sum, bytes.
const MAX_SUM: usize = 256;
/// Most compilations at once; each takes a processor and up to 100 MiB, an interpreter guest 500.
const PARALLEL: usize = 8;

/// The cache.
pub struct Cache {
    folder: PathBuf,
    own: OwnFolder,
    compiler: Compiler,
    turns: tokio::sync::Semaphore,
    compiled: AtomicU64,
    temporary: bool,
}

impl Cache {
    /// Opens (makes) the folder. Where it cannot be trusted or written, a private temporary one takes its place.
    ///
    /// # Errors
    /// When not even a temporary folder can be had.
    pub fn open(folder: &Path, compiler: Compiler) -> io::Result<Self> {
        let (own, temporary) = match private_folder(folder) {
            Ok(own) => (own, false),
            Err(problem) => {
                let instead = trusted::temporary_folder()
                    .join(format!("gpud-cache-{}", uuid::Uuid::new_v4()));
                let own = private_folder(&instead)?;
                tracing::warn!(
                    "compiled code cannot be kept in {}: {problem}; it is kept in {} until gpud stops",
                    folder.display(),
                    instead.display()
                );
                (own, true)
            }
        };
        let cache = Self {
            folder: own.path().to_owned(),
            own,
            compiler,
            turns: tokio::sync::Semaphore::new(parallel()),
            compiled: AtomicU64::new(0),
            temporary,
        };
        cache.clean();
        Ok(cache)
    }

    /// How many components were compiled, as opposed to loaded.
    pub fn compiled(&self) -> u64 {
        self.compiled.load(Ordering::Relaxed)
    }

    /// Where a component's files lie.
    pub(super) fn entry(&self, engine: &Engine, wasm: &[u8]) -> Entry {
        Entry(self.folder.join(key(engine, wasm)))
    }

    /// The component's machine code, from the cache if it is there, and whether it was compiled quickly:
    /// [`Self::thorough`] has better then.
    ///
    /// # Errors
    /// [`LoadError`], naming the plugin.
    pub(super) async fn component(
        &self,
        engine: &Engine,
        name: &str,
        entry: &Entry,
        wasm: &[u8],
    ) -> Result<(Component, bool), LoadError> {
        let thorough = entry.file(Effort::Thorough);
        if let Some(component) = self.kept(engine, &thorough) {
            return Ok((component, false));
        }
        let effort = self.compiler.first_effort();
        let file = entry.file(effort);
        let mut component = None;
        if effort == Effort::Quick {
            component = self.kept(engine, &file).filter(|_| entry.source().exists());
        }
        let component = match component {
            Some(component) => component,
            None => {
                let source = entry.source();
                let compiled = match self.write(&source, wasm) {
                    Ok(()) => self.compile(engine, name, effort, &source, &file).await,
                    Err(error) => Err(error),
                };
                if effort == Effort::Thorough || compiled.is_err() {
                    let _ = fs::remove_file(source);
                }
                match compiled {
                    Ok(component) => component,
                    // Checks are wanted on a machine whose disk is full, too.
                    Err(error) if self.is_full() => {
                        tracing::warn!("{error}; compiled in memory instead, for this run");
                        let component = self.in_memory(engine, name, wasm).await?;
                        return Ok((component, false));
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        Ok((component, effort == Effort::Quick))
    }

    /// Is there no room for code?
    fn is_full(&self) -> bool {
        rustix::fs::statvfs(&self.folder)
            .is_ok_and(|room| room.f_bavail.saturating_mul(room.f_frsize) < FULL)
    }

    /// Compiles without touching the disk.
    #[expect(unsafe_code, reason = "loading compiled code")]
    async fn in_memory(
        &self,
        engine: &Engine,
        name: &str,
        wasm: &[u8],
    ) -> Result<Component, LoadError> {
        let _turn = self.turns.acquire().await;
        let compiling = tokio::task::spawn_blocking({
            let wasm = wasm.to_owned();
            move || compiler::compile(Effort::Quick, &wasm)
        });
        let code = compiling.await.map_err(|error| error.to_string());
        let code = code.flatten().map_err(|problem| LoadError::Compile {
            name: name.to_owned(),
            problem,
        })?;
        self.compiled.fetch_add(1, Ordering::Relaxed);
        // SAFETY: our own compiler has just made it, and nobody else could touch it.
        unsafe { Component::deserialize(engine, &code) }.map_err(|error| LoadError::Engine {
            name: name.to_owned(),
            problem: format!("{error:#}"),
        })
    }

    /// Compiles once more, and better, what was compiled quickly.
    ///
    /// # Errors
    /// [`LoadError`], naming the plugin. What there was stays.
    pub(super) async fn thorough(
        &self,
        engine: &Engine,
        name: &str,
        entry: &Entry,
    ) -> Result<Component, LoadError> {
        let file = entry.file(Effort::Thorough);
        let component = match self.kept(engine, &file) {
            // Another daemon or plugin with the same component was quicker.
            Some(component) => component,
            None => {
                self.compile(engine, name, Effort::Thorough, &entry.source(), &file)
                    .await?
            }
        };
        let quick = entry.file(Effort::Quick);
        for path in [&entry.source(), &sum_file(&quick), &quick] {
            let _ = fs::remove_file(path);
        }
        Ok(component)
    }

    /// Compiles `source` into `entry` and loads that.
    async fn compile(
        &self,
        engine: &Engine,
        name: &str,
        effort: Effort,
        source: &Path,
        entry: &Path,
    ) -> Result<Component, LoadError> {
        let _turn = self.turns.acquire().await;
        let output = self.temporary_file("cwasm");
        let remove = RemoveOnDrop(&output);
        let compiling = self.compiler.compile(effort, source, &output);
        compiling.await.map_err(|problem| LoadError::Compile {
            name: name.to_owned(),
            problem,
        })?;
        self.compiled.fetch_add(1, Ordering::Relaxed);
        let code = fs::read(&output).map_err(in_file(&output))?;
        publish(&output, entry, &code).map_err(in_file(entry))?;
        drop(remove);
        // Freshly compiled, so the reason is the component: larger than any instance may be, for example.
        self.load(engine, entry)
            .map_err(|problem| LoadError::Engine {
                name: name.to_owned(),
                problem,
            })
    }

    /// What the entry has, if it is there and whole.
    fn kept(&self, engine: &Engine, entry: &Path) -> Option<Component> {
        if !entry.exists() {
            return None;
        }
        let loaded = self.load(engine, entry);
        loaded
            .inspect_err(|problem| {
                tracing::warn!("{}: {problem}; it is compiled again", entry.display());
            })
            .ok()
    }

    /// An intact entry that this engine takes, or why not; what is not intact is removed.
    fn load(&self, engine: &Engine, entry: &Path) -> Result<Component, String> {
        match self.load_intact(engine, entry) {
            Ok(component) => {
                if let Ok(file) = fs::File::options().append(true).open(entry) {
                    let _ = file.set_modified(SystemTime::now());
                }
                Ok(component)
            }
            Err(problem) => {
                let _ = fs::remove_file(entry);
                let _ = fs::remove_file(sum_file(entry));
                Err(problem)
            }
        }
    }

    /// Opens the entry once, hashes what was opened and loads the same.
    #[expect(unsafe_code, reason = "loading compiled code")]
    fn load_intact(&self, engine: &Engine, entry: &Path) -> Result<Component, String> {
        let name = |path: &Path| {
            let name = path.file_name().and_then(OsStr::to_str);
            name.unwrap_or_default().to_owned()
        };
        let file = self
            .own
            .open_file(&name(entry))
            .map_err(|error| error.to_string())?;
        let code = trusted::read_from(&file, MAX_CODE).map_err(|error| error.to_string())?;
        let sum = self.own.read(&name(&sum_file(entry)), MAX_SUM);
        if sum.ok().as_deref() != Some(hex(&Sha256::digest(&code)).as_bytes()) {
            return Err("its checksum is wrong".to_owned());
        }
        // The kernel's name of the very file that was hashed, whatever has its path now.
        let opened = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let loaded = match opened.exists() {
            true => {
                drop(code);
                // SAFETY: this runs what it is given. The file belongs to us, nobody else can write to it or enter its
                // folder (judged by their open handles), it was written by our own compiler under a name made from its
                // source, and has the checksum that was noted then. It is replaced by rename only, so the mapping stays
                // what it was.
                unsafe { Component::deserialize_file(engine, &opened) }
            }
            // SAFETY: as above; these are the bytes that were hashed. Without /proc they cost memory.
            false => unsafe { Component::deserialize(engine, &code) },
        };
        loaded.map_err(|error| format!("{error:#}"))
    }

    /// Writes a file of the cache; it is there as a whole or not at all.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), LoadError> {
        let part = self.temporary_file("wasm");
        let remove = RemoveOnDrop(&part);
        fs::write(&part, bytes).map_err(in_file(&part))?;
        fs::rename(&part, path).map_err(in_file(path))?;
        drop(remove);
        Ok(())
    }

    fn temporary_file(&self, kind: &str) -> PathBuf {
        let unique = uuid::Uuid::new_v4();
        self.folder.join(format!("{unique}.{kind}.tmp"))
    }

    /// Removes leftovers, what nobody used for long, and the oldest beyond the total size.
    fn clean(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return;
        };
        let mut kept: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            let Ok(facts) = entry.metadata() else {
                continue;
            };
            let used = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let age = used.elapsed().unwrap_or_default();
            let leftover = path.extension().is_some_and(|extension| extension == "tmp");
            if age > MAX_AGE || (leftover && age > Duration::from_secs(3600)) {
                let _ = fs::remove_file(&path);
            } else {
                kept.push((used, facts.len(), path));
            }
        }
        kept.sort();
        let mut total: u64 = kept.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in kept {
            if total <= MAX_TOTAL {
                break;
            }
            total = total.saturating_sub(size);
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        if self.temporary {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Where a component's files lie in the cache.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Entry(PathBuf);

impl Entry {
    /// Its code.
    fn file(&self, effort: Effort) -> PathBuf {
        self.0.with_extension(match effort {
            Effort::Quick => "quick.cwasm",
            Effort::Thorough => "cwasm",
        })
    }

    /// The component itself.
    fn source(&self) -> PathBuf {
        self.0.with_extension("wasm")
    }
}

struct RemoveOnDrop<'a>(&'a Path);

impl Drop for RemoveOnDrop<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.0);
    }
}

fn in_file(path: &Path) -> impl FnOnce(io::Error) -> LoadError {
    let path = path.to_owned();
    move |source| LoadError::File { path, source }
}

/// Makes the folder private to us, or says why it cannot be.
fn private_folder(folder: &Path) -> io::Result<OwnFolder> {
    let own = OwnFolder::open_unlinked(folder)?;
    let probe = own.path().join(format!("{}.tmp", uuid::Uuid::new_v4()));
    fs::write(&probe, b"")?;
    fs::remove_file(&probe)?;
    Ok(own)
}

/// Compilations at once: as many as there are processors, within bounds.
fn parallel() -> usize {
    std::thread::available_parallelism().map_or(2, |processors| processors.get().clamp(2, PARALLEL))
}

fn key(engine: &Engine, wasm: &[u8]) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut compatibility = DefaultHasher::new();
    engine
        .precompile_compatibility_hash()
        .hash(&mut compatibility);
    format!(
        "{}-{:016x}",
        hex(&Sha256::digest(wasm)),
        compatibility.finish()
    )
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn sum_file(entry: &Path) -> PathBuf {
    entry.with_extension("sha256")
}

/// Puts an entry in place: the sum first, then the code by rename, so that neither is ever seen half written. What a power
/// cut leaves of it does not have that sum, so nobody waits for the disk.
fn publish(code_file: &Path, entry: &Path, code: &[u8]) -> io::Result<()> {
    let sum = code_file.with_extension("sum.tmp");
    fs::write(&sum, hex(&Sha256::digest(code)))?;
    fs::rename(&sum, sum_file(entry))?;
    fs::rename(code_file, entry)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;
    use crate::runtime::engine::Engines;

    const COMPONENT: &str =
        "(component (core module $m (func (export \"f\"))) (core instance (instantiate $m)))";

    fn wasm() -> Vec<u8> {
        wat::parse_str(COMPONENT).unwrap()
    }

    async fn component(cache: &Cache, engine: &Engine) -> Result<Component, LoadError> {
        let entry = cache.entry(engine, &wasm());
        let (component, quick) = cache.component(engine, "test", &entry, &wasm()).await?;
        assert!(!quick, "nothing better can be had");
        Ok(component)
    }

    #[tokio::test]
    async fn compiles_once_and_heals_itself() {
        let engines = Engines::new().unwrap();
        let engine = engines.any();
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("cache");
        let cache = Cache::open(&folder, Compiler::InProcess(Effort::Thorough)).unwrap();
        component(&cache, engine).await.unwrap();
        component(&cache, engine).await.unwrap();
        assert_eq!(cache.compiled(), 1);

        let entry = folder.join(format!("{}.cwasm", key(engine, &wasm())));
        let mut code = fs::read(&entry).unwrap();
        let middle = code.len() / 2;
        code[middle] ^= 1;
        fs::write(&entry, code).unwrap();
        component(&cache, engine).await.unwrap();
        assert_eq!(cache.compiled(), 2, "a flipped bit is noticed");

        fs::write(&entry, b"").unwrap();
        component(&cache, engine).await.unwrap();
        fs::remove_file(sum_file(&entry)).unwrap();
        component(&cache, engine).await.unwrap();
        assert_eq!(cache.compiled(), 4);
        let names: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .flatten()
            .map(|e| e.file_name())
            .collect();
        assert_eq!(names.len(), 2, "no leftovers: {names:?}");
    }

    #[tokio::test]
    async fn a_folder_that_is_not_ours_is_not_used() {
        let engines = Engines::new().unwrap();
        let engine = engines.any();
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("elsewhere");
        fs::create_dir(&target).unwrap();
        let link = home.path().join("cache");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let cache = Cache::open(&link, Compiler::InProcess(Effort::Thorough)).unwrap();
        component(&cache, engine).await.unwrap();
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0);

        let foreign = home.path().join("foreign");
        fs::create_dir(&foreign).unwrap();
        if std::os::unix::fs::chown(&foreign, Some(12345), None).is_err() {
            eprintln!("skipped the foreign owner: only root can give folders away");
            return;
        }
        let cache = Cache::open(&foreign, Compiler::InProcess(Effort::Thorough)).unwrap();
        component(&cache, engine).await.unwrap();
        assert_eq!(fs::read_dir(&foreign).unwrap().count(), 0);
    }

    #[test]
    fn the_folder_is_made_private() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/b");
        private_folder(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        private_folder(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
    }

    /// A user who owns a folder on the way could put code of their own in the place of ours.
    #[tokio::test]
    async fn a_folder_below_somebody_elses_is_not_used() {
        let engines = Engines::new().unwrap();
        let home = tempfile::tempdir().unwrap();
        let theirs = home.path().join("theirs");
        let folder = theirs.join("cache");
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        for spoil in [
            |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777)),
            |path: &Path| std::os::unix::fs::chown(path, Some(12345), None),
        ] {
            if spoil(&theirs).is_err() {
                eprintln!("skipped the foreign owner: only root can give folders away");
                return;
            }
            let cache = Cache::open(&folder, Compiler::InProcess(Effort::Thorough)).unwrap();
            component(&cache, engines.any()).await.unwrap();
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
            fs::set_permissions(&theirs, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    #[tokio::test]
    async fn code_that_others_can_change_or_a_link_is_compiled_again() {
        let engines = Engines::new().unwrap();
        let engine = engines.any();
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("cache");
        let cache = Cache::open(&folder, Compiler::InProcess(Effort::Thorough)).unwrap();
        component(&cache, engine).await.unwrap();
        let entry = folder.join(format!("{}.cwasm", key(engine, &wasm())));
        fs::set_permissions(&entry, fs::Permissions::from_mode(0o666)).unwrap();
        component(&cache, engine).await.unwrap();
        assert_eq!(cache.compiled(), 2, "open to others");
        let moved = home.path().join("moved");
        fs::rename(&entry, &moved).unwrap();
        std::os::unix::fs::symlink(&moved, &entry).unwrap();
        component(&cache, engine).await.unwrap();
        assert_eq!(cache.compiled(), 3, "a link");
        assert!(moved.exists());
    }
}
