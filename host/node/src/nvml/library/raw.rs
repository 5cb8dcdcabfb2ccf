//! The calls into NVML that nvml-wrapper does not make, or not faithfully: it turns values that it does not know into
//! errors, and believes any count. The only unsafe code of NVML.
//!
//! The calls are sound for the same reasons everywhere: functions were found in the library under their own names, with
//! the types of NVIDIA's header (nvml-wrapper-sys); handles come from the same library, which is held by [`Nvml`]; and
//! every pointer is to a local value of the type that the header names, with the version in it that says its size. NVML
//! is thread-safe by its own documentation.
#![allow(unsafe_code, reason = "calls into a C library")]

macro_rules! call {
    ($nvml:expr, $symbol:ident($($argument:expr),* $(,)?)) => {
        match &$nvml.lib().$symbol {
            // SAFETY: see the head of `raw.rs`.
            Ok(function) => check($nvml, stringify!($symbol), unsafe { function($($argument),*) }),
            Err(_) => Err(Fault::missing(stringify!($symbol))),
        }
    };
}

mod gpm;
mod links;
mod memory;
mod processes;

use std::{
    ffi::{CStr, c_char},
    mem,
};

use nvml_wrapper::{Device, Nvml, error::NvmlError};
use nvml_wrapper_sys::bindings::{
    NVML_GSP_FIRMWARE_VERSION_BUF_SIZE, nvmlDevice_t, nvmlFieldValue_t, nvmlMarginTemperature_t,
    nvmlPlatformInfo_t,
};

pub use gpm::{MAX_GPM_METRICS, Sample, gpm_free, gpm_metrics, gpm_sample};
pub use links::{fabric, nvlink_active, nvlink_errors, p2p_status};
pub use memory::{ecc_count, ecc_mode, ecc_total, memory, remapped_rows, row_histogram, sram_ecc};
pub use processes::{process_use, processes};

use super::super::{
    driver::Answer,
    fault::{self, Fault},
};

/// A GPU's handle, good for as long as its library is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handle(nvmlDevice_t);

// SAFETY: NVML's handles are names for its own thread-safe books; nothing of ours is behind the pointer.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

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

#[cfg(test)]
mod tests {
    use nvml_wrapper_sys::bindings::{
        nvmlEccSramErrorStatus_v1_t, nvmlGpuFabricInfo_v2_t, nvmlGpuFabricInfoV_t,
    };

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
}
