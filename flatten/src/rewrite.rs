//! Parts of the members' modules as parts of the merged one.

use wasm_encoder::Instruction;
use wasm_encoder::reencode::{self, Reencode};
use wasmparser::Operator;

use crate::error::Error;
use crate::merge::Plan;
use crate::space::Kind;

/// Writes parts of a member's module with the indices of the merged one.
pub(crate) struct Rewrite<'p, 'm, 'c, 'a> {
    pub(crate) plan: &'p Plan<'m, 'c, 'a>,
    pub(crate) instance: u32,
}

impl Rewrite<'_, '_, '_, '_> {
    fn index(&self, kind: Kind, index: u32) -> Result<u32, reencode::Error<Error>> {
        let origin = self.plan.members.origin(self.instance, kind, index)?;
        Ok(self.plan.index_of(origin)?)
    }

    fn segments(&self) -> Result<(u32, u32), Error> {
        self.plan
            .segments
            .get(&self.instance)
            .copied()
            .ok_or(Error::missing("instance", self.instance))
    }
}

impl Reencode for Rewrite<'_, '_, '_, '_> {
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

    fn global_index(&mut self, global: u32) -> Result<u32, reencode::Error<Error>> {
        self.index(Kind::Global, global)
    }

    fn tag_index(&mut self, tag: u32) -> Result<u32, reencode::Error<Error>> {
        self.index(Kind::Tag, tag)
    }

    fn type_index(&mut self, ty: u32) -> Result<u32, reencode::Error<Error>> {
        Ok(self.plan.types.index(self.instance, ty)?)
    }

    fn element_index(&mut self, element: u32) -> Result<u32, reencode::Error<Error>> {
        Ok(self.segments()?.0 + element)
    }

    fn data_index(&mut self, data: u32) -> Result<u32, reencode::Error<Error>> {
        Ok(self.segments()?.1 + data)
    }

    fn const_expr(
        &mut self,
        expression: wasmparser::ConstExpr<'_>,
    ) -> Result<wasm_encoder::ConstExpr, reencode::Error<Error>> {
        match self.plan.members.evaluate(self.instance, &expression) {
            Some(value) => Ok(value.expression()),
            None => reencode::utils::const_expr(self, expression),
        }
    }

    fn instruction<'i>(
        &mut self,
        operator: Operator<'i>,
    ) -> Result<Instruction<'i>, reencode::Error<Error>> {
        if let Operator::GlobalGet { global_index } = operator {
            let global = self
                .plan
                .members
                .origin(self.instance, Kind::Global, global_index)?;
            if let Some(value) = self.plan.constant(global) {
                return Ok(value.instruction());
            }
        }
        reencode::utils::instruction(self, operator)
    }
}
