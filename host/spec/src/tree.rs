//! Values of a YAML document with their places.

use std::{borrow::Cow, rc::Rc};

use super::{
    problem::Position,
    scalar::{self, Typed},
};

/// A value with its position.
#[derive(Debug)]
pub(super) struct Node<'t> {
    pub place: Position,
    pub value: Value<'t>,
}

/// A value of the document.
#[derive(Debug)]
pub(super) enum Value<'t> {
    Scalar {
        text: Cow<'t, str>,
        /// Unquoted, or tagged with a type: may be something else than text.
        typed: bool,
    },
    List(Vec<Rc<Node<'t>>>),
    Mapping(Vec<Pair<'t>>),
}

/// A key and its value.
#[derive(Debug)]
pub(super) struct Pair<'t> {
    pub key: Rc<Node<'t>>,
    pub value: Rc<Node<'t>>,
}

impl<'t> Node<'t> {
    /// The type of a scalar; `None` for lists and mappings.
    pub fn typed(&self) -> Option<Typed<'_>> {
        match &self.value {
            Value::Scalar { text, typed: true } => Some(scalar::resolve(text)),
            Value::Scalar { text, .. } => Some(Typed::Text(text)),
            _ => None,
        }
    }

    pub fn is_null(&self) -> bool {
        self.typed() == Some(Typed::Null)
    }

    /// Whether this key merges another mapping into its own.
    pub fn is_merge(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, typed: true } if text == "<<")
    }

    /// Returns the name of its type in Go's JSON decoder.
    pub fn go_kind(&self) -> &'static str {
        match &self.value {
            Value::List(_) => "array",
            Value::Mapping(_) => "object",
            Value::Scalar { .. } => self.typed().map_or("string", Typed::go_kind),
        }
    }

    /// The value of a key: letter case is ignored, the last one in the file wins, and merged mappings take part at the
    /// place where they are merged. `None` also for what is no mapping.
    pub fn get(&self, key: &str) -> Option<&Rc<Node<'t>>> {
        let Value::Mapping(pairs) = &self.value else {
            return None;
        };
        pairs.iter().rev().find_map(|pair| {
            if pair.key.is_merge() {
                return match &pair.value.value {
                    Value::List(sources) => sources.iter().find_map(|source| source.get(key)),
                    _ => pair.value.get(key),
                };
            }
            pair.key.is_key(key).then_some(&pair.value)
        })
    }

    /// Whether this is that key, letter case aside.
    pub fn is_key(&self, key: &str) -> bool {
        let name = self.typed().and_then(Typed::key);
        name.is_some_and(|name| same_key(&name, key))
    }
}

/// Letter case of keys does not count, under Unicode's simple folding: two letters beyond ASCII fold to ASCII ones.
fn same_key(given: &str, known: &str) -> bool {
    let fold = |c: char| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        c => c.to_ascii_lowercase(),
    };
    given.chars().map(fold).eq(known.chars())
}
