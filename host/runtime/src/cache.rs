//! Compiled code on disk, so that a restart compiles nothing.
//!
//! Loading compiled code runs it, so the folder must be ours alone: mode 0700, our user, not a link, below folders that
//! no other user can change ([`crate::node::trusted`]); otherwise a private temporary folder is used, or memory, and the log
//! says so. An entry's name is the SHA-256 of the component and the engine's compatibility hash; beside it is the SHA-256
//! of the code, since Wasmtime does not notice flipped bits. Both have mode 0600 whatever the umask is. An entry is opened once: what is hashed is what is loaded.
//! Code that does not fit is removed and made again: from the code in gpud's own binary ([`super::archive`]), or by
//! compiling.
#![allow(
    clippy::disallowed_methods,
    reason = "gpud's own files, not the machine's"
)]

mod folder;

use std::{
    ffi::OsStr,
    fs, io,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::SystemTime,
};

use sha2::{Digest, Sha256};
use wasmtime::{Engine, component::Component};

use self::folder::{Folder, RemoveOnDrop, hex, publish, remove, sum_file};
use super::{
    archive::{Archive, ArchiveError, Key, Sum},
    compiler::{self, Compiler},
    engine::compatibility,
    error::LoadError,
    plugin::Wasm,
};
use crate::node::{
    parts::Parts,
    temporary::TemporaryFolder,
    trusted::{self, output},
};

/// Most compilations at once; each takes a processor and up to 100 MiB, an interpreter guest 500.
const PARALLEL: usize = 8;
/// Largest compiled component, bytes.
const MAX_CODE: usize = 1 << 30;
/// Longest sum, bytes.
const MAX_SUM: usize = 256;

/// The cache.
pub struct Cache {
    /// `None` where no folder can be used.
    folder: Option<Folder>,
    archive: Option<Archive>,
    /// Code of the archive is unpacked by one caller at a time.
    unpacking: Mutex<()>,
    compiler: Compiler,
    turns: tokio::sync::Semaphore,
    compiled: AtomicU64,
    /// The archive is not used; the log has the cause.
    archive_reported: AtomicBool,
    /// Code is held in memory; the log has the cause.
    memory_reported: AtomicBool,
}

impl Cache {
    /// Opens the cache in a folder, which is made if it is missing, and the archive in gpud's own binary. Where the folder
    /// cannot be trusted or written, a private temporary one takes its place, or memory.
    pub fn open(folder: &Path, compiler: Compiler) -> Self {
        let archive = Parts::own_program().map_err(ArchiveError::File);
        let archive = archive.and_then(Archive::open).unwrap_or_else(|error| {
            tracing::warn!("{error}; built-in components are compiled instead");
            None
        });
        Self::with_archive(folder, compiler, archive)
    }

    /// What compiles.
    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    fn with_archive(folder: &Path, compiler: Compiler, archive: Option<Archive>) -> Self {
        let folder = Folder::open(folder, TemporaryFolder::create);
        if let Some(folder) = &folder {
            folder.clean();
        }
        Self {
            folder,
            archive,
            unpacking: Mutex::default(),
            compiler,
            turns: tokio::sync::Semaphore::new(parallel()),
            compiled: AtomicU64::new(0),
            archive_reported: AtomicBool::new(false),
            memory_reported: AtomicBool::new(false),
        }
    }

    /// Returns how many components were compiled, as opposed to loaded.
    pub fn compiled(&self) -> u64 {
        self.compiled.load(Ordering::Relaxed)
    }

    /// Returns the component's machine code, compiled if need be.
    ///
    /// # Errors
    /// [`LoadError`], naming the plugin.
    pub(super) async fn component(
        &self,
        engine: &Engine,
        name: &str,
        key: Key,
        wasm: Wasm<'_>,
    ) -> Result<Component, LoadError> {
        if let Some(component) = self.cached(engine, key) {
            return Ok(component);
        }
        if let Some(component) = self.archived(engine, key) {
            return Ok(component);
        }
        let _turn = self.turns.acquire().await;
        let wasm = &*wasm.bytes().map_err(|error| LoadError::Compile {
            name: name.to_owned(),
            problem: error.to_string(),
        })?;
        if let Some(folder) = &self.folder {
            match self.compile_in(folder, engine, name, key, wasm).await {
                // Checks are wanted on a machine whose disk is full or read-only, too.
                Err(error) if matches!(error, LoadError::File { .. }) || folder.is_full() => {
                    tracing::warn!("{error}; compiled in memory instead, for this run");
                }
                done => return done,
            }
        }
        self.compile_in_memory(engine, name, wasm).await
    }

