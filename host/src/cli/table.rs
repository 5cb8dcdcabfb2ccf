//! Tables for people: `+---+` rules, cells centred and wrapped at 30 columns.

use unicode_width::UnicodeWidthStr as _;

use super::terminal::{Terminal, printable};

/// Widest cell in columns; only a single word may be wider.
const WRAP_AT: usize = 30;

/// A table that is being put together.
#[derive(Debug, Clone, Default)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    wide: bool,
    ruled: bool,
}

impl Table {
    /// Without a header: rows of names and values.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a header, which is shown in capitals, `_` as blanks.
    pub fn with_header<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Self {
        Self {
            header: names
                .into_iter()
                .map(|name| capitals(name.as_ref()))
                .collect(),
            ..Self::default()
        }
    }

    /// The same table, its cells not wrapped.
    #[must_use]
    pub fn wide(self) -> Self {
        Self { wide: true, ..self }
    }

    /// The same table with a rule below every row.
    #[must_use]
    pub fn ruled(self) -> Self {
        Self {
            ruled: true,
            ..self
        }
    }

    /// Adds a row. Missing cells stay empty. Line breaks and control characters are made harmless.
    pub fn row<S: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cells = cells.into_iter().map(|cell| printable(cell.as_ref()));
        self.rows.push(cells.collect());
    }

    /// Whether there is nothing to show besides a header.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The whole table, a newline at its end; empty without columns.
    pub fn render(&self) -> String {
        self.render_on(Terminal::PLAIN)
    }

    /// The same, the sign ✔ or ✘ at the beginning of a cell in colour where the terminal has it.
    pub fn render_on(&self, terminal: Terminal) -> String {
        let wrapped = |row: &Vec<String>| -> Vec<Vec<String>> {
            let limit = if self.wide { usize::MAX } else { WRAP_AT };
            row.iter().map(|cell| wrap(cell, limit)).collect()
        };
        let header = wrapped(&self.header);
        let rows: Vec<_> = self.rows.iter().map(wrapped).collect();
        let mut widths = Vec::new();
        for row in rows.iter().chain([&header]) {
            for (column, lines) in row.iter().enumerate() {
                let width = lines.iter().map(|line| line.width()).max().unwrap_or(0);
                match widths.get_mut(column) {
                    Some(widest) => *widest = width.max(*widest),
                    None => widths.push(width),
                }
            }
        }
        if widths.is_empty() {
            return String::new();
        }
        let dashes: Vec<_> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
        let rule = format!("+{}+\n", dashes.join("+"));
        let mut text = rule.clone();
        if !header.is_empty() {
            push_row(&mut text, &header, &widths, terminal);
            text.push_str(&rule);
        }
        for (at, row) in rows.iter().enumerate() {
            push_row(&mut text, row, &widths, terminal);
            if self.ruled || at + 1 == rows.len() {
                text.push_str(&rule);
            }
        }
        text
    }
}

/// Adds one row, as many lines as its tallest cell has.
fn push_row(text: &mut String, cells: &[Vec<String>], widths: &[usize], terminal: Terminal) {
    let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
    for line in 0..height {
        for (column, width) in widths.iter().enumerate() {
            let cell = cells.get(column).and_then(|lines| lines.get(line));
            let cell = cell.map_or("", String::as_str);
            let gap = width.saturating_sub(cell.width());
            let left = gap / 2;
            text.push_str("| ");
            text.extend(std::iter::repeat_n(' ', left));
            let (sign, rest) = signed(cell, terminal);
            text.push_str(sign);
            text.push_str(rest);
            text.extend(std::iter::repeat_n(' ', gap - left + 1));
        }
        text.push_str("|\n");
    }
}

/// The sign at the beginning of a cell as the terminal shows it, and what follows.
fn signed(cell: &str, terminal: Terminal) -> (&'static str, &str) {
    [terminal.good(), terminal.bad()]
        .into_iter()
        .zip([Terminal::PLAIN.good(), Terminal::PLAIN.bad()])
        .find_map(|(shown, plain)| Some((shown, cell.strip_prefix(plain)?)))
        .unwrap_or(("", cell))
}

