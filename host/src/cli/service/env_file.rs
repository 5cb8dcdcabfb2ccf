//! `/etc/default/gpud`: read as systemd reads it, changed only where `gpud up` was asked to.
//!
//! The grammar is that of systemd's `EnvironmentFile=` (src/basic/env-file.c), and the value of `FLAGS` is split into
//! words as systemd does it for `$FLAGS` (quotes taken off, a backslash takes the next character as it is).

use std::ops::Range;

use crate::cli::{
    argv::{Request, respell},
    commands,
};

/// The content of a new file.
pub const TEMPLATE: &str = include_str!("../../../../deploy/systemd/gpud.default");
/// The variable with the flags.
const FLAGS: &str = "FLAGS";
/// Flags of a control plane, which this build does not have; GPUd's `up` writes the first two.
const DROPPED: [&str; 11] = [
    "endpoint",
    "session-protocol",
    "token",
    "machine-id",
    "machine-id-overwrite",
    "refresh-session-token",
    "skip-session-update-config",
    "reboot-commands",
    "enable-auto-update",
    "auto-update-exit-code",
    "version-file",
];

/// Flags that `gpud up` sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedFlags {
    /// `--data-dir`.
    pub data_dir: String,
    /// `--db-in-memory`.
    pub db_in_memory: bool,
    /// `--listen-address`; `None` leaves it as it is.
    pub listen_address: Option<String>,
}

/// The text of a file with these flags. `former` is what is there now.
///
/// # Errors
/// The former flags make no sense, for this reason; the text given then starts from the template.
pub fn edit(former: Option<&str>, wanted: &WantedFlags) -> Result<String, (String, String)> {
    let text = former.unwrap_or(TEMPLATE);
    match flags(text) {
        Ok(flags) => Ok(replace(text, &merge(flags, wanted))),
        Err(problem) => {
            let flags = flags(TEMPLATE).unwrap_or_default();
            Err((problem, replace(text, &merge(flags, wanted))))
        }
    }
}

/// Returns the data folder that the flags of a file name, if they make sense and name one.
pub fn data_dir(text: &str) -> Option<String> {
    let flags = flags(text).ok()?;
    let folder = flags
        .iter()
        .find_map(|flag| flag.strip_prefix("--data-dir="))?;
    Some(folder.to_owned()).filter(|folder| !folder.is_empty())
}

