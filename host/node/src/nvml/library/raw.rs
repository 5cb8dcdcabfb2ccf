//! The calls into NVML that nvml-wrapper does not make, or not faithfully: it turns values that it does not know into
//! errors, and believes any count. The only unsafe code of NVML.
//!
//! What makes the calls sound is the same everywhere: functions were found in the library under their own names, with
//! the types of NVIDIA's header (nvml-wrapper-sys); handles come from the same library, which is held by [`Nvml`]; and
//! every pointer is to a local value of the type that the header names, with the version in it that says its size. NVML
//! is thread-safe by its own documentation.
#![allow(unsafe_code, reason = "calls into a C library")]

use std::{
    ffi::{CStr, c_char},
    mem, ptr,
};

use nvml_wrapper::{Device, Nvml, error::NvmlError};
use nvml_wrapper_sys::bindings::{
    NVML_GSP_FIRMWARE_VERSION_BUF_SIZE, nvmlDevice_t, nvmlEccSramErrorStatus_v1_t,
    nvmlFieldValue_t, nvmlGpmMetricsGet_t, nvmlGpmSample_t, nvmlGpmSupport_t, nvmlGpuFabricInfo_t,
    nvmlGpuFabricInfo_v2_t, nvmlGpuFabricInfoV_t, nvmlMarginTemperature_t, nvmlMemory_t,
    nvmlPlatformInfo_t, nvmlProcessInfo_t, nvmlProcessUtilizationSample_t,
    nvmlRowRemapperHistogramValues_t,
};

use super::super::{
    driver::Answer,
    fault::{self, Fault},
    values::{Fabric, Memory, Process, ProcessUse, RowHistogram, SramEcc, uuid_text},
};

/// Most processes, and most samples of them, that are believed.
const MAX_PROCESSES: u32 = 8_192;
/// Most GPM metrics of one question; the array in NVML's struct is larger.
pub const MAX_GPM_METRICS: usize = 64;

/// A GPU's handle, good for as long as its library is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle(nvmlDevice_t);

// SAFETY: NVML's handles are names for its own thread-safe books; nothing of ours is behind the pointer.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// A sample of GPM's counters. Must be given back with [`gpm_free`].
#[derive(Debug)]
pub struct Sample(nvmlGpmSample_t);

// SAFETY: NVML lets any thread use a sample, one at a time; this type cannot be copied or shared.
unsafe impl Send for Sample {}

macro_rules! call {
    ($nvml:expr, $symbol:ident($($argument:expr),* $(,)?)) => {
        match &$nvml.lib().$symbol {
            // SAFETY: see the head of this file.
            Ok(function) => check($nvml, stringify!($symbol), unsafe { function($($argument),*) }),
            Err(_) => Err(Fault::missing(stringify!($symbol))),
        }
    };
}

/// `NVML_STRUCT_VERSION`: size of the struct, and its version in the highest byte.
const fn version_of<T>(version: u32) -> u32 {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "structs of some dozen bytes"
    )]
    let size = mem::size_of::<T>() as u32;
    size | version << 24
}

fn check(nvml: &Nvml, call: &'static str, code: u32) -> Answer<()> {
    match code {
        0 => Ok(()),
        code => Err(Fault {
            call,
            code,
            text: error_text(nvml, code),
        }),
    }
}

/// NVML's text for a code.
pub fn error_text(nvml: &Nvml, code: u32) -> String {
    let Ok(function) = &nvml.lib().nvmlErrorString else {
        return fault::text_of(code);
    };
    // SAFETY: see the head of this file; the text is a constant of the library, or null.
    let text: *const c_char = unsafe { function(code) };
    if text.is_null() {
        return fault::text_of(code);
    }
    // SAFETY: not null, and NVML ends its texts.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    text.trim().to_owned()
}

/// Converts an error of nvml-wrapper, with NVML's code and text.
pub fn wrapped(nvml: &Nvml, call: &'static str, error: NvmlError) -> Fault {
    match error {
        NvmlError::FailedToLoadSymbol(_) => Fault::missing(call),
        error @ (NvmlError::Utf8Error(_)
        | NvmlError::NulError(_)
        | NvmlError::LibloadingError(_)
        | NvmlError::StringTooLong { .. }
        | NvmlError::IncorrectBits(_)) => Fault {
            call,
            code: fault::UNKNOWN,
            text: error.to_string(),
        },
        error => {
            let code = u32::from(error);
            Fault {
                call,
                code,
                text: error_text(nvml, code),
            }
        }
    }
}

