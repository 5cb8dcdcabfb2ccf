//! What every exported function does first and last.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::code::Code;
use crate::edge::Handle;
use crate::scenario::fault::Key;
use crate::scenario::gpu::{Gpu, Health};
use crate::scenario::mig::MigDevice;
use crate::scenario::node::Node;
use crate::state;

/// The GPU (or MIG device) that a call is about.
pub struct Target {
    /// The machine.
    pub node: Arc<Node>,
    /// Number of the GPU.
    pub number: u32,
    /// The MIG device's place, where the handle is one.
    pub mig: Option<u32>,
}

impl Target {
    /// The GPU, or a MIG device's parent.
    pub fn gpu(&self) -> Result<&Gpu, Code> {
        self.node.gpu(self.number).ok_or(Code::INVALID_ARGUMENT)
    }

    /// The MIG device, where the handle is one.
    pub fn mig_device(&self) -> Result<Option<&MigDevice>, Code> {
        let Some(place) = self.mig else {
            return Ok(None);
        };
        let devices = self.gpu()?.mig.devices();
        // A handle outlives its MIG device when the mode is switched.
        usize::try_from(place)
            .ok()
            .and_then(|p| devices.get(p))
            .map(Some)
            .ok_or(Code::INVALID_ARGUMENT)
    }
}

/// A reading, or 3 (not supported).
pub fn have<T: Clone>(reading: &Option<T>) -> Result<T, Code> {
    reading.clone().ok_or(Code::NOT_SUPPORTED)
}

/// Runs the body of an exported function: logs, and never unwinds into C.
fn finish(key: Key, body: impl FnOnce() -> Result<(), Code>) -> u32 {
    let code = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Code::SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => Code::UNKNOWN,
    };
    state::with(|state| state.log(key, &format!("rc={code}")));
    code.0
}

/// A call that needs nothing, not even `nvmlInit`.
pub fn bare(name: &'static str, body: impl FnOnce() -> Result<(), Code>) -> u32 {
    finish(
        Key {
            name,
            gpu: None,
            arg: None,
        },
        body,
    )
}

/// A call about the machine. `gpu` is for the log and for faults.
pub fn system(
    name: &'static str,
    gpu: Option<u32>,
    arg: Option<i64>,
    body: impl FnOnce(Arc<Node>) -> Result<(), Code>,
) -> u32 {
    let key = Key { name, gpu, arg };
    finish(key, || {
        initialised()?;
        body(state::enter(key)?)
    })
}

/// A call about a GPU; a MIG device's handle gives 3.
pub fn device(
    name: &'static str,
    handle: Handle,
    arg: Option<i64>,
    body: impl FnOnce(&Target) -> Result<(), Code>,
) -> u32 {
    any_device(name, handle, arg, |target| match target.mig {
        Some(_) => Err(Code::NOT_SUPPORTED),
        None => body(target),
    })
}

/// A call about a GPU or a MIG device.
pub fn any_device(
    name: &'static str,
    handle: Handle,
    arg: Option<i64>,
    body: impl FnOnce(&Target) -> Result<(), Code>,
) -> u32 {
    let decoded = handle.decode();
    let key = Key {
        name,
        gpu: decoded.map(|(number, _)| number),
        arg,
    };
    finish(key, || {
        initialised()?;
        let (number, mig) = decoded.ok_or(Code::INVALID_ARGUMENT)?;
        let node = state::enter(key)?;
        let gpu = node.gpu(number).ok_or(Code::INVALID_ARGUMENT)?;
        answers(name, gpu, node.present.contains(&number))?;
        body(&Target {
            node: Arc::clone(&node),
            number,
            mig,
        })
    })
}

/// What a GPU that needs a reset still answers: who it is, and what to do about it.
const WHO: &[&str] = &[
    "nvmlDeviceGetName",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetSerial",
    "nvmlDeviceGetIndex",
    "nvmlDeviceGetMinorNumber",
    "nvmlDeviceGetPciInfo",
    "nvmlDeviceGetPciInfo_v2",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetPciInfoExt",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceIsMigDeviceHandle",
];

fn answers(name: &str, gpu: &Gpu, present: bool) -> Result<(), Code> {
    match gpu.health() {
        Health::Lost | Health::LostAfterLookup | Health::Absent => Err(Code::GPU_IS_LOST),
        Health::NeedsReset if !WHO.contains(&name) => Err(Code::RESET_REQUIRED),
        Health::NeedsReset | Health::Ok if present => Ok(()),
        // No longer enumerated: the handle is an old one.
        Health::NeedsReset | Health::Ok => Err(Code::GPU_IS_LOST),
    }
}

/// Was `nvmlInit` called?
pub fn initialised() -> Result<(), Code> {
    if state::with(|state| state.inits) == 0 {
        Err(Code::UNINITIALIZED)
    } else {
        Ok(())
    }
}

/// Can this GPU be looked up?
pub fn found(gpu: &Gpu) -> Result<(), Code> {
    if gpu.health() == Health::Lost {
        Err(Code::GPU_IS_LOST)
    } else {
        Ok(())
    }
}
