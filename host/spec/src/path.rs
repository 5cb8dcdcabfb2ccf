//! The path of a key in the file: `[2].health_state_plugin.steps[0].name`.

use std::fmt;

/// Longest part of a key shown, bytes: keys of `config` are the operator's own.
const MAX_KEY_BYTES: usize = 64;

/// One step down from a value to one that it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// A key that gpud knows.
    Key(&'static str),
    /// A key that the file chose.
    Name(String),
    /// An item of a list, counted from 0.
    Item(usize),
}

/// The way from the top of the file to a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Path(pub Vec<Step>);

impl Path {
    /// The entry with this number.
    pub fn entry(index: usize) -> Self {
        Self(vec![Step::Item(index)])
    }

    /// One further.
    pub fn join(&self, step: Step) -> Self {
        let mut path = self.clone();
        path.0.push(step);
        path
    }

    /// A known key further.
    pub fn key(&self, key: &'static str) -> Self {
        self.join(Step::Key(key))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            match step {
                Step::Item(index) => write!(f, "[{index}]")?,
                Step::Key(key) => write!(f, "{dot}{key}")?,
                Step::Name(name) => {
                    let end = name.floor_char_boundary(MAX_KEY_BYTES);
                    let shown = name.get(..end).unwrap_or_default();
                    write!(f, "{dot}{}", shown.escape_debug())?;
                }
            }
        }
        Ok(())
    }
}
