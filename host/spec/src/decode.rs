//! Decodes a tree into entries: each key gets a value of its type, as Go's decoder would return it.
//!
//! A value of the wrong shape makes its entry bad and is reported; the rest of the entry is still looked at, and so are
//! the other entries.

use std::{collections::HashSet, rc::Rc};

use super::{
    entry::{self, SPEC_KEYS, WASM_KEYS},
    names,
    path::{Path, Step as Down},
    problem::{self, Finding, GO_DECODER, Position, Problem, ProblemKind, Problems},
    scalar::Typed,
    source::Source,
    tree::{Node, Value},
};
use crate::wire::{GoDuration, QueryLanguage};

/// Most bytes that a file may stand for once aliases and lists are written out, with something for each value.
pub const MAX_DECODED_BYTES: usize = 64 << 20;
/// The cost of a plugin besides its texts.
pub(super) const PLUGIN_COST: usize = 1024;
/// The cost of an item of a list or mapping besides its texts.
pub(super) const ITEM_COST: usize = 64;

/// Reads values of one file.
pub(super) struct Decoder<'s> {
    source: &'s Source,
    /// The decoder's position in the file.
    pub path: Path,
    /// The entry's `plugin_name`, for messages.
    plugin: Option<String>,
    pub problems: Problems,
    pub warnings: Problems,
    /// Places of warnings given, for a shared value is seen many times.
    warned: HashSet<Position>,
    /// Language of the queries of the parser that is being read.
    pub query_language: QueryLanguage,
    /// Bytes that may still be decoded.
    left: usize,
    /// Whether the current entry has a problem.
    failed: bool,
}

impl<'s> Decoder<'s> {
    pub fn new(source: &'s Source) -> Self {
        Self {
            source,
            path: Path::default(),
            plugin: None,
            problems: Problems::default(),
            warnings: Problems::default(),
            warned: HashSet::new(),
            query_language: QueryLanguage::default(),
            left: MAX_DECODED_BYTES,
            failed: false,
        }
    }

    /// Decodes an entry with the function for its type; `None` if something in it is wrong.
    pub fn entry<'t, T>(
        &mut self,
        index: usize,
        node: &Node<'t>,
        decode: impl FnOnce(&mut Self, &Node<'t>) -> T,
    ) -> Option<T> {
        self.path = Path::entry(index);
        self.failed = false;
        self.plugin = entry::plugin_name(node);
        self.charge(node, PLUGIN_COST);
        let entry = decode(self, node);
        (!self.failed).then_some(entry)
    }

    /// Whether the budget is used up: what follows would be cut short, so it is not read.
    pub fn exhausted(&self) -> bool {
        self.left == 0
    }

    /// Uses a part of the file's budget, and reports when it is exhausted.
    pub fn charge(&mut self, node: &Node<'_>, bytes: usize) -> bool {
        if let Some(left) = self.left.checked_sub(bytes).filter(|left| *left > 0) {
            self.left = left;
            return true;
        }
        if !self.exhausted() {
            self.left = 0;
            let message = format!(
                "the file stands for more than {} MiB with aliases and lists written out",
                MAX_DECODED_BYTES >> 20
            );
            let note = "what follows in the file is not read".to_owned();
            self.problem(node.place, ProblemKind::ExpandsTooFar, message, Some(note));
        }
        self.failed = true;
        false
    }

    /// Reports a problem of the current entry at a value.
    pub fn problem(
        &mut self,
        place: Position,
        kind: ProblemKind,
        message: impl Into<String>,
        note: Option<String>,
    ) {
        self.failed = true;
        let finding = Finding {
            kind,
            message: message.into(),
            path: self.path.clone(),
            note,
        };
        let (source, plugin) = (self.source, self.plugin.as_deref());
        self.problems
            .push(|| Problem::new(source, Some(place), plugin, finding));
    }

    /// Reports a warning at a value, once for each place.
    pub fn warning(&mut self, place: Position, kind: ProblemKind, message: String, note: String) {
        if self.warned.insert(place) {
            let finding = Finding::new(kind, message, self.path.clone()).note(note);
            let (source, plugin) = (self.source, self.plugin.as_deref());
            self.warnings
                .push(|| Problem::new(source, Some(place), plugin, finding));
        }
    }

