//! A loaded plugin, and one call of it.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use wasmtime::{
    Store as WasmStore, Trap,
    component::{Component, InstancePre, Linker, ResourceTable},
};

use super::{
    Runtime,
    error::{CallError, LoadError},
    limits::{Limits, MemoryLimiter},
    validate,
};
use crate::{
    capability::{Bill, Budget, Call, Grants, Host, Identity, Interface, printable, wire},
    model::{CheckContext, ComponentDescriptor, Event, Report, UnixMillis},
    node::{error::SourceError, kmsg::KernelMessage},
    store::Store,
};
use wire::types::{AccessError, CheckContext as WitContext, CheckError};

/// Longest that a plugin may take to describe itself, unless its own deadline is shorter.
const DESCRIBE_DEADLINE: Duration = Duration::from_secs(10);
/// Most handles (GPUs, WASI's pollables and streams) that a call may hold: they live in the host's memory.
const MAX_HANDLES: usize = 4096;

/// A plugin to be loaded.
pub struct PluginSource<'a> {
    /// As the operator named it.
    pub name: &'a str,
    /// A WebAssembly component.
    pub wasm: &'a [u8],
    /// What it may reach.
    pub grants: Grants,
    /// What it may use.
    pub limits: Limits,
}

/// A compiled, linked plugin that has described itself.
pub struct Plugin {
    name: String,
    version: String,
    components: Vec<ComponentDescriptor>,
    grants: Arc<Grants>,
    limits: Limits,
    guest: Guest,
    runtime: Runtime,
}

/// What can be instantiated, and where its exports are.
struct Guest {
    pre: InstancePre<Host>,
    checker: wire::checker::GuestIndices,
    scanner: Option<wire::scanner::GuestIndices>,
    kmsg_watcher: Option<wire::kmsg_watcher::GuestIndices>,
    imports: Vec<Interface>,
}

/// On whose behalf a call is made.
pub struct Asked<'a> {
    /// The component.
    pub component: &'a str,
    /// What the daemon remembers; `None` in a scan.
    pub store: Option<Store>,
    /// Configuration, a JSON object.
    pub config: Arc<str>,
}

/// A call that has ended, well or not.
#[derive(Debug)]
pub struct Finished<T> {
    /// The validated answer.
    pub answer: Result<T, CallError>,
    /// What it cost.
    pub bill: Bill,
    /// Values for the key-value store; empty unless the call ended well.
    pub state_writes: BTreeMap<String, Option<Vec<u8>>>,
}

