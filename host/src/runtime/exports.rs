//! The exports that are called most, looked up once per component instead of in each instance.
//!
//! Whenever an export is looked up, Wasmtime compares its whole type with the contract's, which takes longer than a small
//! checker. The type is the component's, and the same in every instance of it.

#![allow(unsafe_code, reason = "functions whose type was compared before")]

use std::sync::atomic::{AtomicBool, Ordering};

use wasmtime::{
    Store as WasmStore,
    component::{
        Component, ComponentExportIndex, ComponentNamedList, Instance, Lift, Lower, TypedFunc,
    },
};

use crate::capability::{Host, wire};
use wire::{
    kmsg::Message,
    types::{CheckContext, CheckError, Event, Report},
};

/// `check` and `scan`.
pub(super) type Check<'a> = TypedFunc<(&'a CheckContext,), (Result<Report, CheckError>,)>;
/// `on-messages`.
pub(super) type OnMessages<'a> =
    TypedFunc<(&'a CheckContext, &'a [Message]), (Result<Vec<Event>, CheckError>,)>;

/// Where they are in one component.
pub(super) struct Exports {
    check: Export,
    scan: Option<Export>,
    on_messages: Option<Export>,
}

/// One function.
struct Export {
    index: ComponentExportIndex,
    /// An instance of this component was found to have it with the contract's type.
    fits: AtomicBool,
}

impl Exports {
    /// Those of a component, by the full names of the interfaces that it exports. `None` when it has no `check`.
    pub(super) fn of(component: &Component, interfaces: &[String]) -> Option<Self> {
        let find = |interface: &str, function: &str| {
            let mut interfaces = interfaces.iter();
            let name = interfaces.find(|name| super::guest::exported(name, interface))?;
            let interface = component.get_export_index(None, name.as_str())?;
            let index = component.get_export_index(Some(&interface), function)?;
            let fits = AtomicBool::new(false);
            Some(Export { index, fits })
        };
        Some(Self {
            check: find("checker", "check")?,
            scan: find("scanner", "scan"),
            on_messages: find("kmsg-watcher", "on-messages"),
        })
    }

    /// `check` of an instance of this component.
    pub(super) fn check<'a>(
        &self,
        store: &mut WasmStore<Host>,
        instance: &Instance,
    ) -> wasmtime::Result<Check<'a>> {
        // SAFETY: asked for with this type only.
        unsafe { self.check.typed(store, instance) }
    }

    /// `scan`, where there is one.
    pub(super) fn scan<'a>(
        &self,
        store: &mut WasmStore<Host>,
        instance: &Instance,
    ) -> Option<wasmtime::Result<Check<'a>>> {
        let scan = self.scan.as_ref()?;
        // SAFETY: as above.
        Some(unsafe { scan.typed(store, instance) })
    }

    /// `on-messages`, where there is one.
    pub(super) fn on_messages<'a>(
        &self,
        store: &mut WasmStore<Host>,
        instance: &Instance,
    ) -> Option<wasmtime::Result<OnMessages<'a>>> {
        let on_messages = self.on_messages.as_ref()?;
        // SAFETY: as above.
        Some(unsafe { on_messages.typed(store, instance) })
    }
}

impl Export {
    /// The function in an instance.
    ///
    /// # Safety
    /// `instance` is one of the component that this was made of (of another one, Wasmtime does not find the index), and
    /// `P` and `R` are the same types in all calls but for lifetimes.
    unsafe fn typed<P, R>(
        &self,
        store: &mut WasmStore<Host>,
        instance: &Instance,
    ) -> wasmtime::Result<TypedFunc<P, R>>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        if !self.fits.load(Ordering::Relaxed) {
            let function = instance.get_typed_func(&mut *store, self.index)?;
            self.fits.store(true, Ordering::Relaxed);
            return Ok(function);
        }
        let function = instance.get_func(&mut *store, self.index);
        let function = function.ok_or_else(|| wasmtime::Error::msg("an export has gone"))?;
        // SAFETY: Wasmtime has compared these types with those of this very component before.
        Ok(unsafe { TypedFunc::new_unchecked(function) })
    }
}
