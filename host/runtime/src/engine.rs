//! The one place that configures Wasmtime: daemon, compiler child, tests and benchmarks share it, or their compiled
//! code would not load in each other.

#![allow(
    unsafe_code,
    reason = "Cranelift's flags say which instructions code may use"
)]

use std::hash::{DefaultHasher, Hash, Hasher};

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
    WasmBacktraceDetails,
};

/// Instances alive at once. A semaphore of the same size limits the use of the pool.
pub const SLOTS: u32 = 32;
/// The target triple that this gpud was built for.
pub const HOST_TARGET: &str = env!("GPUD_TARGET");
/// Linear memories of one component; QuickJS guests need several.
const MEMORIES_PER_COMPONENT: u32 = 8;
/// Core instances of one component; Go and Python guests have about ten.
const CORE_INSTANCES_PER_COMPONENT: u32 = 40;
/// Tables of one component.
const TABLES_PER_COMPONENT: u32 = 40;
/// Largest linear memory. The limit that a plugin meets is [`super::limits::Limits::memory_bytes`].
const MAX_MEMORY: usize = 1 << 30;
/// Address space of a linear memory: all that a 32-bit address can name, so that compiled code need not compare addresses
/// with bounds.
const RESERVATION: u64 = 4 << 30;
/// Address space behind it, for the offset in an instruction.
const GUARD: u64 = 32 << 20;
/// Stack of one call, host functions included.
const STACK: usize = 1 << 20;
/// Part of it that the guest may use; deeper recursion traps.
const WASM_STACK: usize = 512 << 10;
/// Instructions beyond x86-64's first set that code may use (x86-64-v2). Every server of the last fifteen years has them.
/// More would gain little, and code that was compiled on one machine would not run on another.
const X86_64_V2: [&str; 5] = [
    "has_sse3",
    "has_ssse3",
    "has_sse41",
    "has_sse42",
    "has_popcnt",
];

/// Makes the engine that runs guests.
///
/// # Errors
/// When this machine cannot run Wasmtime at all. Where only address space for the pool is missing (`ulimit -v`, small
/// containers), instances are allocated on demand instead.
pub fn new() -> wasmtime::Result<Engine> {
    let mut config = config(HOST_TARGET, has_x86_64_v2())?;
    let on_demand = config.clone();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool()));
    Engine::new(&config).or_else(|error| {
        tracing::warn!("no address space for the instance pool, allocating on demand: {error:#}");
        Engine::new(&on_demand)
    })
}

/// Makes an engine without a pool's address space, for a process that only compiles. Its code runs in that of [`new`].
///
/// # Errors
/// As [`new`].
pub fn for_compiling() -> wasmtime::Result<Engine> {
    Engine::new(&config(HOST_TARGET, has_x86_64_v2())?)
}

/// Makes an engine that compiles for machines of this target, whatever this machine is.
///
/// # Errors
/// When the target is unknown, or this gpud was built without a compiler for it.
pub fn for_target(target: &str) -> wasmtime::Result<Engine> {
    Engine::new(&config(target, true)?)
}

