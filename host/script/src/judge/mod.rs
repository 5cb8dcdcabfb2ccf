//! From what the steps printed to a verdict: values, expectations, actions.

use std::{collections::BTreeMap, fmt, sync::OnceLock};

use serde_json::Value;

use super::{
    json,
    jsonpath::StandardQuery,
    pattern::{LazyPattern, PatternError},
    query::Query,
    text,
};
use crate::{
    model::Health,
    wire::{self, QueryLanguage, SuggestedActions, go_quote},
};

#[cfg(test)]
mod tests;

/// Most text that the values of one check may hold together, bytes. Each value counts once for its field and once for
/// each action that it proposes. GPUd has no bound; a thousand paths over one mebibyte of output would be a gibibyte.
const MAX_VALUE_BYTES: usize = 16 << 20;
/// Longest error of a parse failure, bytes. Queries and patterns are quoted in them.
const MAX_ERROR_BYTES: usize = 4096;

/// How the steps ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Execution {
    /// The output of all steps, one after another.
    pub output: Vec<u8>,
    /// The last step's.
    pub exit_code: i32,
    /// Why a step failed; `None` if none did.
    pub error: Option<String>,
    /// Whether more was printed than `output` holds.
    pub truncated: bool,
    /// Whether gpud could not run a step, as opposed to a step that ran and failed.
    pub not_run: bool,
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// Whether all is well.
    pub healthy: bool,
    /// Whether gpud could not run a step. Such a verdict is no evidence about the machine.
    pub unknown: bool,
    /// One of four fixed texts, the second with an exit code: `failed to parse plugin output`,
    /// `error executing state plugin (exit code: 1)`, `unexpected plugin output`, `ok`. Of what is unknown, why.
    pub reason: String,
    /// Why it could not be parsed, at most 4,096 bytes, or how the step failed.
    pub error: Option<String>,
    /// Values by field.
    pub extra_info: BTreeMap<String, String>,
    /// Actions in the order of the spec, and a line of values for each.
    pub suggested_actions: Option<SuggestedActions>,
    /// Expectations that were not met, in the order of the spec. For people; GPUd does not report them.
    pub mismatches: Vec<Mismatch>,
    /// Whether something was expected and no JSON object was printed, so that nothing was checked. For people as well.
    pub unchecked: bool,
}

impl Verdict {
    /// Returns the health that a state shows.
    pub fn health(&self) -> Health {
        match (self.healthy, self.unknown) {
            (true, _) => Health::Healthy,
            (false, true) => Health::Degraded,
            (false, false) => Health::Unhealthy,
        }
    }
}

/// An expectation that was not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Key in `extra_info`.
    pub field: String,
    /// The query that selected the value.
    pub query: String,
    /// The expected pattern; `None` if any value would have been accepted.
    pub pattern: Option<String>,
    /// The value; `None` if there was none.
    pub value: Option<String>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (field, query) = (go_quote(&self.field), go_quote(&self.query));
        match &self.value {
            Some(value) => write!(f, "field {field} ({query}) is {}", go_quote(value))?,
            None => write!(f, "field {field} ({query}) is missing")?,
        }
        match &self.pattern {
            Some(pattern) => write!(f, ", expected to match {}", go_quote(pattern)),
            None => Ok(()),
        }
    }
}

/// A plugin's parser, made ready once. Queries and patterns are compiled when first used, as one that never is used may
/// be wrong. It keeps nothing of a check, so plugins with the same parser can share it.
#[derive(Debug)]
pub struct Judge {
    parser: Option<Vec<FieldPath>>,
}

#[derive(Debug)]
struct FieldPath {
    query: String,
    language: QueryLanguage,
    compiled: OnceLock<Result<CompiledQuery, String>>,
    field: String,
    expect: Option<Rule>,
    actions: Vec<(String, Rule)>,
}

/// A query in one of the languages.
#[derive(Debug)]
enum CompiledQuery {
    Gpud(Query),
    Standard(StandardQuery),
}

impl CompiledQuery {
    fn parse(text: &str, language: QueryLanguage) -> Result<Self, String> {
        match language {
            QueryLanguage::Gpud => Query::parse(text)
                .map(Self::Gpud)
                .map_err(|error| error.to_string()),
            QueryLanguage::Jsonpath => StandardQuery::parse(text)
                .map(Self::Standard)
                .map_err(|error| error.to_string()),
        }
    }

