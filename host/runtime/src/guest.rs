//! Prepares a component for instantiation, and calls its exports.

use std::sync::{Arc, OnceLock};

use wasmtime::{
    Engine, Store as WasmStore,
    component::{Component, InstancePre, Linker},
};

use super::error::LoadError;
use crate::{
    capability::{Grants, Host, Interface, wire},
    model::ComponentDescriptor,
};
use wire::types::{CheckContext as WitContext, CheckError};

/// A component that is ready for instantiation, with the positions of its exports.
pub(super) struct Guest {
    pre: InstancePre<Host>,
    checker: wire::checker::GuestIndices,
    scanner: Option<wire::scanner::GuestIndices>,
    kmsg_watcher: Option<wire::kmsg_watcher::GuestIndices>,
    /// The interfaces of the contract that it imports.
    pub(super) imports: Vec<Interface>,
    /// Its description, as the first plugin that asked got it.
    pub(super) description: OnceLock<Arc<Description>>,
}

/// A component's description of itself.
#[derive(Default)]
pub(super) struct Description {
    pub(super) version: String,
    pub(super) components: Vec<ComponentDescriptor>,
}

/// A call of an export.
pub(super) enum Request<'a> {
    Describe,
    Check(&'a WitContext),
    Scan(&'a WitContext),
    Patterns(&'a str),
    OnMessages(&'a WitContext, &'a [wire::kmsg::Message]),
}

/// The answer of a guest.
pub(super) enum Answer {
    Description(wire::checker::Descriptor),
    Report(Result<wire::types::Report, CheckError>),
    Patterns(Vec<String>),
    Events(Result<Vec<wire::types::Event>, CheckError>),
}

/// An export does not have the types of the contract; Wasmtime notices when it is first looked up.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct ExportTypeMismatch(pub(super) String);

impl ExportTypeMismatch {
    #[expect(clippy::needless_pass_by_value, reason = "for map_err")]
    fn of(error: wasmtime::Error) -> wasmtime::Error {
        wasmtime::Error::new(Self(format!("{error:#}")))
    }
}

impl Guest {
    /// The machine code.
    pub(super) fn component(&self) -> &Component {
        self.pre.component()
    }

    /// Whether it exports `scanner`.
    pub(super) fn scans(&self) -> bool {
        self.scanner.is_some()
    }

    /// Whether it exports `kmsg-watcher`.
    pub(super) fn watches_kmsg(&self) -> bool {
        self.kmsg_watcher.is_some()
    }

    /// Calls a fresh instance.
    pub(super) async fn run(
        &self,
        store: &mut WasmStore<Host>,
        request: Request<'_>,
    ) -> wasmtime::Result<Answer> {
        let instance = self.pre.instantiate_async(&mut *store).await?;
        Ok(match request {
            Request::Describe => {
                let guest = self.checker.load(&mut *store, &instance);
                let guest = guest.map_err(ExportTypeMismatch::of)?;
                Answer::Description(guest.call_describe(&mut *store).await?)
            }
            Request::Check(context) => {
                let guest = self.checker.load(&mut *store, &instance);
                let guest = guest.map_err(ExportTypeMismatch::of)?;
                Answer::Report(guest.call_check(&mut *store, context).await?)
            }
            Request::Scan(context) => {
                let indices = self.scanner.as_ref();
                let indices = indices.ok_or_else(|| missing("scanner"))?;
                let guest = indices.load(&mut *store, &instance);
                let guest = guest.map_err(ExportTypeMismatch::of)?;
                Answer::Report(guest.call_scan(&mut *store, context).await?)
            }
            Request::Patterns(component) => {
                let guest = self.kmsg_watcher()?.load(&mut *store, &instance);
                let guest = guest.map_err(ExportTypeMismatch::of)?;
                Answer::Patterns(guest.call_patterns(&mut *store, component).await?)
            }
            Request::OnMessages(context, messages) => {
                let guest = self.kmsg_watcher()?.load(&mut *store, &instance);
                let guest = guest.map_err(ExportTypeMismatch::of)?;
                let call = guest.call_on_messages(&mut *store, context, messages);
                Answer::Events(call.await?)
            }
        })
    }

    fn kmsg_watcher(&self) -> wasmtime::Result<&wire::kmsg_watcher::GuestIndices> {
        self.kmsg_watcher
            .as_ref()
            .ok_or_else(|| missing("kmsg-watcher"))
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

/// Checks that a plugin of this name may import all these interfaces.
///
/// # Errors
/// [`LoadError::NotGranted`] with those that it may not.
pub(super) fn granted(name: &str, imports: &[Interface], grants: &Grants) -> Result<(), LoadError> {
    let refused = imports
        .iter()
        .filter(|import| !grants.may_be_linked(**import));
    let mut refused: Vec<Interface> = refused.copied().collect();
    if refused.is_empty() {
        return Ok(());
    }
    refused.sort_unstable();
    Err(LoadError::NotGranted {
        name: name.to_owned(),
        refused,
    })
}

/// Links a component with exactly what it imports, if that was granted. What is linked does not depend on the grants:
/// each call carries its own.
pub(super) fn link(
    name: &str,
    engine: &Engine,
    component: &Component,
    grants: &Grants,
) -> Result<Guest, LoadError> {
    let engine_error = |error: wasmtime::Error| LoadError::Engine {
        name: name.to_owned(),
        problem: format!("{error:#}"),
    };
    let ty = component.component_type();
    let mut linker = Linker::new(engine);
    let (mut imports, mut unknown, mut wasi) = (Vec::new(), Vec::new(), false);
    for (import, _) in ty.imports(engine) {
        match Interface::from_import(import) {
            Some(interface) => imports.push(interface),
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
    granted(name, &imports, grants)?;
    for interface in &imports {
        interface.add_to(&mut linker).map_err(engine_error)?;
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
        description: OnceLock::new(),
    })
}

fn exported(export: &str, interface: &str) -> bool {
    export
        .strip_prefix("gpud:plugin/")
        .and_then(|rest| rest.strip_prefix(interface))
        .is_some_and(|version| version.starts_with("@0.1."))
}

pub(super) fn contract(name: &str, problem: &str) -> LoadError {
    LoadError::Contract {
        name: name.to_owned(),
        problem: problem.to_owned(),
    }
}

pub(super) fn other_form(name: &str, problem: &str) -> LoadError {
    contract(
        name,
        &format!("it was built against another form of the contract: {problem}"),
    )
}

fn missing(export: &'static str) -> wasmtime::Error {
    wasmtime::Error::msg(format!("does not export {export}"))
}
