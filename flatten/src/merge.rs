//! The members of a group as one core module.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use wasm_encoder::reencode::Reencode;
use wasm_encoder::{
    CodeSection, DataCountSection, DataSection, ElementSection, Elements, EntityType, ExportKind,
    ExportSection, Function, FunctionSection, GlobalSection, ImportSection, Instruction,
    MemorySection, StartSection, TableSection, TagSection,
};

use crate::error::Error;
use crate::members::Members;
use crate::module::Module;
use crate::names;
use crate::reach::{Reached, reach};
use crate::rewrite::Rewrite;
use crate::space::{Kind, Origin, PerKind, index, place};
use crate::types::Types;
use crate::value::Value;

/// The name under which the merged module imports everything.
pub(crate) const IMPORTS: &str = "imports";

/// The merged module, and how it is connected with the rest.
pub(crate) struct Merged {
    pub(crate) bytes: Vec<u8>,
    /// What it imports, with the field names.
    pub(crate) imports: Vec<(String, Origin)>,
    /// The export name of everything that the component uses of it.
    pub(crate) exports: BTreeMap<Origin, String>,
    /// Functions of the members that nothing can call.
    pub(crate) dropped_funcs: usize,
}

/// Merges the members; `exports` is what the rest of the component uses of them.
pub(crate) fn merge(
    members: &Members<'_, '_>,
    exports: &BTreeSet<Origin>,
) -> Result<Merged, Error> {
    let reached = reach(members, exports)?;
    let types = Types::collect(members)?;
    let mut plan = Plan::new(members, exports, &reached, types);
    plan.lay_out_imports()?;
    plan.lay_out_definitions()?;
    plan.emit()
}

/// The merged module's index spaces.
pub(crate) struct Plan<'m, 'c, 'a> {
    pub(crate) members: &'m Members<'c, 'a>,
    reached: &'m Reached,
    wanted: &'m BTreeSet<Origin>,
    pub(crate) types: Types,
    /// New indices. What is not here is not in the merged module.
    indices: HashMap<Origin, u32>,
    counts: PerKind<u32>,
    imports: Vec<(String, Origin, EntityType)>,
    /// What is defined in the merged module, in order of the new indices.
    defined: PerKind<Vec<(u32, Origin)>>,
    /// The first index of a member's element and data segments.
    pub(crate) segments: HashMap<u32, (u32, u32)>,
}

impl<'m, 'c, 'a> Plan<'m, 'c, 'a> {
    fn new(
        members: &'m Members<'c, 'a>,
        wanted: &'m BTreeSet<Origin>,
        reached: &'m Reached,
        types: Types,
    ) -> Self {
        Self {
            members,
            reached,
            wanted,
            types,
            indices: HashMap::new(),
            counts: PerKind::default(),
            imports: Vec::new(),
            defined: PerKind::default(),
            segments: HashMap::new(),
        }
    }

    /// The value of a global that never changes.
    pub(crate) fn constant(&self, global: Origin) -> Option<Value> {
        let value = self.members.values.get(&global).copied()?;
        let Origin::Instance {
            instance, index, ..
        } = global
        else {
            return None;
        };
        let real = self.members.component.real(instance)?;
        let module = &self.members.component.module(real.module).ok()?.parsed;
        let fixed = !module.global(index).ok()?.ty.mutable
            || (self.members.contains(instance)
                && !self.reached.written.contains(&global)
                && !self.wanted.contains(&global));
        fixed.then_some(value)
    }

    /// Whether a function or global has to be in the merged module.
    fn needed(&self, origin: Origin) -> bool {
        match origin.kind() {
            Kind::Func => self.reached.funcs.contains(&origin),
            Kind::Global => {
                self.wanted.contains(&origin)
                    || self.reached.written.contains(&origin)
                    || (self.reached.read.contains(&origin) && self.constant(origin).is_none())
            }
            Kind::Table | Kind::Memory | Kind::Tag => true,
        }
    }

    fn number(&mut self, origin: Origin) {
        let count = self.counts.get_mut(origin.kind());
        self.indices.insert(origin, *count);
        *count += 1;
    }

    fn lay_out_imports(&mut self) -> Result<(), Error> {
        let mut taken = HashSet::new();
        for instance in self.members.numbers() {
            let real = self.members.component.expect_real(instance)?;
            for (import, origin) in self
                .members
                .module(instance)?
                .imports
                .iter()
                .zip(&real.imports)
            {
                if self.members.define(*origin)
                    || self.indices.contains_key(origin)
                    || !self.needed(*origin)
                {
                    continue;
                }
                let ty = self.rewrite(instance).entity_type(import.ty)?;
                let name = unique(&mut taken, import.name);
                self.imports.push((name, *origin, ty));
                self.number(*origin);
            }
        }
        Ok(())
    }

