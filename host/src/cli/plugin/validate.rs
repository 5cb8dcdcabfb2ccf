//! `gpud plugin validate`: does a component keep to the contract, also on a machine that has nothing of what it looks
//! for, where nothing is granted, and when the kernel log is full of nonsense?

use std::path::PathBuf;

use gpud_author::validate::{self, Grade, Point};
use serde_json::{Value, json};

use super::compilation;
use crate::cli::{
    exit::Exit,
    terminal::{Terminal, printable},
};

/// The component to validate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validation {
    /// The component's file.
    pub file: PathBuf,
    /// Its configuration, a mapping.
    pub config: Value,
    /// Print one JSON document.
    pub json: bool,
}

/// Validates and prints. The status is 1 when something breaks the contract.
///
/// # Errors
/// The file cannot be read, or no machine can be made up.
pub async fn validate(options: &Validation, terminal: Terminal) -> Result<Exit, Exit> {
    let fail = |message: String| Exit::failure(message).in_json(options.json, "failed_to_validate");
    let (file, compilation) = (&options.file, compilation());
    let points = validate::validate(file, &options.config, &compilation).await;
    let points = points.map_err(fail)?;
    let bad = points.iter().any(|point| point.grade == Grade::Bad);
    let stdout = match options.json {
        true => {
            let document =
                json!({"file": file.display().to_string(), "valid": !bad, "points": points});
            format!("{document}\n")
        }
        false => points.iter().map(|point| line(point, terminal)).collect(),
    };
    Ok(Exit {
        code: u8::from(bad),
        ..Exit::success(stdout)
    })
}

fn line(point: &Point, terminal: Terminal) -> String {
    let sign = match point.grade {
        Grade::Good => terminal.good(),
        Grade::Note => "!",
        Grade::Bad => terminal.bad(),
    };
    format!("{sign} {}\n", printable(&point.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_one_line_for_people() {
        let point = |grade, text: &str| Point {
            grade,
            text: text.into(),
        };
        let good = point(Grade::Good, "it asks for\nnothing");
        assert_eq!(line(&good, Terminal::PLAIN), "✔ it asks for nothing\n");
        let bad = point(Grade::Bad, "a\u{1b}b");
        assert_eq!(line(&bad, Terminal::PLAIN), "✘ a\\u{1b}b\n");
    }
}
