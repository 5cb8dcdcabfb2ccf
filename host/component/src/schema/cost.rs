//! Bounds what a validation costs before it is done: the schema is a plugin's, and a few references to references take longer
//! than anybody waits.

use std::collections::HashMap;

use regex::RegexBuilder;
use serde_json::{Map, Value};

/// Most pairs of a schema and a value that are judged.
const MAX_STEPS: u64 = 100_000;
/// Most schemas that wait for another one.
const MAX_DEPTH: u32 = 100;
/// Most patterns of a schema.
const MAX_PATTERNS: usize = 100;
/// Largest pattern, compiled, bytes.
const MAX_PATTERN: usize = 256 << 10;

/// Keywords with schemas that judge the same value.
const OF_SAME_VALUE: [&str; 9] = [
    "allOf",
    "anyOf",
    "dependencies",
    "dependentSchemas",
    "else",
    "if",
    "not",
    "oneOf",
    "then",
];
/// Keywords with schemas that can judge each part of a value.
const OF_PARTS: [&str; 10] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "items",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords with the address of a schema that judges the same value.
const REFERENCES: [&str; 3] = ["$dynamicRef", "$recursiveRef", "$ref"];
/// Keywords with names of a schema, by which others refer to it.
const ANCHORS: [&str; 2] = ["$anchor", "$dynamicAnchor"];
/// Keywords with values, in which nothing is a keyword.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];
/// The keyword with the address of a document.
const ADDRESS: &str = "$id";

/// Checks that a document can be validated at once.
///
/// # Errors
/// In words: it would take too long, or the schema refers to another document.
pub fn check(schema: &Value, document: &Value) -> Result<(), String> {
    let mut steps = Steps {
        root: schema,
        anchors: HashMap::new(),
        patterns: 0,
        known: HashMap::new(),
    };
    steps.look_around(schema)?;
    steps.count(schema, document, 0).map(drop)
}

struct Steps<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    patterns: usize,
    /// Steps by the addresses of a schema and a value; 0 while they are counted.
    known: HashMap<(usize, usize), u64>,
}

impl<'a> Steps<'a> {
    /// Finds anchors, and looks at patterns and addresses.
    fn look_around(&mut self, schema: &'a Value) -> Result<(), String> {
        let Value::Object(keywords) = schema else {
            let list = schema.as_array().into_iter().flatten();
            return list.into_iter().try_for_each(|one| self.look_around(one));
        };
        for (keyword, value) in keywords {
            let keyword = keyword.as_str();
            match value.as_str() {
                Some(name) if ANCHORS.contains(&keyword) => {
                    self.anchors.entry(name).or_default().push(schema);
                }
                Some(address) if keyword == ADDRESS => match address.strip_prefix('#') {
                    Some(name) => self.anchors.entry(name).or_default().push(schema),
                    None if std::ptr::eq(schema, self.root) => {}
                    None => return Err(format!("{address}: a document in the document")),
                },
                Some(pattern) if keyword == "pattern" => self.look_at_pattern(pattern)?,
                Some(_) => {}
                None if DATA.contains(&keyword) => {}
                None => self.look_around(value)?,
            }
            if let ("patternProperties", Some(by_pattern)) = (keyword, value.as_object()) {
                by_pattern
                    .keys()
                    .try_for_each(|pattern| self.look_at_pattern(pattern))?;
            }
        }
        Ok(())
    }

    fn look_at_pattern(&mut self, pattern: &str) -> Result<(), String> {
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS {
            return Err(format!("it has more than {MAX_PATTERNS} patterns"));
        }
        let built = RegexBuilder::new(pattern).size_limit(MAX_PATTERN).build();
        match built {
            Err(regex::Error::CompiledTooBig(_)) => {
                Err(format!("the pattern {pattern:?} is too large"))
            }
            // Whether it is one says the validator.
            _ => Ok(()),
        }
    }

    /// Returns an upper bound of the steps in which a schema judges a value.
    fn count(&mut self, schema: &'a Value, value: &'a Value, depth: u32) -> Result<u64, String> {
        let Value::Object(keywords) = schema else {
            return Ok(1);
        };
        let pair = (
            std::ptr::from_ref(schema).addr(),
            std::ptr::from_ref(value).addr(),
        );
        if let Some(steps) = self.known.get(&pair) {
            return Ok((*steps).max(1));
        }
        if depth > MAX_DEPTH {
            return Err(format!("its schemas are nested more than {MAX_DEPTH} deep"));
        }
        self.known.insert(pair, 0);
        let mut steps: u64 = 1;
        for (schema, value) in self.judged(keywords, value)? {
            steps = steps.saturating_add(self.count(schema, value, depth + 1)?);
            if steps > MAX_STEPS {
                return Err(format!("it judges this in more than {MAX_STEPS} steps"));
            }
        }
        self.known.insert(pair, steps);
        Ok(steps)
    }

    /// Returns the schemas in a schema with the values that they can judge.
    fn judged(
        &self,
        keywords: &'a Map<String, Value>,
        value: &'a Value,
    ) -> Result<Vec<(&'a Value, &'a Value)>, String> {
        let mut judged = Vec::new();
        for (keyword, schemas) in keywords {
            let keyword = keyword.as_str();
            if keyword == "properties" {
                let by_name = schemas.as_object().into_iter().flatten();
                judged
                    .extend(by_name.filter_map(|(name, schema)| Some((schema, value.get(name)?))));
            } else if OF_SAME_VALUE.contains(&keyword) {
                judged.extend(all(schemas).map(|schema| (schema, value)));
            } else if OF_PARTS.contains(&keyword) {
                let parts = parts(value);
                judged.extend(all(schemas).flat_map(|schema| {
                    let parts = parts.iter();
                    parts.map(move |part| (schema, *part))
                }));
            } else if REFERENCES.contains(&keyword) {
                let found = self.find(schemas.as_str().unwrap_or_default())?;
                judged.extend(found.into_iter().map(|schema| (schema, value)));
            }
            if judged.len() as u64 > MAX_STEPS {
                return Err(format!("it judges this in more than {MAX_STEPS} steps"));
            }
        }
        Ok(judged)
    }

    /// Returns the schemas that a reference can mean; none where there is none, which the validator says.
    fn find(&self, reference: &str) -> Result<Vec<&'a Value>, String> {
        let own = self.root.get(ADDRESS).and_then(Value::as_str);
        let own = own.map(|address| address.trim_end_matches('#'));
        let local = own.and_then(|address| reference.strip_prefix(address));
        let local = local.unwrap_or(reference);
        let Some(name) = local.strip_prefix('#') else {
            return match local.is_empty() {
                true => Ok(vec![self.root]),
                false => Err(format!("{reference}: no other document is read")),
            };
        };
        if name.is_empty() {
            return Ok(vec![self.root]);
        }
        if !name.starts_with('/') {
            return Ok(self.anchors.get(name).cloned().unwrap_or_default());
        }
        if name.contains('%') {
            return Err(format!("{reference}: write it without `%`"));
        }
        Ok(self.root.pointer(name).into_iter().collect())
    }
}

/// Returns a schema, or those of a list or an object.
fn all(schemas: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match schemas {
        Value::Array(list) => Box::new(list.iter()),
        // A schema, or schemas by name: one of the two has no such keywords.
        Value::Object(by_name) => Box::new(std::iter::once(schemas).chain(by_name.values())),
        _ => Box::new(std::iter::empty()),
    }
}

/// Returns the parts of a value.
fn parts(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(list) => list.iter().collect(),
        Value::Object(by_name) => by_name.values().collect(),
        _ => Vec::new(),
    }
}