/// Of a device that nvml-wrapper opened.
pub fn handle(device: &Device<'_>) -> Handle {
    // SAFETY: the pointer is only handed back to the library that it came from.
    Handle(unsafe { device.handle() })
}

/// The device of a handle that came from the same `nvml`.
pub fn device(nvml: &Nvml, handle: Handle) -> Device<'_> {
    // SAFETY: `Library` keeps handles together with the `Nvml` that they came from, and drops both at once.
    unsafe { Device::new(handle.0, nvml) }
}

/// `nvmlBrandType_t`, known or not.
pub fn brand(nvml: &Nvml, gpu: Handle) -> Answer<u32> {
    let mut brand = 0;
    call!(nvml, nvmlDeviceGetBrand(gpu.0, &mut brand))?;
    Ok(brand)
}

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

/// By clock type.
pub fn clock(nvml: &Nvml, gpu: Handle, which: u32) -> Answer<u32> {
    let mut mhz = 0;
    call!(nvml, nvmlDeviceGetClockInfo(gpu.0, which, &mut mhz))?;
    Ok(mhz)
}

/// By its name since driver 535, or by the older one; the bits are the same.
pub fn clock_event_reasons(nvml: &Nvml, gpu: Handle) -> Answer<u64> {
    let mut reasons = 0;
    if nvml.lib().nvmlDeviceGetCurrentClocksEventReasons.is_ok() {
        call!(
            nvml,
            nvmlDeviceGetCurrentClocksEventReasons(gpu.0, &mut reasons)
        )?;
    } else {
        call!(
            nvml,
            nvmlDeviceGetCurrentClocksThrottleReasons(gpu.0, &mut reasons)
        )?;
    }
    Ok(reasons)
}

/// Anything but 0 is on.
pub fn persistence_mode(nvml: &Nvml, gpu: Handle) -> Answer<bool> {
    let mut mode = 0;
    call!(nvml, nvmlDeviceGetPersistenceMode(gpu.0, &mut mode))?;
    Ok(mode != 0)
}

/// By sensor.
pub fn temperature(nvml: &Nvml, gpu: Handle, sensor: u32) -> Answer<u32> {
    let mut celsius = 0;
    call!(nvml, nvmlDeviceGetTemperature(gpu.0, sensor, &mut celsius))?;
    Ok(celsius)
}

/// By threshold.
pub fn temperature_threshold(nvml: &Nvml, gpu: Handle, threshold: u32) -> Answer<u32> {
    let mut celsius = 0;
    call!(
        nvml,
        nvmlDeviceGetTemperatureThreshold(gpu.0, threshold, &mut celsius)
    )?;
    Ok(celsius)
}

