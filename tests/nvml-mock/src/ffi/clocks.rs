//! Clocks, and why they are what they are.

use nvml_wrapper_sys::bindings::nvmlViolationTime_t;

use crate::call::{Target, have};
use crate::code::Code;
use crate::edge::{Out, export};
use crate::scenario::gpu::Clocks;
use crate::state;

fn clocks(target: &Target) -> Result<&Clocks, Code> {
    Ok(&target.gpu()?.clocks)
}

fn current(clocks: &Clocks, kind: u32) -> Result<u32, Code> {
    have(match kind {
        0 => &clocks.graphics,
        1 => &clocks.sm,
        2 => &clocks.memory,
        3 => &clocks.video,
        _ => return Err(Code::INVALID_ARGUMENT),
    })
}

fn highest(clocks: &Clocks, kind: u32) -> Result<u32, Code> {
    have(match kind {
        0 => &clocks.max_graphics,
        1 => &clocks.max_sm,
        2 => &clocks.max_memory,
        3 => &clocks.max_video,
        _ => return Err(Code::INVALID_ARGUMENT),
    })
}

fn application(clocks: &Clocks, kind: u32) -> Result<u32, Code> {
    have(match kind {
        0 | 1 => &clocks.application_graphics,
        2 => &clocks.application_memory,
        3 => &None,
        _ => return Err(Code::INVALID_ARGUMENT),
    })
}

/// One clock, as a list.
fn only(clock: u32, count: Out<u32>, list: Out<u32>) -> Result<(), Code> {
    let room = count.get()?;
    count.set(1)?;
    if room < 1 || list.is_null() {
        return Err(Code::INSUFFICIENT_SIZE);
    }
    list.fill(&[clock])
}

export! {
    device nvmlDeviceGetClockInfo(kind: u32, mhz: Out<u32>) [kind] |target| mhz.set(current(clocks(target)?, kind)?);
    device nvmlDeviceGetMaxClockInfo(kind: u32, mhz: Out<u32>) [kind] |target| mhz.set(highest(clocks(target)?, kind)?);
    device nvmlDeviceGetMaxCustomerBoostClock(kind: u32, mhz: Out<u32>) [kind] |target| mhz.set(highest(clocks(target)?, kind)?);
    device nvmlDeviceGetApplicationsClock(kind: u32, mhz: Out<u32>) [kind] |target| mhz.set(application(clocks(target)?, kind)?);
    device nvmlDeviceGetDefaultApplicationsClock(kind: u32, mhz: Out<u32>) [kind] |target| {
        mhz.set(application(clocks(target)?, kind)?)
    };
    device nvmlDeviceGetClock(kind: u32, id: u32, mhz: Out<u32>) [kind] |target| {
        let clocks = clocks(target)?;
        mhz.set(match id {
            0 => current(clocks, kind)?,
            1 | 2 => application(clocks, kind)?,
            3 => highest(clocks, kind)?,
            _ => return Err(Code::INVALID_ARGUMENT),
        })
    };
    device nvmlDeviceGetSupportedMemoryClocks(count: Out<u32>, list: Out<u32>) [] |target| {
        only(highest(clocks(target)?, 2)?, count, list)
    };
    device nvmlDeviceGetSupportedGraphicsClocks(memory: u32, count: Out<u32>, list: Out<u32>) [memory] |target| {
        let clocks = clocks(target)?;
        if memory != highest(clocks, 2)? {
            return Err(Code::NOT_FOUND);
        }
        only(highest(clocks, 0)?, count, list)
    };
    device nvmlDeviceGetCurrentClocksEventReasons(mask: Out<u64>) [] |target| mask.set(have(&clocks(target)?.event_reasons)?);
    device nvmlDeviceGetCurrentClocksThrottleReasons(mask: Out<u64>) [] |target| mask.set(have(&clocks(target)?.event_reasons)?);
    device nvmlDeviceGetSupportedClocksEventReasons(mask: Out<u64>) [] |target| {
        mask.set(have(&clocks(target)?.supported_event_reasons)?)
    };
    device nvmlDeviceGetSupportedClocksThrottleReasons(mask: Out<u64>) [] |target| {
        mask.set(have(&clocks(target)?.supported_event_reasons)?)
    };
    device nvmlDeviceGetViolationStatus(policy: u32, time: Out<nvmlViolationTime_t>) [policy] |target| {
        let violation = have(&clocks(target)?.violation_ns)?;
        let now = state::with(|state| state.now_ms());
        time.set(nvmlViolationTime_t { referenceTime: now.saturating_mul(1000), violationTime: violation })
    };
}
