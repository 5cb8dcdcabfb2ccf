//! The one place that configures Wasmtime: daemon, compiler child, tests and benchmarks share it, or their compiled
//! code would not load in each other.

use wasmparser::{Parser, Payload};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
    RegallocAlgorithm,
};

use super::compiler::Effort;

/// Instances alive at once; a semaphore of the same size stands in front of the pool.
pub const SLOTS: u32 = 32;
/// Linear memories of one component; QuickJS guests need several.
const MEMORIES_PER_COMPONENT: u32 = 8;
/// Core instances of one component; Go and Python guests have about ten.
const CORE_INSTANCES_PER_COMPONENT: u32 = 40;
/// Tables of one component.
const TABLES_PER_COMPONENT: u32 = 40;
/// Largest linear memory. The limit that a plugin meets is [`super::limits::Limits::memory_bytes`].
const MAX_MEMORY: usize = 1 << 30;
/// Address space of a linear memory: all that a 32-bit address can name, so that compiled code need not compare addresses
/// with bounds (a tenth less code, and twice as fast where memory is read byte by byte).
const RESERVATION: u64 = 4 << 30;
/// Address space behind it, for the offset in an instruction.
const GUARD: u64 = 32 << 20;
/// Stack of one call, host functions included.
const STACK: usize = 1 << 20;
/// Part of it that the guest may use; deeper recursion traps.
const WASM_STACK: usize = 512 << 10;
/// Largest memory of a guest, bytes, that is made new by hand between two calls: copied from the component, and cleared.
/// Its pages stay where they are, so that neither the TLBs of all cores are flushed nor the next call meets a page fault.
/// Checkers in Rust and C have 192 KiB, QuickJS 1.6 MiB.
const BY_HAND: usize = 2 << 20;
/// The same of a table, bytes: that of a program in Go takes 51 KiB, that of Python 45. What is beyond is given back, and
/// costs a call, and page faults in the next one.
const TABLE_BY_HAND: usize = 64 << 10;
/// Bytes in a page of WebAssembly.
const WASM_PAGE: u64 = 64 << 10;

fn config() -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .cranelift_opt_level(OptLevel::Speed)
        .async_stack_size(STACK)
        .max_wasm_stack(WASM_STACK)
        .memory_reservation(RESERVATION)
        .memory_guard_size(GUARD);
    config
}

/// Where instances live. `PAGEMAP_SCAN`, by which the kernel would tell which pages a guest wrote to, stays off: Wasmtime
/// before 50 takes a page that was swapped out, or is being moved, for one that nobody wrote to, and the next instance
/// finds there what the last one left (decision 33).
fn pool(by_hand: usize) -> PoolingAllocationConfig {
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
        .linear_memory_keep_resident(by_hand)
        .table_keep_resident(TABLE_BY_HAND)
        .async_stack_keep_resident(16 << 10)
        .max_unused_warm_slots(4)
        .pagemap_scan(Enabled::No);
    pool
}

/// Wasmtime as everything in this crate uses it. Code that was compiled for one of the engines runs in the other.
pub struct Engines {
    /// For guests of which all memory is made new by hand.
    small: Engine,
    /// For the others, whose memory is given back to the kernel: an interpreter like Python's, or the runtime of Go, writes
    /// to few pages of many, all over it. Copying some megabytes costs more than the page faults do.
    large: Engine,
}

impl Engines {
    /// Both.
    ///
    /// # Errors
    /// When this machine cannot run Wasmtime at all. Where only address space for the pools is missing (`ulimit -v`,
    /// small containers), instances are allocated on demand instead.
    pub fn new() -> wasmtime::Result<Self> {
        match pooling(BY_HAND).and_then(|small| Ok([small, pooling(0)?])) {
            Ok([small, large]) => Ok(Self { small, large }),
            Err(error) => {
                tracing::warn!(
                    "no address space for the instance pools, allocating on demand: {error:#}"
                );
                let small = Engine::new(&config())?;
                let large = small.clone();
                Ok(Self { small, large })
            }
        }
    }