/// Words filled into lines of at most `limit` columns; a longer word gets a line of its own.
fn wrap(cell: &str, limit: usize) -> Vec<String> {
    if cell.width() <= limit {
        return vec![cell.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for word in cell.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= limit => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A header cell: capitals, `_` as a blank, `.` too unless it stands beside a digit.
fn capitals(name: &str) -> String {
    let characters: Vec<char> = printable(name).chars().collect();
    let is_digit = |at: Option<usize>| {
        at.and_then(|at| characters.get(at))
            .is_some_and(char::is_ascii_digit)
    };
    let mut title = String::with_capacity(name.len());
    for (at, character) in characters.iter().enumerate() {
        match character {
            '_' => title.push(' '),
            '.' if !is_digit(at.checked_sub(1)) && !is_digit(at.checked_add(1)) => title.push(' '),
            other => title.extend(other.to_uppercase()),
        }
    }
    title
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cli::terminal::ColorChoice;

    #[test]
    fn with_and_without_header() {
        let mut table = Table::with_header(["GPU_uuid", "used.percent", "v1.2"]);
        table.row(["GPU-1", "7", "yes"]);
        table.row(["a longer name that does not fit into one line", "100"]);
        insta::assert_snapshot!(table.render(), @r"
        +-----------------------------+--------------+------+
        |          GPU UUID           | USED PERCENT | V1.2 |
        +-----------------------------+--------------+------+
        |            GPU-1            |      7       | yes  |
        | a longer name that does not |     100      |      |
        |      fit into one line      |              |      |
        +-----------------------------+--------------+------+
        ");
        let mut pairs = Table::new();
        pairs.row(["OS Image", "Débian\n12"]);
        pairs.row(["CPU", "東京"]);
        insta::assert_snapshot!(pairs.render(), @r"
        +----------+-----------+
        | OS Image | Débian 12 |
        |   CPU    |   東京    |
        +----------+-----------+
        ");
        insta::assert_snapshot!(pairs.wide().render(), @r"
        +----------+-----------+
        | OS Image | Débian 12 |
        |   CPU    |   東京    |
        +----------+-----------+
        ");
    }

    #[test]
    fn ruled_with_signs_in_colour() {
        let mut table = Table::with_header(["Valid", "n"]).ruled();
        table.row(["✔ valid", "1"]);
        table.row(["✘ invalid", "\u{1b}[31m"]);
        insta::assert_snapshot!(table.render(), @r"
        +-----------+------------+
        |   VALID   |     N      |
        +-----------+------------+
        |  ✔ valid  |     1      |
        +-----------+------------+
        | ✘ invalid | \u{1b}[31m |
        +-----------+------------+
        ");
        let coloured = table.render_on(Terminal::stdout(ColorChoice::Always));
        assert!(coloured.contains("|  \u{1b}[32m✔\u{1b}[0m valid  |"));
        assert!(coloured.contains("| \u{1b}[31m✘\u{1b}[0m invalid |"));
        assert_eq!(coloured.matches('\u{1b}').count(), 4);
    }

    #[test]
    fn an_empty_table_is_nothing_and_a_bare_header_is_shown() {
        assert_eq!(Table::new().render(), "");
        assert!(Table::new().is_empty());
        assert_eq!(Table::with_header(["a"]).render(), "+---+\n| A |\n+---+\n");
    }

    proptest! {
        #[test]
        fn every_line_is_as_wide_as_the_others(
            rows in proptest::collection::vec(proptest::collection::vec("[ -~é東\u{1b}\n]{0,50}", 0..4), 1..6)
        ) {
            let mut table = Table::with_header(["one", "two"]);
            for row in &rows {
                table.row(row);
            }
            let text = table.render();
            let widths: Vec<_> = text.lines().map(|line| line.width()).collect();
            prop_assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{}", text);
            let escape = char::from(27);
            prop_assert!(!text.contains(escape));
        }

        #[test]
        fn wrapping_loses_no_word(cell in "[a-z ]{0,120}") {
            let lines = wrap(&cell, WRAP_AT);
            let words: Vec<_> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
            prop_assert_eq!(words, cell.split_whitespace().collect::<Vec<_>>());
            prop_assert!(lines.iter().all(|line| line.width() <= WRAP_AT || !line.contains(' ')));
        }
    }
}
