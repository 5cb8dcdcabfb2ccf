//! The program of a component: the core module with the largest memory, and what that memory holds at the beginning.

use std::collections::BTreeMap;
use std::ops::Range;

use wasm_encoder::Component;
use wasmparser::{DataKind, MemoryType, Parser, Payload};

use crate::component::slice;
use crate::error::Error;
use crate::module::Module;
use crate::sections::{self, id};
use crate::space::Kind;
use crate::value::{Value, evaluate};

/// Bytes in a page of WebAssembly.
const WASM_PAGE: u64 = 64 << 10;

/// Why nothing can be done about the memory of a component's program before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Untouchable {
    /// No core module defines a memory and has data for it.
    #[error("no core module in it has a memory with data")]
    NoProgram,
    /// There can be only one start function. The one that is there may be from here.
    #[error("its program has a start function already")]
    Starts,
    /// It is imported, shared, one of several, has pages of another size, or 64-bit addresses.
    #[error("its program has an unusual memory, or several")]
    Memory,
    /// A segment lies at a place that only its start tells, or that is not in the memory.
    #[error("where its program's data lies is not known before it starts")]
    Data,
}

/// The program.
pub(crate) struct Program<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) module: Module<'a>,
    /// Where it lies in the component.
    at: Range<u64>,
}

impl<'a> Program<'a> {
    /// That of a component, which the validator has accepted; it may lie in components within it.
    pub(crate) fn find(component: &'a [u8]) -> Result<Self, Error> {
        let mut largest: Option<Self> = None;
        for payload in Parser::new(0).parse_all(component) {
            let Payload::ModuleSection {
                unchecked_range: at,
                ..
            } = payload?
            else {
                continue;
            };
            let bytes = slice(component, at.clone())?;
            let module = Module::parse(bytes)?;
            let found = Self { bytes, module, at };
            let before = largest.as_ref().map_or(0, Self::size);
            if found.module.data.iter().any(is_active) && found.size() > before {
                largest = Some(found);
            }
        }
        largest.ok_or(Error::Untouchable(Untouchable::NoProgram))
    }

    /// Bytes of the memory that it begins with.
    pub(crate) fn size(&self) -> u64 {
        let memories = self.module.memories.iter();
        let sizes = memories.map(|memory| memory.initial.saturating_mul(WASM_PAGE));
        sizes.max().unwrap_or(0)
    }

    /// Its segments of data in the order in which they are copied, each with its place.
    pub(crate) fn data(&self) -> Result<Vec<(u64, &'a [u8])>, Error> {
        let Module { memories, .. } = &self.module;
        if self.module.imported(Kind::Memory) > 0 || !matches!(memories[..], [only] if plain(only))
        {
            return Err(Error::Untouchable(Untouchable::Memory));
        }
        let mut found = Vec::new();
        for data in &self.module.data {
            let DataKind::Active { offset_expr, .. } = &data.kind else {
                continue;
            };
            let Some(Value::I32(start)) = evaluate(offset_expr, |_| None) else {
                return Err(Error::Untouchable(Untouchable::Data));
            };
            let start = u64::from(start.cast_unsigned());
            if start.saturating_add(data.data.len() as u64) > self.size() {
                return Err(Error::Untouchable(Untouchable::Data));
            }
            found.push((start, data.data));
        }
        Ok(found)
    }

    /// What its memory holds at these addresses when it begins.
    pub(crate) fn bytes_at(
        &self,
        addresses: impl Iterator<Item = u32>,
    ) -> Result<BTreeMap<u32, u8>, Error> {
        let mut bytes: BTreeMap<u32, u8> = addresses.map(|address| (address, 0)).collect();
        for (start, data) in self.data()? {
            // All of it lies in the memory, so its first address is one of 32 bits.
            let Ok(first) = u32::try_from(start) else {
                continue;
            };
            for (address, byte) in bytes.range_mut(first..) {
                match data.get((address - first) as usize) {
                    Some(value) => *byte = *value,
                    None => break,
                }
            }
        }
        Ok(bytes)
    }

    /// The component with another module in this one's place.
    pub(crate) fn replaced(&self, component: &[u8], module: &[u8]) -> Result<Vec<u8>, Error> {
        replaced(component, &self.at, module)
    }
}

fn is_active(data: &wasmparser::Data<'_>) -> bool {
    matches!(data.kind, DataKind::Active { .. })
}

fn plain(memory: MemoryType) -> bool {
    !memory.memory64 && !memory.shared && memory.page_size_log2.is_none()
}

fn replaced(component: &[u8], at: &Range<u64>, module: &[u8]) -> Result<Vec<u8>, Error> {
    let mut output = Component::new();
    for mut section in sections::of(component)? {
        if section.at == *at {
            section.data = module.into();
        } else if section.id == id::COMPONENT
            && section.at.start <= at.start
            && at.end <= section.at.end
        {
            let within = at.start - section.at.start..at.end - section.at.start;
            section.data = replaced(&section.data, &within, module)?.into();
        }
        output.section(&section.raw());
    }
    Ok(output.finish())
}
