//! A component taken apart into the items of its top level, with the origin of every core thing that they name.

use std::collections::HashMap;

use wasm_encoder::reencode::{self, Reencode, ReencodeComponent};
use wasmparser::{
    CanonicalFunction, ComponentAlias, ComponentExternalKind, ComponentInstance,
    ComponentOuterAliasKind, ComponentType, ComponentTypeRef, Encoding, Parser, Payload,
};

use crate::error::Error;
use crate::module::{Module, import_kind};
use crate::space::{Kind, Origin, PerKind, index, place};

/// A component's top level.
#[derive(Default)]
pub(crate) struct Component<'a> {
    /// Everything in it, in order, but aliases of core exports: those are resolved.
    pub(crate) items: Vec<Item<'a>>,
    pub(crate) modules: Vec<CoreModule<'a>>,
    pub(crate) instances: Vec<Instance<'a>>,
    /// What each index of the core index spaces stands for.
    pub(crate) core: PerKind<Vec<Origin>>,
}

/// One thing in a component.
pub(crate) struct Item<'a> {
    pub(crate) what: What<'a>,
    /// Core things that must exist before it. (Instances of inline exports need nothing: they are resolved.)
    pub(crate) needs: Vec<Origin>,
}

/// What an item is.
pub(crate) enum What<'a> {
    Module(u32),
    /// A core instance.
    Instance(u32),
    Canon(CanonicalFunction),
    Type(ComponentType<'a>),
    /// An alias of anything but a core export.
    Alias(ComponentAlias<'a>),
    /// The names of things: some of them have new numbers.
    Names(&'a [u8], u64),
    /// A section that has nothing to do with core things.
    Section {
        id: u8,
        data: &'a [u8],
    },
}

/// A core module in a component.
pub(crate) struct CoreModule<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) parsed: Module<'a>,
}

/// A core instance.
pub(crate) enum Instance<'a> {
    /// Made of a module.
    Real(Real<'a>),
    /// Made of things that exist already.
    Inline(HashMap<&'a str, Origin>),
}

/// An instance of a module.
pub(crate) struct Real<'a> {
    pub(crate) module: u32,
    /// The origin of each of the module's imports, in their order.
    pub(crate) imports: Vec<Origin>,
    by_kind: PerKind<Vec<Origin>>,
    exports: HashMap<&'a str, Origin>,
}

