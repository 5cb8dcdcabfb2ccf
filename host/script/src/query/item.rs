//! The values that queries work on: those of the document and those that queries make.

use std::rc::Rc;

use serde_json::Value;

use super::budget::{Budget, Limit, MAX_LIST_DEPTH};
use super::eval_error::EvalError;
use super::literal;
use super::syntax::Constant;

/// A value. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) enum Item<'a> {
    /// Part of the document.
    Json(&'a Value),
    /// A literal text of the query.
    Text(&'a str),
    /// A literal or computed number, NaN and infinities included.
    Number(f64),
    /// A literal or computed truth value.
    Bool(bool),
    /// The values that a multi-valued selector found.
    List(Rc<List<'a>>),
}

/// A list that a query made.
#[derive(Debug)]
pub(super) struct List<'a> {
    items: Vec<Item<'a>>,
    /// Lists within lists, this one included.
    depth: u8,
}

/// A view of an item that does not depend on its source.
pub(super) enum View<'v> {
    Null,
    Bool(bool),
    Number(f64),
    Text(&'v str),
    /// Its length.
    List(usize),
    Object(&'v serde_json::Map<String, Value>),
}

impl<'a> From<&'a Constant> for Item<'a> {
    fn from(constant: &'a Constant) -> Self {
        match constant {
            Constant::Bool(value) => Self::Bool(*value),
            Constant::Number(value) => Self::Number(*value),
            Constant::Text(value) => Self::Text(value),
        }
    }
}

impl<'a> Item<'a> {
    /// JSON null.
    pub const NULL: Self = Self::Json(&Value::Null);

    /// A list of what was found.
    pub fn list(items: Vec<Self>) -> Result<Self, Limit> {
        let inner = items.iter().map(|item| match item {
            Self::List(list) => list.depth,
            _ => 0,
        });
        let depth = inner.max().unwrap_or(0) + 1;
        if depth > MAX_LIST_DEPTH {
            return Err(Limit::Lists);
        }
        Ok(Self::List(Rc::new(List { items, depth })))
    }

    pub fn view(&self) -> View<'_> {
        match self {
            Self::Json(Value::Null) => View::Null,
            Self::Json(Value::Bool(value)) => View::Bool(*value),
            Self::Json(Value::Number(value)) => View::Number(value.as_f64().unwrap_or(f64::NAN)),
            Self::Json(Value::String(value)) => View::Text(value),
            Self::Json(Value::Array(values)) => View::List(values.len()),
            Self::Json(Value::Object(members)) => View::Object(members),
            Self::Text(value) => View::Text(value),
            Self::Number(value) => View::Number(*value),
            Self::Bool(value) => View::Bool(*value),
            Self::List(list) => View::List(list.items.len()),
        }
    }

    /// An element of a list.
    pub fn element(&self, index: usize) -> Option<Self> {
        match self {
            Self::Json(Value::Array(values)) => values.get(index).map(Self::Json),
            Self::List(list) => list.items.get(index).cloned(),
            _ => None,
        }
    }

    /// A member of an object.
    pub fn member(&self, key: &str) -> Option<Self> {
        match self {
            Self::Json(value) => value.as_object()?.get(key).map(Self::Json),
            _ => None,
        }
    }

    /// The elements of a list, or members of an object; nothing of anything else.
    pub fn children(&self) -> Box<dyn DoubleEndedIterator<Item = Self> + '_> {
        match self {
            Self::Json(Value::Array(values)) => Box::new(values.iter().map(Self::Json)),
            Self::Json(Value::Object(members)) => Box::new(members.values().map(Self::Json)),
            Self::List(list) => Box::new(list.items.iter().cloned()),
            _ => Box::new(std::iter::empty()),
        }
    }

    /// A number, or a text that reads as one.
    pub fn as_number(&self, budget: &Budget) -> Result<Option<f64>, Limit> {
        match self.view() {
            View::Number(value) => Ok(Some(value)),
            View::Text(text) => {
                budget.step(text.len())?;
                Ok(literal::number(text).ok())
            }
            _ => Ok(None),
        }
    }

    /// The truth value that a filter takes it for.
    pub fn as_bool(&self, budget: &Budget) -> Result<Option<bool>, Limit> {
        match self.view() {
            View::Bool(value) => Ok(Some(value)),
            View::Null | View::Text("false" | "FALSE") => Ok(Some(false)),
            View::Text("true" | "TRUE") => Ok(Some(true)),
            _ => Ok(self.as_number(budget)?.map(|number| number != 0.0)),
        }
    }

    /// Whether both are of the same type and content.
    pub fn equals(&self, other: &Self, budget: &Budget) -> Result<bool, Limit> {
        budget.step(0)?;
        match (self, other) {
            (Self::Json(a), Self::Json(b)) if std::ptr::eq(*a, *b) => return Ok(true),
            (Self::List(a), Self::List(b)) if Rc::ptr_eq(a, b) => return Ok(true),
            _ => {}
        }
        Ok(match (self.view(), other.view()) {
            (View::Null, View::Null) => true,
            (View::Bool(a), View::Bool(b)) => a == b,
            (View::Number(a), View::Number(b)) => a == b,
            (View::Text(a), View::Text(b)) => {
                budget.step(a.len().min(b.len()))?;
                a == b
            }
            (View::List(a), View::List(b)) if a == b => {
                let pairs = self.children().zip(other.children());
                all_equal(pairs.map(Some), budget)?
            }
            (View::Object(a), View::Object(b)) if a.len() == b.len() => {
                let pairs = a
                    .iter()
                    .map(|(key, value)| Some((Item::Json(value), Item::Json(b.get(key)?))));
                all_equal(pairs, budget)?
            }
            _ => false,
        })
    }

    /// The value as JSON. NaN and the infinities become text if they are all there is, and fail within a list.
    pub fn into_value(self, budget: &Budget) -> Result<Value, EvalError<'a>> {
        match self {
            Self::Number(number) if !number.is_finite() => {
                Ok(Value::String(super::text::number(number)))
            }
            item => item.to_json(budget),
        }
    }

    fn to_json(&self, budget: &Budget) -> Result<Value, EvalError<'a>> {
        match self {
            Self::Json(value) => {
                weigh(value, budget)?;
                Ok((*value).clone())
            }
            Self::Text(text) => {
                budget.keep(text.len())?;
                Ok(Value::from(*text))
            }
            Self::Bool(value) => Ok(Value::from(*value)),
            Self::Number(number) if number.is_finite() => Ok(Value::from(*number)),
            Self::Number(number) => Err(EvalError::NotJson(*number)),
            Self::List(list) => {
                budget.keep(0)?;
                let values = list.items.iter().map(|item| item.to_json(budget));
                values.collect()
            }
        }
    }
}

/// Whether all are pairs of equals. Stops at the first that is not.
fn all_equal<'a>(
    pairs: impl Iterator<Item = Option<(Item<'a>, Item<'a>)>>,
    budget: &Budget,
) -> Result<bool, Limit> {
    for pair in pairs {
        match pair {
            Some((a, b)) if a.equals(&b, budget)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Counts what copying a value costs.
fn weigh(value: &Value, budget: &Budget) -> Result<(), Limit> {
    match value {
        Value::String(text) => budget.keep(text.len()),
        Value::Array(values) => {
            budget.keep(0)?;
            values.iter().try_for_each(|value| weigh(value, budget))
        }
        Value::Object(members) => {
            budget.keep(0)?;
            members.iter().try_for_each(|(key, value)| {
                budget.keep(key.len())?;
                weigh(value, budget)
            })
        }
        _ => budget.keep(0),
    }
}
