//! A loaded plugin, and one call of it.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use wasmtime::{Store as WasmStore, Trap, component::ResourceTable};

use super::{
    Runtime,
    code::Code,
    error::{CallError, LoadError},
    guest::{Answer, Description, ExportTypeMismatch, Request, contract, is_component, other_form},
    limits::{Limits, MemoryLimiter, RefusedGrowth},
    validate,
};
use crate::{
    capability::{Bill, Budget, Call, Grants, Host, Identity, Interface, Values, printable, wire},
    model::{CheckContext, ComponentDescriptor, Event, Report, UnixMillis},
    node::{error::SourceError, kmsg::KernelMessage},
    store::{Store, StoreError},
};
use wire::types::{AccessError, CheckError};

/// Longest that a plugin may take to describe itself, unless its own deadline is shorter.
const DESCRIBE_DEADLINE: Duration = Duration::from_secs(10);
/// Most handles (GPUs, WASI's pollables and streams) that a call may hold: they live in the host's memory.
const MAX_HANDLES: usize = 4096;

/// A plugin to be loaded.
pub struct PluginSource<'a> {
    /// As the operator named it.
    pub name: &'a str,
    /// The WebAssembly component.
    pub wasm: Wasm<'a>,
    /// The granted capabilities.
    pub grants: Grants,
    /// The limits of its calls.
    pub limits: Limits,
}

/// A WebAssembly component.
#[derive(Clone, Copy)]
pub enum Wasm<'a> {
    /// Its bytes.
    Bytes(&'a [u8]),
    /// One that is part of gpud, and compressed: it is needed only where its machine code has to be made.
    Packed {
        /// Its SHA-256.
        sha256: [u8; 32],
        /// Returns its bytes.
        unpack: &'a (dyn Fn() -> io::Result<Vec<u8>> + Sync),
    },
}

impl Wasm<'_> {
    /// Returns its bytes.
    ///
    /// # Errors
    /// It cannot be unpacked.
    pub(super) fn bytes(&self) -> io::Result<Cow<'_, [u8]>> {
        match self {
            Self::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
            Self::Packed { unpack, .. } => unpack().map(Cow::Owned),
        }
    }
}

/// A compiled, linked plugin that has described itself.
pub struct Plugin {
    description: Arc<Description>,
    limits: Limits,
    code: Code,
    runtime: Runtime,
}

/// The component that a call is for, with its configuration and its store.
pub struct CallContext<'a> {
    /// The component's name.
    pub component: &'a str,
    /// The daemon's store; `None` in a scan.
    pub store: Option<Store>,
    /// Configuration, a JSON object.
    pub config: Arc<str>,
    /// The content of its key-value store, if the call should not see the stored one.
    pub values: Option<Values>,
}

/// A call that has ended, well or not.
#[derive(Debug)]
pub struct Finished<T> {
    /// The validated answer.
    pub answer: Result<T, CallError>,
    /// The cost of the call.
    pub bill: Bill,
    /// Values for the key-value store; empty unless the call ended well.
    pub state_writes: BTreeMap<String, Option<Vec<u8>>>,
    /// Why the daemon's database did not answer the call.
    pub store_failure: Option<StoreError>,
}

impl Runtime {
    /// Compiles a plugin (or finds it compiled), links it, and lets it describe itself.
    ///
    /// # Errors
    /// [`LoadError`], naming the plugin and what to do.
    pub async fn load(&self, source: PluginSource<'_>) -> Result<Plugin, LoadError> {
        let PluginSource {
            name,
            wasm,
            grants,
            limits,
        } = source;
        if let Wasm::Bytes(bytes) = wasm {
            is_component(name, bytes)?;
        }
        let key = self.key(wasm);
        let code = self.code(name, wasm, key, grants).await?;
        let guest = Arc::clone(code.guest());
        let mut plugin = Plugin {
            description: Arc::default(),
            limits,
            code,
            runtime: self.clone(),
        };
        plugin.description = match guest.description.get() {
            Some(description) => Arc::clone(description),
            None => {
                let description = Arc::new(plugin.describe().await?);
                Arc::clone(guest.description.get_or_init(|| description))
            }
        };
        Ok(plugin)
    }
}

