//! The list of GPUs, read again each round: the present ones, the lost ones, and whether the driver itself is still
//! the one that was started. Everything here runs on the one thread for the library as a whole.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, atomic::Ordering},
    time::{Duration, Instant},
};

use super::{
    LibraryStatus,
    driver::{Answer, Driver, DriverOpener, DriverStamp, GpuHandle, NoDriver},
    fault::Fault,
    gpu::{Common, Gpu, GpuAccess, OpenDriver, lock},
    values::{Identity, Reading, Value},
};

/// Most GPUs that are believed.
const MAX_GPUS: u32 = 128;
/// How long a driver that was replaced is waited for before the next is started: calls may be under way.
const WAIT_FOR_OLD: Duration = Duration::from_secs(30);
/// Names of devices that drive a display of a workstation and nothing else; as GPUd, they are left out.
const DISPLAYS: [&str; 2] = ["DGX Display", "NVIDIA DGX Display"];

/// The GPUs and their driver as one round found them. Plain values and handles; nothing in it calls the driver.
#[derive(Clone)]
pub struct NvmlView {
    /// Whether there is a driver, and it works.
    pub library: LibraryStatus,
    /// Its version.
    pub driver_version: Answer<String>,
    /// CUDA's, as major × 1000 + minor × 10.
    pub cuda_version: Answer<u32>,
    /// GPUs that are there, and those that were since the driver was started, in NVML's order.
    pub gpus: Vec<Arc<Gpu>>,
    /// When, Unix milliseconds; 0 before the first.
    pub at: u64,
}

impl NvmlView {
    pub(super) fn without_driver(library: LibraryStatus, at: u64) -> Self {
        let none = Fault::new("nvmlInit_v2", super::fault::LIBRARY_NOT_FOUND);
        Self {
            library,
            driver_version: Err(none.clone()),
            cuda_version: Err(none),
            gpus: Vec::new(),
            at,
        }
    }

    /// Name of the first GPU that has one.
    pub fn product_name(&self) -> String {
        let names = self.gpus.iter().map(|gpu| gpu.identity().name.clone());
        names
            .into_iter()
            .find(|name| !name.is_empty())
            .unwrap_or_default()
    }
}

/// A driver that was started, and what was seen since.
struct Session {
    held: Arc<OpenDriver>,
    stamp: DriverStamp,
    driver_version: Answer<String>,
    cuda_version: Answer<u32>,
    known: Vec<Arc<Gpu>>,
    displays: BTreeSet<String>,
}

/// Makes rounds. One at a time: they share a thread.
pub(super) struct Rounds {
    opener: Box<dyn DriverOpener>,
    common: Common,
    session: Mutex<Option<Session>>,
    /// A driver that was closed here but is still in use, and since when.
    old: Mutex<Option<(Arc<OpenDriver>, Instant)>>,
    /// The question under way, for the callers that wait.
    step: Mutex<String>,
}

impl Rounds {
    pub fn new(opener: Box<dyn DriverOpener>, common: Common) -> Self {
        Self {
            opener,
            common,
            session: Mutex::default(),
            old: Mutex::default(),
            step: Mutex::default(),
        }
    }

    /// The question under way.
    pub fn step(&self) -> String {
        lock(&self.step).clone()
    }

    /// Looks at everything once. May take long, or never return.
    pub fn make(&self) -> NvmlView {
        self.common.suspect.store(false, Ordering::Relaxed);
        let now = self.common.clock.now_ms();
        // Taken out while the driver is asked, so that nothing else waits for a lock.
        let session = lock(&self.session).take();
        match self.session(session) {
            Err(library) => NvmlView::without_driver(library, now),
            Ok(mut session) => {
                let found = self.enumerate(&mut session);
                let view = |library| NvmlView {
                    library,
                    driver_version: session.driver_version.clone(),
                    cuda_version: session.cuda_version.clone(),
                    gpus: session.known.clone(),
                    at: now,
                };
                match found {
                    Ok(()) => {
                        let view = view(LibraryStatus::Loaded);
                        *lock(&self.session) = Some(session);
                        view
                    }
                    // Restarted next time: a driver that cannot list its GPUs may have been reloaded below us.
                    Err(text) => {
                        let view = NvmlView {
                            gpus: Vec::new(),
                            ..view(LibraryStatus::Failed(text))
                        };
                        self.close(session);
                        view
                    }
                }
            }
        }
    }

