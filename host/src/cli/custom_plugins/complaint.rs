//! An error or a warning about a file of plugins, from any source.

use crate::{
    plugins::wasm,
    spec::{Plugin, Position, Problem},
    wire::go_quote,
};

/// The problem with a file that cannot be read.
const UNREADABLE: &str = "file_unreadable";
/// The problem with the component of a Wasm entry.
const WASM: &str = "wasm_component";

/// A problem or a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// The word for programs.
    pub kind: &'static str,
    /// The problem.
    pub message: String,
    /// Name of the file.
    pub file: String,
    /// Where in it.
    pub place: Option<Position>,
    /// Which key; empty for a file or an entry as a whole.
    pub path: String,
    /// Advice.
    pub note: Option<String>,
    /// All of it for people; the message is its first line.
    pub report: String,
}

impl Complaint {
    /// The file cannot be read.
    pub fn unreadable(file: &str, message: String) -> Self {
        Self {
            kind: UNREADABLE,
            report: message.clone(),
            message,
            file: file.to_owned(),
            place: None,
            path: String::new(),
            note: None,
        }
    }

    /// The component of an entry cannot be used.
    pub fn of_wasm(problem: wasm::Problem, plugin: &Plugin, file: &str) -> Self {
        let place = problem.place.unwrap_or(plugin.place);
        let mut report = format!(
            "{}\n --> {file}:{}:{}, plugin {}",
            problem.message,
            place.line,
            place.column,
            go_quote(&plugin.spec.plugin_name)
        );
        if let Some(note) = &problem.note {
            report.push_str("\n   = ");
            report.push_str(note);
        }
        Self {
            kind: WASM,
            message: problem.message,
            file: file.to_owned(),
            place: Some(place),
            path: String::new(),
            note: problem.note,
            report,
        }
    }
}

impl From<Problem> for Complaint {
    fn from(problem: Problem) -> Self {
        Self {
            kind: problem.kind.as_str(),
            report: problem.report(),
            message: problem.message,
            file: problem.source,
            place: problem.place,
            path: problem.path,
            note: problem.note,
        }
    }
}