    /// One to look at components with, none of which is called.
    pub fn any(&self) -> &Engine {
        &self.small
    }

    /// The one for calls of this component.
    pub fn of(&self, wasm: &[u8]) -> &Engine {
        match is_given_back(wasm) {
            true => &self.large,
            false => &self.small,
        }
    }

    pub(super) fn both(&self) -> [&Engine; 2] {
        [&self.small, &self.large]
    }
}

fn pooling(by_hand: usize) -> wasmtime::Result<Engine> {
    let mut config = config();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(by_hand)));
    Engine::new(&config)
}

/// Is the memory of this component given back to the kernel after each call, so that the next one meets page faults?
pub fn is_given_back(wasm: &[u8]) -> bool {
    initial_memory(wasm) > BY_HAND as u64
}

/// Bytes of all memories of a component when it starts. Of one that is malformed, those before the place where it is.
fn initial_memory(wasm: &[u8]) -> u64 {
    let mut bytes = 0_u64;
    for part in Parser::new(0).parse_all(wasm) {
        match part {
            Ok(Payload::MemorySection(memories)) => {
                let pages = memories.into_iter().flatten().map(|memory| memory.initial);
                let sizes = pages.map(|pages| pages.saturating_mul(WASM_PAGE));
                bytes = sizes.fold(bytes, u64::saturating_add);
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    bytes
}

/// A component of this size, bytes, is an interpreter or a language's whole run-time library. The main loop of one has so
/// many variables that single-pass register allocation gives it frames of 40 KiB instead of less than one: a plugin in
/// JavaScript then overflows the stack five calls deep.
const INTERPRETER: usize = 1 << 20;

/// An engine without a pool's address space, for a process that only compiles a component of this size. Its code runs in
/// the others: effort and size change nothing that they depend on.
///
/// # Errors
/// As [`Engines::new`].
pub fn for_compiling(effort: Effort, wasm_bytes: usize) -> wasmtime::Result<Engine> {
    let mut config = config();
    if effort == Effort::Quick {
        config.cranelift_opt_level(OptLevel::None);
        if wasm_bytes < INTERPRETER {
            config.cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
        }
    }
    Engine::new(&config)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use wasmtime::{Instance, Module, Store};

    use super::*;

    const PAGES: usize = 64;

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
    #[expect(unsafe_code, reason = "the kernel is asked to swap out")]
    fn an_instance_does_not_find_what_another_wrote_before_it_was_swapped_out() {
        let engines = Engines::new().unwrap();
        for engine in engines.both() {
            let module = small_module(engine);
            for round in 0..3 {
                with_memory(engine, &module, |memory| {
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
    }

    #[test]
    fn all_of_a_small_memory_is_made_new_whatever_the_kernel_says_was_written() {
        let engines = Engines::new().unwrap();
        let module = small_module(&engines.small);
        with_memory(&engines.small, &module, |memory| memory[0] = 1);
        let metrics = engines.small.pooling_allocator_metrics().unwrap();
        assert_eq!(metrics.unused_memory_bytes_resident(), PAGES * 4096);
    }

    #[test]
    fn the_engine_goes_by_the_memories_that_a_component_starts_with() {
        let engines = Engines::new().unwrap();
        for (memories, bytes, small) in [
            ("", 0, true),
            ("(core module (memory 3))", 3 << 16, true),
            (
                "(core module (memory 16)) (core module (memory 16))",
                2 << 20,
                true,
            ),
            (
                "(core module (memory 16)) (component (core module (memory 17)))",
                33 << 16,
                false,
            ),
            ("(core module (memory 65536))", 4 << 30, false),
        ] {
            let wasm = wat::parse_str(format!("(component {memories})")).unwrap();
            assert_eq!(initial_memory(&wasm), bytes, "{memories}");
            let engine = engines.of(&wasm);
            assert_eq!(Engine::same(engine, &engines.small), small, "{memories}");
        }
        assert_eq!(initial_memory(b"\0asm\x0d\0\x01\0 nonsense"), 0);
    }
}