    /// Returns the code in the folder, if it is intact.
    fn cached(&self, engine: &Engine, key: Key) -> Option<Component> {
        let folder = self.folder.as_ref()?;
        let entry = folder.entry(key);
        if !entry.exists() {
            return None;
        }
        let loaded = self.load(engine, folder, &entry, self.archived_sum(key));
        loaded
            .inspect_err(|problem| {
                tracing::warn!("{}: {problem}; it is replaced", entry.display());
                remove(&entry);
            })
            .ok()
    }

    /// Returns what gpud's own binary has, if it is intact and fits the engine. It is put into the folder, where the kernel
    /// can share and drop its pages, and so is the code of the other components that is unpacked with it.
    fn archived(&self, engine: &Engine, key: Key) -> Option<Component> {
        let archive = self.archive.as_ref()?;
        let _one = (self.unpacking.lock()).unwrap_or_else(PoisonError::into_inner);
        // Another caller may have put it there.
        if let Some(component) = self.cached(engine, key) {
            return Some(component);
        }
        let code = match archive.code(key) {
            Ok(code) => code?,
            Err(error) => {
                if !self.archive_reported.swap(true, Ordering::Relaxed) {
                    tracing::warn!("{error}; built-in components are compiled instead");
                }
                return None;
            }
        };
        if let Some(folder) = self.folder.as_ref().filter(|folder| !folder.is_full()) {
            for other in archive.others(key) {
                if !folder.entry(other).exists()
                    && let Ok(Some(code)) = archive.code(other)
                {
                    // A folder that cannot take it says so when that component is loaded.
                    let _ = folder.place(other, &code);
                }
            }
            let placed = folder.place(key, &code);
            let loaded = self.load(engine, folder, &folder.entry(key), self.archived_sum(key));
            if let (Ok(()), Ok(component)) = (placed, loaded) {
                return Some(component);
            }
        }
        self.in_memory(engine, &code, "its folder cannot be used")
            .inspect_err(|problem| tracing::warn!("{problem}; it is compiled instead"))
            .ok()
    }

    /// Compiles in a child, into the folder, and loads that.
    async fn compile_in(
        &self,
        folder: &Folder,
        engine: &Engine,
        name: &str,
        key: Key,
        wasm: &[u8],
    ) -> Result<Component, LoadError> {
        let (source, output) = (
            folder.temporary_file("wasm"),
            folder.temporary_file("cwasm"),
        );
        let _remove = (RemoveOnDrop(&source), RemoveOnDrop(&output));
        output::write_private(&source, wasm).map_err(in_file(&source))?;
        let compiling = self.compiler.compile(&source, &output);
        compiling.await.map_err(|problem| LoadError::Compile {
            name: name.to_owned(),
            problem,
        })?;
        self.compiled.fetch_add(1, Ordering::Relaxed);
        let code = fs::read(&output).map_err(in_file(&output))?;
        let entry = folder.entry(key);
        publish(&output, &entry, &code).map_err(in_file(&entry))?;
        // Freshly compiled, so the reason is the component: larger than any instance may be, for example.
        self.load(engine, folder, &entry, None).map_err(|problem| {
            remove(&entry);
            LoadError::Engine {
                name: name.to_owned(),
                problem,
            }
        })
    }

