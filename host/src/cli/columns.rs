//! Tables without a frame: aligned columns, the last of them wrapped at the terminal's width, or below the others where they
//! leave no room for it.

use unicode_width::UnicodeWidthStr as _;

use super::{
    table::wrap,
    terminal::{Mark, Terminal, printable},
};

/// Blanks between columns.
const GAP: usize = 2;
/// Narrowest last column. Where there is less room, it has lines of its own.
const MIN_LAST: usize = 16;
/// Blanks before such a line.
const BELOW: usize = 4;

/// Rows that are being collected.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Columns {
    /// Makes a table with these titles.
    pub fn new(titles: &[&str]) -> Self {
        Self {
            header: titles.iter().map(|title| (*title).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row, made harmless.
    pub fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cells = cells.into_iter().map(|cell| printable(cell.as_ref()));
        self.rows.push(cells.collect());
    }

    /// All lines; nothing without rows.
    pub fn render(&self, terminal: Terminal) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let last = self.header.len().saturating_sub(1);
        let rows = || self.rows.iter().chain([&self.header]);
        let widest = |column: usize| {
            let cells = rows().filter_map(|row| row.get(column));
            cells.map(|cell| cell.width()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..last).map(widest).collect();
        let indent: usize = widths.iter().map(|width| width + GAP).sum();
        let room = terminal.width().saturating_sub(indent);
        let below = room < MIN_LAST && last > 0;
        let (indent, room) = match below {
            true => (BELOW, terminal.width().saturating_sub(BELOW).max(MIN_LAST)),
            false => (indent, room.max(MIN_LAST)),
        };
        let line = |row: &Vec<String>| {
            let mut text = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                text.push_str(cell);
                text.push_str(&" ".repeat(width + GAP - cell.width()));
            }
            let cell = row.get(last).map_or("", String::as_str);
            let separator = format!("\n{}", " ".repeat(indent));
            if below && !cell.is_empty() {
                text.push_str(&separator);
            }
            text.push_str(&wrap(cell, room, room).join(&separator));
            let lines = text.lines().map(str::trim_end);
            lines.collect::<Vec<_>>().join("\n")
        };
        let mut text = terminal.paint(Mark::Strong, &line(&self.header));
        for row in &self.rows {
            text.push('\n');
            text.push_str(&line(row));
        }
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_takes_what_is_left() {
        let mut columns = Columns::new(&["A", "TIME", "WHAT"]);
        assert_eq!(columns.render(Terminal::PLAIN), "");
        columns.row(["東京", "1", "one two three four five six seven eight"]);
        columns.row(["b\u{1b}[2J", "22"]);
        insta::assert_snapshot!(columns.render(Terminal::with_signs(40)), @r"
        A           TIME  WHAT
        東京        1     one two three four
                          five six seven eight
        b\u{1b}[2J  22
        ");
    }

    #[test]
    fn the_last_column_is_below_where_the_others_leave_no_room() {
        let mut columns = Columns::new(&["A", "TIME", "WHAT"]);
        columns.row([
            "a name that is long",
            "1",
            "one two three four five six seven",
        ]);
        columns.row(["b", "22", ""]);
        let shown = columns.render(Terminal::with_signs(32));
        assert_eq!(
            shown.lines().collect::<Vec<_>>(),
            [
                "A                    TIME",
                "    WHAT",
                "a name that is long  1",
                "    one two three four five six",
                "    seven",
                "b                    22",
            ]
        );
        assert!(shown.lines().all(|line| line.width() <= 32));
    }
}
