//! The component again, with the merged module.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use wasm_encoder::reencode::{self, Reencode, ReencodeComponent};
use wasm_encoder::{
    Alias, CanonicalFunctionSection, ComponentAliasSection, ComponentNameSection,
    ComponentTypeSection, ExportKind, InstanceSection, ModuleArg, RawSection,
};
use wasmparser::{BinaryReader, CanonicalFunction, ComponentName, ComponentNameSectionReader};

use crate::component::{Component, Item, What};
use crate::error::Error;
use crate::group::Group;
use crate::members::Members;
use crate::merge::{IMPORTS, Merged};
use crate::space::{Kind, Origin, PerKind};

/// What items other than members need of members.
pub(crate) fn wanted(component: &Component<'_>, members: &Members<'_, '_>) -> BTreeSet<Origin> {
    let others = component.items.iter().filter(
        |item| !matches!(item.what, What::Instance(instance) if members.contains(instance)),
    );
    others
        .flat_map(|item| item.needs.iter().copied())
        .filter(|need| members.define(*need))
        .collect()
}

/// Writes the component.
pub(crate) fn emit(
    component: &Component<'_>,
    group: &Group,
    members: &Members<'_, '_>,
    merged: &Merged,
) -> Result<Vec<u8>, Error> {
    let mut emitter = Emitter {
        component,
        members,
        merged,
        instantiated: instantiated(component, members),
        output: wasm_encoder::Component::new(),
        open: Open::None,
        modules: HashMap::new(),
        module_count: 0,
        instances: HashMap::new(),
        instance_count: 0,
        merged_instance: None,
        core: HashMap::new(),
        counts: PerKind::default(),
    };
    for (number, item) in component.items.iter().enumerate() {
        if !group.waiting.contains(&number) {
            emitter.item(number, item)?;
        }
        if number == group.last {
            emitter.merged()?;
            for (number, item) in component.items.iter().enumerate() {
                if group.waiting.contains(&number) {
                    emitter.item(number, item)?;
                }
            }
        }
    }
    emitter.close();
    Ok(emitter.output.finish())
}

/// The modules of which instances stay by themselves.
fn instantiated(component: &Component<'_>, members: &Members<'_, '_>) -> HashSet<u32> {
    let instances = component.items.iter().filter_map(|item| match item.what {
        What::Instance(instance) if !members.contains(instance) => component.real(instance),
        _ => None,
    });
    instances.map(|real| real.module).collect()
}

struct Emitter<'e, 'a> {
    component: &'e Component<'a>,
    members: &'e Members<'e, 'a>,
    merged: &'e Merged,
    instantiated: HashSet<u32>,
    output: wasm_encoder::Component,
    open: Open,
    /// New indices by old ones.
    modules: HashMap<u32, u32>,
    module_count: u32,
    instances: HashMap<u32, u32>,
    instance_count: u32,
    merged_instance: Option<u32>,
    core: HashMap<Origin, u32>,
    counts: PerKind<u32>,
}

/// The section to which items are being added.
enum Open {
    None,
    Aliases(ComponentAliasSection),
    Canons(CanonicalFunctionSection),
    Instances(InstanceSection),
    Types(ComponentTypeSection),
}