impl Plugin {
    /// Returns the operator's name for it.
    pub fn name(&self) -> &str {
        self.code.name()
    }

    /// Returns the plugin's own version.
    pub fn version(&self) -> &str {
        &self.description.version
    }

    /// Returns the descriptions of its components.
    pub fn components(&self) -> &[ComponentDescriptor] {
        &self.description.components
    }

    async fn describe(&self) -> Result<Description, LoadError> {
        let nobody = CallContext {
            component: "",
            store: None,
            config: Arc::from("{}"),
            values: None,
        };
        let described = self.call(Request::Describe, &nobody).await;
        let name = || self.name().to_owned();
        let description = match described.answer {
            Ok(Answer::Description(description)) => Description {
                version: description.version.chars().take(64).collect(),
                components: description.components.into_iter().map(Into::into).collect(),
            },
            Ok(_) => return Err(contract(self.name(), "an answer to another question")),
            Err(CallError::Contract(problem)) => return Err(other_form(self.name(), &problem)),
            Err(source) => {
                return Err(LoadError::Describe {
                    name: name(),
                    source,
                });
            }
        };
        validate::descriptor(&description.components).map_err(|problem| LoadError::Descriptor {
            name: name(),
            problem,
        })?;
        Ok(description)
    }

    /// The grants that it asks for, as words of a spec, sorted. What its component imports for others is not among them.
    pub fn asks_for(&self) -> Vec<String> {
        let (guest, grants) = (self.code.guest(), self.code.grants());
        let mut words: Vec<String> = guest
            .imports
            .iter()
            .filter(|interface| interface.needs_grant() && grants.allow(**interface))
            .map(|interface| interface.word().to_owned())
            .collect();
        words.sort_unstable();
        words
    }

    /// Returns the limits of its calls.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether it can judge the machine without history: it exports `scanner`.
    pub fn scans(&self) -> bool {
        self.code.guest().scans()
    }

    /// Whether it exports `kmsg-watcher`, and has the grant for it.
    pub fn watches_kmsg(&self) -> bool {
        self.code.guest().watches_kmsg() && self.code.grants().allow(Interface::Kmsg)
    }

    /// Runs one check.
    pub async fn check(
        &self,
        call_context: &CallContext<'_>,
        context: &CheckContext,
    ) -> Finished<Report> {
        self.report(Request::Check(&context.into()), call_context, context.now)
            .await
    }

    /// Runs one scan, for plugins that [`Self::scans`].
    pub async fn scan(
        &self,
        call_context: &CallContext<'_>,
        context: &CheckContext,
    ) -> Finished<Report> {
        self.report(Request::Scan(&context.into()), call_context, context.now)
            .await
    }

    /// Returns the kernel log patterns of a component, for plugins that [`Self::watches_kmsg`].
    pub async fn patterns(&self, call_context: &CallContext<'_>) -> Finished<Vec<String>> {
        let finished = self
            .call(Request::Patterns(call_context.component), call_context)
            .await;
        finished.and_then(|answer| match answer {
            Answer::Patterns(patterns) => {
                validate::patterns(&patterns).map_err(CallError::Invalid)?;
                Ok(patterns)
            }
            _ => Err(mixed_up()),
        })
    }

