//! Reads the first YAML document of a file into a tree.
//!
//! The parser's events are put together here rather than by Serde because GPUd's reading is target-typed YAML 1.1
//! (`scalar`), keeps the order of keys, and every complaint needs a place. It is the parser of `serde-saphyr`, the YAML
//! reader of the rest of the project. Aliases share their node, so a tree is never larger than its file; what it would be
//! with every alias written out is counted and bounded, because decoding writes them out.

use std::{borrow::Cow, collections::HashMap, rc::Rc};

use serde_yaml::granit_parser::{
    ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, StrInput, Tag,
};

use super::{
    base64,
    problem::{Position, ProblemKind},
    tree::{Node, Pair, Value},
};

/// Most values of a file, aliases written out.
pub const MAX_NODES: u64 = 1_000_000;
/// Values, aliases written out, that any file may have.
pub const FREE_NODES: u64 = 100_000;
/// How many times its own values a file may have beyond [`FREE_NODES`], aliases written out.
pub const MAX_GROWTH: u64 = 100;
/// Deepest nesting, aliases written out.
pub const MAX_DEPTH: usize = 64;

/// The namespace that `!!` abbreviates.
const TAG_NAMESPACE: &str = "tag:yaml.org,2002:";

/// The parsed document.
#[derive(Debug)]
pub(super) struct Document<'t> {
    /// `None` for an empty file.
    pub root: Option<Rc<Node<'t>>>,
    /// The position of a further document, which is ignored.
    pub next: Option<Position>,
}

/// Why a text has no tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(super) struct TreeError {
    pub kind: ProblemKind,
    pub message: String,
    pub place: Position,
}

impl TreeError {
    /// In the manner of GPUd's YAML library.
    fn syntax(place: Position, what: &str) -> Self {
        Self {
            kind: ProblemKind::YamlSyntax,
            message: format!(
                "error converting YAML to JSON: yaml: line {}: {what}",
                place.line
            ),
            place,
        }
    }
}

/// Reads the first document.
///
/// # Errors
/// [`TreeError`] for what is not YAML, and what is larger or deeper than the constants of this module allow.
pub(super) fn read(text: &str) -> Result<Document<'_>, TreeError> {
    let options = serde_yaml::granit_parser::options! { emit_comments: false };
    let mut parser = Parser::new_from_str_with_options(text, options);
    let mut builder = Builder::default();
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| scan_error(text, &error))?;
        let place = place(&span.start);
        match event {
            Event::DocumentEnd | Event::StreamEnd => break,
            event => builder.take(event, place)?,
        }
    }
    Ok(Document {
        root: builder.root,
        next: further_document(&mut parser),
    })
}

/// Returns the position of the next document; a malformed one counts, too.
fn further_document<'t>(parser: &mut Parser<'t, StrInput<'t>>) -> Option<Position> {
    match parser.next_event()? {
        Ok((Event::StreamEnd, _)) => None,
        Ok((_, span)) => Some(place(&span.start)),
        Err(error) => Some(place(error.marker())),
    }
}

fn place(mark: &Marker) -> Position {
    let fit = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Position {
        line: fit(mark.line()).max(1),
        column: fit(mark.col()).saturating_add(1),
    }
}

fn scan_error(text: &str, error: &ScanError) -> TreeError {
    let blamed = place(error.marker());
    let what = error.info();
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => too_deep(blamed),
        _ if what.contains("tab") => {
            TreeError::syntax(indenting_tab(text, blamed).unwrap_or(blamed), &what)
        }
        _ => TreeError::syntax(blamed, &what),
    }
}

/// Returns the position of the first tab that indents a line, from this line on. The parser may blame the value before it.
fn indenting_tab(text: &str, from: Position) -> Option<Position> {
    let before = usize::try_from(from.line.saturating_sub(1)).ok()?;
    let mut lines = (from.line..).zip(text.lines().skip(before));
    lines.find_map(|(line, text)| {
        let blanks = text.bytes().take_while(|byte| *byte == b' ').count();
        let is_tab = text.as_bytes().get(blanks) == Some(&b'\t');
        let column = u32::try_from(blanks).ok()?.saturating_add(1);
        is_tab.then_some(Position { line, column })
    })
}

fn too_deep(place: Position) -> TreeError {
    TreeError {
        kind: ProblemKind::NestedTooDeep,
        message: format!("values are nested deeper than {MAX_DEPTH} levels"),
        place,
    }
}

/// A list or mapping whose end was not read yet.
#[derive(Debug)]
struct Open<'t> {
    place: Position,
    anchor: usize,
    mapping: bool,
    /// Items, or keys and values in turn.
    children: Vec<Rc<Node<'t>>>,
    /// Levels below.
    height: usize,
    /// Count of all values before it.
    before: u64,
}