    /// The session that is there if its files are unchanged, or a new one.
    fn session(&self, session: Option<Session>) -> Result<Session, LibraryStatus> {
        let stamp = self.opener.stamp();
        if let Some(session) = session {
            if session.stamp == stamp && session.held.0.is_in_place() {
                return Ok(session);
            }
            self.close(session);
        }
        self.end_old()?;
        self.at("nvmlInit_v2");
        let driver = self.opener.open().map_err(|error| match error {
            NoDriver::NotThere(text) => LibraryStatus::NotFound(text),
            NoDriver::Broken(text) => LibraryStatus::Failed(text),
        })?;
        self.at("nvmlSystemGetDriverVersion");
        Ok(Session {
            driver_version: driver.driver_version(),
            cuda_version: driver.cuda_version(),
            held: Arc::new(OpenDriver(driver)),
            stamp,
            known: Vec::new(),
            displays: BTreeSet::new(),
        })
    }

    /// Retires a driver: it gets no further calls, and ends when the calls under way are over.
    fn close(&self, session: Session) {
        for gpu in &session.known {
            gpu.set_place(GpuAccess::Closed);
            gpu.forget_answers();
        }
        *lock(&self.old) = Some((session.held, Instant::now()));
    }

    /// Ends the driver that was closed. A library that is still loaded would be found again instead of a new one.
    fn end_old(&self) -> Result<(), LibraryStatus> {
        let mut old = lock(&self.old);
        match &*old {
            Some((held, since))
                if Arc::strong_count(held) > 1 && since.elapsed() < WAIT_FOR_OLD =>
            {
                Err(LibraryStatus::Failed(
                    "the driver was changed; calls to the old one are still under way".to_owned(),
                ))
            }
            _ => {
                let ended = old.take();
                drop(old);
                self.at("nvmlShutdown");
                drop(ended);
                Ok(())
            }
        }
    }

    fn at(&self, step: &str) {
        *lock(&self.step) = step.to_owned();
    }

    /// Brings the list of GPUs up to date.
    fn enumerate(&self, session: &mut Session) -> Result<(), String> {
        self.at("nvmlDeviceGetCount_v2");
        let count = session
            .held
            .0
            .count()
            .map_err(|fault| format!("error getting device count: {}", fault.text))?;
        if count > MAX_GPUS {
            return Err(format!(
                "error getting device count: {count} GPUs are more than the {MAX_GPUS} that are believed"
            ));
        }
        let mut seen: Vec<Arc<Gpu>> = Vec::new();
        let mut failed: Vec<(u32, Fault)> = Vec::new();
        for index in 0..count {
            match self.open(session, index) {
                Ok(Some(gpu)) => seen.push(gpu),
                Ok(None) => {}
                Err(fault) => failed.push((index, fault)),
            }
        }
        if let Some((index, fault)) = failed.first() {
            let hopeless = seen.is_empty() && session.known.is_empty();
            if hopeless || (seen.is_empty() && !fault.is_lost() && !fault.needs_reset()) {
                return Err(format!(
                    "error getting device handle for index '{index}': {}",
                    fault.text
                ));
            }
        }
        self.missing(session, &seen, failed);
        Ok(())
    }

