//! The index spaces of core WebAssembly, and where the things in them come from.

use wasm_encoder::ExportKind;
use wasmparser::ExternalKind;

/// What a core index counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Func,
    Table,
    Memory,
    Global,
    Tag,
}

impl From<ExternalKind> for Kind {
    fn from(kind: ExternalKind) -> Self {
        match kind {
            ExternalKind::Func | ExternalKind::FuncExact => Self::Func,
            ExternalKind::Table => Self::Table,
            ExternalKind::Memory => Self::Memory,
            ExternalKind::Global => Self::Global,
            ExternalKind::Tag => Self::Tag,
        }
    }
}

impl From<Kind> for ExportKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Func => Self::Func,
            Kind::Table => Self::Table,
            Kind::Memory => Self::Memory,
            Kind::Global => Self::Global,
            Kind::Tag => Self::Tag,
        }
    }
}

/// One value for each [`Kind`].
#[derive(Clone, Debug, Default)]
pub(crate) struct PerKind<T> {
    func: T,
    table: T,
    memory: T,
    global: T,
    tag: T,
}

impl<T> PerKind<T> {
    pub(crate) fn get(&self, kind: Kind) -> &T {
        match kind {
            Kind::Func => &self.func,
            Kind::Table => &self.table,
            Kind::Memory => &self.memory,
            Kind::Global => &self.global,
            Kind::Tag => &self.tag,
        }
    }

    pub(crate) fn get_mut(&mut self, kind: Kind) -> &mut T {
        match kind {
            Kind::Func => &mut self.func,
            Kind::Table => &mut self.table,
            Kind::Memory => &mut self.memory,
            Kind::Global => &mut self.global,
            Kind::Tag => &mut self.tag,
        }
    }
}

/// Where a core function, table, memory, global or tag is *defined*, however many aliases, re-exports and instances
/// of inline exports lie between there and its use. Two uses of the same thing have the same origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// Defined (not imported) by the module of a core instance.
    Instance {
        instance: u32,
        kind: Kind,
        index: u32,
    },
    /// A core function that a canonical built-in defines; the number is that of the component's item.
    Canon { item: usize },
}

impl Origin {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Instance { kind, .. } => kind,
            Self::Canon { .. } => Kind::Func,
        }
    }
}

/// A count of things as an index. Validated binaries hold far fewer than 2³² of anything.
pub(crate) fn index(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// An index as a place in a list.
pub(crate) fn place(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}
