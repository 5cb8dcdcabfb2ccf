//! NVIDIA GPUs, through the driver's management library (NVML).
//!
//! Calls into NVML can take seconds and can hang for ever, so nothing here calls it on the caller's thread:
//!
//! - One thread asks about the library as a whole ([`round`]): it finds and starts the driver, lists its GPUs, and
//!   notices when a GPU or the driver has gone or another driver was installed. Nothing needs a restart.
//! - One thread per GPU asks about that GPU ([`gpu`]); one more asks about pairs, and some take GPM samples
//!   ([`gpm`]). A GPU that hangs holds its own thread.
//!
//! Every caller waits for a bounded time. A list of GPUs counts for [`ROUND`], an answer for
//! [`gpu::SHARED_FOR`]: checkers of one round that ask the same thing cause one call. What never asks the driver at all
//! is [`Nvml::latest`] and [`Nvml::inventory`]: requests use these.
//!
//! The questions go to a [`Driver`]: NVML ([`library`]), or one in memory ([`simulated`]), with or without pretended
//! faults ([`injected`]).

mod device;
pub mod driver;
pub mod fault;
mod find;
mod gpm;
pub mod gpu;
pub mod injected;
mod inventory;
mod library;
mod pairs;
mod round;
pub mod simulated;
pub mod values;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

pub use device::Device;
pub use driver::{Driver, DriverOpener};
pub use gpu::{Gpu, NvmlTiming};
pub use injected::Injected;
pub use inventory::Inventory;
pub use library::MAX_GPM_METRICS;
pub use round::NvmlView;

use super::{clock::Clock, error::SourceError, hang_pool::HangPool, trusted, variables};
use driver::{AbsentDriver, PresentDriver};
use find::LibraryPaths;
use gpm::Gpm;
use gpu::{Common, lock};
use library::LibraryOpener;
use round::Rounds;
use simulated::Simulated;

/// How long a list of GPUs counts. Components run spread over their intervals: a longer time saves calls, a shorter one
/// notices sooner that a GPU or the driver has gone. (That a GPU does not answer is noticed by its caller.)
pub const ROUND: Duration = Duration::from_secs(10);
/// Shortest and longest time between two GPM samples.
const GPM_PERIOD: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(10));
/// Wait for a new list of GPUs when there is an older one to go on with.
const PATIENCE: Duration = Duration::from_secs(2);
/// Wait for the driver's start and the first list: without persistence mode, it wakes one GPU after the other.
const FIRST: Duration = Duration::from_secs(20);

/// Whether the library could be loaded and works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LibraryStatus {
    /// It works.
    Loaded,
    /// No library or no driver on this machine; the text says what was looked for.
    NotFound(String),
    /// It is there and does not work; the text says why.
    Failed(String),
}

/// The driver to use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// This library and no other (`GPUD_NVML_LIBRARY_PATH`).
    pub library: Option<PathBuf>,
    /// Root of a driver that is installed beside the system (`GPUD_NVIDIA_DRIVER_ROOT`); looked at before the usual
    /// places.
    pub driver_root: Option<PathBuf>,
    /// No library: one GPU in memory that is well (`GPUD_NVML_MOCK_ALL_SUCCESS`).
    pub mock: bool,
    /// Faults to pretend.
    pub injected: Injected,
}

impl Options {
    /// Reads the options from the environment. Switches are on when they are exactly `true`; empty paths are none. The
    /// log names switches that pretend something: the environment may be another user's.
    pub fn from_env() -> Self {
        let pretences = pretences(|name| is_on(std::env::var_os(name)));
        if !pretences.is_empty() {
            tracing::warn!(
                "what is shown of GPUs is made up, for tests: {} is set; unset it to see this machine",
                pretences.join(", ")
            );
        }
        Self::from_variables(|name| match variables::INPUTS.contains(&name) {
            true => trusted::input(name),
            false => std::env::var_os(name),
        })
    }

    fn from_variables(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Self {
        let path = |name| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let on = |name| is_on(variable(name));
        Self {
            library: path("GPUD_NVML_LIBRARY_PATH"),
            driver_root: path("GPUD_NVIDIA_DRIVER_ROOT"),
            mock: on("GPUD_NVML_MOCK_ALL_SUCCESS"),
            injected: Injected {
                rows_pending_everywhere: on("GPUD_NVML_INJECT_REMAPPED_ROWS_PENDING"),
                hw_slowdown_everywhere: on("GPUD_NVML_INJECT_CLOCK_EVENTS_HW_SLOWDOWN"),
                ..Injected::default()
            },
        }
    }
}

fn is_on(value: Option<std::ffi::OsString>) -> bool {
    value.is_some_and(|value| value == "true")
}

/// Returns the names of the switches for tests that are on.
fn pretences(is_on: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let names = variables::PRETENCES.iter().copied();
    names.filter(|name| is_on(name)).collect()
}

/// The GPUs of a machine. Clones are the same.
#[derive(Clone)]
pub struct Nvml {
    shared: Arc<NvmlShared>,
}

struct NvmlShared {
    rounds: Arc<Rounds>,
    common: Common,
    library: HangPool,
    pairs: HangPool,
    gpm: Gpm,
    /// One round at a time; the others wait for its result.
    turn: tokio::sync::Mutex<()>,
    /// When the GPUs were last asked again.
    again: tokio::sync::Mutex<Option<Instant>>,
    latest: Mutex<Latest>,
    inventory: Mutex<Option<Arc<Inventory>>>,
}

struct Latest {
    view: Arc<NvmlView>,
    /// When the search for it began, or when the last question for a newer one was given up.
    looked: Option<Instant>,
}

impl Nvml {
    /// The driver that the options name.
    pub fn new(options: Options) -> Self {
        Self::with_timing(options, NvmlTiming::default())
    }