    /// Returns the text of what the query finds.
    fn select(&self, document: &Value) -> Result<Option<String>, String> {
        match self {
            Self::Gpud(query) => match query.select(document) {
                Ok(value) => Ok(value.as_ref().map(text::of)),
                Err(error) => Err(error.to_string()),
            },
            Self::Standard(query) => query.select(document).map_err(|error| error.to_string()),
        }
    }
}

/// `None` matches every value.
#[derive(Debug)]
struct Rule(Option<LazyPattern>);

impl Judge {
    /// Takes a plugin's parser. Nothing in it can be wrong yet.
    pub fn new(parser: Option<&wire::OutputParser>) -> Self {
        let paths = |parser: &wire::OutputParser| {
            let path = |path| FieldPath::new(path, parser.query_language);
            parser.json_paths.iter().map(path).collect()
        };
        Self {
            parser: parser.map(paths),
        }
    }

    /// The verdict on an execution. `log_failure` is the error of writing the output to its log file, if that failed;
    /// it counts only where the output is parsed at all.
    pub fn judge(&self, execution: &Execution, log_failure: Option<String>) -> Verdict {
        if execution.not_run {
            let problem = execution.error.clone().unwrap_or_default();
            return Verdict {
                unknown: true,
                reason: shortened(format!("cannot be judged: {problem}")),
                error: Some(shortened(problem)),
                ..Verdict::default()
            };
        }
        let found = match self.parse(execution, log_failure) {
            Ok(found) => found,
            Err(error) => {
                return Verdict {
                    reason: "failed to parse plugin output".to_owned(),
                    error: Some(shortened(error)),
                    ..Verdict::default()
                };
            }
        };
        let (found, unchecked) = match found {
            Some(found) => (found, false),
            None => (Vec::new(), self.expects()),
        };
        let reason = if execution.error.is_some() {
            let code = execution.exit_code;
            format!("error executing state plugin (exit code: {code})")
        } else if found.iter().any(|found| found.mismatch.is_some()) {
            "unexpected plugin output".to_owned()
        } else {
            "ok".to_owned()
        };
        Verdict {
            healthy: reason == "ok",
            unknown: false,
            reason,
            error: execution.error.clone(),
            suggested_actions: suggested(&found),
            extra_info: found
                .iter()
                .map(|found| (found.field.to_owned(), found.value.clone()))
                .collect(),
            mismatches: found
                .into_iter()
                .filter_map(|found| found.mismatch)
                .collect(),
            unchecked,
        }
    }

    /// Whether any value is expected to be something.
    fn expects(&self) -> bool {
        let paths = self.parser.iter().flatten();
        paths.into_iter().any(|path| path.expect.is_some())
    }

    /// What the fields hold, or the text of a parse failure. `None` if there was no JSON object to look into.
    fn parse(
        &self,
        execution: &Execution,
        log_failure: Option<String>,
    ) -> Result<Option<Vec<PathResult<'_>>>, String> {
        let Some(paths) = self
            .parser
            .as_ref()
            .filter(|_| !execution.output.is_empty())
        else {
            return Ok(None);
        };
        if let Some(error) = log_failure {
            return Err(error);
        }
        if paths.is_empty() {
            return Ok(None);
        }
        let document = match json::find_object(&execution.output) {
            Ok(Some(document)) => document,
            Ok(None) if !execution.truncated => return Ok(None),
            // Expectations must not be passed over because the document was cut off.
            Ok(None) => return Err(format!("no JSON object found{}", cut(execution))),
            Err(error) => return Err(format!("{error}{}", cut(execution))),
        };
        let mut fields = Vec::new();
        let mut room = MAX_VALUE_BYTES;
        for path in paths {
            let Some(found) = path.find(&document)? else {
                continue;
            };
            room = room
                .checked_sub(found.value.len().saturating_mul(1 + found.actions.len()))
                .ok_or_else(|| {
                    format!("the values taken from the output are longer than {MAX_VALUE_BYTES} bytes together")
                })?;
            fields.push(found);
        }
        Ok(Some(last_of_each_field(fields)))
    }
}

impl FieldPath {
    fn new(path: &wire::JsonPath, language: QueryLanguage) -> Self {
        Self {
            query: path.query.clone(),
            language,
            compiled: OnceLock::new(),
            field: path.field.clone(),
            expect: path.expect.as_ref().map(Rule::new),
            actions: path
                .suggested_actions
                .iter()
                .map(|(name, rule)| (name.to_owned(), Rule::new(rule)))
                .collect(),
        }
    }

