//! The library's own state: initialised or not, the scenario at work, the log of calls.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::code::Code;
use crate::edge;
use crate::engine::{Decision, Engine};
use crate::gpm::Sample;
use crate::scenario::fault::Key;
use crate::scenario::node::Node;
use crate::source::{CALL_LOG_ENV, Source};

/// How often a call that hangs looks whether it may go on.
const POLL: Duration = Duration::from_millis(10);

/// Everything behind the one lock. The lock is never held while a call hangs.
pub struct State {
    /// `nvmlInit` less `nvmlShutdown`.
    pub inits: u32,
    /// GPM samples by id.
    pub samples: HashMap<usize, Option<Sample>>,
    /// The id of the next GPM sample.
    pub next_sample: usize,
    running: Option<Running>,
    log: Option<File>,
}

struct Running {
    source: Source,
    engine: Engine,
    started: Instant,
    generation: u64,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

/// Works on the state.
pub fn with<T>(work: impl FnOnce(&mut State) -> T) -> T {
    let mut guard: MutexGuard<'_, Option<State>> =
        STATE.lock().unwrap_or_else(PoisonError::into_inner);
    work(guard.get_or_insert_with(|| State {
        inits: 0,
        samples: HashMap::new(),
        next_sample: 1,
        running: None,
        log: None,
    }))
}

impl Running {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl State {
    /// Reads the scenario, for `nvmlInit`. Where it is at work already, it goes on unless the file changed.
    pub fn load(&mut self) -> Result<(), Code> {
        if let Some(running) = &mut self.running {
            if !running.source.changed() {
                return Ok(());
            }
            let generation = running.generation + 1;
            return self.start(generation);
        }
        self.start(0)
    }

    fn start(&mut self, generation: u64) -> Result<(), Code> {
        let read = Source::find(edge::library_path()).and_then(|mut source| {
            let scenario = source.read()?;
            Ok((source, scenario))
        });
        match read {
            Ok((source, scenario)) => {
                let log = std::env::var_os(CALL_LOG_ENV)
                    .filter(|path| !path.is_empty())
                    .map(Into::into);
                let log = log.or_else(|| scenario.call_log.clone());
                self.log = log
                    .and_then(|path| OpenOptions::new().create(true).append(true).open(path).ok());
                let engine = Engine::new(scenario).ok_or(Code::UNKNOWN)?;
                self.running = Some(Running {
                    source,
                    engine,
                    started: Instant::now(),
                    generation,
                });
                Ok(())
            }
            Err(error) => {
                // The one way to be heard from inside a C library; nvmlReturn_t has no room for a reason.
                eprintln!("nvml-mock: {error}");
                Err(Code::UNKNOWN)
            }
        }
    }

    /// Takes up a changed file. A file that cannot be used is complained about once, and the old scenario goes on.
    fn refresh(&mut self) {
        let Some(running) = &mut self.running else {
            return;
        };
        if !running.source.changed() {
            return;
        }
        match running.source.read() {
            Ok(scenario) => {
                if let Some(engine) = Engine::new(scenario) {
                    running.engine = engine;
                    running.started = Instant::now();
                    running.generation += 1;
                }
            }
            Err(error) => eprintln!("nvml-mock: {error}; going on with what was there before"),
        }
    }

    /// The machine now, without a call.
    pub fn peek(&mut self) -> Option<Arc<Node>> {
        self.refresh();
        let running = self.running.as_mut()?;
        let now = running.now_ms();
        Some(running.engine.node(now))
    }

    /// Milliseconds since the scenario was read.
    pub fn now_ms(&self) -> u64 {
        self.running.as_ref().map_or(0, Running::now_ms)
    }

    fn generation(&self) -> u64 {
        self.running
            .as_ref()
            .map_or(0, |running| running.generation)
    }

    fn ask(&mut self, ask: impl FnOnce(&mut Engine, u64) -> Decision) -> Decision {
        self.refresh();
        match &mut self.running {
            Some(running) => {
                let now = running.now_ms();
                ask(&mut running.engine, now)
            }
            None => Decision::Fail(Code::UNINITIALIZED),
        }
    }

    /// Writes a line to the log of calls.
    pub fn log(&mut self, key: Key, outcome: &str) {
        let now = self.now_ms();
        if let Some(log) = &mut self.log {
            let shown =
                |number: Option<i64>| number.map_or_else(|| "-".to_owned(), |n| n.to_string());
            let line = format!(
                "{now} {} {} gpu={} arg={} {outcome}\n",
                std::process::id(),
                key.name,
                shown(key.gpu.map(i64::from)),
                shown(key.arg)
            );
            // One write a line, so that lines of several processes do not mix.
            let _ = log.write_all(line.as_bytes());
        }
    }
}

/// Runs a call through the engine: counts, fails, hangs. Comes back with the machine to answer from.
///
/// # Errors
/// What a fault says.
pub fn enter(key: Key) -> Result<Arc<Node>, Code> {
    let (mut decision, mut generation) = with(|state| {
        (
            state.ask(|engine, now| engine.decide(key, now)),
            state.generation(),
        )
    });
    let mut is_logged = false;
    loop {
        match decision {
            Decision::Go(node) => return Ok(node),
            Decision::Fail(code) => return Err(code),
            Decision::Hang(hang) => {
                if !is_logged {
                    with(|state| state.log(key, "hangs"));
                    is_logged = true;
                }
                std::thread::sleep(POLL);
                (decision, generation) = with(|state| {
                    let before = generation;
                    state.refresh();
                    let now = state.generation();
                    if now == before {
                        (state.ask(|engine, now| engine.still_hangs(hang, now)), now)
                    } else {
                        // A new scenario: ask afresh, it may hang no longer.
                        (state.ask(|engine, now| engine.decide(key, now)), now)
                    }
                });
            }
        }
    }
}