    fn lay_out_definitions(&mut self) -> Result<(), Error> {
        for kind in [
            Kind::Func,
            Kind::Table,
            Kind::Memory,
            Kind::Global,
            Kind::Tag,
        ] {
            let mut needed = self.members.defined(kind)?;
            needed.retain(|(_, origin)| self.needed(*origin));
            for (_, origin) in &needed {
                self.number(*origin);
            }
            *self.defined.get_mut(kind) = needed;
        }
        let (mut elements, mut data) = (0, 0);
        for instance in self.members.numbers() {
            let module = self.members.module(instance)?;
            self.segments.insert(instance, (elements, data));
            elements += index(module.elements.len());
            data += index(module.data.len());
        }
        Ok(())
    }

    pub(crate) fn index_of(&self, origin: Origin) -> Result<u32, Error> {
        self.indices.get(&origin).copied().ok_or(match origin {
            Origin::Instance { index, .. } => Error::missing("thing in the merged module", index),
            Origin::Canon { item } => Error::missing("thing in the merged module", index(item)),
        })
    }

    fn emit(self) -> Result<Merged, Error> {
        let exports = self.export_names()?;
        let starts = self.starts()?;
        let mut module = wasm_encoder::Module::new();
        let mut funcs = self.func_section()?;
        let mut code = self.code_section()?;
        let start = match starts.as_slice() {
            [] => None,
            [start] => Some(*start),
            // A module has one start function: it calls those of the members in their order.
            several => {
                funcs.function(self.types.nullary());
                let mut all = Function::new([]);
                for start in several {
                    all.instruction(&Instruction::Call(*start));
                }
                all.instruction(&Instruction::End);
                code.function(&all);
                Some(*self.counts.get(Kind::Func))
            }
        };

        module.section(self.types.section());
        let mut imports = ImportSection::new();
        for (name, _, ty) in &self.imports {
            imports.import(IMPORTS, name, *ty);
        }
        section(&mut module, &imports, imports.is_empty());
        section(&mut module, &funcs, funcs.is_empty());
        let tables = self.table_section()?;
        section(&mut module, &tables, tables.is_empty());
        let memories = self.memory_section()?;
        section(&mut module, &memories, memories.is_empty());
        let tags = self.tag_section()?;
        section(&mut module, &tags, tags.is_empty());
        let globals = self.global_section()?;
        section(&mut module, &globals, globals.is_empty());
        let mut export_section = ExportSection::new();
        for (origin, name) in &exports {
            export_section.export(
                name,
                ExportKind::from(origin.kind()),
                self.index_of(*origin)?,
            );
        }
        section(&mut module, &export_section, export_section.is_empty());
        if let Some(function_index) = start {
            module.section(&StartSection { function_index });
        }
        let elements = self.element_section(&exports)?;
        section(&mut module, &elements, elements.is_empty());
        let data = self.data_section()?;
        section(
            &mut module,
            &DataCountSection { count: data.len() },
            data.is_empty(),
        );
        section(&mut module, &code, code.is_empty());
        section(&mut module, &data, data.is_empty());
        module.section(&names::section(&self.names()?));

        let mut all = 0;
        for instance in self.members.numbers() {
            all += self.members.module(instance)?.funcs.len();
        }
        Ok(Merged {
            bytes: module.finish(),
            imports: self
                .imports
                .into_iter()
                .map(|(name, origin, _)| (name, origin))
                .collect(),
            exports,
            dropped_funcs: all.saturating_sub(self.defined.get(Kind::Func).len()),
        })
    }

    fn export_names(&self) -> Result<BTreeMap<Origin, String>, Error> {
        let mut names = BTreeMap::new();
        let mut taken = HashSet::new();
        for origin in self.wanted {
            let Origin::Instance {
                instance,
                kind,
                index,
            } = *origin
            else {
                continue;
            };
            let module = self.members.module(instance)?;
            let export = module
                .exports
                .iter()
                .find(|export| Kind::from(export.kind) == kind && export.index == index);
            let name = export
                .map(|export| export.name)
                .ok_or(Error::missing("export", index))?;
            names.insert(*origin, unique(&mut taken, name));
        }
        Ok(names)
    }

    fn starts(&self) -> Result<Vec<u32>, Error> {
        let mut starts = Vec::new();
        for instance in self.members.numbers() {
            if let Some(start) = self.members.module(instance)?.start {
                starts.push(self.index_of(self.members.origin(instance, Kind::Func, start)?)?);
            }
        }
        Ok(starts)
    }

    fn func_section(&self) -> Result<FunctionSection, Error> {
        let mut section = FunctionSection::new();
        for (instance, origin) in self.defined.get(Kind::Func) {
            let ty = self.of_module(*instance, *origin, |module| &module.funcs)?;
            section.function(self.types.index(*instance, *ty)?);
        }
        Ok(section)
    }

