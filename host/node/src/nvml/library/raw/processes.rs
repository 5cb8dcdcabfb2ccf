//! Processes that use a GPU: lists whose length only the driver knows.

use std::mem;

use nvml_wrapper::Nvml;
use nvml_wrapper_sys::bindings::{nvmlProcessInfo_t, nvmlProcessUtilizationSample_t};

use super::{Handle, check};
use crate::nvml::{
    driver::Answer,
    fault::{self, Fault},
    values::{GpuProcess, ProcessUse},
};

/// Most processes, and most samples of them, that are believed.
const MAX_PROCESSES: u32 = 8_192;

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
pub fn processes(nvml: &Nvml, gpu: Handle) -> Answer<Vec<GpuProcess>> {
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
    let process = |info: nvmlProcessInfo_t| GpuProcess {
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

#[cfg(test)]
mod tests {
    use super::*;

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