/// Degrees left until slowdown.
pub fn temperature_margin(nvml: &Nvml, gpu: Handle) -> Answer<i32> {
    let mut margin = nvmlMarginTemperature_t {
        version: version_of::<nvmlMarginTemperature_t>(1),
        marginTemperature: 0,
    };
    call!(nvml, nvmlDeviceGetMarginTemperature(gpu.0, &mut margin))?;
    Ok(margin.marginTemperature)
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

/// Up?
pub fn nvlink_active(nvml: &Nvml, gpu: Handle, link: u32) -> Answer<bool> {
    let mut state = 0;
    call!(nvml, nvmlDeviceGetNvLinkState(gpu.0, link, &mut state))?;
    Ok(state != 0)
}

/// By `nvmlNvLinkErrorCounter_t`.
pub fn nvlink_errors(nvml: &Nvml, gpu: Handle, link: u32, counter: u32) -> Answer<u64> {
    let mut count = 0;
    call!(
        nvml,
        nvmlDeviceGetNvLinkErrorCounter(gpu.0, link, counter, &mut count)
    )?;
    Ok(count)
}

/// By `nvmlGpuP2PCapsIndex_t`.
pub fn p2p_status(nvml: &Nvml, from: Handle, to: Handle, index: u32) -> Answer<u32> {
    let mut status = 0;
    call!(
        nvml,
        nvmlDeviceGetP2PStatus(from.0, to.0, index, &mut status)
    )?;
    Ok(status)
}

/// Version 3 of the versioned call, version 2, or the call without one: whichever works first.
pub fn fabric(nvml: &Nvml, gpu: Handle) -> Answer<Fabric> {
    // SAFETY: all zero is a value of this struct of numbers.
    let mut newest: nvmlGpuFabricInfoV_t = unsafe { mem::zeroed() };
    newest.version = version_of::<nvmlGpuFabricInfoV_t>(3);
    match call!(nvml, nvmlDeviceGetGpuFabricInfoV(gpu.0, &mut newest)) {
        Ok(()) => {
            return Ok(Fabric {
                cluster_uuid: uuid_text(newest.clusterUuid),
                clique_id: newest.cliqueId,
                state: newest.state,
                status: newest.status,
                health_mask: Some(newest.healthMask),
                health_summary: Some(newest.healthSummary),
            });
        }
        Err(fault) if fault.is_lost() || fault.needs_reset() => return Err(fault),
        Err(_) => {}
    }
    // SAFETY: as above.
    let mut older: nvmlGpuFabricInfo_v2_t = unsafe { mem::zeroed() };
    older.version = version_of::<nvmlGpuFabricInfo_v2_t>(2);
    // The driver writes no more than the version says.
    let pointer = ptr::from_mut(&mut older).cast::<nvmlGpuFabricInfoV_t>();
    if call!(nvml, nvmlDeviceGetGpuFabricInfoV(gpu.0, pointer)).is_ok() {
        return Ok(Fabric {
            cluster_uuid: uuid_text(older.clusterUuid),
            clique_id: older.cliqueId,
            state: older.state,
            status: older.status,
            health_mask: Some(older.healthMask),
            health_summary: None,
        });
    }
    // SAFETY: as above.
    let mut first: nvmlGpuFabricInfo_t = unsafe { mem::zeroed() };
    call!(nvml, nvmlDeviceGetGpuFabricInfo(gpu.0, &mut first))?;
    Ok(Fabric {
        cluster_uuid: uuid_text(first.clusterUuid),
        clique_id: first.cliqueId,
        state: first.state,
        status: first.status,
        health_mask: None,
        health_summary: None,
    })
}

/// Serial number of the chassis, printable part. Version 1 of the struct has a rack's id in the same place.
pub fn chassis_serial(nvml: &Nvml, gpu: Handle) -> Answer<String> {
    let mut last = Fault::missing("nvmlDeviceGetPlatformInfo");
    for version in [2, 1] {
        // SAFETY: all zero is a value of this struct of numbers; both versions have the same size and offsets.
        let mut info: nvmlPlatformInfo_t = unsafe { mem::zeroed() };
        info.version = version_of::<nvmlPlatformInfo_t>(version);
        match call!(nvml, nvmlDeviceGetPlatformInfo(gpu.0, &mut info)) {
            Ok(()) => {
                let bytes = info.chassisSerialNumber.iter().copied();
                let text = bytes.take_while(u8::is_ascii_graphic).map(char::from);
                return Ok(text.collect());
            }
            Err(fault) => last = fault,
        }
    }
    Err(last)
}

/// Version of the firmware that runs on the GPU's system processor (GSP).
pub fn gsp_firmware(nvml: &Nvml, gpu: Handle) -> Answer<String> {
    // The header gives the size and the call takes none.
    let mut version: [c_char; NVML_GSP_FIRMWARE_VERSION_BUF_SIZE as usize] =
        [0; NVML_GSP_FIRMWARE_VERSION_BUF_SIZE as usize];
    let pointer = version.as_mut_ptr();
    call!(nvml, nvmlDeviceGetGspFirmwareVersion(gpu.0, pointer))?;
    // Signed on some processors, unsigned on others.
    let bytes = version.into_iter().flat_map(c_char::to_ne_bytes);
    let text = bytes.take_while(u8::is_ascii_graphic).map(char::from);
    Ok(text.collect())
}

/// Does the GSP run firmware, and would it by default?
pub fn gsp_mode(nvml: &Nvml, gpu: Handle) -> Answer<(bool, bool)> {
    let (mut now, mut default) = (0, 0);
    call!(
        nvml,
        nvmlDeviceGetGspFirmwareMode(gpu.0, &mut now, &mut default)
    )?;
    Ok((now != 0, default != 0))
}

/// Asks for a list whose length only the driver knows, and believes `MAX_PROCESSES`.
fn list<T: Copy>(empty: T, mut ask: impl FnMut(&mut u32, *mut T) -> Answer<()>) -> Answer<Vec<T>> {
    let mut room = 64;
    loop {
        let mut items = vec![empty; room as usize];
        let mut count = room;
        match ask(&mut count, items.as_mut_ptr()) {
            Ok(()) => {
                items.truncate(count.min(room) as usize);
                return Ok(items);
            }
            // Some leave the count as it was: twice as many then. More may have come since it was counted.
            Err(fault) if fault.code == fault::INSUFFICIENT_SIZE && room < MAX_PROCESSES => {
                room = count.saturating_add(16).max(room * 2).min(MAX_PROCESSES);
            }
            Err(fault) => return Err(fault),
        }
    }
}

/// Processes that compute. Version 3 of the call, or version 2 before driver 510; their structs are the same.
pub fn processes(nvml: &Nvml, gpu: Handle) -> Answer<Vec<Process>> {
    // SAFETY: all zero is a value of this struct of numbers.
    let empty: nvmlProcessInfo_t = unsafe { mem::zeroed() };
    let found = if nvml.lib().nvmlDeviceGetComputeRunningProcesses_v3.is_ok() {
        list(empty, |count, items| {
            call!(
                nvml,
                nvmlDeviceGetComputeRunningProcesses_v3(gpu.0, count, items)
            )
        })?
    } else {
        list(empty, |count, items| {
            call!(
                nvml,
                nvmlDeviceGetComputeRunningProcesses_v2(gpu.0, count, items)
            )
        })?
    };
    let process = |info: nvmlProcessInfo_t| Process {
        pid: info.pid,
        used_memory: (info.usedGpuMemory != u64::MAX).then_some(info.usedGpuMemory),
    };
    Ok(found.into_iter().map(process).collect())
}

/// Samples since a moment, Unix microseconds. None since then is an empty list.
pub fn process_use(nvml: &Nvml, gpu: Handle, since_us: u64) -> Answer<Vec<ProcessUse>> {
    // SAFETY: all zero is a value of this struct of numbers.
    let empty: nvmlProcessUtilizationSample_t = unsafe { mem::zeroed() };
    let found = list(empty, |count, items| {
        call!(
            nvml,
            nvmlDeviceGetProcessUtilization(gpu.0, items, count, since_us)
        )
    });
    let found = match found {
        Err(fault) if fault.code == fault::NOT_FOUND => Vec::new(),
        found => found?,
    };
    let sample = |sample: nvmlProcessUtilizationSample_t| ProcessUse {
        pid: sample.pid,
        time_us: sample.timeStamp,
        sm: sample.smUtil,
        memory: sample.memUtil,
        encoder: sample.encUtil,
        decoder: sample.decUtil,
    };
    Ok(found.into_iter().map(sample).collect())
}

/// Id of the GPU instance of a MIG device.
pub fn gpu_instance(nvml: &Nvml, mig: Handle) -> Answer<u32> {
    let mut id = 0;
    call!(nvml, nvmlDeviceGetGpuInstanceId(mig.0, &mut id))?;
    Ok(id)
}

/// Id of the compute instance of a MIG device.
pub fn compute_instance(nvml: &Nvml, mig: Handle) -> Answer<u32> {
    let mut id = 0;
    call!(nvml, nvmlDeviceGetComputeInstanceId(mig.0, &mut id))?;
    Ok(id)
}

/// One field, whatever its type, as a number.
pub fn field_value(nvml: &Nvml, gpu: Handle, field: u32, scope: u32) -> Answer<f64> {
    // SAFETY: all zero is a value of this struct of numbers and a union of numbers.
    let mut value: nvmlFieldValue_t = unsafe { mem::zeroed() };
    value.fieldId = field;
    value.scopeId = scope;
    call!(nvml, nvmlDeviceGetFieldValues(gpu.0, 1, &mut value))?;
    check(nvml, "nvmlDeviceGetFieldValues", value.nvmlReturn)?;
    #[allow(
        clippy::cast_precision_loss,
        reason = "the contract gives fields as floating point"
    )]
    // SAFETY: the driver says which member it wrote, and all are plain numbers within the same eight bytes.
    let number = unsafe {
        match value.valueType {
            0 => value.value.dVal,
            1 => f64::from(value.value.uiVal),
            2 => value.value.ulVal as f64,
            3 => value.value.ullVal as f64,
            4 => value.value.sllVal as f64,
            5 => f64::from(value.value.siVal),
            6 => f64::from(value.value.usVal),
            other => {
                return Err(Fault {
                    call: "nvmlDeviceGetFieldValues",
                    code: fault::UNKNOWN,
                    text: format!("field {field} has a value of unknown type {other}"),
                });
            }
        }
    };
    Ok(number)
}