/// A node that aliases may refer to.
#[derive(Debug)]
struct Anchored<'t> {
    node: Rc<Node<'t>>,
    /// Values, itself and aliases below written out.
    size: u64,
    height: usize,
}

#[derive(Debug, Default)]
struct Builder<'t> {
    root: Option<Rc<Node<'t>>>,
    open: Vec<Open<'t>>,
    anchors: HashMap<usize, Anchored<'t>>,
    /// Values that the file itself contains.
    own: u64,
    /// Values with aliases written out.
    expanded: u64,
}

impl<'t> Builder<'t> {
    fn take(&mut self, event: Event<'t>, place: Position) -> Result<(), TreeError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.count(place, 1, true)?;
                let value = scalar_value(text, style, tag.as_deref())
                    .map_err(|what| TreeError::syntax(place, what))?;
                self.add(Node { place, value }, anchor, 1, 0);
            }
            Event::SequenceStart(_, anchor, _) => self.open(place, anchor, false)?,
            Event::MappingStart(_, anchor, _) => self.open(place, anchor, true)?,
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(id) => self.alias(id, place)?,
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, place: Position, anchor: usize, mapping: bool) -> Result<(), TreeError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(place));
        }
        let before = self.expanded;
        self.count(place, 1, true)?;
        self.open.push(Open {
            place,
            anchor,
            mapping,
            children: Vec::new(),
            height: 0,
            before,
        });
        Ok(())
    }

    fn close(&mut self) {
        let Some(open) = self.open.pop() else {
            return;
        };
        let value = if open.mapping {
            let mut children = open.children.into_iter();
            let mut pairs = Vec::with_capacity(children.len() / 2);
            while let (Some(key), Some(value)) = (children.next(), children.next()) {
                pairs.push(Pair { key, value });
            }
            Value::Mapping(pairs)
        } else {
            Value::List(open.children)
        };
        let node = Node {
            place: open.place,
            value,
        };
        let size = self.expanded.saturating_sub(open.before);
        self.add(node, open.anchor, size, open.height + 1);
    }

    fn add(&mut self, node: Node<'t>, anchor: usize, size: u64, height: usize) {
        let node = Rc::new(node);
        if anchor != 0 {
            let node = Rc::clone(&node);
            self.anchors.insert(anchor, Anchored { node, size, height });
        }
        self.attach(node, height);
    }

    fn attach(&mut self, node: Rc<Node<'t>>, height: usize) {
        match self.open.last_mut() {
            Some(open) => {
                open.children.push(node);
                open.height = open.height.max(height);
            }
            None => self.root = Some(node),
        }
    }

    fn alias(&mut self, id: usize, place: Position) -> Result<(), TreeError> {
        let Some(anchored) = self.anchors.get(&id) else {
            // Its node is still open, for the parser refuses unknown names.
            return Err(TreeError::syntax(place, "anchor value contains itself"));
        };
        let (node, size, height) = (Rc::clone(&anchored.node), anchored.size, anchored.height);
        if self.open.len() + height > MAX_DEPTH {
            return Err(too_deep(place));
        }
        self.count(place, size, false)?;
        self.attach(node, height);
        Ok(())
    }

    /// Counts values, `own` ones or those of an alias.
    fn count(&mut self, place: Position, values: u64, own: bool) -> Result<(), TreeError> {
        self.own += u64::from(own);
        self.expanded = self.expanded.saturating_add(values);
        let growth = self
            .own
            .saturating_mul(MAX_GROWTH)
            .saturating_add(FREE_NODES);
        if self.expanded <= growth.min(MAX_NODES) {
            return Ok(());
        }
        Err(TreeError {
            kind: ProblemKind::TooManyNodes,
            message: format!(
                "the file holds {} values with aliases written out; at most {} are read",
                self.expanded,
                growth.min(MAX_NODES)
            ),
            place,
        })
    }
}

fn scalar_value<'t>(
    text: Cow<'t, str>,
    style: ScalarStyle,
    tag: Option<&Tag>,
) -> Result<Value<'t>, &'static str> {
    let typed = match tag {
        None => style == ScalarStyle::Plain,
        Some(tag) => match tag.suffix_in_namespace(TAG_NAMESPACE).as_deref() {
            Some("int" | "float" | "bool" | "null" | "merge") => true,
            Some("binary") => {
                let bytes = base64::decode(&text)
                    .map_err(|_| "!!binary value contains invalid base64 data")?;
                let text = String::from_utf8_lossy(&bytes).into_owned().into();
                return Ok(Value::Scalar { text, typed: false });
            }
            _ => false,
        },
    };
    Ok(Value::Scalar { text, typed })
}
