//! Converts free-form parts of an entry (`config`, `grants`) to JSON, with the position of every value.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value as Json};

use super::{
    decode::Decoder,
    path::Step as Down,
    problem::{Position, ProblemKind},
    scalar::Typed,
    tree::{Node, Value},
};

/// Largest free-form part, bytes as JSON.
pub const MAX_JSON_BYTES: usize = 256 << 10;

/// The positions of a value and of the values below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ValuePositions {
    place: Position,
    children: ChildPositions,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ChildPositions {
    Nothing,
    Items(Vec<ValuePositions>),
    Keys(BTreeMap<String, ValuePositions>),
}

impl ValuePositions {
    /// Returns those of a value without children.
    pub fn leaf(place: Position) -> Self {
        Self {
            place,
            children: ChildPositions::Nothing,
        }
    }

    /// The place of the value that a JSON pointer (RFC 6901) names, or of the nearest one around it.
    pub fn at(&self, pointer: &str) -> Position {
        let mut here = self;
        for part in pointer.split('/').skip(1) {
            let next = match &here.children {
                ChildPositions::Nothing => None,
                ChildPositions::Items(items) => {
                    part.parse().ok().and_then(|at: usize| items.get(at))
                }
                ChildPositions::Keys(keys) => keys.get(&part.replace("~1", "/").replace("~0", "~")),
            };
            match next {
                Some(next) => here = next,
                None => break,
            }
        }
        here.place
    }
}

impl Decoder<'_> {
    /// A mapping under `key`, empty if absent or null.
    pub fn free_mapping(&mut self, node: &Node<'_>, key: &'static str) -> (Json, ValuePositions) {
        let empty = |place| (Json::Object(Map::new()), ValuePositions::leaf(place));
        let Some(value) = node.get(key).filter(|value| !value.is_null()) else {
            return empty(node.place);
        };
        self.down(Down::Key(key), |this| {
            let mut left = MAX_JSON_BYTES;
            if !matches!(value.value, Value::Mapping(_)) {
                let message = format!("{key} has to be a mapping");
                this.problem(value.place, ProblemKind::WasmValue, message, None);
                return empty(value.place);
            }
            let (json, places) = this.json(value, &mut left);
            // Escapes make the text longer than what was counted on the way.
            let fits = left > 0
                && serde_json::to_vec(&json).is_ok_and(|bytes| bytes.len() <= MAX_JSON_BYTES);
            if !fits {
                let message = format!("{key} is larger than {} KiB as JSON", MAX_JSON_BYTES >> 10);
                this.problem(value.place, ProblemKind::WasmConfigTooLarge, message, None);
            }
            (json, places)
        })
    }

    /// Any value. `left` is what may still be written, bytes; nothing more is read once it is zero.
    pub fn json(&mut self, node: &Node<'_>, left: &mut usize) -> (Json, ValuePositions) {
        *left = left.saturating_sub(2);
        let (json, children) = match &node.value {
            Value::Scalar { .. } => (self.json_scalar(node, left), ChildPositions::Nothing),
            Value::List(items) => {
                let (mut list, mut places) = (Vec::new(), Vec::new());
                for (at, item) in items.iter().enumerate() {
                    if *left == 0 {
                        break;
                    }
                    let (json, place) = self.down(Down::Item(at), |this| this.json(item, left));
                    list.push(json);
                    places.push(place);
                }
                (Json::Array(list), ChildPositions::Items(places))
            }
            Value::Mapping(_) => {
                let (mut map, mut places) = (Map::new(), BTreeMap::new());
                self.members(node, &mut |this, key, value| {
                    *left = left.saturating_sub(key.len() + 3);
                    if *left == 0 {
                        return;
                    }
                    let step = Down::Name(key.clone());
                    let (json, place) = this.down(step, |this| this.json(value, left));
                    map.insert(key.clone(), json);
                    places.insert(key, place);
                });
                (Json::Object(map), ChildPositions::Keys(places))
            }
        };
        let place = node.place;
        (json, ValuePositions { place, children })
    }

    fn json_scalar(&mut self, node: &Node<'_>, left: &mut usize) -> Json {
        match node.typed() {
            None | Some(Typed::Null) => Json::Null,
            Some(Typed::Bool(value)) => value.into(),
            Some(Typed::Int(value)) => value.into(),
            Some(Typed::Uint(value)) => value.into(),
            Some(Typed::Float(value)) => Number::from_f64(value).map_or_else(
                || {
                    let message = "a number has to be finite";
                    self.problem(node.place, ProblemKind::WasmValue, message, None);
                    Json::Null
                },
                Json::Number,
            ),
            Some(Typed::Text(text)) => {
                *left = left.saturating_sub(text.len());
                if *left == 0 {
                    return Json::Null;
                }
                text.into()
            }
        }
    }
}
