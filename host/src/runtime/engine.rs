//! The one place that configures Wasmtime: daemon, compiler child, tests and benchmarks share it, or their compiled
//! code would not load in each other.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
    RegallocAlgorithm,
};

use super::compiler::Effort;

/// How often a spinning guest gives the thread back.
const TICK: Duration = Duration::from_millis(10);

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
/// Bytes of a used slot that are cleared by hand instead of being given back to the kernel, which would have to flush the
/// TLBs of all cores. All of a small guest's memory fits: 64 KiB of stack, its data, 64 KiB of heap. With `PAGEMAP_SCAN`
/// (Linux 6.7) these are the pages that were written, wherever they lie, and a run of an interpreter takes a third less;
/// without, the first ones of a memory.
const KEEP_RESIDENT: usize = 512 << 10;

/// The same of a table, bytes: that of a program in Go takes 19 KiB.
const TABLE_KEEP_RESIDENT: usize = 32 << 10;

fn config(pooling: bool) -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .cranelift_opt_level(OptLevel::Speed)
        .async_stack_size(STACK)
        .max_wasm_stack(WASM_STACK)
        .memory_reservation(RESERVATION)
        .memory_guard_size(GUARD);
    if pooling {
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
            .linear_memory_keep_resident(KEEP_RESIDENT)
            .table_keep_resident(TABLE_KEEP_RESIDENT)
            .async_stack_keep_resident(16 << 10)
            .max_unused_warm_slots(4)
            .pagemap_scan(Enabled::Auto);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}

/// A component of this size, bytes, is an interpreter or a language's whole run-time library. The main loop of one has so
/// many variables that single-pass register allocation gives it frames of 40 KiB instead of less than one: a plugin in
/// JavaScript then overflows the stack five calls deep.
const INTERPRETER: usize = 1 << 20;

/// Wasmtime as everything in this crate uses it.
///
/// # Errors
/// When this machine cannot run Wasmtime at all. Where only address space for the pool is missing (`ulimit -v`,
/// small containers), instances are allocated on demand instead.
pub fn engine() -> wasmtime::Result<Engine> {
    Engine::new(&config(true)).or_else(|error| {
        tracing::warn!("no address space for the instance pool, allocating on demand: {error:#}");
        Engine::new(&config(false))
    })
}

/// The same engine without the pool's address space, for a process that only compiles a component of this size. Its code
/// runs in the others: effort and size change nothing that they depend on.
///
/// # Errors
/// As [`engine`].
pub fn for_compiling(effort: Effort, wasm_bytes: usize) -> wasmtime::Result<Engine> {
    let mut config = config(false);
    if effort == Effort::Quick {
        config.cranelift_opt_level(OptLevel::None);
        if wasm_bytes < INTERPRETER {
            config.cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
        }
    }
    Engine::new(&config)
}

/// Moves the engine's epoch on while guests run, and sleeps while none does: neither an idle daemon nor a guest that waits
/// for the machine has a heartbeat.
///
/// A plain thread, because a stalled async runtime must not stop time.
#[derive(Clone)]
pub struct Ticker {
    shared: Arc<Shared>,
}

struct Shared {
    running: AtomicUsize,
    asleep: AtomicBool,
    /// Held around `asleep` where the thread goes to sleep or is woken.
    turn: Mutex<()>,
    wake: Condvar,
}

/// While it lives, time passes.
struct Ticking<'a>(&'a Shared);

impl Ticker {
    /// Starts the thread; it ends with the engine, or sleeps for good.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(engine: &Engine) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            running: AtomicUsize::new(0),
            asleep: AtomicBool::new(false),
            turn: Mutex::new(()),
            wake: Condvar::new(),
        });
        let (weak, ticker) = (engine.weak(), Arc::clone(&shared));
        std::thread::Builder::new()
            .name("epoch".to_owned())
            .spawn(move || {
                while let Some(engine) = weak.upgrade() {
                    engine.increment_epoch();
                    drop(engine);
                    std::thread::sleep(TICK);
                    ticker.sleep_while_idle();
                }
            })?;
        Ok(Self { shared })
    }

    /// Makes time pass for a call whenever it runs, which is while it is polled.
    pub async fn tick<T>(&self, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        poll_fn(|context| {
            let _ticking = self.shared.tick();
            call.as_mut().poll(context)
        })
        .await
    }
}

impl Shared {
    fn tick(&self) -> Ticking<'_> {
        // Whoever counts up first and then finds the thread awake was seen by it before it slept.
        if self.running.fetch_add(1, Ordering::SeqCst) == 0 && self.asleep.load(Ordering::SeqCst) {
            let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            if self.asleep.swap(false, Ordering::SeqCst) {
                self.wake.notify_one();
            }
        }
        Ticking(self)
    }

    fn sleep_while_idle(&self) {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.store(true, Ordering::SeqCst);
        if self.running.load(Ordering::SeqCst) > 0 {
            self.asleep.store(false, Ordering::SeqCst);
        }
        while self.asleep.load(Ordering::SeqCst) {
            turn = self.wake.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}
