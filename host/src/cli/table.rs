//! Tables for people: `+---+` rules, cells centred and wrapped at 30 columns.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr};

use super::terminal::{Terminal, printable};

/// Widest cell in columns; only a single word may be wider.
const WRAP_AT: usize = 30;
/// Columns that the frame of a cell takes.
const FRAME: usize = 3;
/// Where cells are wrapped at the earliest; longer words stay whole.
const NARROWEST: usize = 10;
/// A table is not made narrower than this.
const MIN_WIDTH: usize = 40;

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
        let limit = if self.wide { usize::MAX } else { WRAP_AT };
        let cells = self.cells(|_| (limit, usize::MAX));
        let all: Vec<usize> = (0..cells.widths.len()).collect();
        cells.draw(&all, self.ruled, terminal)
    }

    /// Whether [`Table::render`] needs no line wider than `width` columns.
    pub fn fits(&self, width: usize) -> bool {
        let whole = self.render();
        whole.lines().next().map_or(0, UnicodeWidthStr::width) <= width
    }

    /// The same as [`Table::render`], no line wider than `width` columns: cells are wrapped earlier, columns that even
    /// then have no room beside the others follow in a table of their own, with the first column again, and words that
    /// are too long are cut.
    pub fn render_within(&self, width: usize) -> String {
        let width = width.max(MIN_WIDTH);
        if self.fits(width) {
            return self.render();
        }
        let mut text = String::new();
        let mut columns: Vec<usize> = Vec::new();
        let mut taken = 1;
        let cells = self.narrowed(width);
        for (column, wide) in cells.widths.iter().enumerate() {
            if taken + wide + FRAME > width && columns.len() > 1 {
                text.push_str(&cells.draw(&columns, self.ruled, Terminal::PLAIN));
                columns.truncate(1);
                taken = 1 + FRAME + cells.widths.first().copied().unwrap_or(0);
            }
            columns.push(column);
            taken += wide + FRAME;
        }
        text + &cells.draw(&columns, self.ruled, Terminal::PLAIN)
    }

    /// The cells wrapped so that any two columns fit beside each other, and all of them if that can be.
    fn narrowed(&self, width: usize) -> Cells {
        let frame = FRAME * 2 + 1;
        if self.header.is_empty() {
            // Names and values: the values get what the names leave.
            let most = (width - frame) / 2;
            let names = self.cells(|_| (most, most));
            let names = names.widths.first().copied().unwrap_or(0);
            let values = width - frame - names;
            return self.cells(|column| match column {
                0 => (most, most),
                _ => (values, values),
            });
        }
        let other = WRAP_AT.min((width - frame) / 2);
        let first = width - frame - other;
        let wrapped = |limit| {
            self.cells(|column| match column {
                0 => (first, first),
                _ => (limit, other),
            })
        };
        let limits = [24, 16, NARROWEST];
        let all = limits.into_iter().map(|limit| wrapped(limit.min(other)));
        let mut fitting = all.filter(|cells| cells.width() <= width);
        fitting
            .next()
            .unwrap_or_else(|| wrapped(NARROWEST.min(other)))
    }

    /// The cells wrapped: for each column the most columns of a line, and of a word.
    fn cells(&self, limits: impl Fn(usize) -> (usize, usize)) -> Cells {
        let wrapped = |row: &Vec<String>| -> WrappedRow {
            let cells = row.iter().enumerate();
            cells
                .map(|(column, cell)| {
                    let (line, word) = limits(column);
                    wrap(cell, line, word)
                })
                .collect()
        };
        let header = wrapped(&self.header);
        let rows: Vec<WrappedRow> = self.rows.iter().map(wrapped).collect();
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
        Cells {
            header,
            rows,
            widths,
        }
    }
}

/// The lines of each cell of a row.
type WrappedRow = Vec<Vec<String>>;

/// A table whose cells are wrapped.
struct Cells {
    header: WrappedRow,
    rows: Vec<WrappedRow>,
    widths: Vec<usize>,
}

impl Cells {
    /// Columns that a line takes.
    fn width(&self) -> usize {
        let widths = self.widths.iter();
        widths.map(|width| width + FRAME).sum::<usize>() + 1
    }

