//! Evaluates expressions. Paths are in [`path`](super::path).

use serde_json::Value;

use super::budget::Budget;
use super::eval_error::EvalError;
use super::item::{Item, View};
use super::syntax::{Expr, Relation};

pub(super) type EvalResult<'a> = Result<Item<'a>, EvalError<'a>>;

/// One evaluation of a query.
#[derive(Debug)]
pub(super) struct Run<'a> {
    /// `$`, and where bare names are looked up.
    pub root: &'a Value,
    pub budget: Budget,
}

impl<'a> Run<'a> {
    /// The value of an expression, with `current` for `@`.
    pub fn evaluate(&self, expression: &'a Expr, current: &Item<'a>) -> EvalResult<'a> {
        self.budget.step(0)?;
        match expression {
            Expr::Constant(constant) => Ok(Item::from(constant)),
            Expr::Negative(operand) => {
                let operand = self.evaluate(operand, current)?;
                match operand.as_number(&self.budget)? {
                    Some(number) => Ok(Item::Number(-number)),
                    None => Err(EvalError::NotNegatable(operand)),
                }
            }
            Expr::Comparison(first, others) => {
                let mut left = self.evaluate(first, current)?;
                for (relation, other) in others {
                    let right = self.evaluate(other, current)?;
                    let equal = left.equals(&right, &self.budget)?;
                    left = Item::Bool(equal == (*relation == Relation::Equal));
                }
                Ok(left)
            }
            Expr::Path(path) => self.follow(path, current),
            Expr::Variable(keys) => self.variable(keys, current),
            Expr::Call(name, keys) => match self.variable(keys, current) {
                Ok(value) => Err(EvalError::NotAFunction(name, value)),
                Err(fault) => Err(fault.in_call()),
            },
        }
    }

    /// Bare names. Unlike in a path, an absent key is null, and an index that a list does not have gives the list.
    fn variable(&self, keys: &'a [Expr], current: &Item<'a>) -> EvalResult<'a> {
        let texts = keys.iter().map(|key| {
            let key = self.evaluate(key, current)?;
            let key = key.to_text(&self.budget)?;
            self.budget.step(key.len())?;
            Ok(key)
        });
        let texts = texts.collect::<Result<Vec<_>, EvalError<'a>>>()?;
        let mut value = Item::Json(self.root);
        for (n, key) in texts.iter().enumerate() {
            let next = match value.view() {
                View::Object(_) => Some(value.member(key).unwrap_or(Item::NULL)),
                View::List(_) => key
                    .parse::<i64>()
                    .ok()
                    .and_then(|index| value.element(usize::try_from(index).ok()?)),
                _ => {
                    let path = texts.get(..=n).unwrap_or_default().join(".");
                    return Err(EvalError::UnknownParameter(path));
                }
            };
            value = next.unwrap_or(value);
        }
        Ok(value)
    }
}
