//! Shows the JSON document behind a verdict as tables: names and values first, then a table for each list of objects.
//!
//! Components that GPUd knows have its columns (`layouts.rs`). The documents of all others are shown as they are built,
//! kept small: what is the same in all rows of a list is said once, lists in a cell are counted, and long lists cut.
//! `--json` has everything.

mod node;

use std::{collections::HashSet, fmt::Write as _};

use self::node::Node;
use super::{
    layouts::{self, Column, Part, Show},
    sizes::iec,
    table::{Table, wrap},
};

/// Most rows of one table; a list of ten thousand processes is nothing to read.
const MAX_ROWS: usize = 64;
/// Most columns of one list, and most lines of names and values.
const MAX_COLUMNS: usize = 64;
/// Most tables of one component.
const MAX_TABLES: usize = 16;

/// The tables for a component's document, no line wider than `width` columns; empty when it is no JSON object or says
/// nothing.
pub fn tables(component: &str, document: &str, width: usize) -> String {
    let Ok(root) = serde_json::from_str::<Node>(document) else {
        return String::new();
    };
    let parts = layouts::of(component).iter();
    let laid_out: String = parts
        .filter_map(|part| laid_out(part, &root, width))
        .collect();
    match (laid_out.is_empty(), &root) {
        (true, Node::Object(fields)) => as_built(fields, width),
        _ => laid_out,
    }
}

/// The table of a layout; nothing if the document has nothing for it.
fn laid_out(part: &Part, root: &Node, width: usize) -> Option<String> {
    let (rows, columns) = match part {
        Part::Pairs(columns) => {
            let mut table = Table::new();
            for column in *columns {
                if let Some(value) = root.at(column.path) {
                    table.row([column.title, &shown(column, value, "")]);
                }
            }
            return (!table.is_empty()).then(|| table.render_within(width));
        }
        Part::Rows(list, columns) => {
            let rows: Vec<_> = root
                .at(list)?
                .items()
                .iter()
                .map(|row| (None, row))
                .collect();
            (rows, *columns)
        }
        Part::RowsOfMap(map, list, columns) => {
            let Node::Object(entries) = root.at(map)? else {
                return None;
            };
            let lists = entries.iter().filter_map(|(_, entry)| entry.at(list));
            let rows = lists.flat_map(|list| list.items()).map(|row| (None, row));
            (rows.collect(), *columns)
        }
        Part::RowsOfRows(outer, list, columns) => {
            let rows = root.at(outer)?.items().iter().flat_map(|outer| {
                let inner = outer.at(list).map_or(&[][..], Node::items);
                inner.iter().map(move |row| (Some(outer), row))
            });
            (rows.collect(), *columns)
        }
    };
    if rows.is_empty() {
        return None;
    }
    let titles: Vec<String> = columns
        .iter()
        .map(|column| column.title.to_owned())
        .collect();
    let cells = |(outer, row): &(Option<&Node>, &Node)| -> Vec<String> {
        let own = row.at("uuid").map(Node::inline).unwrap_or_default();
        let cells = columns.iter().map(|column| {
            let value = match column.path.strip_prefix('^') {
                Some(path) => outer.and_then(|outer| outer.at(path)),
                None => row.at(column.path),
            };
            shown(column, value.unwrap_or(&Node::Nothing), &own)
        });
        cells.collect()
    };
    let grid = Grid {
        titles,
        rows: rows.iter().take(MAX_ROWS).map(cells).collect(),
    };
    let more = left_out(rows.len(), "rows");
    if grid.table().fits(width) {
        return Some(grid.table().render() + &more);
    }
    // On a narrow terminal, what is the same everywhere gives its room to the rest.
    let (shared, own) = grid.parted(0);
    let line = match shared.is_empty() {
        true => String::new(),
        false => in_width(
            &format!("in all {}: {}", rows.len(), shared.join(", ")),
            width,
        ),
    };
    Some(line + &own.beside(&shared, width) + &more)
}

/// A table whose cells are texts.
struct Grid {
    titles: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    fn table(&self) -> Table {
        let mut table = Table::with_header(&self.titles);
        for row in &self.rows {
            table.row(row);
        }
        table
    }

    /// The table below the line that says what all rows share; nothing if it would only name GPUs.
    fn beside(&self, shared: &[String], width: usize) -> String {
        let says = |title: &String| !NAMES_OF_GPUS.contains(&title.as_str());
        match shared.is_empty() || self.titles.iter().any(says) {
            true => self.table().render_within(width),
            false => String::new(),
        }
    }

    /// Returns the columns with the same value in every row of several, as names with values (without empty ones), and
    /// the columns that are left. The column at `names`, which tells the rows apart, comes first of them.
    fn parted(&self, names: usize) -> (Vec<String>, Self) {
        let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
        let (mut shared, mut own) = (Vec::new(), vec![names]);
        for (column, title) in self.titles.iter().enumerate() {
            let mut values = self.rows.iter().map(|row| cell(row, column));
            let first = values.next().unwrap_or_default();
            if column == names {
                continue;
            }
            if self.rows.len() > 1 && values.all(|value| value == first) {
                if !first.is_empty() {
                    shared.push(format!("{title} {first}"));
                }
                continue;
            }
            own.push(column);
        }
        let pick = |row: &Vec<String>| own.iter().map(|column| cell(row, *column)).collect();
        let left = Self {
            titles: pick(&self.titles),
            rows: self.rows.iter().map(pick).collect(),
        };
        (shared, left)
    }
}

/// A line of text in as many as it takes.
fn in_width(text: &str, width: usize) -> String {
    let lines = wrap(&super::terminal::printable(text), width, width);
    lines.join("\n") + "\n"
}

