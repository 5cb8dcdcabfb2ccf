//! Processes on a GPU.

use std::time::SystemTime;

use nvml_wrapper_sys::bindings::{
    nvmlProcessInfo_v1_t, nvmlProcessInfo_v2_t, nvmlProcessUtilizationInfo_v1_t,
    nvmlProcessUtilizationSample_t, nvmlProcessesUtilizationInfo_v1_t,
};

use crate::call::{Target, have};
use crate::code::Code;
use crate::edge::{Out, export};
use crate::scenario::gpu::Process;
use crate::struct_version;

/// Microseconds since 1970, as the driver stamps samples.
pub fn now_us() -> u64 {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

fn computing(target: &Target) -> Result<Vec<Process>, Code> {
    of(target, have(&target.gpu()?.compute_processes)?)
}

fn drawing(target: &Target) -> Result<Vec<Process>, Code> {
    of(target, have(&target.gpu()?.graphics_processes)?)
}

/// A MIG device shows only its own.
fn of(target: &Target, mut processes: Vec<Process>) -> Result<Vec<Process>, Code> {
    if let Some(mig) = target.mig_device()? {
        processes.retain(|p| {
            p.gpu_instance == mig.gpu_instance && p.compute_instance == mig.compute_instance
        });
    }
    Ok(processes)
}

/// Gives a list the way NVML does: the count is what there is; 7 where there is no room, also on the question with
/// count 0.
fn give<T: Copy, U: Copy>(count: Out<u32>, list: Out<T>, entries: &[U]) -> Result<(), Code> {
    let room = count.get()?;
    let needed = u32::try_from(entries.len()).unwrap_or(u32::MAX);
    count.set(needed)?;
    if needed == 0 {
        return Ok(());
    }
    if room < needed || list.is_null() {
        return Err(Code::INSUFFICIENT_SIZE);
    }
    list.field::<U>(0)?.fill(entries)
}

/// All ones where the driver cannot tell.
fn memory(process: &Process) -> u64 {
    process.used_memory.unwrap_or(u64::MAX)
}

fn v1(processes: &[Process]) -> Vec<nvmlProcessInfo_v1_t> {
    processes
        .iter()
        .map(|p| nvmlProcessInfo_v1_t {
            pid: p.pid,
            usedGpuMemory: memory(p),
        })
        .collect()
}

fn v2(processes: &[Process]) -> Vec<nvmlProcessInfo_v2_t> {
    let one = |p: &Process| nvmlProcessInfo_v2_t {
        pid: p.pid,
        usedGpuMemory: memory(p),
        gpuInstanceId: p.gpu_instance,
        computeInstanceId: p.compute_instance,
    };
    processes.iter().map(one).collect()
}

export! {
    any nvmlDeviceGetComputeRunningProcesses_v3(count: Out<u32>, list: Out<nvmlProcessInfo_v2_t>) [] |target| {
        give(count, list, &v2(&computing(target)?))
    };
    any nvmlDeviceGetComputeRunningProcesses_v2(count: Out<u32>, list: Out<nvmlProcessInfo_v2_t>) [] |target| {
        give(count, list, &v2(&computing(target)?))
    };
    any nvmlDeviceGetComputeRunningProcesses(count: Out<u32>, list: Out<nvmlProcessInfo_v1_t>) [] |target| {
        give(count, list, &v1(&computing(target)?))
    };
    any nvmlDeviceGetGraphicsRunningProcesses_v3(count: Out<u32>, list: Out<nvmlProcessInfo_v2_t>) [] |target| {
        give(count, list, &v2(&drawing(target)?))
    };
    any nvmlDeviceGetGraphicsRunningProcesses_v2(count: Out<u32>, list: Out<nvmlProcessInfo_v2_t>) [] |target| {
        give(count, list, &v2(&drawing(target)?))
    };
    any nvmlDeviceGetGraphicsRunningProcesses(count: Out<u32>, list: Out<nvmlProcessInfo_v1_t>) [] |target| {
        give(count, list, &v1(&drawing(target)?))
    };
    any nvmlDeviceGetMPSComputeRunningProcesses_v3(count: Out<u32>, _list: Out<nvmlProcessInfo_v2_t>) [] |_target| count.set(0);
    any nvmlDeviceGetMPSComputeRunningProcesses_v2(count: Out<u32>, _list: Out<nvmlProcessInfo_v2_t>) [] |_target| count.set(0);
    any nvmlDeviceGetMPSComputeRunningProcesses(count: Out<u32>, _list: Out<nvmlProcessInfo_v1_t>) [] |_target| count.set(0);

    device nvmlDeviceGetProcessUtilization(list: Out<nvmlProcessUtilizationSample_t>, count: Out<u32>, since: u64) [] |target| {
        let stamp = now_us();
        let sample = |p: Process| Some(nvmlProcessUtilizationSample_t {
            pid: p.pid,
            timeStamp: stamp,
            smUtil: p.sm?,
            memUtil: p.memory,
            encUtil: p.encoder,
            decUtil: p.decoder,
        });
        let samples: Vec<_> = computing(target)?.into_iter().filter_map(sample).collect();
        if samples.is_empty() || since > stamp {
            // Nothing since then.
            count.set(0)?;
            return Err(Code::NOT_FOUND);
        }
        give(count, list, &samples)
    };
    device nvmlDeviceGetProcessesUtilizationInfo(info: Out<nvmlProcessesUtilizationInfo_v1_t>) [] |target| {
        info.version(&[struct_version::<nvmlProcessesUtilizationInfo_v1_t>(1)])?;
        let asked = info.get()?;
        let stamp = now_us();
        let sample = |p: Process| Some(nvmlProcessUtilizationInfo_v1_t {
            timeStamp: stamp,
            pid: p.pid,
            smUtil: p.sm?,
            memUtil: p.memory,
            encUtil: p.encoder,
            decUtil: p.decoder,
            jpgUtil: 0,
            ofaUtil: 0,
        });
        let samples: Vec<_> = computing(target)?.into_iter().filter_map(sample).collect();
        let needed = u32::try_from(samples.len()).unwrap_or(u32::MAX);
        info.set(nvmlProcessesUtilizationInfo_v1_t { processSamplesCount: needed, ..asked })?;
        if samples.is_empty() {
            return Err(Code::NOT_FOUND);
        }
        let list = Out::to(asked.procUtilArray);
        if asked.processSamplesCount < needed || list.is_null() {
            return Err(Code::INSUFFICIENT_SIZE);
        }
        list.fill(&samples)
    };
}