/// Takes a sample, if the GPU has GPM.
pub fn gpm_sample(nvml: &Nvml, gpu: Handle) -> Answer<Sample> {
    // The plain number, not the struct's size and version: that is what the header has for GPM.
    let mut support = nvmlGpmSupport_t {
        version: 1,
        isSupportedDevice: 0,
    };
    call!(nvml, nvmlGpmQueryDeviceSupport(gpu.0, &mut support))?;
    if support.isSupportedDevice == 0 {
        return Err(Fault::new(
            "nvmlGpmQueryDeviceSupport",
            fault::NOT_SUPPORTED,
        ));
    }
    let mut sample: nvmlGpmSample_t = ptr::null_mut();
    call!(nvml, nvmlGpmSampleAlloc(&mut sample))?;
    match call!(nvml, nvmlGpmSampleGet(gpu.0, sample)) {
        Ok(()) => Ok(Sample(sample)),
        Err(fault) => {
            gpm_free(nvml, Sample(sample));
            Err(fault)
        }
    }
}

/// Gives a sample back.
#[allow(
    clippy::needless_pass_by_value,
    reason = "it must not be used afterwards"
)]
pub fn gpm_free(nvml: &Nvml, sample: Sample) {
    // Nothing can be done about a failure, and nothing depends on it.
    let _ = call!(nvml, nvmlGpmSampleFree(sample.0));
}

