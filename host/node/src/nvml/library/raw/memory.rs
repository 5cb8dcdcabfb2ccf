//! A GPU's memory: its use, its errors, its spare rows.

use std::mem;

use nvml_wrapper::Nvml;
use nvml_wrapper_sys::bindings::{
    nvmlEccSramErrorStatus_v1_t, nvmlMemory_t, nvmlRowRemapperHistogramValues_t,
};

use super::{Handle, check, device, version_of, wrapped};
use crate::nvml::{
    driver::Answer,
    fault::Fault,
    values::{Memory, RowHistogram, SramEcc},
};

/// Version 2 of the call, or version 1 where 2 does not work.
pub fn memory(nvml: &Nvml, gpu: Handle) -> Answer<Memory> {
    let first = device(nvml, gpu).memory_info();
    let fault = match first {
        Ok(memory) => {
            return Ok(Memory {
                total: memory.total,
                reserved: memory.reserved,
                free: memory.free,
                used: memory.used,
            });
        }
        Err(error) => wrapped(nvml, "nvmlDeviceGetMemoryInfo_v2", error),
    };
    if fault.is_lost() || fault.needs_reset() {
        return Err(fault);
    }
    let mut memory = nvmlMemory_t {
        total: 0,
        free: 0,
        used: 0,
    };
    call!(nvml, nvmlDeviceGetMemoryInfo(gpu.0, &mut memory))?;
    Ok(Memory {
        total: memory.total,
        reserved: 0,
        free: memory.free,
        used: memory.used,
    })
}

/// Now, and after the next reset.
pub fn ecc_mode(nvml: &Nvml, gpu: Handle) -> Answer<(bool, bool)> {
    let (mut current, mut pending) = (0, 0);
    call!(
        nvml,
        nvmlDeviceGetEccMode(gpu.0, &mut current, &mut pending)
    )?;
    Ok((current != 0, pending != 0))
}

/// By kind of error and period.
pub fn ecc_total(nvml: &Nvml, gpu: Handle, error: u32, period: u32) -> Answer<u64> {
    let mut count = 0;
    call!(
        nvml,
        nvmlDeviceGetTotalEccErrors(gpu.0, error, period, &mut count)
    )?;
    Ok(count)
}

/// The same at one place.
pub fn ecc_count(nvml: &Nvml, gpu: Handle, error: u32, period: u32, place: u32) -> Answer<u64> {
    let mut count = 0;
    call!(
        nvml,
        nvmlDeviceGetMemoryErrorCounter(gpu.0, error, period, place, &mut count)
    )?;
    Ok(count)
}

/// Correctable, uncorrectable, pending, failed.
pub fn remapped_rows(nvml: &Nvml, gpu: Handle) -> Answer<(u32, u32, bool, bool)> {
    let (mut correctable, mut uncorrectable, mut pending, mut failed) = (0, 0, 0, 0);
    call!(
        nvml,
        nvmlDeviceGetRemappedRows(
            gpu.0,
            &mut correctable,
            &mut uncorrectable,
            &mut pending,
            &mut failed
        )
    )?;
    Ok((correctable, uncorrectable, pending != 0, failed != 0))
}

/// Banks by spare rows.
pub fn row_histogram(nvml: &Nvml, gpu: Handle) -> Answer<RowHistogram> {
    let mut values = nvmlRowRemapperHistogramValues_t {
        max: 0,
        high: 0,
        partial: 0,
        low: 0,
        none: 0,
    };
    call!(nvml, nvmlDeviceGetRowRemapperHistogram(gpu.0, &mut values))?;
    Ok(RowHistogram {
        max: values.max,
        high: values.high,
        partial: values.partial,
        low: values.low,
        none: values.none,
    })
}

/// Errors of on-chip memory.
pub fn sram_ecc(nvml: &Nvml, gpu: Handle) -> Answer<SramEcc> {
    // SAFETY: all zero is a value of this struct of numbers.
    let mut status: nvmlEccSramErrorStatus_v1_t = unsafe { mem::zeroed() };
    status.version = version_of::<nvmlEccSramErrorStatus_v1_t>(1);
    call!(nvml, nvmlDeviceGetSramEccErrorStatus(gpu.0, &mut status))?;
    Ok(SramEcc {
        aggregate_uncorrectable_parity: status.aggregateUncParity,
        aggregate_uncorrectable_sec_ded: status.aggregateUncSecDed,
        aggregate_correctable: status.aggregateCor,
        volatile_uncorrectable_parity: status.volatileUncParity,
        volatile_uncorrectable_sec_ded: status.volatileUncSecDed,
        volatile_correctable: status.volatileCor,
        aggregate_uncorrectable_l2: status.aggregateUncBucketL2,
        aggregate_uncorrectable_sm: status.aggregateUncBucketSm,
        aggregate_uncorrectable_pcie: status.aggregateUncBucketPcie,
        aggregate_uncorrectable_microcontroller: status.aggregateUncBucketMcu,
        aggregate_uncorrectable_other: status.aggregateUncBucketOther,
        threshold_exceeded: status.bThresholdExceeded != 0,
    })
}