    fn code_section(&self) -> Result<CodeSection, Error> {
        let mut section = CodeSection::new();
        for (instance, origin) in self.defined.get(Kind::Func) {
            let body = self.of_module(*instance, *origin, |module| &module.bodies)?;
            self.rewrite(*instance)
                .parse_function_body(&mut section, body.clone())?;
        }
        Ok(section)
    }

    fn table_section(&self) -> Result<TableSection, Error> {
        let mut section = TableSection::new();
        for (instance, origin) in self.defined.get(Kind::Table) {
            let table = self.of_module(*instance, *origin, |module| &module.tables)?;
            self.rewrite(*instance)
                .parse_table(&mut section, table.clone())?;
        }
        Ok(section)
    }

    fn memory_section(&self) -> Result<MemorySection, Error> {
        let mut section = MemorySection::new();
        for (instance, origin) in self.defined.get(Kind::Memory) {
            let memory = self.of_module(*instance, *origin, |module| &module.memories)?;
            section.memory(self.rewrite(*instance).memory_type(*memory)?);
        }
        Ok(section)
    }

    fn tag_section(&self) -> Result<TagSection, Error> {
        let mut section = TagSection::new();
        for (instance, origin) in self.defined.get(Kind::Tag) {
            let tag = self.of_module(*instance, *origin, |module| &module.tags)?;
            section.tag(self.rewrite(*instance).tag_type(*tag)?);
        }
        Ok(section)
    }

    fn global_section(&self) -> Result<GlobalSection, Error> {
        let mut section = GlobalSection::new();
        for (instance, origin) in self.defined.get(Kind::Global) {
            let global = self.of_module(*instance, *origin, |module| &module.globals)?;
            self.rewrite(*instance)
                .parse_global(&mut section, global.clone())?;
        }
        Ok(section)
    }

    fn element_section(&self, exports: &BTreeMap<Origin, String>) -> Result<ElementSection, Error> {
        let mut section = ElementSection::new();
        for instance in self.members.numbers() {
            for element in &self.members.module(instance)?.elements {
                self.rewrite(instance)
                    .parse_element(&mut section, element.clone())?;
            }
        }
        // A function of which code takes a reference must be named outside of code. It may have been exported for that
        // by an export that is gone.
        let undeclared = self
            .reached
            .referenced
            .iter()
            .filter(|func| !exports.contains_key(func));
        let undeclared = undeclared
            .map(|func| self.index_of(*func))
            .collect::<Result<Vec<_>, _>>()?;
        if !undeclared.is_empty() {
            section.declared(Elements::Functions(undeclared.into()));
        }
        Ok(section)
    }

    fn data_section(&self) -> Result<DataSection, Error> {
        let mut section = DataSection::new();
        for instance in self.members.numbers() {
            for data in &self.members.module(instance)?.data {
                self.rewrite(instance)
                    .parse_data(&mut section, data.clone())?;
            }
        }
        Ok(section)
    }

    /// The names of the functions. What has none is known by an export, or is a mystery.
    fn names(&self) -> Result<BTreeMap<u32, String>, Error> {
        let mut names = BTreeMap::new();
        for (name, origin, _) in &self.imports {
            if origin.kind() == Kind::Func {
                names.insert(self.index_of(*origin)?, name.clone());
            }
        }
        for (instance, origin) in self.defined.get(Kind::Func) {
            let Origin::Instance { index, .. } = origin else {
                continue;
            };
            if let Some(name) = self.members.module(*instance)?.func_names.get(index) {
                names.insert(self.index_of(*origin)?, (*name).to_owned());
            }
        }
        Ok(names)
    }

    /// What a member's module says about something that it defines.
    fn of_module<T>(
        &self,
        instance: u32,
        origin: Origin,
        list: fn(&'c Module<'a>) -> &'c Vec<T>,
    ) -> Result<&'c T, Error> {
        let Origin::Instance { kind, index, .. } = origin else {
            return Err(Error::missing("definition in instance", instance));
        };
        let module = self.members.module(instance)?;
        index
            .checked_sub(module.imported(kind))
            .and_then(|defined| list(module).get(place(defined)))
            .ok_or(Error::missing("definition", index))
    }

    fn rewrite(&self, instance: u32) -> Rewrite<'_, 'm, 'c, 'a> {
        Rewrite {
            plan: self,
            instance,
        }
    }
}

fn section(module: &mut wasm_encoder::Module, section: &impl wasm_encoder::Section, empty: bool) {
    if !empty {
        module.section(section);
    }
}

/// A name that nothing has yet.
fn unique(taken: &mut HashSet<String>, name: &str) -> String {
    let mut candidate = name.to_owned();
    let mut number = 2_u32;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{name}#{number}");
        number += 1;
    }
    candidate
}