    /// A value of the wrong shape, in the words of Go's decoder. `wanted` is Go's type, `people` ours.
    pub fn mismatch(&mut self, node: &Node<'_>, wanted: &str, people: &str) {
        let keys: Vec<&str> = self
            .path
            .0
            .iter()
            .filter_map(|step| match step {
                Down::Key(key) => Some(*key),
                _ => None,
            })
            .collect();
        let target = if keys.is_empty() {
            "Go value".to_owned()
        } else {
            format!("Go struct field Spec.{}", keys.join("."))
        };
        let message = format!(
            "{GO_DECODER}json: cannot unmarshal {} into {target} of type {wanted}",
            node.go_kind()
        );
        let note = format!("{people} is wanted here");
        self.problem(node.place, ProblemKind::SchemaMismatch, message, Some(note));
    }

    /// Runs `decode` one step further down.
    pub fn down<T>(&mut self, step: Down, decode: impl FnOnce(&mut Self) -> T) -> T {
        self.path.0.push(step);
        let result = decode(self);
        self.path.0.pop();
        result
    }

    /// Goes through all keys of a mapping that has keys of its own choice, merged ones included, in the order in which
    /// later ones replace earlier ones.
    pub fn members<'t>(
        &mut self,
        node: &Node<'t>,
        visit: &mut impl FnMut(&mut Self, String, &Rc<Node<'t>>),
    ) {
        let Value::Mapping(pairs) = &node.value else {
            return;
        };
        let mut seen = HashSet::new();
        for pair in pairs {
            if self.exhausted() {
                return;
            }
            if pair.key.is_merge() {
                for source in self.merged(&pair.value).into_iter().rev() {
                    self.members(source, visit);
                }
                continue;
            }
            let Some(key) = self.key(&pair.key) else {
                continue;
            };
            if !seen.insert(key.clone()) {
                self.repeated(pair.key.place, &key);
            }
            visit(self, key, &pair.value);
        }
    }

    /// The text of a key; null, lists and mappings cannot be keys.
    fn key(&mut self, key: &Node<'_>) -> Option<String> {
        let text = key.typed().and_then(Typed::key);
        if text.is_none() {
            let message = format!(
                "error converting YAML to JSON: yaml: line {}: invalid map key",
                key.place.line
            );
            let note = "only text, numbers and truth values can be keys".to_owned();
            self.problem(key.place, ProblemKind::YamlSyntax, message, Some(note));
        }
        text.map(Into::into)
    }

    /// The mappings that a merge key brings in, the one that wins first.
    fn merged<'n, 't>(&mut self, value: &'n Rc<Node<'t>>) -> Vec<&'n Rc<Node<'t>>> {
        let sources: Vec<_> = match &value.value {
            Value::List(items) => items.iter().collect(),
            _ => vec![value],
        };
        let odd = sources
            .iter()
            .find(|source| !matches!(source.value, Value::Mapping(_)));
        if let Some(odd) = odd {
            let message = format!(
                "error converting YAML to JSON: yaml: line {}: map merge requires map or sequence of maps as the value",
                odd.place.line
            );
            self.problem(odd.place, ProblemKind::YamlSyntax, message, None);
            return Vec::new();
        }
        sources
    }