    /// Compiles in this process, without touching the disk.
    async fn compile_in_memory(
        &self,
        engine: &Engine,
        name: &str,
        wasm: &[u8],
    ) -> Result<Component, LoadError> {
        let compiling = tokio::task::spawn_blocking({
            let wasm = wasm.to_owned();
            move || compiler::compile(&wasm)
        });
        let code = compiling.await.map_err(|error| error.to_string());
        let code = code.flatten().map_err(|problem| LoadError::Compile {
            name: name.to_owned(),
            problem,
        })?;
        self.compiled.fetch_add(1, Ordering::Relaxed);
        let loaded = self.in_memory(engine, &code, "its folder cannot be used");
        loaded.map_err(|problem| LoadError::Engine {
            name: name.to_owned(),
            problem,
        })
    }

    /// The SHA-256 of a built-in component's code, by gpud's own binary.
    fn archived_sum(&self, key: Key) -> Option<Sum> {
        self.archive.as_ref()?.sum(key)
    }

    /// Returns an intact entry that this engine takes, or why there is none: its SHA-256 is `sum`, or without one what was noted
    /// beside it. Code whose folder does not let it be run (`noexec`) is loaded into memory.
    #[expect(unsafe_code, reason = "loading compiled code")]
    fn load(
        &self,
        engine: &Engine,
        folder: &Folder,
        entry: &Path,
        sum: Option<Sum>,
    ) -> Result<Component, String> {
        let name = |path: &Path| {
            let name = path.file_name().and_then(OsStr::to_str);
            name.unwrap_or_default().to_owned()
        };
        let file = folder.own.open_file(&name(entry));
        let file = file.map_err(|error| error.to_string())?;
        let code = trusted::read_from(&file, MAX_CODE).map_err(|error| error.to_string())?;
        let found = Sum::from(Sha256::digest(&code));
        let is_right = match sum {
            Some(sum) => found == sum,
            None => {
                let noted = folder.own.read(&name(&sum_file(entry)), MAX_SUM);
                noted.is_ok_and(|noted| noted == hex(&found).as_bytes())
            }
        };
        if !is_right {
            return Err("its checksum is wrong".to_owned());
        }
        // The kernel's name of the very file that was hashed, whatever has its path now.
        let opened = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        // SAFETY: `deserialize_file` runs what it is given. The file belongs to us, nobody else can write to it or enter its
        // folder (judged by their open handles), it was written by our own compiler under a name made from its source, and
        // has the checksum that was noted then. It is replaced by rename only, so the mapping stays what it was.
        let loaded = unsafe { Component::deserialize_file(engine, &opened) };
        let component = match loaded {
            Ok(component) => component,
            Err(error) => self.in_memory(engine, &code, &format!("{error:#}"))?,
        };
        if let Ok(file) = fs::File::options().append(true).open(entry) {
            let _ = file.set_modified(SystemTime::now());
        }
        Ok(component)
    }

    /// Loads code into memory that nothing else shares, and logs the cause once.
    #[expect(unsafe_code, reason = "loading compiled code")]
    fn in_memory(&self, engine: &Engine, code: &[u8], why: &str) -> Result<Component, String> {
        // SAFETY: our own compiler made it, and its checksum is the one that was noted then: in the folder, in gpud's
        // binary, or there was no file at all.
        let loaded = unsafe { Component::deserialize(engine, code) };
        let component = loaded.map_err(|error| format!("{error:#}"))?;
        if !self.memory_reported.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "compiled code is held in memory ({why}): gpud takes more memory; give it a data folder that it can \
                 write to, with room, on a filesystem without `noexec`"
            );
        }
        Ok(component)
    }
}

fn in_file(path: &Path) -> impl FnOnce(io::Error) -> LoadError {
    let path = path.to_owned();
    move |source| LoadError::File { path, source }
}

/// Returns how many compilations may run at once: as many as there are processors, within bounds.
fn parallel() -> usize {
    std::thread::available_parallelism().map_or(2, |processors| processors.get().clamp(2, PARALLEL))
}

/// Names the code of a component for an engine.
pub(super) fn key(engine: &Engine, wasm: Wasm<'_>) -> Key {
    let component = match wasm {
        Wasm::Bytes(bytes) => Sha256::digest(bytes).into(),
        Wasm::Packed { sha256, .. } => sha256,
    };
    Key {
        component,
        engine: compatibility(engine),
    }
}

#[cfg(test)]
mod tests;