    /// Passes kernel messages to a component.
    pub async fn on_messages<'m>(
        &self,
        call_context: &CallContext<'_>,
        context: &CheckContext,
        messages: impl Iterator<Item = &'m KernelMessage>,
    ) -> Finished<Vec<Event>> {
        // The clock may have been set back since the kernel's was read: what a guest takes over from a message must not be
        // refused as an event of the future.
        let dated = |message: &'m KernelMessage| {
            let message = wire::kmsg::Message::from(message);
            wire::kmsg::Message {
                time: validate::message_time(message.time, context.now),
                ..message
            }
        };
        let messages: Vec<_> = messages.map(dated).collect();
        let request = Request::OnMessages(&context.into(), &messages);
        let finished = self.call(request, call_context).await;
        finished.and_then(|answer| match answer {
            Answer::Events(events) => {
                let events: Vec<Event> = events
                    .map_err(to_call_error)?
                    .into_iter()
                    .map(Into::into)
                    .collect();
                validate::events(&events, &self.limits, context.now).map_err(CallError::Invalid)?;
                Ok(events)
            }
            _ => Err(mixed_up()),
        })
    }

    async fn report(
        &self,
        request: Request<'_>,
        call_context: &CallContext<'_>,
        now: UnixMillis,
    ) -> Finished<Report> {
        let finished = self.call(request, call_context).await;
        finished.and_then(|answer| match answer {
            Answer::Report(report) => {
                let report: Report = report.map_err(to_call_error)?.into();
                validate::report(&report, &self.limits, now).map_err(CallError::Invalid)?;
                Ok(report)
            }
            _ => Err(mixed_up()),
        })
    }

    /// One call: a fresh instance behind four walls (memory, bytes per crossing, epochs that make a spinning guest
    /// yield, and one deadline over everything). Dropping the future ends the guest and whatever it waits for.
    async fn call(&self, request: Request<'_>, call_context: &CallContext<'_>) -> Finished<Answer> {
        let shared = &self.runtime.shared;
        // The semaphore is never closed; without a permit the pool itself would refuse.
        let _slot = shared.slots.acquire().await;
        let started = Instant::now();
        let describes = matches!(request, Request::Describe);
        let limits = &self.limits;
        let limit = if describes {
            limits.deadline.min(DESCRIBE_DEADLINE)
        } else {
            limits.deadline
        };
        let call = Call {
            identity: Arc::new(Identity {
                plugin: self.name().to_owned(),
                component: call_context.component.to_owned(),
            }),
            grants: (!describes).then(|| self.code.grants()),
            node: Arc::clone(&shared.node),
            store: call_context.store.clone(),
            config: Arc::clone(&call_context.config),
            values: call_context.values.clone(),
            deadline: started + limit,
            budget: Budget {
                host_calls: limits.host_calls,
                bytes: limits.host_bytes,
                is_overdrawn: false,
                log_lines: limits.log_lines,
            },
            bill: Bill::default(),
            dropped_log_lines: 0,
            state_writes: BTreeMap::new(),
            store_failure: None,
            table: handles(),
        };
        let host = Host {
            call,
            limiter: MemoryLimiter::new(*limits),
            wasi: None,
        };
        let guest = self.code.guest();
        let mut store = WasmStore::new(guest.component().engine(), host);
        store.limiter(|host| &mut host.limiter);
        store.set_hostcall_fuel(limits.transfer_bytes);
        store.set_epoch_deadline(1);
        store.epoch_deadline_async_yield_and_update(1);
        let running = shared.ticker.tick(guest.run(&mut store, request));
        let ran = tokio::time::timeout(limit, running).await;
        let Host { call, limiter, .. } = store.into_data();
        if call.dropped_log_lines > 0 {
            let Identity { plugin, component } = &*call.identity;
            let dropped = call.dropped_log_lines;
            tracing::warn!(target: "plugin", plugin, component, dropped, "log lines dropped");
        }
        let answer = match ran {
            Err(_) => Err(CallError::Deadline(limit)),
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(call_error(&error, limiter.refused(), &call.identity)),
        };
        let answer = unless_of_database(answer, call.store_failure.as_ref());
        let state_writes = if answer.is_ok() {
            call.state_writes
        } else {
            BTreeMap::new()
        };
        let bill = Bill {
            time: started.elapsed(),
            memory_high_water: limiter.high_water(),
            ..call.bill
        };
        Finished {
            answer,
            bill,
            state_writes,
            store_failure: call.store_failure,
        }
    }
}

