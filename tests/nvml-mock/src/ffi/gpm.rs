//! GPM: samples and the metrics between two of them.

#![allow(non_snake_case, reason = "variables named as the fields of C structs")]

use std::ffi::CStr;
use std::mem::offset_of;

use nvml_wrapper_sys::bindings::{
    nvmlGpmMetric_t, nvmlGpmMetric_t__bindgen_ty_1, nvmlGpmMetricsGet_t, nvmlGpmSupport_t,
};

use crate::call::{Target, have, system};
use crate::code::Code;
use crate::edge::{Out, export};
use crate::gpm::{MAX_METRIC, Sample, names};
use crate::scenario::node::Node;
use crate::state;
use crate::struct_version;

/// `nvmlGpmSample_t`: a number in the shape of a pointer.
type SampleHandle = usize;
/// `GPM!` above the number.
const MARK: usize = 0x4750_4d21_0000_0000;

/// Versions of GPM are plain numbers.
const VERSION: u32 = 1;

fn supported(target: &Target) -> Result<(), Code> {
    if have(&target.gpu()?.gpm.supported)? {
        Ok(())
    } else {
        Err(Code::NOT_SUPPORTED)
    }
}

fn take(target: &Target, handle: SampleHandle) -> Result<(), Code> {
    supported(target)?;
    state::with(|state| {
        let at_ms = state.now_ms();
        let sample = state
            .samples
            .get_mut(&handle)
            .ok_or(Code::INVALID_ARGUMENT)?;
        *sample = Some(Sample {
            gpu: target.number,
            at_ms,
        });
        Ok(())
    })
}

fn taken(handle: SampleHandle) -> Result<Sample, Code> {
    state::with(|state| state.samples.get(&handle).copied())
        .flatten()
        .ok_or(Code::INVALID_ARGUMENT)
}

fn metric(node: &Node, gpu: u32, place: Out<nvmlGpmMetric_t>) -> Result<(), Code> {
    let metricId = place.get_as::<u32>()?;
    let value = match node.gpu(gpu).and_then(|gpu| gpu.gpm.metrics.get(&metricId)) {
        Some(value) => Ok(*value),
        None if metricId == 0 || metricId >= MAX_METRIC => Err(Code::INVALID_ARGUMENT),
        None => Err(Code::NOT_SUPPORTED),
    };
    let (short, long, unit) = names(metricId);
    let text = |text: &'static CStr| text.as_ptr().cast_mut();
    place.set(nvmlGpmMetric_t {
        metricId,
        nvmlReturn: value.err().unwrap_or(Code::SUCCESS).0,
        value: value.unwrap_or(0.0),
        metricInfo: nvmlGpmMetric_t__bindgen_ty_1 {
            shortName: text(short),
            longName: text(long),
            unit: text(unit),
        },
    })
}

fn metrics(node: &Node, get: Out<nvmlGpmMetricsGet_t>) -> Result<(), Code> {
    get.version(&[VERSION])?;
    let count: u32 = get
        .field(offset_of!(nvmlGpmMetricsGet_t, numMetrics))?
        .get()?;
    let first = taken(get.field(offset_of!(nvmlGpmMetricsGet_t, sample1))?.get()?)?;
    let second = taken(get.field(offset_of!(nvmlGpmMetricsGet_t, sample2))?.get()?)?;
    if first.gpu != second.gpu || first.at_ms > second.at_ms {
        return Err(Code::INVALID_ARGUMENT);
    }
    // Callers of older headers have less room than the newest, so nothing is touched past what they ask for.
    let count = usize::try_from(count.min(MAX_METRIC)).unwrap_or(0);
    let list: Out<nvmlGpmMetric_t> = get.field(offset_of!(nvmlGpmMetricsGet_t, metrics))?;
    for place in 0..count {
        metric(node, second.gpu, list.at(place)?)?;
    }
    Ok(())
}

export! {
    device nvmlGpmQueryDeviceSupport(support: Out<nvmlGpmSupport_t>) [] |target| {
        let tagged = struct_version::<nvmlGpmSupport_t>(1);
        // The header says 1; GPUd's Go binding asks with the size in it, and drivers differ in whether they mind.
        let known: &[u32] = if target.node.strict_gpm_version { &[VERSION] } else { &[VERSION, tagged] };
        let version = support.version(known)?;
        support.set(nvmlGpmSupport_t { version, isSupportedDevice: u32::from(have(&target.gpu()?.gpm.supported)?) })
    };
    device nvmlGpmSampleGet(sample: SampleHandle) [] |target| take(target, sample);
    device nvmlGpmMigSampleGet(instance: u32, sample: SampleHandle) [instance] |target| {
        if !target.gpu()?.mig.devices().iter().any(|mig| mig.gpu_instance == instance) {
            return Err(Code::INVALID_ARGUMENT);
        }
        take(target, sample)
    };
    system nvmlGpmSampleAlloc(sample: Out<SampleHandle>) [] |_node| {
        let handle = state::with(|state| {
            let handle = MARK | state.next_sample & 0xffff_ffff;
            state.next_sample += 1;
            state.samples.insert(handle, None);
            handle
        });
        sample.set(handle)
    };
    system nvmlGpmSampleFree(sample: SampleHandle) [] |_node| {
        state::with(|state| state.samples.remove(&sample)).map(|_| ()).ok_or(Code::INVALID_ARGUMENT)
    };
    device nvmlGpmQueryIfStreamingEnabled(on: Out<u32>) [] |target| {
        supported(target)?;
        on.set(0)
    };
}

/// Has no handle of a GPU; the GPU is that of the samples, so that faults can name it.
#[allow(
    unsafe_code,
    non_snake_case,
    reason = "the C ABI wants this name, as it is"
)]
#[unsafe(no_mangle)]
pub extern "C" fn nvmlGpmMetricsGet(get: Out<nvmlGpmMetricsGet_t>) -> u32 {
    let sample = get
        .field::<SampleHandle>(offset_of!(nvmlGpmMetricsGet_t, sample2))
        .and_then(Out::get);
    let gpu = sample.and_then(taken).ok().map(|sample| sample.gpu);
    system("nvmlGpmMetricsGet", gpu, None, |node| metrics(&node, get))
}
