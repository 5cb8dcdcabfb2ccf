//! One core module, taken apart.

use std::collections::BTreeMap;

use wasmparser::{
    CompositeInnerType, Data, DataKind, Element, ElementKind, Export, FuncType, FunctionBody,
    Global, HeapType, Import, KnownCustom, MemoryType, Name, Parser, Payload, RecGroup, Table,
    TagType, TypeRef, ValType,
};

use crate::error::Error;
use crate::space::{Kind, PerKind, index, place};

/// A core module: its sections as lists.
#[derive(Default)]
pub(crate) struct Module<'a> {
    pub(crate) types: Vec<RecGroup>,
    pub(crate) imports: Vec<Import<'a>>,
    pub(crate) funcs: Vec<u32>,
    pub(crate) tables: Vec<Table<'a>>,
    pub(crate) memories: Vec<MemoryType>,
    pub(crate) tags: Vec<TagType>,
    pub(crate) globals: Vec<Global<'a>>,
    pub(crate) exports: Vec<Export<'a>>,
    pub(crate) start: Option<u32>,
    pub(crate) elements: Vec<Element<'a>>,
    pub(crate) bodies: Vec<FunctionBody<'a>>,
    pub(crate) data: Vec<Data<'a>>,
    pub(crate) func_names: BTreeMap<u32, &'a str>,
    imported: PerKind<u32>,
}

impl<'a> Module<'a> {
    /// Takes `bytes` apart, which the validator has accepted.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut module = Self::default();
        for payload in Parser::new(0).parse_all(bytes) {
            match payload? {
                Payload::TypeSection(section) => module.types = collect(section)?,
                Payload::ImportSection(section) => {
                    module.imports = collect(section.into_imports())?
                }
                Payload::FunctionSection(section) => module.funcs = collect(section)?,
                Payload::TableSection(section) => module.tables = collect(section)?,
                Payload::MemorySection(section) => module.memories = collect(section)?,
                Payload::TagSection(section) => module.tags = collect(section)?,
                Payload::GlobalSection(section) => module.globals = collect(section)?,
                Payload::ExportSection(section) => module.exports = collect(section)?,
                Payload::StartSection { func, .. } => module.start = Some(func),
                Payload::ElementSection(section) => module.elements = collect(section)?,
                Payload::CodeSectionEntry(body) => module.bodies.push(body),
                Payload::DataSection(section) => module.data = collect(section)?,
                Payload::CustomSection(section) => {
                    if let KnownCustom::Name(names) = section.as_known() {
                        module.func_names = func_names(names);
                    }
                }
                _ => {}
            }
        }
        for import in &module.imports {
            *module.imported.get_mut(import_kind(import.ty)) += 1;
        }
        for export in &module.exports {
            if Kind::from(export.kind) == Kind::Func {
                module.func_names.entry(export.index).or_insert(export.name);
            }
        }
        Ok(module)
    }

    /// How many things of this kind are imported; the first index that is defined here.
    pub(crate) fn imported(&self, kind: Kind) -> u32 {
        *self.imported.get(kind)
    }

    /// How many things of this kind are defined here.
    pub(crate) fn defined(&self, kind: Kind) -> u32 {
        index(match kind {
            Kind::Func => self.funcs.len(),
            Kind::Table => self.tables.len(),
            Kind::Memory => self.memories.len(),
            Kind::Global => self.globals.len(),
            Kind::Tag => self.tags.len(),
        })
    }

    /// The body of a function that is defined here.
    pub(crate) fn body(&self, func: u32) -> Result<&FunctionBody<'a>, Error> {
        func.checked_sub(self.imported(Kind::Func))
            .and_then(|defined| self.bodies.get(place(defined)))
            .ok_or(Error::missing("function body", func))
    }

    /// A global that is defined here.
    pub(crate) fn global(&self, global: u32) -> Result<&Global<'a>, Error> {
        global
            .checked_sub(self.imported(Kind::Global))
            .and_then(|defined| self.globals.get(place(defined)))
            .ok_or(Error::missing("global", global))
    }

    /// The tables and memories into which it writes when it is instantiated.
    pub(crate) fn writes(&self) -> impl Iterator<Item = (Kind, u32)> {
        let tables = self
            .elements
            .iter()
            .filter_map(|element| match &element.kind {
                ElementKind::Active { table_index, .. } => {
                    Some((Kind::Table, table_index.unwrap_or(0)))
                }
                ElementKind::Passive | ElementKind::Declared => None,
            });
        let memories = self.data.iter().filter_map(|data| match &data.kind {
            DataKind::Active { memory_index, .. } => Some((Kind::Memory, *memory_index)),
            DataKind::Passive => None,
        });
        tables.chain(memories)
    }

    /// Whether all its types are functions that do not name other types: others would have to be merged as groups.
    pub(crate) fn has_plain_types(&self) -> bool {
        self.types.iter().all(|group| {
            !group.is_explicit_rec_group()
                && group.types().all(|ty| {
                    let composite = &ty.composite_type;
                    ty.is_final
                        && ty.supertype_idxs.is_empty()
                        && !composite.shared
                        && composite.descriptor_idx.is_none()
                        && composite.describes_idx.is_none()
                        && matches!(&composite.inner, CompositeInnerType::Func(func) if names_no_type(func))
                })
        })
    }
}

/// Which index space an import adds to.
pub(crate) fn import_kind(ty: TypeRef) -> Kind {
    match ty {
        TypeRef::Func(_) | TypeRef::FuncExact(_) => Kind::Func,
        TypeRef::Table(_) => Kind::Table,
        TypeRef::Memory(_) => Kind::Memory,
        TypeRef::Global(_) => Kind::Global,
        TypeRef::Tag(_) => Kind::Tag,
    }
}

fn names_no_type(func: &FuncType) -> bool {
    func.params()
        .iter()
        .chain(func.results())
        .all(|ty| match ty {
            ValType::Ref(ty) => matches!(ty.heap_type(), HeapType::Abstract { .. }),
            _ => true,
        })
}

fn collect<T>(
    items: impl IntoIterator<Item = Result<T, wasmparser::Error>>,
) -> Result<Vec<T>, Error> {
    Ok(items.into_iter().collect::<Result<_, _>>()?)
}

// Names are for people only: the validator does not look at them, and neither may they stop anything.
fn func_names<'a>(names: wasmparser::NameSectionReader<'a>) -> BTreeMap<u32, &'a str> {
    names
        .into_iter()
        .filter_map(Result::ok)
        .filter_map(|name| match name {
            Name::Function(names) => Some(names),
            _ => None,
        })
        .flatten()
        .filter_map(Result::ok)
        .map(|naming| (naming.index, naming.name))
        .collect()
}