impl<T> Finished<T> {
    fn and_then<U>(self, next: impl FnOnce(T) -> Result<U, CallError>) -> Finished<U> {
        let answer = self.answer.and_then(next);
        let answer = unless_of_database(answer, self.store_failure.as_ref());
        let state_writes = if answer.is_ok() {
            self.state_writes
        } else {
            BTreeMap::new()
        };
        Finished {
            answer,
            bill: self.bill,
            state_writes,
            store_failure: self.store_failure,
        }
    }
}

/// Blames the daemon's database for a call that ended without an answer after the database gave none.
fn unless_of_database<T>(
    answer: Result<T, CallError>,
    failure: Option<&StoreError>,
) -> Result<T, CallError> {
    answer.map_err(|error| match failure {
        Some(failure) => CallError::Database(failure.clone()),
        None => error,
    })
}

fn handles() -> ResourceTable {
    let mut table = ResourceTable::new();
    table.set_max_capacity(MAX_HANDLES);
    table
}

fn mixed_up() -> CallError {
    CallError::Invalid("an answer to another question".to_owned())
}

/// Returns why a guest ended without an answer: it has another form, memory was refused to it, or it trapped.
fn call_error(
    error: &wasmtime::Error,
    refused: Option<RefusedGrowth>,
    identity: &Identity,
) -> CallError {
    match (refused, error.downcast_ref()) {
        (_, Some(ExportTypeMismatch(problem))) => CallError::Contract(printable(problem)),
        (Some(refused), None) => CallError::Memory(refused),
        (None, None) => {
            log_backtrace(error, identity);
            CallError::Trap(trap_text(error))
        }
    }
}

/// Converts the error that a guest returned in place of a report.
fn to_call_error(error: CheckError) -> CallError {
    match error {
        // It asked for too much; no source of the machine is to blame.
        CheckError::Source(AccessError::OverBudget(text)) => CallError::Failed(printable(&text)),
        CheckError::Source(source) => CallError::Source(SourceError::from(source)),
        CheckError::Failed(text) | CheckError::Other(text) => CallError::Failed(printable(&text)),
    }
}

/// Returns the functions that the guest was in, innermost first, as their author wrote them; none if it was built without names.
fn frames(error: &wasmtime::Error) -> impl Iterator<Item = String> {
    let trace = error.downcast_ref::<wasmtime::WasmBacktrace>();
    let frames = trace.into_iter().flat_map(|trace| trace.frames());
    // Names of other languages stay as they are.
    let plain = |name: &str| format!("{:#}", rustc_demangle::demangle(name));
    frames.filter_map(move |frame| frame.func_name().map(plain))
}

/// The whole backtrace of a trap for the log. Only the plugin's author needs it.
fn log_backtrace(error: &wasmtime::Error, identity: &Identity) {
    let Identity { plugin, component } = identity;
    let names: Vec<String> = frames(error).collect();
    if !names.is_empty() {
        let trace = printable(&names.join(" < "));
        tracing::error!(target: "plugin", plugin, component, "trapped in {trace}");
    }
}

/// A trap in one line: what happened, and where in the guest if it has names. After a panic that is only the inside of
/// the standard library; the log has its message and place.
fn trap_text(error: &wasmtime::Error) -> String {
    if let Some(Trap::UnreachableCodeReached) = error.downcast_ref() {
        return "unreachable code reached (a panic; its message is in the log)".to_owned();
    }
    let cause = match error.downcast_ref::<Trap>() {
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string(),
    };
    let frames: Vec<String> = frames(error).take(4).collect();
    let text = if frames.is_empty() {
        cause
    } else {
        format!("{cause}, in {}", frames.join(" < "))
    };
    // The names are the guest's own.
    printable(&text).chars().take(1024).collect()
}
