//! The clock of guests: Wasmtime's epochs, after which a spinning guest gives the thread back.

use std::{
    future::poll_fn,
    io,
    pin::pin,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use wasmtime::Engine;

/// How often a spinning guest gives the thread back.
const TICK: Duration = Duration::from_millis(10);

/// Moves the engine's epoch on while guests run. The thread sleeps while none does: neither an idle daemon nor a guest that
/// waits for the machine causes wake-ups.
///
/// It is a plain thread, because a stalled async runtime must not stop time.
pub struct Ticker {
    shared: Arc<TickerShared>,
}

#[derive(Default)]
struct TickerShared {
    state: Mutex<TickerState>,
    changed: Condvar,
}

#[derive(Default)]
struct TickerState {
    /// Guests that are being polled now.
    running: usize,
    /// The thread waits for a guest.
    parked: bool,
    /// The runtime was dropped.
    ended: bool,
}

/// Epochs advance until it is dropped.
struct Ticking<'a>(&'a TickerShared);

impl Ticker {
    /// Starts the thread. It ends when this is dropped.
    ///
    /// # Errors
    /// When no thread can be had.
    pub fn start(engine: &Engine) -> io::Result<Self> {
        let shared = Arc::<TickerShared>::default();
        let (ticking, engine) = (Arc::clone(&shared), engine.weak());
        std::thread::Builder::new()
            .name("epoch".to_owned())
            .spawn(move || {
                while ticking.wait() {
                    std::thread::sleep(TICK);
                    match engine.upgrade() {
                        Some(engine) => engine.increment_epoch(),
                        None => return,
                    }
                }
            })?;
        Ok(Self { shared })
    }

    /// Advances epochs while a call is polled.
    pub async fn tick<T>(&self, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        poll_fn(|context| {
            let _ticking = self.shared.tick();
            call.as_mut().poll(context)
        })
        .await
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_one();
    }
}

impl TickerShared {
    fn tick(&self) -> Ticking<'_> {
        let mut state = self.lock();
        state.running += 1;
        if state.parked {
            state.parked = false;
            self.changed.notify_one();
        }
        Ticking(self)
    }

    /// Waits until a guest runs. Returns false when none ever will.
    fn wait(&self) -> bool {
        let mut state = self.lock();
        while state.running == 0 && !state.ended {
            state.parked = true;
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.parked = false;
        !state.ended
    }

    fn lock(&self) -> MutexGuard<'_, TickerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        self.0.lock().running -= 1;
    }
}

#[cfg(test)]
mod tests;
