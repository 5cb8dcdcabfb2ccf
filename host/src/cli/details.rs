//! Shows the JSON document behind a verdict as tables: names and values first, then a table for each list of objects.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};

use super::table::Table;

/// Most rows of one table; a list of ten thousand processes is nothing to read.
const MAX_ROWS: usize = 100;

/// A JSON value whose objects keep the order of their keys.
enum Node {
    Scalar(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// The tables for a document; empty when it is no JSON object or says nothing.
pub fn tables(document: &str) -> String {
    let Ok(Node::Object(fields)) = serde_json::from_str(document) else {
        return String::new();
    };
    let mut pairs = Table::new();
    let mut lists = String::new();
    sort_out("", &fields, &mut pairs, &mut lists);
    pairs.render() + &lists
}

/// Scalars and short lists go into `pairs`, lists of objects become tables of their own.
fn sort_out(prefix: &str, fields: &[(String, Node)], pairs: &mut Table, lists: &mut String) {
    for (key, value) in fields {
        let name = join(prefix, key);
        match value {
            Node::Scalar(text) => pairs.row([name.as_str(), text]),
            Node::Object(fields) => sort_out(&name, fields, pairs, lists),
            Node::List(items) if items.iter().any(|item| matches!(item, Node::Object(_))) => {
                lists.push_str(&list(&name, items));
            }
            Node::List(_) => pairs.row([name.as_str(), &value.inline()]),
        }
    }
}

/// A list of objects, one row each; the columns are those of all rows in order of first appearance.
fn list(name: &str, items: &[Node]) -> String {
    let rows: Vec<Vec<(String, String)>> = items.iter().take(MAX_ROWS).map(Node::cells).collect();
    let mut columns: Vec<&str> = Vec::new();
    for (column, _) in rows.iter().flatten() {
        if !columns.contains(&column.as_str()) {
            columns.push(column);
        }
    }
    let mut table = Table::with_header(&columns);
    for row in &rows {
        table.row(columns.iter().map(|column| {
            let cell = row.iter().find(|(name, _)| name == column);
            cell.map_or("", |(_, text)| text)
        }));
    }
    let more = items.len().saturating_sub(MAX_ROWS);
    let note = match more {
        0 => String::new(),
        more => format!("({more} more)\n"),
    };
    format!("{name}:\n{}{note}", table.render())
}

fn join(prefix: &str, key: &str) -> String {
    match prefix {
        "" => key.to_owned(),
        prefix => format!("{prefix}.{key}"),
    }
}

impl Node {
    /// The cells of a row, nested names joined by dots.
    fn cells(&self) -> Vec<(String, String)> {
        let mut cells = Vec::new();
        self.add_cells("", &mut cells);
        cells
    }

    fn add_cells(&self, name: &str, cells: &mut Vec<(String, String)>) {
        match self {
            Self::Object(fields) => {
                for (key, value) in fields {
                    value.add_cells(&join(name, key), cells);
                }
            }
            other => cells.push((name.to_owned(), other.inline())),
        }
    }

    /// In one cell.
    fn inline(&self) -> String {
        match self {
            Self::Scalar(text) => text.clone(),
            Self::List(items) => {
                let items: Vec<_> = items.iter().map(Self::inline).collect();
                items.join(", ")
            }
            Self::Object(_) => {
                let cells = self.cells();
                let pairs: Vec<_> = cells
                    .iter()
                    .map(|(name, text)| format!("{name}={text}"))
                    .collect();
                pairs.join(" ")
            }
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyNode)
    }
}

struct AnyNode;

impl<'de> Visitor<'de> for AnyNode {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(String::new()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Scalar(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut object = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            object.push(entry);
        }
        Ok(Node::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_as_tables() {
        let document = r#"{"usage":{"used_percent":"7.10","load":{"1min":0.5}},"cores":8,"names":["b","a"],"none":null,"empty":[],
            "gpus":[{"uuid":"GPU-1","ecc":{"on":true},"procs":[{"pid":1},{"pid":2}]},{"uuid":"GPU-2","extra":-1}],"ok":false}"#;
        insta::assert_snapshot!(tables(document), @r"
        +--------------------+-------+
        | usage.used_percent | 7.10  |
        |  usage.load.1min   |  0.5  |
        |       cores        |   8   |
        |       names        | b, a  |
        |        none        |       |
        |       empty        |       |
        |         ok         | false |
        +--------------------+-------+
        gpus:
        +-------+--------+--------------+-------+
        | UUID  | ECC ON |    PROCS     | EXTRA |
        +-------+--------+--------------+-------+
        | GPU-1 |  true  | pid=1, pid=2 |       |
        | GPU-2 |        |              |  -1   |
        +-------+--------+--------------+-------+
        ");
    }

    #[test]
    fn long_lists_are_cut() {
        let rows = vec![r#"{"a":1}"#; MAX_ROWS + 3].join(",");
        let text = tables(&format!(r#"{{"l":[{rows}]}}"#));
        assert_eq!(
            text.lines().filter(|line| line.contains('1')).count(),
            MAX_ROWS
        );
        assert!(text.ends_with("(3 more)\n"), "{text}");
    }

    #[test]
    fn what_is_no_object_shows_nothing() {
        for document in ["", "x", "[1]", "{}", "7", r#"{"a":{}}"#] {
            assert_eq!(tables(document), "", "{document}");
        }
    }
}