/// Metrics between two samples; those without a value are left out.
pub fn gpm_metrics(
    nvml: &Nvml,
    first: &Sample,
    second: &Sample,
    ids: &[u32],
) -> Answer<Vec<(u32, f64)>> {
    // SAFETY: all zero is a value of this struct of numbers and pointers.
    let mut request: nvmlGpmMetricsGet_t = unsafe { mem::zeroed() };
    let wanted = ids
        .get(..ids.len().min(MAX_GPM_METRICS))
        .unwrap_or_default();
    request.version = 1;
    request.numMetrics = u32::try_from(wanted.len()).unwrap_or(0);
    request.sample1 = first.0;
    request.sample2 = second.0;
    for (metric, id) in request.metrics.iter_mut().zip(wanted) {
        metric.metricId = *id;
    }
    call!(nvml, nvmlGpmMetricsGet(&mut request))?;
    let metrics = request.metrics.iter().take(wanted.len());
    Ok(metrics
        .filter(|metric| metric.nvmlReturn == 0 && metric.value.is_finite())
        .map(|metric| (metric.metricId, metric.value))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The literal values to which the macros of NVIDIA's header expand.
    #[test]
    fn versions_of_structs() {
        assert_eq!(version_of::<nvmlMarginTemperature_t>(1), 0x0100_0008);
        assert_eq!(version_of::<nvmlPlatformInfo_t>(2), 0x0200_002C);
        assert_eq!(version_of::<nvmlEccSramErrorStatus_v1_t>(1), 0x0100_0068);
        assert_eq!(version_of::<nvmlGpuFabricInfoV_t>(3), 0x0300_0028);
        assert_eq!(version_of::<nvmlGpuFabricInfo_v2_t>(2), 0x0200_0024);
    }

    #[test]
    fn lists_grow_with_what_the_driver_says_and_no_further_than_is_believed() {
        let too_small = || Err(Fault::new("nvmlX", fault::INSUFFICIENT_SIZE));
        let mut asked = Vec::new();
        let found = list(0_u32, |count, _| {
            asked.push(*count);
            if *count < 200 {
                *count = 200;
                return too_small();
            }
            *count = 3;
            Ok(())
        });
        assert_eq!(found.map(|items| items.len()), Ok(3));
        assert_eq!(asked, [64, 216]);
        let mut asked = Vec::new();
        let found = list(0_u32, |count, _| {
            asked.push(*count);
            *count = u32::MAX;
            too_small()
        });
        assert!(found.is_err());
        assert_eq!(asked, [64, MAX_PROCESSES]);
        let lying = list(7_u8, |count, _| {
            *count = u32::MAX;
            Ok(())
        });
        assert_eq!(lying.map(|items| items.len()), Ok(64));
    }
}