/// Returns the flags in the file, each as `--name` or `--name=value`.
///
/// # Errors
/// They make no sense, for this reason.
pub fn flags(text: &str) -> Result<Vec<String>, String> {
    let value = assignments(text)
        .into_iter()
        .rfind(|found| found.key == FLAGS);
    let value = value.map(|found| found.value).unwrap_or_default();
    let mut root = commands::root();
    root.build();
    let mut argv = vec!["run".to_owned()];
    argv.extend(words(&value));
    match respell(&root, argv) {
        Ok(Request::Command { argv, .. }) => Ok(argv.into_iter().skip(2).collect()),
        Ok(Request::Help(_) | Request::Version) => Err("they ask for help".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Separates flags that mean something to gpud from those of a control plane. Of the latter only the names are given: a
/// value may be a secret.
pub fn split(flags: &[String]) -> (Vec<String>, Vec<String>) {
    let (dropped, kept): (Vec<_>, Vec<_>) = flags.iter().partition(|flag| {
        let name = flag.trim_start_matches('-').split('=').next();
        name.is_some_and(|name| DROPPED.contains(&name))
    });
    let names = dropped
        .into_iter()
        .filter_map(|flag| flag.split('=').next().map(str::to_owned));
    (kept.into_iter().cloned().collect(), names.collect())
}

fn merge(flags: Vec<String>, wanted: &WantedFlags) -> Vec<String> {
    let name = |flag: &str| {
        let flag = flag.trim_start_matches('-');
        flag.split('=').next().unwrap_or_default().to_owned()
    };
    let mut flags: Vec<String> = flags
        .into_iter()
        .filter(|flag| !DROPPED.contains(&name(flag).as_str()))
        .collect();
    let mut set = |wanted: &str, text: Option<String>| {
        let place = flags.iter().position(|flag| name(flag) == wanted);
        match (place, text) {
            (Some(place), Some(text)) => {
                if let Some(flag) = flags.get_mut(place) {
                    *flag = text;
                }
            }
            (Some(place), None) => drop(flags.remove(place)),
            (None, Some(text)) => flags.push(text),
            (None, None) => {}
        }
    };
    set("data-dir", Some(format!("--data-dir={}", wanted.data_dir)));
    let in_memory = wanted.db_in_memory.then(|| "--db-in-memory".to_owned());
    set("db-in-memory", in_memory);
    if let Some(address) = &wanted.listen_address {
        set(
            "listen-address",
            Some(format!("--listen-address={address}")),
        );
    }
    flags
}

/// The text with these flags in place of its own; everything else stays.
fn replace(text: &str, flags: &[String]) -> String {
    let mut line = Some(assignment(flags));
    let mut edited = String::with_capacity(text.len() + 64);
    let mut end = 0;
    for found in assignments(text) {
        if found.key != FLAGS {
            continue;
        }
        edited.push_str(text.get(end..found.span.start).unwrap_or_default());
        edited.extend(line.take());
        end = found.span.end;
    }
    edited.push_str(text.get(end..).unwrap_or_default());
    if let Some(line) = line {
        if !edited.is_empty() && !edited.ends_with('\n') {
            edited.push('\n');
        }
        edited.push_str(&line);
    }
    edited
}

/// `FLAGS="…"` and a newline.
fn assignment(flags: &[String]) -> String {
    let words: Vec<String> = flags.iter().map(|flag| quoted(flag)).collect();
    let mut line = format!("{FLAGS}=\"");
    for character in words.join(" ").chars() {
        if matches!(character, '"' | '\\' | '`' | '$') {
            line.push('\\');
        }
        line.push(character);
    }
    line.push_str("\"\n");
    line
}

/// The word as [`words`] gives it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| !c.is_whitespace() && !matches!(c, '\'' | '"' | '\\');
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let mut quoted = "'".to_owned();
    for character in word.chars() {
        if matches!(character, '\'' | '\\') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('\'');
    quoted
}

/// Splits a value as systemd splits `$FLAGS`. A quote that does not end reaches to the end.
fn words(value: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', _) => {
                let escaped = characters.next().unwrap_or('\\');
                word.get_or_insert_default().push(escaped);
            }
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            (c @ ('\'' | '"'), None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (' ' | '\t' | '\n' | '\r', None) => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// One variable of an environment file.
#[derive(Debug, PartialEq, Eq)]
struct Assignment {
    key: String,
    value: String,
    /// Its bytes in the text, the newline included.
    span: Range<usize>,
}

#[derive(Clone, Copy, Default)]
enum ParseState {
    #[default]
    BeforeKey,
    Key,
    BeforeValue,
    Value,
    ValueEscape,
    Single,
    Double,
    DoubleEscape,
    Comment,
    CommentEscape,
}

/// The variables in order. What is no assignment is passed over, as systemd does.
fn assignments(text: &str) -> Vec<Assignment> {
    let mut reader = Reader::default();
    for (at, c) in text.char_indices() {
        reader.state = reader.step(at, c);
    }
    if !matches!(
        reader.state,
        ParseState::BeforeKey | ParseState::Key | ParseState::Comment | ParseState::CommentEscape
    ) {
        reader.end_assignment(text.len());
    }
    reader.found
}

/// Reads an environment file character by character.
#[derive(Default)]
struct Reader {
    found: Vec<Assignment>,
    key: String,
    value: String,
    /// Where the assignment begins.
    start: usize,
    /// Blanks behind this belong to an unquoted end and go.
    kept: usize,
    state: ParseState,
}

impl Reader {
    /// Takes in a character, and returns the next state.
    fn step(&mut self, at: usize, c: char) -> ParseState {
        use ParseState::{
            BeforeKey, BeforeValue, Comment, CommentEscape, Double, DoubleEscape, Key, Single,
            Value, ValueEscape,
        };
        let newline = matches!(c, '\n' | '\r');
        let blank = matches!(c, ' ' | '\t');
        match self.state {
            BeforeKey if newline || blank => BeforeKey,
            BeforeKey if matches!(c, '#' | ';') => Comment,
            BeforeKey => {
                self.begin_assignment(at, c);
                Key
            }
            Key if newline => BeforeKey,
            Key if c == '=' => BeforeValue,
            Key => {
                self.key.push(c);
                Key
            }
            BeforeValue | Value if newline => {
                self.end_assignment(at + c.len_utf8());
                BeforeKey
            }
            BeforeValue if c == '\'' => Single,
            BeforeValue if c == '"' => Double,
            BeforeValue | Value if c == '\\' => ValueEscape,
            BeforeValue if blank => BeforeValue,
            Value if blank => {
                self.value.push(c);
                Value
            }
            BeforeValue | Value => {
                self.push(c);
                Value
            }
            ValueEscape if newline => Value,
            ValueEscape => {
                self.push(c);
                Value
            }
            Single if c == '\'' => BeforeValue,
            Double if c == '"' => BeforeValue,
            Double if c == '\\' => DoubleEscape,
            Single | Double => {
                self.push(c);
                self.state
            }
            DoubleEscape if newline => Double,
            DoubleEscape => {
                if !matches!(c, '"' | '\\' | '`' | '$') {
                    self.value.push('\\');
                }
                self.push(c);
                Double
            }
            Comment if c == '\\' => CommentEscape,
            Comment if newline => BeforeKey,
            Comment | CommentEscape => Comment,
        }
    }

    fn begin_assignment(&mut self, at: usize, c: char) {
        self.start = at;
        self.key = c.to_string();
        self.value.clear();
        self.kept = 0;
    }

    /// Adds a character that stays, also as the last one.
    fn push(&mut self, c: char) {
        self.value.push(c);
        self.kept = self.value.len();
    }

    fn end_assignment(&mut self, end: usize) {
        self.value.truncate(self.kept);
        self.found.push(Assignment {
            key: self.key.trim().to_owned(),
            value: std::mem::take(&mut self.value),
            span: self.start..end,
        });
    }
}

#[cfg(test)]
#[path = "env_file_tests.rs"]
mod tests;