    /// The same with other waits.
    pub fn with_timing(options: Options, timing: NvmlTiming) -> Self {
        let below: Box<dyn DriverOpener> = match options.mock {
            true => Box::new(PresentDriver(Arc::new(Simulated::mock()))),
            false => Box::new(LibraryOpener::new(LibraryPaths {
                library: options.library,
                driver_root: options.driver_root,
            })),
        };
        Self::of(options.injected.over(below), timing)
    }

    /// Makes one without a driver, for a machine that is not here.
    pub fn absent() -> Self {
        let never = AbsentDriver("this is not the machine that is looked at");
        Self::of(Box::new(never), NvmlTiming::default())
    }

    /// Makes one that uses any driver.
    pub fn of(opener: Box<dyn DriverOpener>, timing: NvmlTiming) -> Self {
        let common = Common {
            clock: Clock::Live,
            timing,
            suspect: Arc::new(AtomicBool::new(false)),
            not_before: Arc::default(),
        };
        let nothing = LibraryStatus::Failed("NVML was not asked yet".to_owned());
        Self {
            shared: Arc::new(NvmlShared {
                rounds: Arc::new(Rounds::new(opener, common.clone())),
                gpm: Gpm::new(timing.deadline),
                common,
                library: HangPool::new("nvml-lib", 1),
                pairs: HangPool::new("nvml-pairs", 1),
                turn: tokio::sync::Mutex::default(),
                again: tokio::sync::Mutex::default(),
                latest: Mutex::new(Latest {
                    view: Arc::new(NvmlView::without_driver(nothing, 0)),
                    looked: None,
                }),
                inventory: Mutex::default(),
            }),
        }
    }

    /// Makes sure that everything that is asked from now on is read after this call: what the driver answered before, or is
    /// about to answer to others, is not shared any more.
    pub fn refresh(&self) {
        *lock(&self.shared.common.not_before) = Some(Instant::now());
    }

    /// Returns the last result without asking the driver.
    pub fn latest(&self) -> Arc<NvmlView> {
        Arc::clone(&lock(&self.shared.latest).view)
    }

    /// The driver and its GPUs as they were at most [`ROUND`] ago. When the driver does not answer, an older list is
    /// better than none: the GPUs that still answer can be asked.
    pub async fn view(&self) -> Arc<NvmlView> {
        if let Some(view) = self.fresh() {
            return view;
        }
        let _turn = self.shared.turn.lock().await;
        if let Some(view) = self.fresh() {
            return view;
        }
        let timing = self.shared.common.timing;
        let is_first = self.latest().at == 0;
        let wait = if is_first {
            timing.first
        } else {
            timing.patience
        };
        let shared = Arc::downgrade(&self.shared);
        let rounds = Arc::clone(&self.shared.rounds);
        let made = self.shared.library.run("NVML", wait, move || {
            let began = Instant::now();
            let view = rounds.make();
            // Also when nobody waits any more: that is how a recovery is noticed.
            if let Some(shared) = shared.upgrade() {
                shared.take(view, began);
            }
            Ok(())
        });
        if let Err(error) = made.await {
            self.shared.not_answering(&error);
        }
        self.latest()
    }

    fn fresh(&self) -> Option<Arc<NvmlView>> {
        let timing = self.shared.common.timing;
        let latest = lock(&self.shared.latest);
        let looked = latest.looked?;
        let age = looked.elapsed();
        let suspect = self.shared.common.suspect.load(Ordering::Relaxed);
        let good_for = match (&latest.view.library, suspect) {
            // Starting a driver is expensive, and one that failed rarely recovers by itself.
            (LibraryStatus::Failed(_), _) => timing.round * 3,
            (_, true) => timing.shared_for.min(timing.round),
            (_, false) => timing.round,
        };
        let is_fresh = age < good_for && self.shared.common.is_current(looked);
        is_fresh.then(|| Arc::clone(&latest.view))
    }

