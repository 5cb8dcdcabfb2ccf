//! `accelerator-nvidia-processes`: programs that compute on each GPU.

pub mod container;
pub mod evaluate;
pub mod process;

use gpud_builtin_nvidia_common::{
    ErrorContext, Failure, GpuAnswer, GpuReadings, IfSupported, Questions, asking, saved_state,
    tags,
};
use gpud_sdk::nvml::{Answers, ComputeProcess, ProcessUtilization, Question};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, sysfs};

use crate::evaluate::{Process, RUNNING, Reading};
use crate::process::{Boot, Facts, Files};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-processes";
/// Processes of all GPUs whose files are read. The others are listed by their number.
const MAX_PROCESSES: usize = 256;
/// A command line that is longer is not shown.
const MAX_COMMAND_LINE_BYTES: u32 = 16 << 10;
/// An environment that is longer is not looked at.
const MAX_ENVIRONMENT_BYTES: u32 = 64 << 10;
/// Environments of all processes; a call has so much memory and no more.
const MAX_ENVIRONMENTS_BYTES: usize = 8 << 20;
const MAX_PROCESS_STAT_BYTES: u32 = 4_096;
/// With version 1 of control groups, a dozen lines of a few hundred bytes.
const MAX_CGROUP_BYTES: u32 = 16 << 10;
/// Counters of all processors and interrupts.
const MAX_STAT_BYTES: u32 = 4 << 20;

/// The checker.
pub struct Processes;

/// What a GPU says: its processes, and what they used, each if it can tell.
type Answer = (Option<Vec<ComputeProcess>>, Option<Vec<ProcessUtilization>>);

/// Further questions to GPUs with processes.
fn further(gpu: &Answers) -> Vec<Question> {
    match gpu.compute_processes().as_deref() {
        Err(_) | Ok([]) => Vec::new(),
        Ok(_) => vec![Question::ProcessUtilization],
    }
}

fn ask(gpu: &Answers) -> Result<Answer, Failure> {
    let processes = gpu
        .compute_processes()
        .if_supported()
        .trying("failed to get compute processes")?;
    let used = match processes.as_deref() {
        None | Some([]) => Some(Vec::new()),
        Some(_) => gpu
            .process_utilization()
            .if_supported()
            .trying("failed to get process utilization")?,
    };
    Ok((processes, used))
}

impl Checker for Processes {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        // In a scan nothing is remembered.
        let before: u32 = saved_state::read().unwrap_or_default();
        let mut failures = 0;
        let questions = Questions::of(&[Question::ComputeProcesses]).then(&further);
        let report = asking::check(context, &questions, ask, |seen| {
            let (report, now) = evaluate::evaluate(context, &look(seen), before);
            failures = now;
            Ok(report)
        })?;
        saved_state::write(&before, &failures);
        Ok(report)
    }
}

/// The remaining budget of reads.
struct Budget {
    processes: usize,
    environments: usize,
}

/// Looks at the processes.
fn look(seen: &GpuReadings<Answer>) -> GpuReadings<Reading> {
    let boot = sysfs::read_to_string("/proc/stat", MAX_STAT_BYTES)
        .map(|text| Boot::parse(&text))
        .unwrap_or_default();
    let mut budget = Budget {
        processes: MAX_PROCESSES,
        environments: MAX_ENVIRONMENTS_BYTES,
    };
    let gpus = seen.gpus.iter().map(|asked| GpuAnswer {
        gpu: asked.gpu.clone(),
        answer: asked.answer.clone().map(|(processes, used)| Reading {
            processes: processes.map(|processes| {
                let processes = processes.iter();
                processes
                    .filter_map(|process| {
                        let facts = facts(process.pid, boot, &mut budget)?;
                        Some(whole(process, used.as_deref(), facts))
                    })
                    .collect()
            }),
            knows_use: used.is_some(),
        }),
    });
    GpuReadings {
        gpus: gpus.collect(),
        product: seen.product.clone(),
    }
}

/// Reads the kernel's facts of a process, unless it ended.
fn facts(pid: u32, boot: Boot, budget: &mut Budget) -> Option<Facts> {
    let Some(left) = budget.processes.checked_sub(1) else {
        return Some(Facts::default());
    };
    budget.processes = left;
    let file = |name: &str, most: u32| sysfs::read(&format!("/proc/{pid}/{name}"), most).ok();
    let stat = match sysfs::read(&format!("/proc/{pid}/stat"), MAX_PROCESS_STAT_BYTES) {
        Ok(stat) => stat,
        // It is there, and may not be looked at.
        Err(AccessError::Denied(_)) => return Some(Facts::default()),
        Err(AccessError::NotFound(_)) if hides_others() => return Some(Facts::default()),
        Err(_) => return None,
    };
    let command_line = file("cmdline", MAX_COMMAND_LINE_BYTES).unwrap_or_default();
    // Of other users only root may read it.
    let environment = match budget.environments {
        0 => Vec::new(),
        _ => file("environ", MAX_ENVIRONMENT_BYTES).unwrap_or_default(),
    };
    let cgroups = file("cgroup", MAX_CGROUP_BYTES).unwrap_or_default();
    budget.environments = budget.environments.saturating_sub(environment.len());
    let files = Files {
        stat,
        command_line,
        environment,
        cgroups,
    };
    Some(files.facts(boot))
}

/// Whether `/proc` is mounted with `hidepid`, so that a process of another user looks as if it had ended: process 1 does not
/// end.
fn hides_others() -> bool {
    let first = sysfs::read("/proc/1/stat", MAX_PROCESS_STAT_BYTES);
    matches!(first, Err(AccessError::NotFound(_)))
}

fn whole(process: &ComputeProcess, used: Option<&[ProcessUtilization]>, facts: Facts) -> Process {
    let mut samples = used.unwrap_or_default().iter();
    let sample = samples.find(|sample| sample.pid == process.pid);
    Process {
        pid: process.pid,
        used_memory: process.used_memory,
        used_percent: sample.map_or(0, |sample| sample.sm),
        facts,
    }
}

gpud_sdk::member!(COMPONENT => Processes: descriptor());

fn descriptor() -> Descriptor {
    Descriptor::new(COMPONENT, "Programs that compute on NVIDIA GPUs")
        .tags(&tags(COMPONENT))
        .metric(RUNNING, "Programs that compute on it, by GPU")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_its_own_sample() {
        let sample = |pid, sm| ProcessUtilization {
            pid,
            time: 1,
            sm,
            memory: 99,
            encoder: 0,
            decoder: 0,
        };
        let samples = [sample(7, 80), sample(42, 30)];
        for (pid, used, percent) in [
            (42, Some(&samples[..]), 30),
            // Idle for a minute; listed all the same.
            (43, Some(&samples[..]), 0),
            (42, Some(&[][..]), 0),
            // The GPU cannot tell.
            (42, None, 0),
        ] {
            for used_memory in [Some(5), None] {
                let process = ComputeProcess {
                    pid,
                    used_memory,
                    sm_utilization: Some(77),
                };
                let expected = Process {
                    pid,
                    used_memory,
                    used_percent: percent,
                    facts: Facts::default(),
                };
                assert_eq!(whole(&process, used, Facts::default()), expected);
            }
        }
    }
}