impl<'a> Component<'a> {
    /// Takes `bytes` apart, which the validator has accepted.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut component = Self::default();
        let mut depth = 0_u32;
        for payload in Parser::new(0).parse_all(bytes) {
            match payload? {
                Payload::Version { encoding, .. } => {
                    if depth == 0 && encoding == Encoding::Module {
                        return Err(Error::NotAComponent);
                    }
                    depth += 1;
                }
                Payload::End(_) => depth = depth.saturating_sub(1),
                payload if depth == 1 => component.payload(payload, bytes)?,
                // Modules are looked at one by one, nested components stay as they are.
                Payload::ComponentAliasSection(section) => {
                    for alias in section {
                        refuse_module_alias(&alias?)?;
                    }
                }
                _ => {}
            }
        }
        component.refuse_copies()?;
        Ok(component)
    }

    /// The module of a real instance.
    pub(crate) fn module_of(&self, real: &Real<'_>) -> Result<&CoreModule<'a>, Error> {
        self.module(real.module)
    }

    /// A core module by its index.
    pub(crate) fn module(&self, module: u32) -> Result<&CoreModule<'a>, Error> {
        self.modules
            .get(place(module))
            .ok_or(Error::missing("module", module))
    }

    /// A core instance by its index, where a module was instantiated for it.
    pub(crate) fn real(&self, instance: u32) -> Option<&Real<'a>> {
        match self.instances.get(place(instance)) {
            Some(Instance::Real(real)) => Some(real),
            _ => None,
        }
    }

    /// A core instance of a module by its index.
    pub(crate) fn expect_real(&self, instance: u32) -> Result<&Real<'a>, Error> {
        self.real(instance)
            .ok_or(Error::missing("instance", instance))
    }

    /// The origin of what has this index in one of the component's core index spaces.
    pub(crate) fn origin(&self, kind: Kind, index: u32) -> Result<Origin, Error> {
        self.core
            .get(kind)
            .get(place(index))
            .copied()
            .ok_or(Error::missing("thing", index))
    }

    fn payload(&mut self, payload: Payload<'a>, whole: &'a [u8]) -> Result<(), Error> {
        match payload {
            Payload::ModuleSection {
                unchecked_range, ..
            } => {
                let bytes = slice(whole, unchecked_range)?;
                self.push(What::Module(index(self.modules.len())), Vec::new());
                self.modules.push(CoreModule {
                    bytes,
                    parsed: Module::parse(bytes)?,
                });
            }
            Payload::InstanceSection(section) => {
                for instance in section {
                    let instance = self.instance(instance?)?;
                    let needs = match &instance {
                        Instance::Real(real) => real.imports.clone(),
                        Instance::Inline(_) => Vec::new(),
                    };
                    self.push(What::Instance(index(self.instances.len())), needs);
                    self.instances.push(instance);
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    self.alias(alias?)?;
                }
            }
            Payload::ComponentCanonicalSection(section) => {
                for canon in section {
                    let canon = canon?;
                    let needs = self.needs(|uses| {
                        let mut scratch = wasm_encoder::CanonicalFunctionSection::new();
                        uses.parse_component_canonical(&mut scratch, canon.clone())
                    })?;
                    if !matches!(canon, CanonicalFunction::Lift { .. }) {
                        let item = self.items.len();
                        self.core.get_mut(Kind::Func).push(Origin::Canon { item });
                    }
                    self.push(What::Canon(canon), needs);
                }
            }
            Payload::ComponentTypeSection(section) => {
                let types = section.clone().into_iter().collect::<Result<Vec<_>, _>>()?;
                if types
                    .iter()
                    .any(|ty| matches!(ty, ComponentType::Resource { dtor: Some(_), .. }))
                {
                    for ty in types {
                        let needs = match &ty {
                            ComponentType::Resource {
                                dtor: Some(dtor), ..
                            } => vec![self.origin(Kind::Func, *dtor)?],
                            _ => Vec::new(),
                        };
                        self.push(What::Type(ty), needs);
                    }
                } else {
                    self.section(&Payload::ComponentTypeSection(section), whole)?;
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section.clone() {
                    let import = import?;
                    if matches!(import.ty, ComponentTypeRef::Module(_)) {
                        return Err(Error::SharedModule(format!(
                            "{:?} is imported",
                            import.name.name
                        )));
                    }
                }
                self.section(&Payload::ComponentImportSection(section), whole)?;
            }
            Payload::ComponentExportSection(section) => {
                for export in section.clone() {
                    let export = export?;
                    if export.kind == ComponentExternalKind::Module {
                        return Err(Error::SharedModule(format!(
                            "core module {} is exported as {:?}",
                            export.index, export.name.name
                        )));
                    }
                }
                self.section(&Payload::ComponentExportSection(section), whole)?;
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section.clone() {
                    refuse_module_arg(&instance?)?;
                }
                self.section(&Payload::ComponentInstanceSection(section), whole)?;
            }
            Payload::CustomSection(section) if section.name() == "component-name" => {
                self.push(
                    What::Names(section.data(), section.data_offset()),
                    Vec::new(),
                );
            }
            payload => self.section(&payload, whole)?,
        }
        Ok(())
    }

    fn push(&mut self, what: What<'a>, needs: Vec<Origin>) {
        self.items.push(Item { what, needs });
    }

    fn section(&mut self, payload: &Payload<'a>, whole: &'a [u8]) -> Result<(), Error> {
        let (id, range) = payload
            .as_section()
            .ok_or_else(|| Error::Encode(format!("{payload:?}")))?;
        let data = slice(whole, range)?;
        self.push(What::Section { id, data }, Vec::new());
        Ok(())
    }

    fn alias(&mut self, alias: ComponentAlias<'a>) -> Result<(), Error> {
        refuse_module_alias(&alias)?;
        match alias {
            ComponentAlias::CoreInstanceExport {
                kind,
                instance_index,
                name,
            } => {
                let origin = self.export(instance_index, name)?;
                self.core.get_mut(kind.into()).push(origin);
            }
            other => self.push(What::Alias(other), Vec::new()),
        }
        Ok(())
    }

    fn export(&self, instance: u32, name: &str) -> Result<Origin, Error> {
        match self.instances.get(place(instance)) {
            Some(Instance::Real(real)) => real.exports.get(name).copied(),
            Some(Instance::Inline(exports)) => exports.get(name).copied(),
            None => None,
        }
        .ok_or(Error::missing("instance with the wanted export", instance))
    }

    fn instance(&self, instance: wasmparser::Instance<'a>) -> Result<Instance<'a>, Error> {
        match instance {
            wasmparser::Instance::FromExports(exports) => {
                let mut origins = HashMap::new();
                for export in &exports {
                    origins.insert(export.name, self.origin(export.kind.into(), export.index)?);
                }
                Ok(Instance::Inline(origins))
            }
            wasmparser::Instance::Instantiate { module_index, args } => {
                let number = index(self.instances.len());
                let module = &self.module(module_index)?.parsed;
                let args: HashMap<&str, u32> =
                    args.iter().map(|arg| (arg.name, arg.index)).collect();
                let mut real = Real {
                    module: module_index,
                    imports: Vec::with_capacity(module.imports.len()),
                    by_kind: PerKind::default(),
                    exports: HashMap::new(),
                };
                for import in &module.imports {
                    let arg = args
                        .get(import.module)
                        .ok_or(Error::missing("instance", number))?;
                    let origin = self.export(*arg, import.name)?;
                    real.imports.push(origin);
                    real.by_kind.get_mut(import_kind(import.ty)).push(origin);
                }
                for export in &module.exports {
                    let origin = real.origin(number, export.kind.into(), export.index);
                    real.exports.insert(export.name, origin);
                }
                Ok(Instance::Real(real))
            }
        }
    }

    fn needs(
        &self,
        encode: impl FnOnce(&mut Uses<'_, 'a>) -> Result<(), reencode::Error<Error>>,
    ) -> Result<Vec<Origin>, Error> {
        let mut uses = Uses {
            component: self,
            origins: Vec::new(),
        };
        encode(&mut uses)?;
        Ok(uses.origins)
    }

    fn refuse_copies(&self) -> Result<(), Error> {
        let mut instance_of = HashMap::new();
        for (second, instance) in self.instances.iter().enumerate() {
            let Instance::Real(Real { module, .. }) = *instance else {
                continue;
            };
            let second = index(second);
            if let Some(first) = instance_of.insert(module, second) {
                return Err(Error::InstantiatedTwice {
                    module,
                    first,
                    second,
                });
            }
        }
        Ok(())
    }
}

impl Real<'_> {
    /// The origin of what the module of this instance (whose number must be given) knows by this index.
    pub(crate) fn origin(&self, instance: u32, kind: Kind, index: u32) -> Origin {
        match self.by_kind.get(kind).get(place(index)) {
            Some(origin) => *origin,
            None => Origin::Instance {
                instance,
                kind,
                index,
            },
        }
    }
}

