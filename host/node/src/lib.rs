//! The machine: files, programs, sockets, the kernel log, NVML, the clock. Nothing above this folder touches the
//! operating system directly, and nothing in it knows what a plugin or a component is.
#![allow(
    clippy::disallowed_methods,
    reason = "this is where the machine is touched"
)]

pub mod append;
mod async_fd;
pub mod clock;
pub mod clock_watch;
pub mod error;
pub mod file_watch;
pub mod files;
pub mod hang_pool;
pub mod kmsg;
pub mod local_file;
pub mod local_socket;
pub mod net;
pub mod nvml;
pub mod parts;
pub mod port_holder;
pub mod privileges;
pub mod process;
pub mod root_helper;
pub mod simulated;
pub mod slow_files;
mod sock_diag;
pub mod socket_owner;
pub mod stream;
pub mod subordinate_ids;
pub mod system;
pub mod system_calls;
pub mod temporary;
pub mod trusted;
pub mod users;
pub mod variables;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, RwLock},
    time::Duration,
};

use regex::RegexSet;

use clock::Clock;
use error::SourceError;
use files::Files;
use hang_pool::HangPool;
use kmsg::{BootClock, ReadBack};
use nvml::Nvml;

/// Scans of the kernel log at once; each holds a thread.
const READ_BACK_THREADS: usize = 2;

/// The boot that the machine is in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Boot {
    /// `/proc/sys/kernel/random/boot_id`; empty if unknown.
    pub id: String,
    /// When it booted, Unix milliseconds; 0 if unknown.
    pub time: u64,
}

/// One machine.
#[derive(Clone)]
pub struct Node {
    /// Its files.
    pub files: Files,
    /// Its clock.
    pub clock: Clock,
    /// Its GPUs.
    pub nvml: Nvml,
    /// The boot that it is in.
    pub boot: Boot,
    /// Command lines for bash that take the place of programs, by the programs' names.
    replacements: BTreeMap<&'static str, String>,
    /// Answers in place of programs and services, for a machine that is made up.
    canned: Option<Arc<RwLock<Arc<simulated::Canned>>>>,
    /// Folder at which the machine's `/` is mounted; `None` is as the environment says.
    host_root: Option<PathBuf>,
    kmsg_path: PathBuf,
    kmsg_clock: BootClock,
    /// When the machine booted by its clock as that was at the start; `None` without a live clock.
    booted_at_ms: Option<u64>,
    kmsg_scans: HangPool,
}

impl Node {
    /// The machine that we run on. `KMSG_FILE_PATH` of the environment is honoured where it is [trusted](trusted::input), and
    /// what [`nvml::Options::from_env`] knows.
    ///
    /// # Errors
    /// When the root folder cannot be opened.
    pub async fn live() -> Result<Self, SourceError> {
        Self::live_with(nvml::Options::from_env()).await
    }

    /// The same, with this driver for its GPUs.
    ///
    /// # Errors
    /// As [`Node::live`].
    pub async fn live_with(nvml: nvml::Options) -> Result<Self, SourceError> {
        let files = Files::live()?;
        let boot = boot(&files).await;
        Ok(Self {
            files,
            clock: Clock::Live,
            nvml: Nvml::new(nvml),
            boot,
            replacements: BTreeMap::new(),
            canned: None,
            host_root: None,
            kmsg_path: kmsg_path(),
            kmsg_clock: BootClock::read(),
            booted_at_ms: Clock::Live.booted_at_ms(),
            kmsg_scans: HangPool::new("kmsg-scan", READ_BACK_THREADS),
        })
    }

    /// A machine of which nothing is known but a saved kernel log that ends at `now`, Unix milliseconds.
    ///
    /// # Errors
    /// When the root folder cannot be opened.
    pub fn of_log(now: u64) -> Result<Self, SourceError> {
        Ok(Self {
            files: Files::live()?,
            clock: Clock::manual(now),
            nvml: Nvml::absent(),
            boot: Boot::default(),
            replacements: BTreeMap::new(),
            canned: None,
            host_root: None,
            kmsg_path: PathBuf::from("/dev/null"),
            kmsg_clock: BootClock::read(),
            booted_at_ms: None,
            kmsg_scans: HangPool::new("kmsg-scan", READ_BACK_THREADS),
        })
    }

    /// Returns when this boot began, Unix milliseconds; 0 if unknown. Where the clock was set back since the start, the boot
    /// is dated by as much earlier, so that it stays before all that happens in it. Where the clock was set forward, it
    /// stays where it was.
    pub fn boot_time(&self) -> u64 {
        clock::earlier_boot(self.boot.time, self.booted_at_ms, self.clock.booted_at_ms())
    }

