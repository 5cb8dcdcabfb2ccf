//! Follows paths.
//!
//! Up to the first multi-valued step a path has one value, or fails. From there on it has a list, a fault only leaves
//! out the value that has it, and the result is a list even if nothing is found.

use super::eval::{EvalResult, Run};
use super::eval_error::EvalError;
use super::item::{Item, View};
use super::syntax::{Expr, Origin, Path, Step};

impl<'a> Run<'a> {
    /// The value of a path.
    pub(super) fn follow(&self, path: &'a Path, current: &Item<'a>) -> EvalResult<'a> {
        let mut start = match path.origin {
            Origin::Root => Item::Json(self.root),
            Origin::Current => current.clone(),
        };
        for step in &path.definite {
            match self.definite(step, &start) {
                Ok(next) => start = next,
                Err(fault) if path.multiple.is_empty() => return Err(fault),
                Err(EvalError::Limit(limit)) => return Err(limit.into()),
                Err(_) => return Ok(Item::list(Vec::new())?),
            }
        }
        if path.multiple.is_empty() {
            return Ok(start);
        }
        let mut found = vec![start];
        for step in &path.multiple {
            if found.is_empty() {
                break;
            }
            let mut next = Vec::new();
            for value in &found {
                self.multiple(step, value, &mut next)?;
            }
            found = next;
        }
        Ok(Item::list(found)?)
    }

    /// The one result of a definite step.
    fn definite(&self, step: &'a Step, value: &Item<'a>) -> EvalResult<'a> {
        match step {
            Step::Key(key) => self.select(key, value),
            Step::Script(script) => self.evaluate(script, value),
            _ => Ok(value.clone()),
        }
    }

    /// Adds all results of any step.
    fn multiple(
        &self,
        step: &'a Step,
        value: &Item<'a>,
        found: &mut Vec<Item<'a>>,
    ) -> Result<(), EvalError<'a>> {
        let mut keep = |item: Item<'a>| -> Result<(), EvalError<'a>> {
            self.budget.keep(0)?;
            found.push(item);
            Ok(())
        };
        match step {
            Step::Key(_) | Step::Script(_) => {
                if let Some(item) = present(self.definite(step, value))? {
                    keep(item)?;
                }
            }
            Step::Children => value.children().try_for_each(keep)?,
            Step::Descendants => {
                let mut ahead = vec![value.clone()];
                while let Some(item) = ahead.pop() {
                    ahead.extend(item.children().rev());
                    keep(item)?;
                }
            }
            Step::Keys(keys) => {
                for key in keys {
                    if let Some(item) = present(self.select(key, value))? {
                        keep(item)?;
                    }
                }
            }
            Step::Filter(condition) => {
                for item in value.children() {
                    let holds = present(self.evaluate(condition, &item))?;
                    if let Some(holds) = holds
                        && holds.as_bool(&self.budget)? == Some(true)
                    {
                        keep(item)?;
                    }
                }
            }
            Step::Slice { from, to, step } => {
                let View::List(length) = value.view() else {
                    return Ok(());
                };
                let bound = |key| present(self.index(key, value));
                let (Some(from), Some(to), Some(step)) = (bound(from)?, bound(to)?, bound(step)?)
                else {
                    return Ok(());
                };
                for index in slice(from, to, step, length) {
                    self.budget.step(0)?;
                    if let Some(item) = value.element(index) {
                        keep(item)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// One member or element.
    fn select(&self, key: &'a Expr, value: &Item<'a>) -> EvalResult<'a> {
        self.budget.step(0)?;
        match value.view() {
            View::List(_) => {
                let index = self.index(key, value).map_err(EvalError::in_key)?;
                usize::try_from(index)
                    .ok()
                    .and_then(|index| value.element(index))
                    .ok_or(EvalError::OutOfBounds(index))
            }
            View::Object(_) => {
                let key = self.evaluate(key, value).map_err(EvalError::in_key)?;
                let key = key.to_text(&self.budget)?;
                self.budget.step(key.len())?;
                value.member(&key).ok_or(EvalError::Missing)
            }
            _ => Err(EvalError::NotSelectable(value.clone())),
        }
    }

    /// The whole number that a key gives.
    fn index(&self, key: &'a Expr, current: &Item<'a>) -> Result<i64, EvalError<'a>> {
        let key = self.evaluate(key, current)?;
        let number = key.as_number(&self.budget)?;
        number.map(truncate).ok_or(EvalError::BadIndex(key))
    }
}

/// What a step has found; nothing if it has a fault other than being too expensive.
fn present<'a, T>(found: Result<T, EvalError<'a>>) -> Result<Option<T>, EvalError<'a>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(EvalError::Limit(limit)) => Err(limit.into()),
        Err(_) => Ok(None),
    }
}

/// As Go on amd64 makes integers of floats: what does not fit is the least integer.
fn truncate(number: f64) -> i64 {
    // 2^63, the first that does not fit.
    const END: f64 = 9_223_372_036_854_775_808.0;
    if (-END..END).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}

/// The indices of `[from:to:step]`. The ends are compared before negative ones are counted from the list's end, so
/// `[1:-1]` is empty. A step below zero visits the same elements from the other end.
fn slice(from: i64, to: i64, step: i64, length: usize) -> Box<dyn Iterator<Item = usize>> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let bound = |end: i64| {
        let end = if end < 0 {
            end.saturating_add(length)
        } else {
            end
        };
        usize::try_from(end.clamp(0, length)).unwrap_or(0)
    };
    let range = if from > to {
        0..0
    } else {
        bound(from)..bound(to)
    };
    let stride = usize::try_from(step.unsigned_abs())
        .unwrap_or(usize::MAX)
        .max(1);
    if step < 0 {
        Box::new(range.rev().step_by(stride))
    } else {
        Box::new(range.step_by(stride))
    }
}