enum Request<'a> {
    Describe,
    Check(&'a WitContext),
    Scan(&'a WitContext),
    Patterns(&'a str),
    OnMessages(&'a WitContext, &'a [wire::kmsg::Message]),
}

enum Answer {
    Description(wire::checker::Descriptor),
    Report(Result<wire::types::Report, CheckError>),
    Patterns(Vec<String>),
    Events(Result<Vec<wire::types::Event>, CheckError>),
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
        is_component(name, wasm)?;
        let engine = &self.shared.engine;
        let component = self.shared.cache.component(engine, name, wasm).await?;
        let guest = link(name, engine, &component, &grants)?;
        let mut plugin = Plugin {
            name: name.to_owned(),
            version: String::new(),
            components: Vec::new(),
            grants: Arc::new(grants),
            limits,
            guest,
            runtime: self.clone(),
        };
        let nobody = Asked {
            component: "",
            store: None,
            config: Arc::from("{}"),
        };
        let described = plugin.call(Request::Describe, &nobody).await;
        let name = || name.to_owned();
        match described.answer {
            Ok(Answer::Description(description)) => {
                plugin.version = description.version.chars().take(64).collect();
                plugin.components = description.components.into_iter().map(Into::into).collect();
            }
            Ok(_) => return Err(contract(&plugin.name, "an answer to another question")),
            Err(CallError::Contract(problem)) => return Err(other_form(&plugin.name, &problem)),
            Err(source) => {
                return Err(LoadError::Describe {
                    name: name(),
                    source,
                });
            }
        }
        validate::descriptor(&plugin.components).map_err(|problem| LoadError::Descriptor {
            name: name(),
            problem,
        })?;
        Ok(plugin)
    }
}

impl Plugin {
    /// As the operator named it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The plugin's own version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Its components.
    pub fn components(&self) -> &[ComponentDescriptor] {
        &self.components
    }

    /// The grants that it asks for, as words of a spec, sorted.
    pub fn asks_for(&self) -> Vec<String> {
        let imports = self.guest.imports.iter();
        let mut words: Vec<String> = imports
            .filter(|interface| interface.needs_grant())
            .map(|interface| interface.word().to_owned())
            .collect();
        words.sort_unstable();
        words
    }

    /// What a call of it may use.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Can it judge the moment?
    pub fn scans(&self) -> bool {
        self.guest.scanner.is_some()
    }

    /// Does it watch the kernel log?
    pub fn watches_kmsg(&self) -> bool {
        self.guest.kmsg_watcher.is_some()
    }

    /// One check.
    pub async fn check(&self, asked: &Asked<'_>, context: &CheckContext) -> Finished<Report> {
        self.report(Request::Check(&context.into()), asked, context.now)
            .await
    }

    /// One look, for plugins that [`Self::scans`].
    pub async fn scan(&self, asked: &Asked<'_>, context: &CheckContext) -> Finished<Report> {
        self.report(Request::Scan(&context.into()), asked, context.now)
            .await
    }

    /// The kernel log patterns of a component, for plugins that [`Self::watches_kmsg`].
    pub async fn patterns(&self, asked: &Asked<'_>) -> Finished<Vec<String>> {
        let finished = self.call(Request::Patterns(asked.component), asked).await;
        finished.and_then(|answer| match answer {
            Answer::Patterns(patterns) => {
                validate::patterns(&patterns).map_err(CallError::Invalid)?;
                Ok(patterns)
            }
            _ => Err(mixed_up()),
        })
    }

    /// Hands kernel messages to a component.
    pub async fn on_messages<'m>(
        &self,
        asked: &Asked<'_>,
        context: &CheckContext,
        messages: impl Iterator<Item = &'m KernelMessage>,
    ) -> Finished<Vec<Event>> {
        let messages: Vec<_> = messages.map(wire::kmsg::Message::from).collect();
        let request = Request::OnMessages(&context.into(), &messages);
        let finished = self.call(request, asked).await;
        finished.and_then(|answer| match answer {
            Answer::Events(events) => {
                let events: Vec<Event> =
                    events.map_err(said)?.into_iter().map(Into::into).collect();
                validate::events(&events, &self.limits, context.now).map_err(CallError::Invalid)?;
                Ok(events)
            }
            _ => Err(mixed_up()),
        })
    }

    async fn report(
        &self,
        request: Request<'_>,
        asked: &Asked<'_>,
        now: UnixMillis,
    ) -> Finished<Report> {
        let finished = self.call(request, asked).await;
        finished.and_then(|answer| match answer {
            Answer::Report(report) => {
                let report: Report = report.map_err(said)?.into();
                validate::report(&report, &self.limits, now).map_err(CallError::Invalid)?;
                Ok(report)
            }
            _ => Err(mixed_up()),
        })
    }

    /// One call: a fresh instance behind four walls (memory, bytes per crossing, epochs that make a spinning guest
    /// yield, and one deadline over everything). Dropping the future ends the guest and whatever it waits for.
    async fn call(&self, request: Request<'_>, asked: &Asked<'_>) -> Finished<Answer> {
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
                plugin: self.name.clone(),
                component: asked.component.to_owned(),
            }),
            grants: (!describes).then(|| Arc::clone(&self.grants)),
            node: Arc::clone(&shared.node),
            store: asked.store.clone(),
            config: Arc::clone(&asked.config),
            deadline: started + limit,
            budget: Budget {
                host_calls: limits.host_calls,
                bytes: limits.host_bytes,
                log_lines: limits.log_lines,
            },
            bill: Bill::default(),
            dropped_log_lines: 0,
            state_writes: BTreeMap::new(),
            table: handles(),
        };
        let host = Host {
            call,
            limiter: MemoryLimiter::new(*limits),
            wasi: None,
        };
        let mut store = WasmStore::new(&shared.engine, host);
        store.limiter(|host| &mut host.limiter);
        store.set_hostcall_fuel(limits.transfer_bytes);
        store.set_epoch_deadline(1);
        store.epoch_deadline_async_yield_and_update(1);
        let ticking = shared.ticker.tick();
        let ran = tokio::time::timeout(limit, self.guest.run(&mut store, request)).await;
        drop(ticking);
        let Host { call, limiter, .. } = store.into_data();
        if call.dropped_log_lines > 0 {
            let Identity { plugin, component } = &*call.identity;
            let dropped = call.dropped_log_lines;
            tracing::warn!(target: "plugin", plugin, component, dropped, "log lines dropped");
        }
        let answer = match ran {
            Err(_) => Err(CallError::Deadline(limit)),
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(match (limiter.refused(), error.downcast_ref()) {
                (_, Some(OtherForm(problem))) => CallError::Contract(printable(problem)),
                (Some(refused), None) => CallError::Memory(refused),
                (None, None) => CallError::Trap(trap_text(&error)),
            }),
        };
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
        }
    }
}

