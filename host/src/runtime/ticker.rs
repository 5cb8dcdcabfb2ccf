//! The clock of guests: Wasmtime's epochs, after which a spinning one gives the thread back.

use std::{
    future::poll_fn,
    io,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use wasmtime::{Engine, EngineWeak};

use super::engine::Engines;
use crate::node::alarm::Alarm;

/// How often a spinning guest gives the thread back.
const TICK: Duration = Duration::from_millis(10);

/// Moves the engines' epochs on while guests run, and sleeps while none does: neither an idle daemon nor a guest that waits
/// for the machine has a heartbeat.
///
/// A plain thread, because a stalled async runtime must not stop time. A guest that runs winds the kernel's timer up, which
/// costs it less than waking that thread would: most guests have ended before the timer has run down.
#[derive(Clone)]
pub struct Ticker {
    shared: Arc<Shared>,
}

struct Shared {
    running: AtomicUsize,
    /// The timer runs, or the thread is about to look whether it has to.
    wound_up: AtomicBool,
    timer: Alarm,
}

/// While it lives, time passes.
struct Ticking<'a>(&'a Shared);

impl Ticker {
    /// Starts the thread; it ends with the engines, or sleeps for good.
    ///
    /// # Errors
    /// When no timer or thread can be had.
    pub fn start(engines: &Engines) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            running: AtomicUsize::new(0),
            wound_up: AtomicBool::new(false),
            timer: Alarm::new()?,
        });
        // Here an operator hears of a kernel that has no such timers, and not when a guest spins.
        shared.timer.set(TICK)?;
        shared.wound_up.store(true, Ordering::SeqCst);
        let ticker = Arc::clone(&shared);
        let engines = engines.both().map(Engine::weak);
        std::thread::Builder::new()
            .name("epoch".to_owned())
            .spawn(move || {
                while ticker.wait() {
                    let alive: Vec<Engine> =
                        engines.iter().filter_map(EngineWeak::upgrade).collect();
                    if alive.is_empty() {
                        return;
                    }
                    alive.iter().for_each(Engine::increment_epoch);
                    ticker.go_on();
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
        // Whoever counts up first and then finds the timer wound up is seen when it has run down.
        self.running.fetch_add(1, Ordering::SeqCst);
        self.wind_up();
        Ticking(self)
    }

    /// After a tick: another one, if a guest runs.
    fn go_on(&self) {
        self.wound_up.store(false, Ordering::SeqCst);
        if self.running.load(Ordering::SeqCst) > 0 {
            self.wind_up();
        }
    }

    fn wind_up(&self) {
        if self.wound_up.load(Ordering::SeqCst) || self.wound_up.swap(true, Ordering::SeqCst) {
            return;
        }
        if let Err(error) = self.timer.set(TICK) {
            // The next guest tries again.
            self.wound_up.store(false, Ordering::SeqCst);
            tracing::error!("no time passes for guests: {error}");
        }
    }

    /// Sleeps until the timer has run down. False: it never will.
    fn wait(&self) -> bool {
        let waited = self.timer.wait();
        if let Err(error) = &waited {
            tracing::error!("no time passes for guests: {error}");
        }
        waited.is_ok()
    }
}

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> Shared {
        Shared {
            running: AtomicUsize::new(0),
            wound_up: AtomicBool::new(false),
            timer: Alarm::new().unwrap(),
        }
    }

    fn is_wound_up(shared: &Shared) -> bool {
        shared.wound_up.load(Ordering::SeqCst)
    }

    #[test]
    fn time_passes_while_a_guest_runs_and_stops_after_it() {
        let shared = shared();
        let first = shared.tick();
        assert!(is_wound_up(&shared));
        for _ in 0..2 {
            assert!(shared.wait());
            shared.go_on();
            assert!(is_wound_up(&shared), "it still runs");
        }
        drop(first);
        // One that begins and ends before the timer has run down.
        drop(shared.tick());
        assert!(shared.wait());
        shared.go_on();
        assert!(!is_wound_up(&shared), "nobody runs");
        let _second = shared.tick();
        assert!(shared.wait());
    }
}