    /// What it finds in the document. `None` if that is nothing and nothing was expected.
    fn find(&self, document: &Value) -> Result<Option<PathResult<'_>>, String> {
        let read = |error: &dyn fmt::Display| {
            format!(
                "failed to read json path {}: {error}",
                go_quote(&self.query)
            )
        };
        let compiled = self
            .compiled
            .get_or_init(|| CompiledQuery::parse(&self.query, self.language));
        let value = compiled
            .as_ref()
            .map_err(|error| read(error))?
            .select(document)
            .map_err(|error| read(&error))?;
        let Some(value) = value else {
            return Ok(self.expect.as_ref().map(|rule| PathResult {
                field: &self.field,
                value: String::new(),
                mismatch: Some(self.mismatch(rule, None)),
                actions: Vec::new(),
            }));
        };
        let mut found = PathResult {
            field: &self.field,
            value,
            mismatch: None,
            actions: Vec::new(),
        };
        if let Some(rule) = &self.expect
            && !rule
                .matches(&found.value)
                .map_err(|why| self.rule_failure("", &why))?
        {
            found.mismatch = Some(self.mismatch(rule, Some(&found.value)));
        }
        for (name, rule) in &self.actions {
            let matches = rule.matches(&found.value).map_err(|why| {
                self.rule_failure(&format!(" for suggested action {}", go_quote(name)), &why)
            })?;
            if matches {
                found.actions.push(name);
            }
        }
        Ok(Some(found))
    }

    fn mismatch(&self, rule: &Rule, value: Option<&str>) -> Mismatch {
        Mismatch {
            field: self.field.clone(),
            query: self.query.clone(),
            pattern: rule.0.as_ref().map(|pattern| pattern.text().to_owned()),
            value: value.map(str::to_owned),
        }
    }

    fn rule_failure(&self, whose: &str, why: &str) -> String {
        let query = go_quote(&self.query);
        format!("failed to check match rule for path {query}{whose}: {why}")
    }
}

impl Rule {
    fn new(rule: &wire::MatchRule) -> Self {
        Self(rule.regex.as_deref().map(LazyPattern::new))
    }

    fn matches(&self, text: &str) -> Result<bool, String> {
        let Some(pattern) = &self.0 else {
            return Ok(true);
        };
        pattern.is_match(text).map_err(|error: PatternError| {
            format!(
                "failed to compile regex {}: {error}",
                go_quote(pattern.text())
            )
        })
    }
}

/// The value that one path selected, and what its rules say.
struct PathResult<'a> {
    field: &'a str,
    value: String,
    mismatch: Option<Mismatch>,
    /// Actions proposed.
    actions: Vec<&'a str>,
}

/// A repeated field replaces the earlier one with its value, mismatch and actions.
fn last_of_each_field(found: Vec<PathResult<'_>>) -> Vec<PathResult<'_>> {
    let mut last = BTreeMap::new();
    for (at, found) in found.iter().enumerate() {
        last.insert(found.field, at);
    }
    let mut at = 0..;
    found
        .into_iter()
        .filter(|found| last.get(found.field).copied() == at.next())
        .collect()
}

/// Every action proposed, and for each a line of the values that proposed it.
fn suggested(found: &[PathResult<'_>]) -> Option<SuggestedActions> {
    let mut places = BTreeMap::new();
    let mut lines: Vec<(&str, String)> = Vec::new();
    for found in found {
        for action in &found.actions {
            let at = *places.entry(*action).or_insert(lines.len());
            match lines.get_mut(at) {
                // An empty value leaves no comma behind.
                Some((_, line)) if line.is_empty() => line.push_str(&found.value),
                Some((_, line)) => line.extend([", ", &found.value]),
                None => lines.push((action, found.value.clone())),
            }
        }
    }
    let (repair_actions, lines): (Vec<_>, Vec<_>) = lines
        .into_iter()
        .map(|(action, line)| (action.to_owned(), line))
        .unzip();
    (!lines.is_empty()).then(|| SuggestedActions {
        description: lines.join("\n"),
        repair_actions,
    })
}

/// Returns a note for an error that may be caused by missing output.
fn cut(execution: &Execution) -> String {
    let kept = execution.output.len();
    match execution.truncated {
        true => format!(" (the output was cut at its limit of {kept} bytes)"),
        false => String::new(),
    }
}

/// Cut to the limit at a character's end.
fn shortened(mut error: String) -> String {
    const MARK: &str = "…";
    if error.len() > MAX_ERROR_BYTES {
        error.truncate(error.floor_char_boundary(MAX_ERROR_BYTES - MARK.len()));
        error.push_str(MARK);
    }
    error
}