    /// These columns of it, a newline at the end; empty without columns.
    fn draw(&self, columns: &[usize], ruled: bool, terminal: Terminal) -> String {
        let widths: Vec<(usize, usize)> = columns
            .iter()
            .filter_map(|&column| Some((column, *self.widths.get(column)?)))
            .collect();
        if widths.is_empty() {
            return String::new();
        }
        let dashes: Vec<_> = widths
            .iter()
            .map(|(_, width)| "-".repeat(width + 2))
            .collect();
        let rule = format!("+{}+\n", dashes.join("+"));
        let mut text = rule.clone();
        if !self.header.is_empty() {
            push_row(&mut text, &self.header, &widths, terminal);
            text.push_str(&rule);
        }
        for (at, row) in self.rows.iter().enumerate() {
            push_row(&mut text, row, &widths, terminal);
            if ruled || at + 1 == self.rows.len() {
                text.push_str(&rule);
            }
        }
        text
    }
}

/// Adds these columns (number and width) of one row, as many lines as its tallest cell has.
fn push_row(
    text: &mut String,
    cells: &[Vec<String>],
    columns: &[(usize, usize)],
    terminal: Terminal,
) {
    let shown = columns.iter().filter_map(|(column, _)| cells.get(*column));
    let height = shown.map(Vec::len).max().unwrap_or(0).max(1);
    for line in 0..height {
        for (column, width) in columns {
            let cell = cells.get(*column).and_then(|lines| lines.get(line));
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

/// Words filled into lines of at most `limit` columns; a longer word gets a line of its own, and is cut where it is
/// wider than `longest`.
pub(super) fn wrap(cell: &str, limit: usize, longest: usize) -> Vec<String> {
    if cell.width() <= limit.min(longest) {
        return vec![cell.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for word in cell.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= limit => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.extend(pieces(word, longest)),
        }
    }
    lines
}

/// A word in pieces of at most `longest` columns.
fn pieces(word: &str, longest: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut width = 0;
    for character in word.chars() {
        let wide = character.width().unwrap_or(0);
        if width + wide > longest && width > 0 {
            pieces.push(String::new());
            width = 0;
        }
        width += wide;
        if let Some(piece) = pieces.last_mut() {
            piece.push(character);
        }
    }
    pieces
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

    #[test]
    fn what_has_no_room_follows_below() {
        let mut table = Table::with_header(["GPU UUID", "total", "used", "clock event reasons"]);
        table.row([
            "GPU-1582a755-bac3-4f01-a000-1582a755bac3",
            "80 GiB",
            "4.0 MiB",
            "GPU idle: nothing runs, the clocks are low",
        ]);
        insta::assert_snapshot!(table.render_within(56), @r"
        +---------------------------+--------+---------+
        |         GPU UUID          | TOTAL  |  USED   |
        +---------------------------+--------+---------+
        | GPU-1582a755-bac3-4f01-a0 | 80 GiB | 4.0 MiB |
        |      00-1582a755bac3      |        |         |
        +---------------------------+--------+---------+
        +---------------------------+------------+
        |         GPU UUID          |   CLOCK    |
        |                           |   EVENT    |
        |                           |  REASONS   |
        +---------------------------+------------+
        | GPU-1582a755-bac3-4f01-a0 | GPU idle:  |
        |      00-1582a755bac3      |  nothing   |
        |                           | runs, the  |
        |                           | clocks are |
        |                           |    low     |
        +---------------------------+------------+
        ");
        assert_eq!(table.render_within(200), table.render());
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_it_may_be(
            header in proptest::bool::ANY,
            width in 40_usize..120,
            rows in proptest::collection::vec(proptest::collection::vec("[ -~é東]{0,90}", 0..8), 1..4)
        ) {
            let mut table = match header {
                true => Table::with_header(["one", "two", "three"]),
                false => Table::new(),
            };
            for row in &rows {
                table.row(row);
            }
            let text = table.render_within(width);
            prop_assert!(text.lines().all(|line| line.width() <= width), "{}", text);
            // Nothing is lost: every character that is no blank is there as often, or more often for the first column.
            let count = |text: &str, c: char| text.chars().filter(|other| *other == c).count();
            let all: String = rows.iter().flatten().cloned().collect();
            for c in "aé東".chars() {
                prop_assert!(count(&text, c) >= count(&all, c), "{} {}", c, text);
            }
        }

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
            let lines = wrap(&cell, WRAP_AT, usize::MAX);
            let words: Vec<_> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
            prop_assert_eq!(words, cell.split_whitespace().collect::<Vec<_>>());
            prop_assert!(lines.iter().all(|line| line.width() <= WRAP_AT || !line.contains(' ')));
        }
    }
}
