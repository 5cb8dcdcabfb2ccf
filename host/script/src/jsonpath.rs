//! One query of RFC 9535 over one decoded JSON object, for parsers that say `query_language: jsonpath`.
//!
//! `jsonpath-rust` evaluates it. The crate writes out the path of every node that it visits and cannot be stopped on the
//! way, so the work is estimated, from above, before it is asked.

use jsonpath_rust::{
    parser::{
        model::{
            Comparable, Filter, FilterAtom, FnArg, JpQuery, Segment, Selector, Test, TestFunction,
        },
        parse_json_path,
    },
    query::js_path_process,
};
use serde_json::Value;

use super::text;

/// Longest query, bytes.
pub const MAX_QUERY_BYTES: usize = 4096;
/// Deepest nesting of brackets and parentheses: the crate's parser tries nested functions twice a level.
pub const MAX_NESTING: usize = 8;
/// Most work: bytes of paths that may be written, at the most.
pub const MAX_WORK: u64 = 64 << 20;
/// The separator between the values of several matches.
const SEPARATOR: &str = ", ";

/// A compiled query.
#[derive(Debug, Clone, PartialEq)]
pub struct StandardQuery {
    query: JpQuery,
    cost: Cost,
}

/// Why a query gives no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StandardQueryError {
    /// The text is not a query of RFC 9535.
    #[error("not a JSONPath query (RFC 9535): {0}")]
    Syntax(String),
    /// The query could take too long on this document.
    #[error(
        "the query asks for too much work on this output: name members instead of using `..`, or print less"
    )]
    TooMuchWork,
    /// The crate could not evaluate it.
    #[error("{0}")]
    Evaluate(String),
}

impl StandardQuery {
    /// Compiles a query.
    ///
    /// # Errors
    /// [`StandardQueryError::Syntax`], also for a query that is longer than [`MAX_QUERY_BYTES`] or nested deeper than
    /// [`MAX_NESTING`].
    pub fn parse(text: &str) -> Result<Self, StandardQueryError> {
        let refuse = |why: String| Err(StandardQueryError::Syntax(why));
        if text.len() > MAX_QUERY_BYTES {
            return refuse(format!("it is longer than {MAX_QUERY_BYTES} bytes"));
        }
        if nesting(text) > MAX_NESTING {
            return refuse(format!("it is nested deeper than {MAX_NESTING}"));
        }
        let query = match parse_json_path(text) {
            Ok(query) => query,
            Err(error) => return refuse(error.to_string()),
        };
        let mut cost = Cost::default();
        cost.add_segments(&query.segments, false);
        if let Some(name) = &cost.unknown_function {
            return refuse(format!("it has no function `{name}`"));
        }
        Ok(Self { query, cost })
    }

    /// Returns the text of what the query finds: of one match its own, of several all of them joined by `, `. `None` if
    /// it finds nothing; JSON null counts as nothing.
    ///
    /// # Errors
    /// [`StandardQueryError::TooMuchWork`] before anything is evaluated.
    pub fn select(&self, document: &Value) -> Result<Option<String>, StandardQueryError> {
        if self.cost.on(&Size::of(document)) > MAX_WORK {
            return Err(StandardQueryError::TooMuchWork);
        }
        let found = js_path_process(&self.query, document)
            .map_err(|error| StandardQueryError::Evaluate(error.to_string()))?;
        let texts: Vec<String> = found
            .into_iter()
            .map(|found| found.val())
            .filter(|value| !value.is_null())
            .map(text::of)
            .collect();
        Ok((!texts.is_empty()).then(|| texts.join(SEPARATOR)))
    }
}

