//! Frame buffer, utilization.

use nvml_wrapper_sys::bindings::{
    nvmlBAR1Memory_t, nvmlMemory_t, nvmlMemory_v2_t, nvmlUtilization_t,
};

use crate::call::{Target, have};
use crate::code::Code;
use crate::edge::{Out, export};
use crate::struct_version;

/// Total, reserved, used, free.
fn amounts(target: &Target) -> Result<(u64, u64, u64, u64), Code> {
    if let Some(mig) = target.mig_device()? {
        let total = mig.memory_mib.saturating_mul(1 << 20);
        return Ok((
            total,
            0,
            mig.used_memory,
            total.saturating_sub(mig.used_memory),
        ));
    }
    let memory = &target.gpu()?.memory;
    let (total, used) = (have(&memory.total)?, have(&memory.used)?);
    let reserved = memory.reserved.unwrap_or(0);
    let left = total.saturating_sub(used).saturating_sub(reserved);
    Ok((total, reserved, used, memory.free.unwrap_or(left)))
}

/// Percent of time, sampled every 167 ms as the header says of some GPUs.
fn engine(reading: &Option<u32>, percent: Out<u32>, period: Out<u32>) -> Result<(), Code> {
    percent.set(have(reading)?)?;
    period.set(167_000)
}

export! {
    any nvmlDeviceGetMemoryInfo(memory: Out<nvmlMemory_t>) [] |target| {
        let (total, reserved, used, free) = amounts(target)?;
        // Version 1 counts what the driver keeps as used.
        memory.set(nvmlMemory_t { total, free, used: used.saturating_add(reserved) })
    };
    any nvmlDeviceGetMemoryInfo_v2(memory: Out<nvmlMemory_v2_t>) [] |target| {
        let version = memory.version(&[struct_version::<nvmlMemory_v2_t>(2)])?;
        let (total, reserved, used, free) = amounts(target)?;
        memory.set(nvmlMemory_v2_t { version, total, reserved, free, used })
    };
    device nvmlDeviceGetBAR1MemoryInfo(memory: Out<nvmlBAR1Memory_t>) [] |target| {
        let of = &target.gpu()?.memory;
        let (total, used) = (have(&of.bar1_total)?, have(&of.bar1_used)?);
        memory.set(nvmlBAR1Memory_t { bar1Total: total, bar1Free: total.saturating_sub(used), bar1Used: used })
    };
    device nvmlDeviceGetMemoryBusWidth(width: Out<u32>) [] |target| width.set(have(&target.gpu()?.memory.bus_width)?);
    device nvmlDeviceGetUtilizationRates(rates: Out<nvmlUtilization_t>) [] |target| {
        let gpu = target.gpu()?;
        if gpu.mig.enabled == Some(true) {
            // Not to be had for a GPU that is divided.
            return Err(Code::NOT_SUPPORTED);
        }
        rates.set(nvmlUtilization_t { gpu: have(&gpu.utilization.gpu)?, memory: have(&gpu.utilization.memory)? })
    };
    device nvmlDeviceGetEncoderUtilization(percent: Out<u32>, period: Out<u32>) [] |target| {
        engine(&target.gpu()?.utilization.encoder, percent, period)
    };
    device nvmlDeviceGetDecoderUtilization(percent: Out<u32>, period: Out<u32>) [] |target| {
        engine(&target.gpu()?.utilization.decoder, percent, period)
    };
    device nvmlDeviceGetJpgUtilization(percent: Out<u32>, period: Out<u32>) [] |target| {
        engine(&target.gpu()?.utilization.jpeg, percent, period)
    };
    device nvmlDeviceGetOfaUtilization(percent: Out<u32>, period: Out<u32>) [] |target| {
        engine(&target.gpu()?.utilization.ofa, percent, period)
    };
}
