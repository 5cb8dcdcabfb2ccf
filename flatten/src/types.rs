//! The function types of the members, each once.

use std::collections::HashMap;

use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{FuncType, TypeSection};
use wasmparser::CompositeInnerType;

use crate::error::Error;
use crate::members::Members;
use crate::space::{index, place};

/// The merged module's types.
pub(crate) struct Types {
    section: TypeSection,
    indices: HashMap<FuncType, u32>,
    of_instances: HashMap<u32, Vec<u32>>,
}

impl Types {
    /// Collects the types of all members.
    pub(crate) fn collect(members: &Members<'_, '_>) -> Result<Self, Error> {
        let mut types = Self {
            section: TypeSection::new(),
            indices: HashMap::new(),
            of_instances: HashMap::new(),
        };
        for instance in members.numbers() {
            let mut mapped = Vec::new();
            for ty in members
                .module(instance)?
                .types
                .iter()
                .flat_map(|group| group.types())
            {
                // The group was chosen such that there are functions only, and that they name no other types.
                let CompositeInnerType::Func(func) = &ty.composite_type.inner else {
                    return Err(Error::missing("function type", index(mapped.len())));
                };
                let func = RoundtripReencoder
                    .func_type(func.clone())
                    .map_err(|error| Error::Encode(error.to_string()))?;
                mapped.push(types.add(func));
            }
            types.of_instances.insert(instance, mapped);
        }
        // For a start function that calls several, should there be one.
        let mut starts = 0_u32;
        for instance in members.numbers() {
            starts += u32::from(members.module(instance)?.start.is_some());
        }
        if starts > 1 {
            types.add(FuncType::new([], []));
        }
        Ok(types)
    }

    fn add(&mut self, func: FuncType) -> u32 {
        let next = self.section.len();
        let section = &mut self.section;
        *self.indices.entry(func).or_insert_with_key(|func| {
            section.ty().func_type(func);
            next
        })
    }

    pub(crate) fn section(&self) -> &TypeSection {
        &self.section
    }

    /// The merged module's index for a type of a member's module.
    pub(crate) fn index(&self, instance: u32, ty: u32) -> Result<u32, Error> {
        let types = self.of_instances.get(&instance);
        types
            .and_then(|types| types.get(place(ty)))
            .copied()
            .ok_or(Error::missing("type", ty))
    }

    /// The type of a function that takes and gives nothing.
    pub(crate) fn nullary(&self) -> u32 {
        self.indices
            .get(&FuncType::new([], []))
            .copied()
            .unwrap_or(0)
    }
}