    /// The same machine with command lines of the operator's (such as `nsenter --target 1 --mount -- lsblk`) in place of
    /// programs; `None` leaves a program as it is.
    #[must_use]
    pub fn replacing<const N: usize>(
        mut self,
        programs: [(&'static str, Option<String>); N],
    ) -> Self {
        let given = programs
            .into_iter()
            .filter_map(|(name, line)| Some((name, line?)));
        self.replacements.extend(given);
        self
    }

    /// The same machine, seen from a container in which its `/` is mounted at this folder; `None` is as the environment
    /// says. Logs a warning where the folder is not used.
    ///
    /// # Errors
    /// As [`Node::live`].
    pub fn with_host_root(self, host_root: Option<PathBuf>) -> Result<Self, SourceError> {
        let Some(folder) = host_root else {
            return Ok(self);
        };
        let files = Files::live_denying(&[], Some(&folder))?;
        if !files.has_other_mounts() {
            let shown = folder.display();
            tracing::warn!(
                "--host-root {shown} has no effect: gpud has the mounts of process 1. In a container, let it see the \
                 machine's processes (hostPID: true, --pid=host)"
            );
        }
        Ok(Self {
            files,
            host_root: Some(folder),
            ..self
        })
    }

    /// The same machine, of which no grant of files reaches these: gpud's own.
    ///
    /// # Errors
    /// As [`Node::live`].
    pub fn denying(self, own_files: &[PathBuf]) -> Result<Self, SourceError> {
        Ok(Self {
            files: Files::live_denying(own_files, self.host_root.as_deref())?,
            ..self
        })
    }

    /// Returns the command line that replaces this program.
    pub fn replacement(&self, program: &str) -> Option<&str> {
        self.replacements.get(program).map(String::as_str)
    }

    /// Its name; empty if unknown.
    pub async fn hostname(&self) -> String {
        text(&self.files, "/proc/sys/kernel/hostname").await
    }

    /// How the kernel log of this machine is read.
    pub fn kmsg_config(&self) -> kmsg::Config {
        kmsg::Config {
            clock: self.kmsg_clock,
            ..kmsg::Config::new(self.kmsg_path.clone())
        }
    }

    /// Opens the kernel log and reads a record, to see whether that works.
    ///
    /// # Errors
    /// As [`kmsg::probe`], and when there is no answer in time.
    pub async fn kmsg_probe(&self, deadline: Duration) -> Result<(), SourceError> {
        let path = self.kmsg_path.clone();
        let what = format!("opening {}", path.display());
        let probe = move || kmsg::probe(&path, deadline);
        self.kmsg_scans
            .run(&what, deadline + Duration::from_millis(200), probe)
            .await
    }

    /// Looks back at the whole kernel log; see [`kmsg::read_back`].
    ///
    /// # Errors
    /// As there, and when the scan does not end in time.
    pub async fn kmsg_read_back(
        &self,
        filter: RegexSet,
        max_messages: usize,
        deadline: Duration,
    ) -> Result<ReadBack, SourceError> {
        let (path, clock) = (self.kmsg_path.clone(), self.kmsg_clock);
        let what = format!("scan of {}", path.display());
        // The scan ends itself a little earlier than the wait for it, so that its own error is what is seen.
        let scan = move || kmsg::read_back(&path, &filter, max_messages, deadline, clock);
        self.kmsg_scans
            .run(&what, deadline + Duration::from_millis(200), scan)
            .await
    }
}

/// Returns the path of this machine's kernel log: the one that root named to its helper, else that of the environment.
fn kmsg_path() -> PathBuf {
    match root_helper::connection() {
        Some(helper) => helper.kernel_log().to_owned(),
        None => kmsg::configured_path(),
    }
}

async fn boot(files: &Files) -> Boot {
    let id = text(files, "/proc/sys/kernel/random/boot_id").await;
    let stat = text(files, "/proc/stat").await;
    let btime = stat.lines().find_map(|line| line.strip_prefix("btime "));
    let seconds: u64 = btime
        .and_then(|seconds| seconds.trim().parse().ok())
        .unwrap_or(0);
    Boot {
        id,
        time: seconds.saturating_mul(1000),
    }
}

/// A small text file, trimmed; empty if it cannot be read.
async fn text(files: &Files, path: &str) -> String {
    let content = files.read(path, 8 << 20).await.unwrap_or_default();
    String::from_utf8_lossy(&content).trim().to_owned()
}
