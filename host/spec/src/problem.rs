//! The problems with a spec file, in words for a terminal and for a log line.

use std::fmt::{self, Write as _};

use super::{path::Path, source::Source};
use crate::wire::{go_quote, text::printable_lines};

/// Longest message, bytes: it may quote a text of the file.
const MAX_MESSAGE_BYTES: usize = 2048;
/// The beginning of what GPUd says of a value of the wrong shape.
pub(super) const GO_DECODER: &str = "error unmarshaling JSON: while decoding JSON: ";
/// Longest plugin name shown, bytes: as long as a valid one may be.
const MAX_NAME_BYTES: usize = 128;
/// Most problems (or warnings) that are listed per kind of check; a file may have a million.
const MAX_PROBLEMS: usize = 1000;

/// A position in the file. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// The kind of a problem. The first nineteen are GPUd's, the rest are ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// The text is not YAML.
    YamlSyntax,
    /// A value of the wrong shape; bad durations too.
    SchemaMismatch,
    /// Both a list and a list file.
    ComponentListConflict,
    /// The list file cannot be read.
    ComponentListFileUnreadable,
    /// The list file has no entry.
    ComponentListFileEmpty,
    /// A list plugin without entries.
    ComponentListEmpty,
    /// A list entry without a name.
    ComponentListEntryEmptyName,
    /// A list entry with unbalanced brackets.
    ComponentListEntryInvalidTags,
    /// Not a type that exists.
    InvalidPluginType,
    /// More than 128 bytes.
    PluginNameTooLong,
    /// No name, or blanks only.
    ComponentNameRequired,
    /// No `health_state_plugin`.
    MissingStatePlugin,
    /// A step without a name.
    StepNameRequired,
    /// A step without `run_bash_script`.
    MissingPluginStep,
    /// A step with an empty script.
    ScriptRequired,
    /// Not a content type that exists.
    UnsupportedContentType,
    /// The script is not base64.
    InvalidBase64,
    /// Above zero and below one minute.
    IntervalTooShort,
    /// Two plugins of one component name.
    DuplicateComponentName,
    /// The file is larger than it may be.
    FileTooLarge,
    /// Aliases that multiply.
    TooManyNodes,
    /// Deeper than it may be.
    NestedTooDeep,
    /// The file with its aliases expanded is larger than allowed.
    ExpandsTooFar,
    /// Stands for further problems, which are not listed.
    MoreProblems,
    /// A Wasm entry without a component file.
    WasmPathRequired,
    /// A key that a Wasm entry does not have.
    WasmUnknownKey,
    /// A value of a Wasm entry that does not fit.
    WasmValue,
    /// `config` is larger than it may be.
    WasmConfigTooLarge,
    /// A limit outside of what may be set.
    WasmLimit,
    /// A warning: a key that means nothing.
    UnknownKey,
    /// Not a query language that exists.
    UnknownQueryLanguage,
    /// A query that does not compile; a warning in GPUd's dialect.
    InvalidQuery,
    /// A warning: a regular expression that does not compile.
    InvalidPattern,
    /// A warning: a run mode that means auto.
    UnknownRunMode,
    /// A warning: a key given twice.
    RepeatedKey,
    /// A warning: only the first document counts.
    MoreDocuments,
}

impl ProblemKind {
    /// The name that machine-readable output uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::YamlSyntax => "yaml_syntax",
            Self::SchemaMismatch => "schema_mismatch",
            Self::ComponentListConflict => "component_list_conflict",
            Self::ComponentListFileUnreadable => "component_list_file_unreadable",
            Self::ComponentListFileEmpty => "component_list_file_empty",
            Self::ComponentListEmpty => "component_list_empty",
            Self::ComponentListEntryEmptyName => "component_list_entry_empty_name",
            Self::ComponentListEntryInvalidTags => "component_list_entry_invalid_tags",
            Self::InvalidPluginType => "invalid_plugin_type",
            Self::PluginNameTooLong => "plugin_name_too_long",
            Self::ComponentNameRequired => "component_name_required",
            Self::MissingStatePlugin => "missing_state_plugin",
            Self::StepNameRequired => "step_name_required",
            Self::MissingPluginStep => "missing_plugin_step",
            Self::ScriptRequired => "script_required",
            Self::UnsupportedContentType => "unsupported_content_type",
            Self::InvalidBase64 => "invalid_base64",
            Self::IntervalTooShort => "interval_too_short",
            Self::DuplicateComponentName => "duplicate_component_name",
            Self::FileTooLarge => "file_too_large",
            Self::TooManyNodes => "too_many_nodes",
            Self::NestedTooDeep => "nested_too_deep",
            Self::ExpandsTooFar => "expands_too_far",
            Self::MoreProblems => "more_problems",
            Self::WasmPathRequired => "wasm_path_required",
            Self::WasmUnknownKey => "wasm_unknown_key",
            Self::WasmValue => "wasm_value",
            Self::WasmConfigTooLarge => "wasm_config_too_large",
            Self::WasmLimit => "wasm_limit",
            Self::UnknownKey => "unknown_key",
            Self::UnknownQueryLanguage => "unknown_query_language",
            Self::InvalidQuery => "invalid_query",
            Self::InvalidPattern => "invalid_pattern",
            Self::UnknownRunMode => "unknown_run_mode",
            Self::RepeatedKey => "repeated_key",
            Self::MoreDocuments => "more_documents",
        }
    }
}