    /// Returns whether the value is a mapping (null is an empty one), and warns of each unknown key.
    pub fn mapping(
        &mut self,
        node: &Node<'_>,
        wanted: &str,
        keys: &[&'static str],
        people: &str,
    ) -> bool {
        if node.is_null() {
            return true;
        }
        let is_mapping = matches!(node.value, Value::Mapping(_));
        if is_mapping {
            self.check_keys(node, keys, None);
        } else {
            self.mismatch(node, wanted, people);
        }
        is_mapping
    }

    /// Complains about unknown keys: with a warning, or with a problem of kind `strict`.
    pub fn check_keys(
        &mut self,
        node: &Node<'_>,
        keys: &[&'static str],
        strict: Option<ProblemKind>,
    ) {
        let Value::Mapping(pairs) = &node.value else {
            return;
        };
        let mut seen = 0_u32;
        for pair in pairs {
            if pair.key.is_merge() {
                for source in self.merged(&pair.value) {
                    self.check_keys(source, keys, strict);
                }
                continue;
            }
            match keys.iter().position(|known| pair.key.is_key(known)) {
                Some(at) if seen & 1 << at != 0 => {
                    self.repeated(pair.key.place, keys.get(at).copied().unwrap_or_default());
                }
                Some(at) => seen |= 1 << at,
                None => self.unknown(&pair.key, keys, strict),
            }
        }
    }

    fn repeated(&mut self, place: Position, key: &str) {
        let message = format!("key `{key}` is given more than once");
        let note = "the last one wins".to_owned();
        self.warning(place, ProblemKind::RepeatedKey, message, note);
    }

    fn unknown(&mut self, key: &Node<'_>, known: &[&str], strict: Option<ProblemKind>) {
        let Some(name) = self.key(key) else {
            return;
        };
        let full = match strict {
            Some(_) => {
                self.failed = true;
                self.problems.count_if_full()
            }
            None => self.warnings.count_if_full(),
        };
        if full {
            return;
        }
        let shown = problem::cut(name.clone(), 64);
        let note = if strict.is_none() && known == SPEC_KEYS && WASM_KEYS.contains(&name.as_str()) {
            "only an entry with `plugin_type: wasm` has this key; it is ignored here".to_owned()
        } else if let Some(near) = names::nearest(&name, known) {
            format!("did you mean `{near}`?")
        } else {
            format!("keys known here: {}", known.join(", "))
        };
        let message = format!("unknown key `{shown}`");
        let place = key.place;
        self.down(Down::Name(name), |this| match strict {
            Some(kind) => this.problem(place, kind, message, Some(note)),
            None => this.warning(place, ProblemKind::UnknownKey, message, note),
        });
    }

    pub fn text(&mut self, node: &Node<'_>, key: &'static str) -> String {
        self.optional_text(node, key).unwrap_or_default()
    }

    /// Null is the same as leaving it out.
    pub fn optional_text(&mut self, node: &Node<'_>, key: &'static str) -> Option<String> {
        let value = node.get(key)?;
        self.down(Down::Key(key), |this| this.scalar_text(value))
    }

    fn scalar_text(&mut self, value: &Node<'_>) -> Option<String> {
        let Some(typed) = value.typed() else {
            self.mismatch(value, "string", "text");
            return None;
        };
        let text = typed.text()?;
        self.charge(value, text.len()).then(|| text.into_owned())
    }

    pub fn texts(&mut self, node: &Node<'_>, key: &'static str) -> Vec<String> {
        self.list(node, key, "string", |this, item| {
            this.scalar_text(item).unwrap_or_default()
        })
    }

    /// A duration; null and numbers without a unit are refused, unlike leaving it out.
    pub fn duration(&mut self, node: &Node<'_>, key: &'static str) -> GoDuration {
        let Some(value) = node.get(key) else {
            return GoDuration(0);
        };
        self.down(Down::Key(key), |this| {
            let text = match value.typed() {
                Some(Typed::Text(text)) => text,
                Some(Typed::Null) => "",
                _ => {
                    this.mismatch(value, "string", "a duration as text, such as \"1m30s\",");
                    return GoDuration(0);
                }
            };
            text.parse().unwrap_or_else(|error| {
                let message = format!("{GO_DECODER}{error}");
                let note = "write it as numbers with the units h, m, s, ms, us, ns: 1h30m, 90s";
                this.problem(
                    value.place,
                    ProblemKind::SchemaMismatch,
                    message,
                    Some(note.to_owned()),
                );
                GoDuration(0)
            })
        })
    }

    /// `None` for null.
    pub fn optional<T>(
        &mut self,
        node: &Node<'_>,
        key: &'static str,
        decode: impl FnOnce(&mut Self, &Node<'_>) -> T,
    ) -> Option<T> {
        let value = node.get(key).filter(|value| !value.is_null())?;
        Some(self.down(Down::Key(key), |this| decode(this, value)))
    }

    /// Null is an empty list.
    pub fn list<T>(
        &mut self,
        node: &Node<'_>,
        key: &'static str,
        item_type: &str,
        mut decode: impl FnMut(&mut Self, &Node<'_>) -> T,
    ) -> Vec<T> {
        let Some(value) = node.get(key).filter(|value| !value.is_null()) else {
            return Vec::new();
        };
        self.down(Down::Key(key), |this| {
            let Value::List(items) = &value.value else {
                this.mismatch(value, &format!("[]{item_type}"), "a list");
                return Vec::new();
            };
            let mut decoded = Vec::new();
            for (at, item) in items.iter().enumerate() {
                if !this.charge(item, ITEM_COST) {
                    break;
                }
                decoded.push(this.down(Down::Item(at), |this| decode(this, item)));
            }
            decoded
        })
    }
}
