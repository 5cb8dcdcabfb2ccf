//! Which functions and globals of the members the merged module needs.

use std::collections::{BTreeSet, HashSet};

use wasm_encoder::reencode::{self, Reencode};
use wasmparser::{ConstExpr, ElementItems, ElementKind, Operator, TableInit};

use crate::error::Error;
use crate::members::Members;
use crate::module::Module;
use crate::space::{Kind, Origin};

/// Everything that can be called or looked at from outside, or by something that can.
#[derive(Default)]
pub(crate) struct Reached {
    /// Functions, those that are imported among them.
    pub(crate) funcs: HashSet<Origin>,
    /// Globals that some reached code or constant expression reads.
    pub(crate) read: HashSet<Origin>,
    /// Globals that some reached code writes.
    pub(crate) written: HashSet<Origin>,
    /// Functions of which reached code takes a reference: they have to be declared.
    pub(crate) referenced: BTreeSet<Origin>,
}

/// Follows references from what the component uses of the members (`exports`), their start functions, segments and
/// initial values.
pub(crate) fn reach(
    members: &Members<'_, '_>,
    exports: &BTreeSet<Origin>,
) -> Result<Reached, Error> {
    let mut reached = Reached::default();
    let mut todo: Vec<Origin> = Vec::new();
    for origin in exports {
        match origin.kind() {
            Kind::Func => todo.push(*origin),
            Kind::Global => {
                reached.read.insert(*origin);
            }
            Kind::Table | Kind::Memory | Kind::Tag => {}
        }
    }
    for instance in members.numbers() {
        let module = members.module(instance)?;
        let mut seen = Seen {
            members,
            instance,
            funcs: Vec::new(),
            read: Vec::new(),
        };
        seen.roots(module)?;
        todo.append(&mut seen.funcs);
        reached.read.extend(seen.read);
    }
    while let Some(func) = todo.pop() {
        if !reached.funcs.insert(func) {
            continue;
        }
        let Origin::Instance {
            instance, index, ..
        } = func
        else {
            continue;
        };
        if !members.contains(instance) {
            continue;
        }
        let mut operators = members
            .module(instance)?
            .body(index)?
            .get_operators_reader()?;
        let mut seen = Seen {
            members,
            instance,
            funcs: Vec::new(),
            read: Vec::new(),
        };
        while !operators.eof() {
            match operators.read()? {
                Operator::GlobalSet { global_index } => {
                    reached
                        .written
                        .insert(members.origin(instance, Kind::Global, global_index)?);
                }
                Operator::GlobalGet { global_index } => seen.see_global(global_index)?,
                Operator::RefFunc { function_index } => {
                    seen.see_func(function_index)?;
                    reached.referenced.insert(members.origin(
                        instance,
                        Kind::Func,
                        function_index,
                    )?);
                }
                Operator::Call { function_index } => seen.see_func(function_index)?,
                // Whatever else may name a global may write it.
                other => {
                    let before = seen.read.len();
                    seen.instruction(other)?;
                    reached.written.extend(seen.read.iter().skip(before));
                }
            }
        }
        todo.append(&mut seen.funcs);
        reached.read.extend(seen.read);
    }
    Ok(reached)
}

/// Writes instructions to nowhere, to learn which functions and globals they name.
struct Seen<'m, 'c, 'a> {
    members: &'m Members<'c, 'a>,
    instance: u32,
    funcs: Vec<Origin>,
    read: Vec<Origin>,
}

impl Seen<'_, '_, '_> {
    fn see_func(&mut self, func: u32) -> Result<(), Error> {
        self.funcs
            .push(self.members.origin(self.instance, Kind::Func, func)?);
        Ok(())
    }

    fn see_global(&mut self, global: u32) -> Result<(), Error> {
        self.read
            .push(self.members.origin(self.instance, Kind::Global, global)?);
        Ok(())
    }

    fn expression(&mut self, expression: &ConstExpr<'_>) -> Result<(), Error> {
        // What is known needs nothing.
        if self.members.evaluate(self.instance, expression).is_none() {
            self.const_expr(expression.clone())?;
        }
        Ok(())
    }

    /// What a module uses without being called.
    fn roots(&mut self, module: &Module<'_>) -> Result<(), Error> {
        if let Some(start) = module.start {
            self.see_func(start)?;
        }
        for table in &module.tables {
            if let TableInit::Expr(expression) = &table.init {
                self.expression(expression)?;
            }
        }
        for global in &module.globals {
            self.expression(&global.init_expr)?;
        }
        for element in &module.elements {
            if let ElementKind::Active { offset_expr, .. } = &element.kind {
                self.expression(offset_expr)?;
            }
            match &element.items {
                ElementItems::Functions(funcs) => {
                    for func in funcs.clone() {
                        self.see_func(func?)?;
                    }
                }
                ElementItems::Expressions(_, expressions) => {
                    for expression in expressions.clone() {
                        self.expression(&expression?)?;
                    }
                }
            }
        }
        for data in &module.data {
            if let wasmparser::DataKind::Active { offset_expr, .. } = &data.kind {
                self.expression(offset_expr)?;
            }
        }
        Ok(())
    }
}

impl Reencode for Seen<'_, '_, '_> {
    type Error = Error;

    fn function_index(&mut self, func: u32) -> Result<u32, reencode::Error<Error>> {
        self.see_func(func)?;
        Ok(func)
    }

    fn global_index(&mut self, global: u32) -> Result<u32, reencode::Error<Error>> {
        self.see_global(global)?;
        Ok(global)
    }
}