    /// All GPUs: those that are there, and those that have gone since the driver was started.
    ///
    /// # Errors
    /// When there is no driver that works.
    pub async fn devices(&self) -> Result<Vec<Device>, SourceError> {
        let view = self.view().await;
        view.library.works()?;
        let gpus = view.gpus.iter();
        Ok(gpus
            .map(|gpu| Device::new(Arc::clone(gpu), self.clone()))
            .collect())
    }

    /// Asks all GPUs again what the last round asked. Checkers that come next find their answers and need not wait for a
    /// thread: they run one after the other and use the same memory, which is then still in the processor's caches.
    pub async fn ask_again(&self) {
        let mut last = self.shared.again.lock().await;
        if last.is_some_and(|last| last.elapsed() < self.shared.common.timing.again_after) {
            return;
        }
        let view = self.view().await;
        gpu::ask_again(&view.gpus).await;
        *last = Some(Instant::now());
    }

    /// GPM metrics by id of each of these, which are in the order of [`Nvml::devices`], between two samples that are
    /// `period` apart (10 ms to 10 s). More than 64 ids are [`SourceError::Invalid`].
    pub async fn gpm_of(
        &self,
        devices: &[Device],
        ids: Vec<u32>,
        period: Duration,
    ) -> Vec<Result<Vec<(u32, f64)>, SourceError>> {
        if ids.len() > MAX_GPM_METRICS {
            let count = ids.len();
            let text = format!("{count} GPM metrics at once are more than {MAX_GPM_METRICS}");
            return vec![Err(SourceError::Invalid(text)); devices.len()];
        }
        let (shortest, longest) = GPM_PERIOD;
        let gpus: Vec<_> = devices.iter().map(Device::gpu).collect();
        let period = period.clamp(shortest, longest);
        self.shared.gpm.metrics(&gpus, ids, period).await
    }

    /// `nvmlGpuP2PStatus_t` over NVLink between each two of these: 0 and 1, 0 and 2 …, 1 and 2 ….
    pub async fn p2p_among(&self, devices: &[Device]) -> Vec<Result<u32, SourceError>> {
        let gpus: Vec<_> = devices.iter().map(Device::gpu).collect();
        let NvmlShared { pairs, common, .. } = &*self.shared;
        pairs::statuses(&gpus, pairs, common.timing.deadline).await
    }
}

impl NvmlShared {
    fn take(&self, view: NvmlView, began: Instant) {
        let mut latest = lock(&self.latest);
        if latest.view.library != view.library {
            match &view.library {
                LibraryStatus::Loaded => tracing::info!(
                    "NVML works: driver {}, {} GPUs",
                    view.driver_version.as_deref().unwrap_or("unknown"),
                    view.gpus.len()
                ),
                LibraryStatus::NotFound(text) => tracing::info!("no NVML: {text}"),
                LibraryStatus::Failed(text) => tracing::warn!("NVML does not work: {text}"),
            }
        }
        *latest = Latest {
            view: Arc::new(view),
            looked: Some(began),
        };
    }

    /// Shows that the driver does not answer; callers do not wait again before the next round is due.
    fn not_answering(&self, error: &SourceError) {
        let mut latest = lock(&self.latest);
        latest.looked = Some(Instant::now());
        if latest.view.at != 0 && latest.view.library == LibraryStatus::Loaded {
            tracing::warn!("NVML does not answer ({}): {error}", self.rounds.step());
            return;
        }
        let first = self.common.timing.first;
        let for_long = self.library.stuck().into_iter().next();
        let seconds = for_long.map_or(first, |call| call.elapsed);
        // A busy machine without a driver may take a while to look for one: that is no driver that hangs.
        let is_absent = matches!(latest.view.library, LibraryStatus::NotFound(_));
        if latest.view.at != 0 && is_absent && seconds < first {
            return;
        }
        let text = format!(
            "{} has not come back for {} s",
            self.rounds.step(),
            seconds.as_secs()
        );
        let view = NvmlView::without_driver(LibraryStatus::Failed(text), latest.view.at);
        latest.view = Arc::new(view);
    }
}

impl LibraryStatus {
    /// Does it?
    ///
    /// # Errors
    /// Why not, as an error of whatever was to be asked.
    pub fn works(&self) -> Result<(), SourceError> {
        match self {
            Self::Loaded => Ok(()),
            Self::NotFound(text) => Err(SourceError::NotFound(text.clone())),
            Self::Failed(text) => Err(SourceError::Other(text.clone())),
        }
    }
}

impl Default for NvmlTiming {
    fn default() -> Self {
        Self {
            deadline: gpu::DEADLINE,
            shared_for: gpu::SHARED_FOR,
            again_after: gpu::AGAIN_AFTER,
            round: ROUND,
            patience: PATIENCE,
            first: FIRST,
        }
    }
}

#[cfg(test)]
mod tests;
