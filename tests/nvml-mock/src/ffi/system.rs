//! Start, end, versions.

use std::ffi::c_char;

use crate::call::bare;
use crate::code::Code;
use crate::edge::{Out, export};
use crate::scenario::fault::Key;
use crate::state;

/// `nvmlInit` and its like: reads the scenario, then the faults apply, then it counts.
fn init(name: &'static str) -> Result<(), Code> {
    state::with(crate::state::State::load)?;
    state::enter(Key {
        name,
        gpu: None,
        arg: None,
    })?;
    state::with(|state| state.inits = state.inits.saturating_add(1));
    Ok(())
}

export! {
    bare nvmlInit_v2() init("nvmlInit_v2");
    bare nvmlInit() init("nvmlInit");
    bare nvmlInitWithFlags(_flags: u32) init("nvmlInitWithFlags");

    system nvmlShutdown() [] |_node| state::with(|state| {
        state.inits = state.inits.checked_sub(1).ok_or(Code::UNINITIALIZED)?;
        let left = state.samples.len();
        if state.inits == 0 && left > 0 {
            // Samples belong to the process, not to the initialisation, so they stay; but somebody forgot them.
            state.log(Key { name: "nvmlGpmSampleFree", gpu: None, arg: i64::try_from(left).ok() }, "never-called");
        }
        Ok(())
    });

    system nvmlSystemGetDriverVersion(version: Out<c_char>, length: u32) [] |node| version.text(length, &node.driver_version);
    system nvmlSystemGetNVMLVersion(version: Out<c_char>, length: u32) [] |node| version.text(length, &node.nvml_version);
    system nvmlSystemGetCudaDriverVersion(version: Out<i32>) [] |node| version.set(node.cuda_version);
    system nvmlSystemGetCudaDriverVersion_v2(version: Out<i32>) [] |node| version.set(node.cuda_version);

    system nvmlSystemGetProcessName(pid: u32, name: Out<c_char>, length: u32) [pid] |_node| {
        let comm = std::fs::read_link(format!("/proc/{pid}/exe")).map_err(|_| Code::NOT_FOUND)?;
        name.text(length, &comm.to_string_lossy())
    };
    system nvmlSystemGetHicVersion(count: Out<u32>, _entries: Out<u8>) [] |_node| count.set(0);
    system nvmlUnitGetCount(count: Out<u32>) [] |_node| count.set(0);
    system nvmlGetExcludedDeviceCount(count: Out<u32>) [] |_node| count.set(0);
}

/// The one function that returns no code.
#[allow(
    unsafe_code,
    non_snake_case,
    reason = "the C ABI wants this name, as it is"
)]
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(result: u32) -> *const c_char {
    bare("nvmlErrorString", || Ok(()));
    Code(result).text().as_ptr()
}