/// A value as its column says; what does not fit is shown as it is.
fn shown(column: &Column, value: &Node, own: &str) -> String {
    let plain = value.inline();
    let unit = |per: f64, unit: &str| match plain.parse::<f64>() {
        Ok(number) => format!("{:.0} {unit}", number / per),
        Err(_) => plain.clone(),
    };
    match column.show {
        Show::Plain => plain,
        Show::Bytes => plain.parse().map_or(plain.clone(), iec),
        Show::Watts => unit(1000.0, "W"),
        Show::Celsius => unit(1.0, "°C"),
        Show::Seconds => plain.parse().map_or(plain.clone(), days),
        Show::Count => value.items().len().to_string(),
        Show::Set(key) => {
            let items = value.items();
            let is_set =
                |item: &&Node| matches!(item.at(key), Some(Node::Scalar(text)) if text == "true");
            let set = items.iter().filter(is_set).count();
            format!("{set} of {}", items.len())
        }
        Show::OwnTexts => {
            let texts = value.items().iter().map(Node::inline);
            let texts: Vec<_> = texts
                .map(|text| {
                    let rest = text
                        .strip_prefix(own)
                        .and_then(|rest| rest.strip_prefix(": "));
                    rest.map(str::to_owned).unwrap_or(text)
                })
                .collect();
            texts.join(", ")
        }
    }
}

/// `1d 2h`, `2h 3m`, `4m`.
fn days(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match (days, hours) {
        (0, 0) => format!("{minutes}m"),
        (0, _) => format!("{hours}h {}m", minutes % 60),
        _ => format!("{days}d {}h", hours % 24),
    }
}

fn left_out(count: usize, what: &str) -> String {
    match count.saturating_sub(MAX_ROWS) {
        0 => String::new(),
        more => format!("({more} more {what}: see --json)\n"),
    }
}

/// A document without a layout.
fn as_built(fields: &[(String, Node)], width: usize) -> String {
    let mut found = ShownFields::default();
    found.split_fields("", fields);
    let mut pairs = Table::new();
    for (name, value) in found.pairs.iter().take(MAX_ROWS) {
        pairs.row([name.as_str(), value.as_str()]);
    }
    let mut text = pairs.render_within(width) + &left_out(found.pairs.len(), "values");
    for (name, items) in found.lists.iter().take(MAX_TABLES) {
        text.push_str(&list(name, items, width));
    }
    if found.lists.len() > MAX_TABLES {
        let _ = writeln!(
            text,
            "({} more lists: see --json)",
            found.lists.len() - MAX_TABLES
        );
    }
    text
}

#[derive(Default)]
struct ShownFields<'a> {
    pairs: Vec<(String, String)>,
    lists: Vec<(String, &'a [Node])>,
}

impl<'a> ShownFields<'a> {
    /// Scalars and lists of them become pairs; lists of objects tables of their own. What is empty says nothing.
    fn split_fields(&mut self, prefix: &str, fields: &'a [(String, Node)]) {
        for (key, value) in fields {
            let name = join(prefix, key);
            match value {
                Node::Nothing => {}
                Node::Object(fields) => self.split_fields(&name, fields),
                Node::List(items) if items.is_empty() => {}
                Node::List(items) if items.iter().any(|item| matches!(item, Node::Object(_))) => {
                    self.lists.push((name, items));
                }
                value => self.pairs.push((name, value.inline())),
            }
        }
    }
}

/// A list of objects, one row each; the columns are those of all rows in order of first appearance. A column that has
/// the same value in every row of several is printed in the line above. Where nothing is left that tells GPUs apart but
/// their names, that line is all.
fn list(name: &str, items: &[Node], width: usize) -> String {
    let rows: Vec<Vec<(String, String)>> = items.iter().take(MAX_ROWS).map(Node::cells).collect();
    let mut known = HashSet::new();
    let names = rows.iter().flatten().map(|(column, _)| column);
    let titles: Vec<String> = names
        .filter(|column| known.insert(column.as_str()))
        .take(MAX_COLUMNS)
        .cloned()
        .collect();
    let cells = |row: &Vec<(String, String)>| -> Vec<String> {
        let cell = |title| row.iter().find(|(name, _)| name == title);
        let cells = titles.iter().map(cell);
        cells
            .map(|cell| cell.map(|(_, text)| text.clone()).unwrap_or_default())
            .collect()
    };
    let rows = rows.iter().map(cells).collect();
    let grid = Grid { titles, rows };
    let (shared, own) = grid.parted(name_of_rows(&grid.titles));
    let line = match shared.is_empty() {
        true => in_width(&format!("{name}:"), width),
        false => {
            let shared = shared.join(", ");
            in_width(&format!("{name}: in all {}: {shared}", items.len()), width)
        }
    };
    line + &own.beside(&shared, width) + &left_out(items.len(), "rows")
}

/// Columns that name a GPU; the inventory and the tables of other components have them, too.
const NAMES_OF_GPUS: [&str; 5] = ["uuid", "gpu_uuid", "bus_id", "GPU UUID", "GPU Bus ID"];

/// The column by which a reader tells the rows apart.
fn name_of_rows(titles: &[String]) -> usize {
    let usual = [
        "uuid",
        "gpu_uuid",
        "name",
        "device",
        "mount_point",
        "bus_id",
        "id",
    ];
    let at = |name: &&str| titles.iter().position(|title| title == name);
    usual.iter().find_map(at).unwrap_or(0)
}

fn join(prefix: &str, key: &str) -> String {
    match prefix {
        "" => key.to_owned(),
        prefix => format!("{prefix}.{key}"),
    }
}

#[cfg(test)]
#[path = "details_tests.rs"]
mod tests;
