//! Globals whose value is known before anything runs.

use std::collections::HashMap;

use wasm_encoder::{ConstExpr, Ieee32, Ieee64, Instruction};
use wasmparser::Operator;

use crate::component::Component;
use crate::error::Error;
use crate::space::{Kind, Origin, index};

/// A number. Floats are kept as bits, so that no NaN changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    I32(i32),
    I64(i64),
    F32(u32),
    F64(u64),
}

impl Value {
    /// The instruction that gives this number.
    pub(crate) fn instruction(self) -> Instruction<'static> {
        match self {
            Self::I32(value) => Instruction::I32Const(value),
            Self::I64(value) => Instruction::I64Const(value),
            Self::F32(bits) => Instruction::F32Const(Ieee32::new(bits)),
            Self::F64(bits) => Instruction::F64Const(Ieee64::new(bits)),
        }
    }

    /// The constant expression that is this number.
    pub(crate) fn expression(self) -> ConstExpr {
        ConstExpr::extended([self.instruction()])
    }
}

/// The initial values of all globals that are defined in instances of the component, as far as they can be known.
pub(crate) fn initial_values(component: &Component<'_>) -> Result<HashMap<Origin, Value>, Error> {
    let mut values = HashMap::new();
    for number in 0..index(component.instances.len()) {
        let Some(real) = component.real(number) else {
            continue;
        };
        let module = &component.module_of(real)?.parsed;
        for (global, first) in module.globals.iter().zip(module.imported(Kind::Global)..) {
            let known = evaluate(&global.init_expr, |global| {
                values
                    .get(&real.origin(number, Kind::Global, global))
                    .copied()
            });
            if let Some(value) = known {
                values.insert(
                    Origin::Instance {
                        instance: number,
                        kind: Kind::Global,
                        index: first,
                    },
                    value,
                );
            }
        }
    }
    Ok(values)
}

/// The number that a constant expression gives, if it can be known. Only immutable globals can be asked for in one.
pub(crate) fn evaluate(
    expression: &wasmparser::ConstExpr<'_>,
    global: impl Fn(u32) -> Option<Value>,
) -> Option<Value> {
    let mut stack = Vec::new();
    let mut reader = expression.get_operators_reader();
    while !reader.is_end_then_eof() {
        let value = match reader.read().ok()? {
            Operator::I32Const { value } => Value::I32(value),
            Operator::I64Const { value } => Value::I64(value),
            Operator::F32Const { value } => Value::F32(value.bits()),
            Operator::F64Const { value } => Value::F64(value.bits()),
            Operator::GlobalGet { global_index } => global(global_index)?,
            Operator::I32Add => binary32(&mut stack, i32::wrapping_add)?,
            Operator::I32Sub => binary32(&mut stack, i32::wrapping_sub)?,
            Operator::I32Mul => binary32(&mut stack, i32::wrapping_mul)?,
            Operator::I64Add => binary64(&mut stack, i64::wrapping_add)?,
            Operator::I64Sub => binary64(&mut stack, i64::wrapping_sub)?,
            Operator::I64Mul => binary64(&mut stack, i64::wrapping_mul)?,
            _ => return None,
        };
        stack.push(value);
    }
    match stack.as_slice() {
        [value] => Some(*value),
        _ => None,
    }
}

fn binary32(stack: &mut Vec<Value>, operation: fn(i32, i32) -> i32) -> Option<Value> {
    match (stack.pop()?, stack.pop()?) {
        (Value::I32(right), Value::I32(left)) => Some(Value::I32(operation(left, right))),
        _ => None,
    }
}

fn binary64(stack: &mut Vec<Value>, operation: fn(i64, i64) -> i64) -> Option<Value> {
    match (stack.pop()?, stack.pop()?) {
        (Value::I64(right), Value::I64(left)) => Some(Value::I64(operation(left, right))),
        _ => None,
    }
}