impl<T> Finished<T> {
    fn and_then<U>(self, next: impl FnOnce(T) -> Result<U, CallError>) -> Finished<U> {
        let answer = self.answer.and_then(next);
        let state_writes = if answer.is_ok() {
            self.state_writes
        } else {
            BTreeMap::new()
        };
        Finished {
            answer,
            bill: self.bill,
            state_writes,
        }
    }
}

/// An export does not have the types of the contract; Wasmtime notices when it is first looked up.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct OtherForm(String);

impl OtherForm {
    #[expect(clippy::needless_pass_by_value, reason = "for map_err")]
    fn of(error: wasmtime::Error) -> wasmtime::Error {
        wasmtime::Error::new(Self(format!("{error:#}")))
    }
}

impl Guest {
    async fn run(
        &self,
        store: &mut WasmStore<Host>,
        request: Request<'_>,
    ) -> wasmtime::Result<Answer> {
        let instance = self.pre.instantiate_async(&mut *store).await?;
        Ok(match request {
            Request::Describe => {
                let guest = self
                    .checker
                    .load(&mut *store, &instance)
                    .map_err(OtherForm::of)?;
                Answer::Description(guest.call_describe(&mut *store).await?)
            }
            Request::Check(context) => {
                let guest = self
                    .checker
                    .load(&mut *store, &instance)
                    .map_err(OtherForm::of)?;
                Answer::Report(guest.call_check(&mut *store, context).await?)
            }
            Request::Scan(context) => {
                let indices = self.scanner.as_ref().ok_or_else(|| missing("scanner"))?;
                let guest = indices
                    .load(&mut *store, &instance)
                    .map_err(OtherForm::of)?;
                Answer::Report(guest.call_scan(&mut *store, context).await?)
            }
            Request::Patterns(component) => {
                let indices = self
                    .kmsg_watcher
                    .as_ref()
                    .ok_or_else(|| missing("kmsg-watcher"))?;
                let guest = indices
                    .load(&mut *store, &instance)
                    .map_err(OtherForm::of)?;
                Answer::Patterns(guest.call_patterns(&mut *store, component).await?)
            }
            Request::OnMessages(context, messages) => {
                let indices = self
                    .kmsg_watcher
                    .as_ref()
                    .ok_or_else(|| missing("kmsg-watcher"))?;
                let guest = indices
                    .load(&mut *store, &instance)
                    .map_err(OtherForm::of)?;
                Answer::Events(
                    guest
                        .call_on_messages(&mut *store, context, messages)
                        .await?,
                )
            }
        })
    }
}

/// Looks at the preamble, since Wasmtime's own words for "this is a core module" do not help an operator.
pub(super) fn is_component(name: &str, wasm: &[u8]) -> Result<(), LoadError> {
    let problem = match wasm {
        [b'\0', b'a', b's', b'm', 0x0d, 0, 1, 0, ..] => return Ok(()),
        [b'\0', b'a', b's', b'm', 1, 0, 0, 0, ..] => {
            "it is a core module; make a component of it with `wasm-tools component new`"
        }
        [b'\0', b'a', b's', b'm', ..] => "its WebAssembly version is not known",
        _ => "it does not begin like WebAssembly",
    };
    Err(LoadError::NotAComponent {
        name: name.to_owned(),
        problem: problem.to_owned(),
    })
}

