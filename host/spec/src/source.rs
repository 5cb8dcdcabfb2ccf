//! The text of a spec file, and single lines of it to show beside a problem.

use unicode_width::UnicodeWidthChar;

use super::problem::Position;

/// Most characters of a line that are shown; a line can be as long as the file.
const SHOWN: usize = 100;
/// The number of them before the position when the line is cut on the left.
const BEFORE: usize = 60;

/// A spec file's name and text.
#[derive(Debug, Clone)]
pub(super) struct Source {
    name: String,
    text: String,
    /// Byte offset of each line.
    lines: Vec<usize>,
}

impl Source {
    /// A byte order mark is dropped, for it is no column.
    pub fn new(name: &str, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        let mut lines = vec![0];
        let bytes = text.as_bytes();
        for (at, byte) in bytes.iter().enumerate() {
            // As YAML counts lines: LF, CR LF, or CR alone.
            if *byte == b'\n' || (*byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')) {
                lines.push(at + 1);
            }
        }
        Self {
            name: name.to_owned(),
            text,
            lines,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line of a place with its number, and a caret below the column. One line only, so that no more of a script
    /// gets into a log than is needed.
    pub fn snippet(&self, place: Position) -> Option<String> {
        let index = usize::try_from(place.line).ok()?.checked_sub(1)?;
        let start = *self.lines.get(index)?;
        let end = self
            .lines
            .get(index + 1)
            .map_or(self.text.len(), |next| *next);
        let line = self.text.get(start..end)?.trim_end_matches(['\n', '\r']);
        let column = usize::try_from(place.column).ok()?.saturating_sub(1);

        let skipped = if column > SHOWN - 10 {
            column - BEFORE
        } else {
            0
        };
        let mut shown = String::new();
        let mut caret = 0;
        if skipped > 0 {
            shown.push('…');
            caret += 1;
        }
        let mut rest = line.chars().skip(skipped);
        for (at, c) in rest.by_ref().take(SHOWN).enumerate() {
            let c = if c == '\t' { ' ' } else { c };
            // Characters without a width of their own would push the caret or the terminal around.
            let (c, width) = c.width().map_or(('\u{fffd}', 1), |width| (c, width));
            shown.push(c);
            if skipped + at < column {
                caret += width;
            }
        }
        if rest.next().is_some() {
            shown.push('…');
        }
        let number = place.line.to_string();
        let gutter = " ".repeat(number.len());
        Some(format!(
            " {number} | {shown}\n {gutter} | {}^",
            " ".repeat(caret)
        ))
    }
}