    /// One GPU of the driver's list; `None` for a display.
    fn open(&self, session: &mut Session, index: u32) -> Answer<Option<Arc<Gpu>>> {
        let (held, driver) = (&session.held, &session.held.0);
        self.at(&format!("nvmlDeviceGetHandleByIndex_v2 of GPU {index}"));
        let slot = driver.open(index)?;
        self.at(&format!("nvmlDeviceGetUUID of GPU {index}"));
        let uuid = match driver.uuid(slot)? {
            // Nobody could tell it from another one.
            empty if empty.is_empty() => stranger(index),
            uuid => uuid,
        };
        if session.displays.contains(&uuid) {
            return Ok(None);
        }
        let mut known = session.known.iter();
        if let Some(gpu) = known.find(|gpu| gpu.identity().uuid == uuid) {
            let before = gpu.identity();
            if !before.is_whole() {
                self.at(&format!("identity of GPU {index}"));
                gpu.set_identity(Identity {
                    index,
                    uuid,
                    ..identity(driver, slot)?
                });
            } else if before.index != index {
                gpu.set_identity(Identity {
                    index,
                    ..(*before).clone()
                });
            }
            gpu.set_place(GpuAccess::Driver(Arc::clone(held), slot));
            return Ok(Some(Arc::clone(gpu)));
        }
        self.at(&format!("identity of GPU {index}"));
        let identity = Identity {
            index,
            uuid: uuid.clone(),
            ..identity(driver, slot)?
        };
        if DISPLAYS.contains(&identity.name.as_str()) {
            session.displays.insert(uuid);
            return Ok(None);
        }
        let place = GpuAccess::Driver(Arc::clone(held), slot);
        let gpu = Arc::new(Gpu::new(identity, place, self.common.clone()));
        // A GPU that could not be opened before is now known by its name.
        let stranger = stranger(index);
        session
            .known
            .retain(|known| known.identity().uuid != stranger);
        if session.known.len() < MAX_GPUS as usize {
            session.known.push(Arc::clone(&gpu));
        }
        Ok(Some(gpu))
    }

    /// Says of each GPU that was known and not seen why it is not; a GPU that fails and was never known gets an entry
    /// under its index, so that nobody overlooks it.
    fn missing(&self, session: &mut Session, seen: &[Arc<Gpu>], mut failed: Vec<(u32, Fault)>) {
        let is_seen = |gpu: &Arc<Gpu>| seen.iter().any(|other| Arc::ptr_eq(gpu, other));
        let absent: Vec<Arc<Gpu>> = session
            .known
            .iter()
            .filter(|gpu| !is_seen(gpu))
            .cloned()
            .collect();
        for gpu in absent {
            let index = gpu.identity().index;
            let at = failed.iter().position(|(failing, _)| *failing == index);
            let fault = at.map(|at| failed.remove(at).1);
            let said_before = matches!(gpu.place(), GpuAccess::Missing(_));
            if !said_before {
                tracing::warn!(
                    "{} is gone: {}",
                    gpu.identity().label(),
                    fault.as_ref().map_or("no longer listed", |it| &it.text)
                );
            }
            match fault {
                Some(fault) => gpu.set_place(GpuAccess::Missing(fault)),
                None if said_before => {}
                None => gpu.set_place(GpuAccess::Missing(no_longer_listed())),
            }
            gpu.forget_answers();
        }
        for (index, fault) in failed {
            if session.known.len() >= MAX_GPUS as usize {
                break;
            }
            tracing::warn!("GPU {index} cannot be opened: {}", fault.text);
            let identity = Identity {
                index,
                uuid: stranger(index),
                ..Identity::default()
            };
            let gpu = Gpu::new(identity, GpuAccess::Missing(fault), self.common.clone());
            session.known.push(Arc::new(gpu));
        }
        session.known.sort_by_key(|gpu| gpu.identity().index);
    }
}

/// Returns the name of a GPU that could never be opened, in place of its UUID.
fn stranger(index: u32) -> String {
    format!("unknown-gpu-{index}")
}

fn no_longer_listed() -> Fault {
    Fault {
        call: "nvmlDeviceGetCount_v2",
        code: super::fault::GPU_IS_LOST,
        text: "GPU is lost: no longer listed by the driver".to_owned(),
    }
}

fn identity(driver: &Arc<dyn Driver>, slot: GpuHandle) -> Answer<Identity> {
    match driver.read(slot, &Reading::Identity)? {
        Value::Identity(identity) => Ok(*identity),
        _ => Err(Fault::new("nvmlDeviceGetName", super::fault::UNKNOWN)),
    }
}
