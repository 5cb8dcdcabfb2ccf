//! The connections between GPUs: NVLink, peers, the fabric.

use std::{mem, ptr};

use nvml_wrapper::Nvml;
use nvml_wrapper_sys::bindings::{
    nvmlGpuFabricInfo_t, nvmlGpuFabricInfo_v2_t, nvmlGpuFabricInfoV_t,
};

use super::{Handle, check, version_of};
use crate::nvml::{
    driver::Answer,
    fault::Fault,
    values::{Fabric, uuid_text},
};

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