/// Writes an item to nowhere, to learn which core things it names.
struct Uses<'c, 'a> {
    component: &'c Component<'a>,
    origins: Vec<Origin>,
}

impl Uses<'_, '_> {
    fn see(&mut self, kind: Kind, index: u32) -> Result<u32, reencode::Error<Error>> {
        self.origins.push(self.component.origin(kind, index)?);
        Ok(index)
    }
}

impl Reencode for Uses<'_, '_> {
    type Error = Error;

    fn function_index(&mut self, func: u32) -> Result<u32, reencode::Error<Error>> {
        self.see(Kind::Func, func)
    }

    fn table_index(&mut self, table: u32) -> Result<u32, reencode::Error<Error>> {
        self.see(Kind::Table, table)
    }

    fn memory_index(&mut self, memory: u32) -> Result<u32, reencode::Error<Error>> {
        self.see(Kind::Memory, memory)
    }
}

impl ReencodeComponent for Uses<'_, '_> {}

pub(crate) fn slice(whole: &[u8], range: std::ops::Range<u64>) -> Result<&[u8], Error> {
    let bounds = usize::try_from(range.start)
        .ok()
        .zip(usize::try_from(range.end).ok());
    bounds
        .and_then(|(start, end)| whole.get(start..end))
        .ok_or_else(|| Error::Encode(format!("the section at {range:?} is not there")))
}

fn refuse_module_alias(alias: &ComponentAlias<'_>) -> Result<(), Error> {
    match alias {
        ComponentAlias::InstanceExport {
            kind: ComponentExternalKind::Module,
            name,
            ..
        } => Err(Error::SharedModule(format!(
            "{name:?} is taken from an instance"
        ))),
        ComponentAlias::Outer {
            kind: ComponentOuterAliasKind::CoreModule,
            index,
            ..
        } => Err(Error::SharedModule(format!(
            "a nested component uses core module {index} of an outer one"
        ))),
        _ => Ok(()),
    }
}

fn refuse_module_arg(instance: &ComponentInstance<'_>) -> Result<(), Error> {
    let found = match instance {
        ComponentInstance::Instantiate { args, .. } => args
            .iter()
            .map(|arg| (arg.kind, arg.index))
            .find(|(kind, _)| *kind == ComponentExternalKind::Module),
        ComponentInstance::FromExports(exports) => exports
            .iter()
            .map(|export| (export.kind, export.index))
            .find(|(kind, _)| *kind == ComponentExternalKind::Module),
    };
    match found {
        Some((_, index)) => Err(Error::SharedModule(format!(
            "core module {index} is handed to an instance"
        ))),
        None => Ok(()),
    }
}
