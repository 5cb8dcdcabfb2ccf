//! A JSON document whose objects keep the order of their keys.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};

use super::join;

/// Most items of a list that are named in one cell.
const MAX_ITEMS: usize = 8;

/// A JSON value whose objects keep the order of their keys.
pub(super) enum Node {
    Nothing,
    Scalar(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Node {
    /// Returns the value at the end of a path of names joined by dots.
    pub(super) fn at(&self, path: &str) -> Option<&Self> {
        path.split('.').try_fold(self, |node, name| match node {
            Self::Object(fields) => fields
                .iter()
                .find_map(|(key, value)| (key == name).then_some(value)),
            _ => None,
        })
    }

    /// Those of a list; none of anything else.
    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// The cells of a row, nested names joined by dots.
    pub(super) fn cells(&self) -> Vec<(String, String)> {
        let mut cells = Vec::new();
        self.add_cells("", &mut cells);
        cells
    }

    fn add_cells(&self, name: &str, cells: &mut Vec<(String, String)>) {
        match self {
            Self::Object(fields) => {
                for (key, value) in fields {
                    value.add_cells(&join(name, key), cells);
                }
            }
            other => cells.push((name.to_owned(), other.inline())),
        }
    }

    /// In one cell: of a long list the first items, of a list of objects how many.
    pub(super) fn inline(&self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Scalar(text) => text.clone(),
            Self::List(items) if items.iter().any(|item| matches!(item, Self::Object(_))) => {
                format!("{} entries", items.len())
            }
            Self::List(items) => {
                let named: Vec<_> = items.iter().take(MAX_ITEMS).map(Self::inline).collect();
                let named = named.join(", ");
                match items.len().saturating_sub(MAX_ITEMS) {
                    0 => named,
                    more => format!("{named}, … ({more} more)"),
                }
            }
            Self::Object(fields) => format!("{} values", fields.len()),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyNode)
    }
}

struct AnyNode;

impl<'de> Visitor<'de> for AnyNode {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Scalar(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut object = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            object.push(entry);
        }
        Ok(Node::Object(object))
    }
}
