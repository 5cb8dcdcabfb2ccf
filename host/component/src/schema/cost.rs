//! Bounds what a validation costs before it is done: the schema is a plugin's, and a few references to references take longer
//! than anybody waits.
//!
//! All of the schema's document counts, whatever it means, and what a reference leads to counts where the reference is. So a
//! schema is a tree, each node of which judges a part of the value once at most.

use std::collections::HashMap;

use regex::RegexBuilder;
use serde_json::Value;

/// Most parts of a schema, references replaced by what they lead to.
const MAX_SIZE: u64 = 100_000;
/// Most of them one in another.
const MAX_DEPTH: u32 = 128;
/// Most of them times the parts of the value.
const MAX_STEPS: u64 = 10_000_000;
/// Bytes of a text that count as a part.
const PART_OF_TEXT: usize = 64;
/// Most patterns of a schema.
const MAX_PATTERNS: usize = 100;
/// Largest pattern, compiled, bytes.
const MAX_PATTERN: usize = 256 << 10;

/// Keywords of references and of names for them that have no bound that is simple to see.
const REFUSED: [&str; 5] = [
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveAnchor",
    "$recursiveRef",
];
/// In the address of the first draft, whose references work in another way.
const OLD_DRAFT: &str = "draft-04";

/// Checks that a document can be validated at once.
///
/// # Errors
/// In words: it would take too long, or the schema refers to another document.
pub fn check(schema: &Value, document: &Value) -> Result<(), String> {
    let mut sizes = Sizes {
        root: schema,
        patterns: 0,
        known: HashMap::new(),
    };
    let size = sizes.measure(schema, 0)?.size;
    if size.saturating_mul(parts(document)) > MAX_STEPS {
        return Err(format!(
            "it would judge this in more than {MAX_STEPS} steps"
        ));
    }
    Ok(())
}

/// Returns how many values a value consists of, itself included. A long text counts as many.
fn parts(value: &Value) -> u64 {
    let below: u64 = match value {
        Value::Array(list) => list.iter().map(parts).sum(),
        Value::Object(by_name) => by_name.values().map(parts).sum(),
        Value::String(text) => (text.len() / PART_OF_TEXT) as u64,
        _ => 0,
    };
    below + 1
}

/// How large a part of a schema is.
#[derive(Clone, Copy)]
struct Extent {
    size: u64,
    /// Parts one in another, itself included.
    height: u32,
}

struct Sizes<'a> {
    root: &'a Value,
    patterns: usize,
    /// By address; `None` while it is measured.
    known: HashMap<usize, Option<Extent>>,
}

impl<'a> Sizes<'a> {
    fn measure(&mut self, part: &'a Value, depth: u32) -> Result<Extent, String> {
        let address = std::ptr::from_ref(part).addr();
        let extent = match self.known.get(&address) {
            Some(Some(extent)) => *extent,
            Some(None) => return Err("it refers to itself".to_owned()),
            None => {
                self.known.insert(address, None);
                let extent = self.add_up(part, depth)?;
                self.known.insert(address, Some(extent));
                extent
            }
        };
        if depth + extent.height > MAX_DEPTH {
            return Err(format!("its schemas are more than {MAX_DEPTH} deep"));
        }
        match extent.size > MAX_SIZE {
            true => Err(format!("it is larger than {MAX_SIZE} parts")),
            false => Ok(extent),
        }
    }

    fn add_up(&mut self, part: &'a Value, depth: u32) -> Result<Extent, String> {
        let mut extent = Extent { size: 1, height: 1 };
        if depth >= MAX_DEPTH {
            return Ok(extent);
        }
        let mut below: Vec<&Value> = match part {
            Value::Array(list) => list.iter().collect(),
            Value::Object(keywords) => {
                self.look_at(part, keywords)?;
                let target = self.target(keywords.get("$ref"))?;
                keywords.values().chain(target).collect()
            }
            _ => Vec::new(),
        };
        while let Some(one) = below.pop() {
            let one = self.measure(one, depth + 1)?;
            extent.size = extent.size.saturating_add(one.size);
            extent.height = extent.height.max(one.height + 1);
        }
        Ok(extent)
    }

    /// Refuses what has no simple bound, and looks at patterns.
    fn look_at(
        &mut self,
        part: &Value,
        keywords: &serde_json::Map<String, Value>,
    ) -> Result<(), String> {
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("pattern", Value::String(pattern)) => self.look_at_pattern(pattern)?,
                ("patternProperties", Value::Object(by_pattern)) => {
                    for pattern in by_pattern.keys() {
                        self.look_at_pattern(pattern)?;
                    }
                }
                ("format", Value::String(format)) if format == "regex" => {
                    return Err("it asks for the format `regex`".to_owned());
                }
                ("$id", Value::String(_)) if !std::ptr::eq(part, self.root) => {
                    return Err("it has an `$id` below the top".to_owned());
                }
                ("$schema", Value::String(draft)) if draft.contains(OLD_DRAFT) => {
                    return Err(format!("it is of {OLD_DRAFT}"));
                }
                (refused, Value::String(_) | Value::Bool(_)) if REFUSED.contains(&refused) => {
                    return Err(format!("it has a `{refused}`"));
                }
                _ => {}
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
        built.map(drop).map_err(|error| error.to_string())
    }

    /// Returns what a reference leads to.
    fn target(&self, reference: Option<&'a Value>) -> Result<Option<&'a Value>, String> {
        let Some(Value::String(reference)) = reference else {
            return Ok(None);
        };
        match reference.strip_prefix('#') {
            Some(pointer)
                if !pointer.contains('%') && (pointer.is_empty() || pointer.starts_with('/')) =>
            {
                let target = self.root.pointer(pointer);
                // The validator may find something there, by rules of its own.
                target
                    .map(Some)
                    .ok_or_else(|| format!("{reference}: there is nothing"))
            }
            _ => Err(format!(
                "{reference}: a reference is `#/…`, to a part of the same schema, without `%`"
            )),
        }
    }
}