/// Links a component with exactly what it imports and was granted.
fn link(
    name: &str,
    engine: &wasmtime::Engine,
    component: &Component,
    grants: &Grants,
) -> Result<Guest, LoadError> {
    let engine_error = |error: wasmtime::Error| LoadError::Engine {
        name: name.to_owned(),
        problem: format!("{error:#}"),
    };
    let ty = component.component_type();
    let mut linker = Linker::new(engine);
    let (mut refused, mut unknown, mut wasi) = (Vec::new(), Vec::new(), false);
    let mut imports = Vec::new();
    for (import, _) in ty.imports(engine) {
        match Interface::from_import(import) {
            Some(interface) if grants.allow(interface) => {
                interface.add_to(&mut linker).map_err(engine_error)?;
                imports.push(interface);
            }
            Some(interface) => refused.push(interface),
            None if import.starts_with("wasi:") => wasi = true,
            None => unknown.push(import.to_owned()),
        }
    }
    if !unknown.is_empty() {
        return Err(LoadError::UnknownImports {
            name: name.to_owned(),
            unknown,
        });
    }
    if !refused.is_empty() {
        refused.sort_unstable();
        return Err(LoadError::NotGranted {
            name: name.to_owned(),
            refused,
        });
    }
    if wasi {
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).map_err(engine_error)?;
    }
    let exports: Vec<String> = ty
        .exports(engine)
        .map(|(export, _)| export.to_owned())
        .collect();
    let has = |interface: &str| exports.iter().any(|export| exported(export, interface));
    if !has("checker") {
        let problem = match exports
            .iter()
            .find(|e| e.starts_with("gpud:plugin/checker@"))
        {
            Some(other) => format!("it exports {other}, another version of the contract"),
            None => "it does not export `gpud:plugin/checker`".to_owned(),
        };
        return Err(contract(name, &problem));
    }
    let mismatch = |error: wasmtime::Error| other_form(name, &format!("{error:#}"));
    let pre = linker
        .instantiate_pre(component)
        .map_err(|error| contract(name, &format!("its imports do not fit: {error:#}")))?;
    let checker = wire::checker::GuestIndices::new(&pre).map_err(mismatch)?;
    let scanner = match has("scanner") {
        true => Some(wire::scanner::GuestIndices::new(&pre).map_err(mismatch)?),
        false => None,
    };
    let kmsg_watcher = match has("kmsg-watcher") {
        true => Some(wire::kmsg_watcher::GuestIndices::new(&pre).map_err(mismatch)?),
        false => None,
    };
    Ok(Guest {
        pre,
        checker,
        scanner,
        kmsg_watcher,
        imports,
    })
}

fn exported(export: &str, interface: &str) -> bool {
    export
        .strip_prefix("gpud:plugin/")
        .and_then(|rest| rest.strip_prefix(interface))
        .is_some_and(|version| version.starts_with("@0.1."))
}

fn contract(name: &str, problem: &str) -> LoadError {
    LoadError::Contract {
        name: name.to_owned(),
        problem: problem.to_owned(),
    }
}

fn other_form(name: &str, problem: &str) -> LoadError {
    contract(
        name,
        &format!("it was built against another form of the contract: {problem}"),
    )
}

fn handles() -> ResourceTable {
    let mut table = ResourceTable::new();
    table.set_max_capacity(MAX_HANDLES);
    table
}

fn missing(export: &'static str) -> wasmtime::Error {
    wasmtime::Error::msg(format!("does not export {export}"))
}

fn mixed_up() -> CallError {
    CallError::Invalid("an answer to another question".to_owned())
}

/// What a guest says when it gives no report.
fn said(error: CheckError) -> CallError {
    match error {
        // It asked for too much; no source of the machine is to blame.
        CheckError::Source(AccessError::OverBudget(text)) => CallError::Failed(printable(&text)),
        CheckError::Source(source) => CallError::Source(SourceError::from(source)),
        CheckError::Failed(text) | CheckError::Other(text) => CallError::Failed(printable(&text)),
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
    let trace = error.downcast_ref::<wasmtime::WasmBacktrace>();
    let frames: Vec<&str> = trace
        .iter()
        .flat_map(|trace| trace.frames())
        .filter_map(|frame| frame.func_name())
        .take(4)
        .collect();
    let text = if frames.is_empty() {
        cause
    } else {
        format!("{cause}, in {}", frames.join(" < "))
    };
    // The names are the guest's own.
    printable(&text).chars().take(1024).collect()
}
