//! The clock of guests: Wasmtime's epochs, after which a spinning one gives the thread back.

use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use wasmtime::{Engine, EngineWeak};

use super::engine::Engines;

/// How often a spinning guest gives the thread back.
const TICK: Duration = Duration::from_millis(10);

/// Moves the engines' epochs on while guests run, and sleeps while none does: neither an idle daemon nor a guest that waits
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
    /// Starts the thread; it ends with the engines, or sleeps for good.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(engines: &Engines) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            running: AtomicUsize::new(0),
            asleep: AtomicBool::new(false),
            turn: Mutex::new(()),
            wake: Condvar::new(),
        });
        let ticker = Arc::clone(&shared);
        let engines = engines.both().map(Engine::weak);
        std::thread::Builder::new()
            .name("epoch".to_owned())
            .spawn(move || {
                // A guest that starts while this sleeps has a whole tick before it yields.
                loop {
                    ticker.sleep_while_idle();
                    std::thread::sleep(TICK);
                    let alive: Vec<Engine> =
                        engines.iter().filter_map(EngineWeak::upgrade).collect();
                    if alive.is_empty() {
                        return;
                    }
                    alive.iter().for_each(Engine::increment_epoch);
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
