//! The seam between gpud and a driver: NVML itself ([`super::library`]), one in memory ([`super::simulated`]), or either
//! with faults laid over it ([`super::injected`]).

use std::{path::PathBuf, sync::Arc, time::SystemTime};

use super::{
    fault::Fault,
    values::{Reading, Value},
};

/// The answer of a driver.
pub type Answer<T = Value> = Result<T, Fault>;

/// A driver's own handle of a GPU. It is not valid for another driver, or for the same one after it was reopened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GpuHandle(pub u32);

/// A driver that is loaded and initialised. Every call may take long, or never return: only the threads of
/// [`super::gpu`] and [`super::round`] call it. Dropping it ends the session with the driver.
pub trait Driver: Send + Sync {
    /// For example `570.133.20`.
    fn driver_version(&self) -> Answer<String>;
    /// Major × 1000 + minor × 10.
    fn cuda_version(&self) -> Answer<u32>;
    /// How many GPUs there are to open.
    fn count(&self) -> Answer<u32>;
    /// Opens the GPU at a position. The same GPU gets the same slot.
    fn open(&self, index: u32) -> Answer<GpuHandle>;
    /// Its UUID.
    fn uuid(&self, gpu: GpuHandle) -> Answer<String>;
    /// Returns whether it is still what would be started now: the file that it was loaded from is there and the same.
    fn is_in_place(&self) -> bool {
        true
    }
    /// Answers a question about it.
    fn read(&self, gpu: GpuHandle, reading: &Reading) -> Answer;
    /// `nvmlGpuP2PStatus_t` over NVLink from one to the other.
    fn p2p_status(&self, from: GpuHandle, to: GpuHandle) -> Answer<u32>;
}

/// Why there is no driver to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoDriver {
    /// No library, or no driver: this machine has none. The text says what was looked for.
    NotThere(String),
    /// There is one, and it does not start.
    Broken(String),
}

/// A file of a driver: its path, device, inode and last change.
pub type DriverFile = (PathBuf, u64, u64, Option<SystemTime>);
/// The identities of a driver's files: when they change, another driver was installed.
pub type DriverStamp = Vec<DriverFile>;

/// Finds and starts a driver.
pub trait DriverOpener: Send + Sync {
    /// Starts it. May take many seconds.
    ///
    /// # Errors
    /// [`NoDriver`].
    fn open(&self) -> Result<Arc<dyn Driver>, NoDriver>;

    /// Returns the stamp of the files that it would be started from. Empty if they cannot change.
    fn stamp(&self) -> DriverStamp {
        DriverStamp::new()
    }
}

/// Opens a driver that is always present.
pub struct PresentDriver(pub Arc<dyn Driver>);

impl DriverOpener for PresentDriver {
    fn open(&self) -> Result<Arc<dyn Driver>, NoDriver> {
        Ok(Arc::clone(&self.0))
    }
}

/// Opens nothing: the machine has no driver, for a fixed reason.
pub struct AbsentDriver(pub &'static str);

impl DriverOpener for AbsentDriver {
    fn open(&self) -> Result<Arc<dyn Driver>, NoDriver> {
        Err(NoDriver::NotThere(self.0.to_owned()))
    }
}