impl Emitter<'_, '_> {
    fn item(&mut self, number: usize, item: &Item<'_>) -> Result<(), Error> {
        match &item.what {
            What::Module(module) => {
                if self.instantiated.contains(module) {
                    let bytes = self.component.module(*module)?.bytes;
                    let new = self.module(bytes);
                    self.modules.insert(*module, new);
                }
            }
            What::Instance(instance) => {
                if !self.members.contains(*instance) {
                    self.instance(*instance)?;
                }
            }
            What::Canon(canon) => {
                for need in &item.needs {
                    self.need(*need)?;
                }
                let mut section = self.canons();
                Relocate { emitter: self }
                    .parse_component_canonical(&mut section, canon.clone())?;
                self.open = Open::Canons(section);
                if !matches!(canon, CanonicalFunction::Lift { .. }) {
                    self.number(Origin::Canon { item: number });
                }
            }
            What::Type(ty) => {
                for need in &item.needs {
                    self.need(*need)?;
                }
                let mut section = match std::mem::replace(&mut self.open, Open::None) {
                    Open::Types(section) => section,
                    other => self.closed(other),
                };
                Relocate { emitter: self }.parse_component_type(section.ty(), ty.clone())?;
                self.open = Open::Types(section);
            }
            What::Alias(alias) => {
                let alias = Relocate { emitter: self }.component_alias(alias.clone())?;
                self.alias(alias);
            }
            What::Names(data, offset) => {
                let reader = ComponentNameSectionReader::new(BinaryReader::new(data, *offset));
                let names = Relocate { emitter: self }.custom_component_name_section(reader);
                self.close();
                // Names are for people only: what cannot be read is left out.
                if let Ok(names) = names {
                    self.output.section(&names);
                }
            }
            What::Section { id, data } => {
                self.close();
                self.output.section(&RawSection { id: *id, data });
            }
        }
        Ok(())
    }

    fn module(&mut self, bytes: &[u8]) -> u32 {
        self.close();
        self.output.section(&RawSection {
            id: wasm_encoder::ComponentSectionId::CoreModule.into(),
            data: bytes,
        });
        self.module_count += 1;
        self.module_count - 1
    }

    /// An instance that stays by itself, with what its module imports as arguments.
    fn instance(&mut self, instance: u32) -> Result<(), Error> {
        let component = self.component;
        let Some(real) = component.real(instance) else {
            return Ok(());
        };
        let module = &component.module(real.module)?.parsed;
        let mut args: BTreeMap<&str, BTreeMap<&str, Origin>> = BTreeMap::new();
        for (import, origin) in module.imports.iter().zip(&real.imports) {
            args.entry(import.module)
                .or_default()
                .insert(import.name, *origin);
        }
        let mut made = Vec::new();
        for (name, exports) in &args {
            let exports = exports.iter().map(|(field, origin)| (*field, *origin));
            made.push((*name, ModuleArg::Instance(self.inline(exports)?)));
        }
        let number = self
            .modules
            .get(&real.module)
            .copied()
            .ok_or(Error::missing("module", real.module))?;
        let new = self.instantiate(number, made);
        self.instances.insert(instance, new);
        Ok(())
    }

    fn merged(&mut self) -> Result<(), Error> {
        let merged = self.merged;
        let module = self.module(&merged.bytes);
        let mut args = Vec::new();
        if !merged.imports.is_empty() {
            let exports = merged
                .imports
                .iter()
                .map(|(field, origin)| (field.as_str(), *origin));
            args.push((IMPORTS, ModuleArg::Instance(self.inline(exports)?)));
        }
        self.merged_instance = Some(self.instantiate(module, args));
        Ok(())
    }

    fn inline<'n>(
        &mut self,
        exports: impl Iterator<Item = (&'n str, Origin)>,
    ) -> Result<u32, Error> {
        let mut items = Vec::new();
        for (name, origin) in exports {
            items.push((name, ExportKind::from(origin.kind()), self.need(origin)?));
        }
        let mut section = self.instance_section();
        section.export_items(items);
        Ok(self.add_instance(section))
    }

    fn instantiate(&mut self, module: u32, args: Vec<(&str, ModuleArg)>) -> u32 {
        let mut section = self.instance_section();
        section.instantiate(module, args);
        self.add_instance(section)
    }

    fn instance_section(&mut self) -> InstanceSection {
        match std::mem::replace(&mut self.open, Open::None) {
            Open::Instances(section) => section,
            other => self.closed(other),
        }
    }

    fn add_instance(&mut self, section: InstanceSection) -> u32 {
        self.open = Open::Instances(section);
        self.instance_count += 1;
        self.instance_count - 1
    }

    fn canons(&mut self) -> CanonicalFunctionSection {
        match std::mem::replace(&mut self.open, Open::None) {
            Open::Canons(section) => section,
            other => self.closed(other),
        }
    }

