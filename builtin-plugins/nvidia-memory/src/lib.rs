//! `accelerator-nvidia-memory`: frame buffer of each GPU, all and in use.

pub mod evaluate;
pub mod host_memory;

use gpud_builtin_nvidia_common::{
    ErrorContext, Failure, IfSupported, Questions, asking, product, tags,
};
use gpud_sdk::nvml::{Answers, Question};
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, sysfs};

use crate::evaluate::{FREE, RESERVED, Reading, TOTAL, USED, USED_PERCENT};

/// Name of the component.
pub const COMPONENT: &str = "accelerator-nvidia-memory";
/// Some 60 lines of 30 bytes.
const MAX_MEMINFO_BYTES: u32 = 64 << 10;

/// The checker.
pub struct Memory;

impl Checker for Memory {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let questions = Questions::of(&[Question::MemoryInfo]);
        asking::check(context, &questions, ask, |seen| {
            Ok(evaluate::evaluate(context, seen))
        })
    }
}

fn ask(gpu: &Answers) -> Result<Option<Reading>, Failure> {
    let info = gpu
        .memory_info()
        .if_supported()
        .trying("failed to get device memory info")?;
    Ok(match info {
        Some(info) => Some(Reading {
            total: info.total,
            reserved: info.reserved,
            used: info.used,
            free: info.free,
            is_unified: false,
        }),
        None if product::has_unified_memory(&gpu.name) => Some(of_host()?),
        None => None,
    })
}

/// The memory of a GPU that has none of its own.
fn of_host() -> Result<Reading, Failure> {
    sysfs::read_to_string("/proc/meminfo", MAX_MEMINFO_BYTES)
        .and_then(|text| host_memory::read(&text).map_err(AccessError::Other))
        .trying("failed to get system memory")
}

gpud_sdk::member!(COMPONENT => Memory: descriptor());

fn descriptor() -> Descriptor {
    Descriptor::new(COMPONENT, "Memory of NVIDIA GPUs")
        .tags(&tags(COMPONENT))
        .metric(TOTAL, "Memory of the GPU, in bytes, by GPU")
        .metric(RESERVED, "Memory that the driver keeps, in bytes, by GPU")
        .metric(USED, "Memory in use, in bytes, by GPU")
        .metric(FREE, "Free memory, in bytes, by GPU")
        .metric(USED_PERCENT, "Memory in use, in percent, by GPU")
}