/// Returns what must be equal for code of one engine to run in another.
pub fn compatibility(engine: &Engine) -> u64 {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

/// Returns the configuration of every engine. The target is always named: otherwise Cranelift would use whatever
/// instructions this very machine has, and code from the gpud binary would never fit.
fn config(target: &str, v2: bool) -> wasmtime::Result<Config> {
    let mut config = Config::new();
    config
        .target(target)?
        .epoch_interruption(true)
        .cranelift_opt_level(OptLevel::Speed)
        // A trap's backtrace names functions; the places in them would take a seventh of the code's size.
        .generate_address_map(false)
        // Not as WASMTIME_BACKTRACE_DETAILS says, with which code from the gpud binary would not fit.
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .async_stack_size(STACK)
        .max_wasm_stack(WASM_STACK)
        .memory_reservation(RESERVATION)
        .memory_guard_size(GUARD);
    if v2 && target.starts_with("x86_64") {
        for flag in X86_64_V2 {
            // SAFETY: the processor has these instructions (`has_x86_64_v2`), or the code is only stored; Wasmtime
            // compares the flags with the processor's before it loads code.
            unsafe { config.cranelift_flag_enable(flag) };
        }
    }
    Ok(config)
}

/// Whether this processor has the instructions of [`X86_64_V2`].
fn has_x86_64_v2() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("sse3")
            && std::arch::is_x86_feature_detected!("ssse3")
            && std::arch::is_x86_feature_detected!("sse4.1")
            && std::arch::is_x86_feature_detected!("sse4.2")
            && std::arch::is_x86_feature_detected!("popcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Returns where instances live. Their memory is given back to the kernel after each call, and so is new for the next.
/// `PAGEMAP_SCAN`, by which the kernel says which pages a guest wrote to, stays off: Wasmtime before 50 takes a page that
/// was swapped out, or is being moved, for one that nobody wrote to, and the next instance finds there what the last one
/// left (decision 33).
fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(SLOTS)
        .total_core_instances(SLOTS * CORE_INSTANCES_PER_COMPONENT)
        .total_memories(SLOTS * MEMORIES_PER_COMPONENT)
        .total_tables(SLOTS * TABLES_PER_COMPONENT)
        .total_stacks(SLOTS)
        .max_core_instances_per_component(CORE_INSTANCES_PER_COMPONENT)
        .max_memories_per_component(MEMORIES_PER_COMPONENT)
        .max_tables_per_component(TABLES_PER_COMPONENT)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(1 << 20)
        .table_elements(100_000)
        .max_memory_size(MAX_MEMORY)
        .max_unused_warm_slots(4)
        .pagemap_scan(Enabled::No);
    pool
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use wasmtime::{Instance, Module, Store};

    use super::*;

    fn small_module(engine: &Engine) -> Module {
        let text = r#"(module (memory (export "memory") 4) (data (i32.const 65536) "image"))"#;
        Module::new(engine, wat::parse_str(text).unwrap()).unwrap()
    }

    /// Shows the memory of a fresh instance.
    fn with_memory(engine: &Engine, module: &Module, look: impl FnOnce(&mut [u8])) {
        let mut store = Store::new(engine, ());
        store.set_epoch_deadline(1);
        let instance = Instance::new_async(&mut store, module, &[]);
        let instance = instance.now_or_never().unwrap().unwrap();
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        look(memory.data_mut(&mut store));
    }

    /// Where there is swap: without, the kernel leaves the pages where they are.
    #[test]
    fn an_instance_does_not_find_what_another_wrote_before_it_was_swapped_out() {
        let engine = new().unwrap();
        let module = small_module(&engine);
        for round in 0..3 {
            with_memory(&engine, &module, |memory| {
                for (number, page) in memory.chunks_mut(4096).enumerate() {
                    let fresh = if number == 16 { b"image" } else { &[0; 5] };
                    assert_eq!(&page[..5], fresh, "round {round}, page {number}");
                    page[..5].copy_from_slice(b"other");
                }
                // SAFETY: the pages come back when they are touched.
                let swapped = unsafe {
                    libc::madvise(memory.as_mut_ptr().cast(), memory.len(), libc::MADV_PAGEOUT)
                };
                assert_eq!(swapped, 0);
            });
        }
    }

    #[test]
    fn code_of_all_engines_of_this_machine_fits() {
        let (running, compiling) = (new().unwrap(), for_compiling().unwrap());
        assert_eq!(compatibility(&running), compatibility(&compiling));
        let code = compiling
            .precompile_component(&wat::parse_str("(component)").unwrap())
            .unwrap();
        // SAFETY: it was compiled here, just now.
        unsafe { wasmtime::component::Component::deserialize(&running, &code) }.unwrap();
        if has_x86_64_v2() || !cfg!(target_arch = "x86_64") {
            let distributed = for_target(HOST_TARGET).unwrap();
            assert_eq!(compatibility(&running), compatibility(&distributed));
        }
    }

    #[test]
    fn code_for_fewer_instructions_is_distinguished() {
        if cfg!(target_arch = "x86_64") {
            let [with, without] =
                [true, false].map(|v2| Engine::new(&config(HOST_TARGET, v2).unwrap()).unwrap());
            assert_ne!(compatibility(&with), compatibility(&without));
        }
    }

    #[test]
    fn a_target_that_is_unknown_or_left_out_is_an_error() {
        assert!(for_target("no-such-machine").is_err());
    }
}