    fn alias(&mut self, alias: Alias<'_>) {
        let mut section = match std::mem::replace(&mut self.open, Open::None) {
            Open::Aliases(section) => section,
            other => self.closed(other),
        };
        section.alias(alias);
        self.open = Open::Aliases(section);
    }

    /// Makes sure that something has a core index, with an alias where it has none yet.
    fn need(&mut self, origin: Origin) -> Result<u32, Error> {
        if let Some(index) = self.core.get(&origin) {
            return Ok(*index);
        }
        let Origin::Instance {
            instance,
            kind,
            index,
        } = origin
        else {
            return Err(Error::missing("canonical function", 0));
        };
        let component = self.component;
        let merged = self.merged;
        let (from, name) = if self.members.contains(instance) {
            (
                self.merged_instance,
                merged.exports.get(&origin).map(String::as_str),
            )
        } else {
            let module = &component
                .module_of(component.expect_real(instance)?)?
                .parsed;
            let mut exports = module.exports.iter();
            let export =
                exports.find(|export| Kind::from(export.kind) == kind && export.index == index);
            (
                self.instances.get(&instance).copied(),
                export.map(|export| export.name),
            )
        };
        let from = from.ok_or(Error::missing("instance", instance))?;
        let name = name.ok_or(Error::missing("export", index))?;
        self.alias(Alias::CoreInstanceExport {
            instance: from,
            kind: kind.into(),
            name,
        });
        Ok(self.number(origin))
    }

    fn number(&mut self, origin: Origin) -> u32 {
        let count = self.counts.get_mut(origin.kind());
        let number = *count;
        *count += 1;
        self.core.insert(origin, number);
        number
    }

    /// Writes the section that was open; gives a fresh one of whatever kind is wanted next.
    fn closed<S: Default>(&mut self, open: Open) -> S {
        self.open = open;
        self.close();
        S::default()
    }

    fn close(&mut self) {
        match std::mem::replace(&mut self.open, Open::None) {
            Open::None => {}
            Open::Aliases(section) => {
                self.output.section(&section);
            }
            Open::Canons(section) => {
                self.output.section(&section);
            }
            Open::Instances(section) => {
                self.output.section(&section);
            }
            Open::Types(section) => {
                self.output.section(&section);
            }
        }
    }
}

/// Writes items with the core indices of the new component. Those of the component level stay.
struct Relocate<'r, 'e, 'a> {
    emitter: &'r Emitter<'e, 'a>,
}

impl Relocate<'_, '_, '_> {
    fn index(&self, kind: Kind, index: u32) -> Result<u32, reencode::Error<Error>> {
        let origin = self.emitter.component.origin(kind, index)?;
        Ok(self
            .emitter
            .core
            .get(&origin)
            .copied()
            .ok_or(Error::missing("thing in the new component", index))?)
    }
}

impl Reencode for Relocate<'_, '_, '_> {
    type Error = Error;

    fn function_index(&mut self, func: u32) -> Result<u32, reencode::Error<Error>> {
        self.index(Kind::Func, func)
    }

    fn table_index(&mut self, table: u32) -> Result<u32, reencode::Error<Error>> {
        self.index(Kind::Table, table)
    }

    fn memory_index(&mut self, memory: u32) -> Result<u32, reencode::Error<Error>> {
        self.index(Kind::Memory, memory)
    }
}

impl ReencodeComponent for Relocate<'_, '_, '_> {
    fn parse_custom_component_name_subsection(
        &mut self,
        names: &mut ComponentNameSection,
        section: ComponentName<'_>,
    ) -> Result<(), reencode::Error<Error>> {
        match section {
            // Aliases and instances of inline exports are made anew, so these numbers mean nothing any more.
            ComponentName::CoreFuncs(_)
            | ComponentName::CoreGlobals(_)
            | ComponentName::CoreMemories(_)
            | ComponentName::CoreTables(_)
            | ComponentName::CoreTags(_)
            | ComponentName::CoreModules(_)
            | ComponentName::CoreInstances(_) => Ok(()),
            other => reencode::component_utils::parse_custom_component_name_subsection(
                self, names, other,
            ),
        }
    }
}
