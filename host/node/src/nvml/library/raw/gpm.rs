//! Samples and metrics of GPM.

use std::{mem, ptr};

use nvml_wrapper::Nvml;
use nvml_wrapper_sys::bindings::{nvmlGpmMetricsGet_t, nvmlGpmSample_t, nvmlGpmSupport_t};

use super::{Handle, check};
use crate::nvml::{
    driver::Answer,
    fault::{self, Fault},
};

/// Most GPM metrics of one question; the array in NVML's struct is larger.
pub const MAX_GPM_METRICS: usize = 64;

/// A sample of GPM's counters. Must be given back with [`gpm_free`].
#[derive(Debug)]
pub struct Sample(nvmlGpmSample_t);

// SAFETY: NVML lets any thread use a sample, one at a time; this type cannot be copied or shared.
unsafe impl Send for Sample {}

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
