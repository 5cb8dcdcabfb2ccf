//! MIG.

use nvml_wrapper_sys::bindings::nvmlDeviceAttributes_t;

use super::enabled;
use crate::call::{Target, have};
use crate::code::Code;
use crate::edge::{Handle, Out, export};
use crate::scenario::gpu::Gpu;
use crate::scenario::mig::MigDevice;

/// UUID of a MIG device: its own, or the GPU's with its place in it.
pub fn uuid(gpu: &Gpu, mig: &MigDevice, place: u32) -> String {
    mig.uuid.clone().unwrap_or_else(|| {
        let of_gpu = gpu.uuid.as_deref().unwrap_or_default();
        let digits = of_gpu.strip_prefix("GPU-").unwrap_or(of_gpu);
        // The first eight digits carry the place.
        format!("MIG-{place:08x}{}", digits.get(8..).unwrap_or_default())
    })
}

/// The MIG device that a handle must be.
fn must(target: &Target) -> Result<&MigDevice, Code> {
    target.mig_device()?.ok_or(Code::INVALID_ARGUMENT)
}

fn attributes(target: &Target) -> Result<nvmlDeviceAttributes_t, Code> {
    let mig = must(target)?;
    Ok(nvmlDeviceAttributes_t {
        multiprocessorCount: mig.multiprocessors,
        sharedCopyEngineCount: mig.slices,
        sharedDecoderCount: mig.slices,
        sharedEncoderCount: 0,
        sharedJpegCount: mig.slices,
        sharedOfaCount: 0,
        gpuInstanceSliceCount: mig.slices,
        computeInstanceSliceCount: mig.slices,
        memorySizeMB: mig.memory_mib,
    })
}

export! {
    device nvmlDeviceGetMigMode(current: Out<u32>, pending: Out<u32>) [] |target| {
        let mig = &target.gpu()?.mig;
        current.set(enabled(have(&mig.enabled)?))?;
        pending.set(enabled(have(&mig.pending.or(mig.enabled))?))
    };
    device nvmlDeviceGetMaxMigDeviceCount(count: Out<u32>) [] |target| count.set(target.gpu()?.mig.max_devices.unwrap_or(0));
    device nvmlDeviceGetMigDeviceHandleByIndex(index: u32, out: Out<Handle>) [index] |target| {
        let mig = &target.gpu()?.mig;
        if have(&mig.enabled)? {
            // A place within the most there can be, but nothing there: not found.
            let max = mig.max_devices.unwrap_or(0);
            let there = usize::try_from(index).is_ok_and(|index| index < mig.devices().len());
            match there {
                true => out.set(Handle::encode(target.number, Some(index))),
                false if index < max => Err(Code::NOT_FOUND),
                false => Err(Code::INVALID_ARGUMENT),
            }
        } else {
            Err(Code::NOT_FOUND)
        }
    };
    any nvmlDeviceIsMigDeviceHandle(is: Out<u32>) [] |target| is.set(enabled(target.mig.is_some()));
    any nvmlDeviceGetGpuInstanceId(id: Out<u32>) [] |target| id.set(must(target)?.gpu_instance);
    any nvmlDeviceGetComputeInstanceId(id: Out<u32>) [] |target| id.set(must(target)?.compute_instance);
    any nvmlDeviceGetDeviceHandleFromMigDeviceHandle(out: Out<Handle>) [] |target| {
        must(target)?;
        out.set(Handle::encode(target.number, None))
    };
    any nvmlDeviceGetAttributes_v2(out: Out<nvmlDeviceAttributes_t>) [] |target| out.set(attributes(target)?);
    any nvmlDeviceGetAttributes(out: Out<nvmlDeviceAttributes_t>) [] |target| out.set(attributes(target)?);
}