/// A problem before it is known where in the file it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub kind: ProblemKind,
    pub message: String,
    pub path: Path,
    pub note: Option<String>,
}

impl Finding {
    pub fn new(kind: ProblemKind, message: impl Into<String>, path: Path) -> Self {
        Self {
            kind,
            message: message.into(),
            path,
            note: None,
        }
    }

    /// With what to do about it.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

/// One thing that is wrong, or a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The kind.
    pub kind: ProblemKind,
    /// GPUd's text where it has one; texts longer than 2 KiB are cut.
    pub message: String,
    /// Name of the file.
    pub source: String,
    /// Where; `None` for what concerns the file as a whole.
    pub place: Option<Position>,
    /// Name of the plugin it belongs to, where there is one.
    pub plugin: Option<String>,
    /// The path of the key: `[2].health_state_plugin.steps[0].name`. Empty for the file as a whole.
    pub path: String,
    /// Advice, or other parts that are concerned.
    pub note: Option<String>,
    /// The line in question with a caret below.
    snippet: Option<String>,
}

impl Problem {
    pub(super) fn new(
        source: &Source,
        place: Option<Position>,
        plugin: Option<&str>,
        finding: Finding,
    ) -> Self {
        Self {
            kind: finding.kind,
            message: cut(finding.message, MAX_MESSAGE_BYTES),
            source: source.name().to_owned(),
            place,
            plugin: plugin
                .filter(|name| !name.is_empty())
                .map(|name| cut(name.to_owned(), MAX_NAME_BYTES)),
            path: finding.path.to_string(),
            note: finding.note.map(|note| cut(note, MAX_MESSAGE_BYTES)),
            snippet: place.and_then(|place| source.snippet(place)),
        }
    }

    /// What people read first, and what last. Words of Go's decoder come last, or without what begins all of them.
    fn words(&self) -> (&str, Option<&str>) {
        let note = self.note.as_deref();
        match (self.message.strip_prefix(GO_DECODER), note) {
            (Some(rest), Some(note)) if rest.starts_with("json: ") => {
                (note, Some(self.message.as_str()))
            }
            (Some(rest), note) => (rest, note),
            (None, note) => (self.message.as_str(), note),
        }
    }

    /// Several lines for a terminal: the message, where, the line of the file, what to do.
    pub fn report(&self) -> String {
        let (first, last) = self.words();
        let mut out = first.to_owned();
        // Writing to a String cannot fail.
        let _ = write!(out, "\n --> {}", self.source);
        if let Some(place) = self.place {
            let _ = write!(out, ":{}:{}", place.line, place.column);
        }
        match &self.plugin {
            Some(name) => {
                let _ = write!(out, ", plugin {}", go_quote(name));
                let key = self.path.split_once(']').map_or("", |(_, key)| key);
                if let Some(key) = key.strip_prefix('.') {
                    let _ = write!(out, ": {key}");
                }
            }
            None if self.path.is_empty() => {}
            None => {
                let _ = write!(out, ", {}", self.path);
            }
        }
        if let Some(snippet) = &self.snippet {
            let _ = write!(out, "\n{snippet}");
        }
        if let Some(last) = last {
            let _ = write!(out, "\n   = {last}");
        }
        out
    }
}

impl fmt::Display for Problem {
    /// One line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = String::with_capacity(self.message.len());
        for c in self.message.chars() {
            if c.is_control() {
                line.extend(c.escape_default());
            } else {
                line.push(c);
            }
        }
        // What is invisible, or changes the order of other characters.
        f.write_str(&printable_lines(&line))?;
        write!(f, " ({}", self.source)?;
        if let Some(place) = self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        if !self.path.is_empty() {
            write!(f, ", {}", self.path)?;
        }
        f.write_str(")")
    }
}

/// Problems in the order of being found, the first thousand of them.
#[derive(Debug, Default)]
pub(super) struct Problems {
    list: Vec<Problem>,
    left_out: usize,
}

impl Problems {
    fn is_full(&self) -> bool {
        self.list.len() >= MAX_PROBLEMS
    }

    /// Adds one; it is only made if there is room.
    pub fn push(&mut self, make: impl FnOnce() -> Problem) {
        if !self.is_full() {
            self.list.push(make());
        } else {
            self.left_out += 1;
        }
    }

    /// Counts a problem and returns true if there is no room for it. Its message then need not be made.
    pub fn count_if_full(&mut self) -> bool {
        self.left_out += usize::from(self.is_full());
        self.is_full()
    }

    /// Returns the own problems, then the others', with a last one that counts those that are not listed.
    pub fn then(mut self, others: impl IntoIterator<Item = Self>, source: &Source) -> Vec<Problem> {
        for other in others {
            self.list.extend(other.list);
            self.left_out += other.left_out;
        }
        self.left_out += self.list.len().saturating_sub(MAX_PROBLEMS);
        self.list.truncate(MAX_PROBLEMS);
        if self.left_out > 0 {
            let message = format!("{} more, not listed", self.left_out);
            let finding = Finding::new(ProblemKind::MoreProblems, message, Path::default());
            self.list.push(Problem::new(source, None, None, finding));
        }
        self.list
    }
}

/// The first `limit` bytes or a little less, with an ellipsis where something was cut.
pub(super) fn cut(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit));
        text.push('…');
    }
    text
}