/// Deepest nesting of brackets and parentheses. Those in quotes count as well: too much is refused rather than too little.
fn nesting(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    for byte in text.bytes() {
        match byte {
            b'[' | b'(' => depth += 1,
            b']' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// The parts of a query that multiply its work.
#[derive(Debug, Clone, PartialEq, Default)]
struct Cost {
    /// Segments `..` of the query itself.
    descents: u32,
    /// Queries inside filters, and the segments `..` in these.
    inner: u32,
    /// Product of the numbers of selectors of each segment.
    selectors: u64,
    /// A function that RFC 9535 does not define.
    unknown_function: Option<String>,
}

/// The properties of a document that multiply the work.
#[derive(Debug, Default)]
struct Size {
    nodes: u64,
    depth: u64,
    /// Bytes of the paths of all nodes.
    path_bytes: u64,
}

impl Size {
    fn of(document: &Value) -> Self {
        let mut size = Self::default();
        size.add(document, 1, 1);
        size
    }

    fn add(&mut self, value: &Value, depth: u64, path: u64) {
        self.nodes += 1;
        self.depth = self.depth.max(depth);
        self.path_bytes = self.path_bytes.saturating_add(path);
        match value {
            Value::Array(items) => {
                for item in items {
                    self.add(item, depth + 1, path + 8);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    self.add(member, depth + 1, path + name.len() as u64 + 4);
                }
            }
            _ => {}
        }
    }
}

impl Cost {
    /// The work on a document, from above. A node is found once for each of its ancestors by a second `..`; a query in a
    /// filter can visit all nodes for each node.
    fn on(&self, size: &Size) -> u64 {
        let mut work = size.path_bytes.saturating_mul(self.selectors.max(1));
        for _ in 1..self.descents {
            work = work.saturating_mul(size.depth);
        }
        for _ in 0..self.inner {
            work = work.saturating_mul(size.nodes);
        }
        work
    }

    fn add_segments(&mut self, segments: &[Segment], inside: bool) {
        for segment in segments {
            self.add_segment(segment, inside);
        }
    }

    fn add_segment(&mut self, segment: &Segment, inside: bool) {
        match segment {
            Segment::Descendant(segment) => {
                if inside {
                    self.inner += 1;
                } else {
                    self.descents += 1;
                }
                self.add_segment(segment, inside);
            }
            Segment::Selector(selector) => self.add_selector(selector, inside),
            Segment::Selectors(selectors) => {
                let count = selectors.len() as u64;
                self.selectors = self.selectors.max(1).saturating_mul(count);
                for selector in selectors {
                    self.add_selector(selector, inside);
                }
            }
        }
    }

    fn add_selector(&mut self, selector: &Selector, inside: bool) {
        match selector {
            Selector::Filter(filter) => self.add_filter(filter),
            // Inside a filter it is evaluated for each node that the filter sees.
            Selector::Wildcard | Selector::Slice(..) if inside => self.inner += 1,
            _ => {}
        }
    }

    fn add_filter(&mut self, filter: &Filter) {
        match filter {
            Filter::Or(filters) | Filter::And(filters) => {
                filters.iter().for_each(|filter| self.add_filter(filter));
            }
            Filter::Atom(FilterAtom::Filter { expr, .. }) => self.add_filter(expr),
            Filter::Atom(FilterAtom::Test { expr, .. }) => self.add_test(expr),
            Filter::Atom(FilterAtom::Comparison(comparison)) => {
                let (left, right) = comparison.vals();
                for side in [left, right] {
                    if let Comparable::Function(function) = side {
                        self.add_function(function);
                    }
                }
            }
        }
    }

    fn add_test(&mut self, test: &Test) {
        match test {
            Test::RelQuery(segments) => self.add_segments(segments, true),
            Test::AbsQuery(query) => self.add_segments(&query.segments, true),
            Test::Function(function) => self.add_function(function),
        }
    }

    fn add_function(&mut self, function: &TestFunction) {
        let arguments: Vec<&FnArg> = match function {
            TestFunction::Custom(name, _) => {
                self.unknown_function.get_or_insert_with(|| name.clone());
                return;
            }
            TestFunction::Length(argument) => vec![argument],
            TestFunction::Value(argument) | TestFunction::Count(argument) => vec![argument],
            TestFunction::Search(one, two) | TestFunction::Match(one, two) => vec![one, two],
        };
        for argument in arguments {
            match argument {
                FnArg::Literal(_) => {}
                FnArg::Test(test) => self.add_test(test),
                FnArg::Filter(filter) => self.add_filter(filter),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn select(query: &str, document: &Value) -> Result<Option<String>, StandardQueryError> {
        StandardQuery::parse(query)?.select(document)
    }

    #[test]
    fn filters_select_and_several_matches_are_joined() {
        let document = json!({"gpus": [
            {"id": 0, "temp": 45, "name": "H100"},
            {"id": 1, "temp": 91, "name": "H100"},
            {"id": 2, "temp": 88.5, "name": "A100", "owner": null},
        ]});
        for (query, expected) in [
            ("$.gpus[?@.temp > 80].id", Some("1, 2")),
            ("$.gpus[?@.name == 'A100'].temp", Some("88.5")),
            ("$.gpus[?search(@.name, '^A')].id", Some("2")),
            ("$.gpus[-1].name", Some("A100")),
            ("$.gpus[0:2].id", Some("0, 1")),
            ("$..temp", Some("45, 91, 88.5")),
            ("$.gpus[?@.temp > 100].id", None),
            ("$.gpus[2].owner", None),
            ("$.nothing", None),
            ("$.gpus[?count(@.*) > 3].id", Some("2")),
            ("$.gpus[0]", Some(r#"{"id":0,"name":"H100","temp":45}"#)),
        ] {
            assert_eq!(
                select(query, &document),
                Ok(expected.map(str::to_owned)),
                "{query}"
            );
        }
    }

    #[test]
    fn examples_of_the_guide_find_what_it_says() {
        let guide = include_str!("../../../docs/script-plugins.md");
        let (_, section) = guide.split_once("### Standard JSONPath").unwrap();
        let (section, _) = section.split_once("\n### ").unwrap();
        let mut examples = 0;
        for row in section.lines().filter(|line| line.contains("`{\"")) {
            let cells: Vec<&str> = row.split(" | ").collect();
            let (_, document) = cells[0].split_once("`{").unwrap();
            let document = format!("{{{}", document.trim_end_matches('`'));
            let document: Value = serde_json::from_str(&document).unwrap();
            let text = |cell: &str| cell.trim_matches([' ', '|', '`']).to_owned();
            assert_eq!(
                select(&text(cells[1]), &document),
                Ok(Some(text(cells[2]))),
                "{row}"
            );
            examples += 1;
        }
        assert_eq!(examples, 5);
    }

    #[test]
    fn what_is_no_query_is_refused_with_the_language() {
        let deep = format!("$[?{}@.a{}]", "(".repeat(9), ")".repeat(9));
        let long = format!("$.{}", "a".repeat(MAX_QUERY_BYTES));
        for query in [
            "",
            "gpus",
            "$.gpus[",
            "$[?@.a in @.b]",
            "$[?in(@.a, @.b)]",
            &deep,
            &long,
        ] {
            let error = StandardQuery::parse(query).unwrap_err().to_string();
            assert!(
                error.starts_with("not a JSONPath query (RFC 9535): "),
                "{query}: {error}"
            );
        }
    }

    #[test]
    fn nested_functions_are_parsed_in_no_time() {
        let nested = format!("$[?{}@.a{} > 1]", "length(".repeat(6), ")".repeat(6));
        let _ = StandardQuery::parse(&nested);
    }

    #[test]
    fn too_much_work_is_refused_before_it_is_done() {
        let many = json!({"a": vec![json!({"b": [1, 2, 3]}); 5000]});
        assert!(select("$.a[?@.b[0] == 1].b[1]", &many).is_ok());
        assert!(select("$..b", &many).is_ok());
        // A long key above many nodes: its bytes are written for each.
        let long_key = json!({"k".repeat(16 * 1024): vec![0; 20_000]});
        for (query, document) in [
            ("$..*", &long_key),
            ("$..[?count($..*) > 1]", &many),
            ("$[*,*][*,*][*,*][*,*][*,*][*,*][*,*][*,*][*,*][*,*]", &many),
        ] {
            assert_eq!(
                select(query, document),
                Err(StandardQueryError::TooMuchWork),
                "{query}"
            );
        }
    }
}
