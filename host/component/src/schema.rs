//! Validates a JSON document against a JSON Schema.

mod cost;

use boon::{Compiler, ErrorKind, Schemas, SchemeUrlLoader, ValidationError};
use serde_json::Value;

/// The schema's own address, which no other document has.
const ADDRESS: &str = "gpud:///schema";

/// A part of a document that does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// JSON pointer of the value; empty for the whole document.
    pub pointer: String,
    /// The problem with it.
    pub text: String,
}

/// Returns the faults of a document, at most `most` of them. References to other documents are not followed: no file is
/// read, and no address is contacted.
///
/// # Errors
/// In words: it is no schema, refers to another document, or would take too long.
pub fn faults(schema: &Value, document: &Value, most: usize) -> Result<Vec<Fault>, String> {
    cost::check(schema, document)?;
    let mut compiler = Compiler::new();
    compiler.use_loader(Box::new(SchemeUrlLoader::new()));
    let (mut schemas, wrong) = (Schemas::new(), |error: boon::CompileError| {
        error.to_string()
    });
    compiler
        .add_resource(ADDRESS, schema.clone())
        .map_err(wrong)?;
    let compiled = compiler.compile(ADDRESS, &mut schemas).map_err(wrong)?;
    let mut faults = Vec::new();
    if let Err(error) = schemas.validate(document, compiled) {
        collect(&error, most, &mut faults);
    }
    Ok(faults)
}

/// Errors come as a tree. Of alternatives, none of which fits, the value is named and not what each asks of its parts.
fn collect(error: &ValidationError<'_, '_>, most: usize, faults: &mut Vec<Fault>) {
    if faults.len() >= most {
        return;
    }
    let is_group = matches!(
        error.kind,
        ErrorKind::Group
            | ErrorKind::Schema { .. }
            | ErrorKind::Reference { .. }
            | ErrorKind::ContentSchema
            | ErrorKind::AllOf
    );
    if is_group && !error.causes.is_empty() {
        for cause in &error.causes {
            collect(cause, most, faults);
        }
        return;
    }
    faults.push(Fault {
        pointer: error.instance_location.to_string(),
        text: error.kind.to_string(),
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pointers(schema: &Value, document: &Value) -> Vec<String> {
        let faults = faults(schema, document, 10).unwrap();
        faults.into_iter().map(|fault| fault.pointer).collect()
    }

    #[test]
    fn every_value_that_does_not_fit_is_named() {
        let schema = json!({
            "type": "object",
            "properties": {
                "limit": {"type": "integer", "minimum": 1, "maximum": 100},
                "names": {"type": "array", "maxItems": 2, "items": {"type": "string", "pattern": "^[a-z]+$"}},
                "mode": {"enum": ["on", "off"]},
                "either": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
                "a/b": {"$ref": "#/$defs/short"},
            },
            "required": ["limit"],
            "additionalProperties": false,
            "$defs": {"short": {"type": "string", "maxLength": 3}},
        });
        for (document, expected) in [
            (
                json!({"limit": 5, "names": ["x"], "mode": "on", "either": ["x"], "a/b": "abc"}),
                vec![],
            ),
            (json!({}), vec![""]),
            (json!({"limit": 0}), vec!["/limit"]),
            (json!({"limit": 1.5}), vec!["/limit"]),
            (json!({"limit": 5, "names": ["x", "Y"]}), vec!["/names/1"]),
            (json!({"limit": 5, "mode": "none"}), vec!["/mode"]),
            (json!({"limit": 5, "either": [5]}), vec!["/either"]),
            (json!({"limit": 5, "a/b": "long"}), vec!["/a~1b"]),
            (json!({"limit": 5, "other": 1}), vec![""]),
        ] {
            assert_eq!(pointers(&schema, &document), expected, "{document}");
        }
        let mut both = pointers(&schema, &json!({"limit": 0, "mode": 5}));
        both.sort();
        assert_eq!(both, ["/limit", "/mode"]);
        let one = faults(&schema, &json!({"limit": 0, "mode": 5}), 1).unwrap();
        assert_eq!(one.len(), 1);
    }

    #[test]
    fn what_is_no_schema_is_refused_and_nothing_is_read() {
        let file = format!("file://{}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
        for schema in [
            json!({"type": 5}),
            json!({"pattern": "("}),
            json!({"$ref": "http://127.0.0.1:1/schema.json"}),
            json!({"$ref": file}),
            json!({"$ref": "#/nowhere"}),
        ] {
            assert!(faults(&schema, &json!({}), 10).is_err(), "{schema}");
        }
    }

    /// Definitions `0` to `count`, each of which refers to the one before it `times` times.
    fn chain(count: usize, times: usize) -> Value {
        let mut definitions = serde_json::Map::new();
        definitions.insert("0".to_owned(), json!({"type": "string"}));
        for number in 1..=count {
            let before = json!({"$ref": format!("#/$defs/{}", number - 1)});
            let schema = json!({"anyOf": vec![before; times]});
            definitions.insert(number.to_string(), schema);
        }
        json!({"$ref": format!("#/$defs/{count}"), "$defs": definitions})
    }

    #[test]
    fn a_schema_that_takes_too_long_is_refused() {
        let patterns: serde_json::Map<String, Value> =
            (0..200).map(|n| (format!("a{n}"), json!({}))).collect();
        let draft_4 = "http://json-schema.org/draft-04/schema#";
        // Each of its first schemas is known with the end of the chain that it has left.
        let mut deep = chain(2000, 1);
        let parts = (1..2000).rev().step_by(60);
        let parts: Vec<Value> = parts
            .map(|n| json!({"$ref": format!("#/$defs/{n}")}))
            .collect();
        deep["allOf"] = parts.into();
        for (schema, document) in [
            (chain(40, 2), json!({"a": 1})),
            (chain(3, 100), json!({"a": 1})),
            (chain(2000, 1), json!({"a": 1})),
            (deep, json!({"a": 1})),
            (json!({"$ref": "#"}), json!({})),
            (
                json!({"additionalProperties": {"$ref": "#"}}),
                json!({"a": {"b": {"c": 5}}}),
            ),
            // Cycles that no path has whole.
            (
                json!({"$ref": "#/$defs/a", "$defs": {
                    "a": {"anyOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/c"}]},
                    "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/c"}]},
                    "c": {"anyOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/a"}]},
                }}),
                json!({}),
            ),
            // A definition may have any name, that of a keyword with data as well.
            (
                json!({"$ref": "#/$defs/const", "$defs": {"const": {"not": {"$ref": "#"}}}}),
                json!({}),
            ),
            (
                json!({"$ref": "#a", "$defs": {"const": {"$anchor": "a", "not": {"$ref": "#a"}}}}),
                json!({}),
            ),
            (
                json!({"$schema": draft_4, "definitions": {"a": {"id": "#a", "not": {"$ref": "#a"}}}}),
                json!({}),
            ),
            (json!({"$recursiveRef": "#"}), json!({})),
            // Numbers that one reader of pointers takes, and another does not.
            (
                json!({"$ref": "#/$defs/c/01", "$defs": {"c": [{}, {"not": {"$ref": "#/$defs/c/01"}}]}}),
                json!({}),
            ),
            (
                json!({"$ref": "#/$defs/c/+1", "$defs": {"c": [{}, {"not": {"$ref": "#/$defs/c/+1"}}]}}),
                json!({}),
            ),
            (json!({"format": "regex"}), json!("(a)")),
            (
                json!({"allOf": vec![json!({"pattern": "a"}); 100], "$defs": vec![1; 10_000]}),
                json!("a".repeat(200_000)),
            ),
            (
                json!({"properties": {"a": {"$id": "other", "$ref": "#"}}}),
                json!({"a": 1}),
            ),
            (
                json!({"$ref": "https://json-schema.org/draft/2020-12/schema"}),
                json!({}),
            ),
            (
                json!({"items": {"enum": (0..1000).collect::<Vec<u32>>()}}),
                json!(vec![1; 20_000]),
            ),
            (json!({"pattern": r"\pL{500}"}), json!("a")),
            (json!({"pattern": r"\cA\pL{500}"}), json!("a")),
            (json!({"patternProperties": patterns}), json!({})),
        ] {
            let started = std::time::Instant::now();
            let refused = faults(&schema, &document, 10);
            assert!(refused.is_err(), "{refused:?} in {:?}", started.elapsed());
        }
        let many: serde_json::Map<String, Value> = (0..500)
            .map(|n| (format!("key{n}"), json!({"type": "integer"})))
            .collect();
        let document: serde_json::Map<String, Value> =
            (0..500).map(|n| (format!("key{n}"), json!(n))).collect();
        let schema = json!({"$id": "gpud:x", "properties": many, "additionalProperties": false});
        assert_eq!(faults(&schema, &document.into(), 10), Ok(vec![]));
        let named = json!({"$defs": {"a/b": {"maxLength": 2}}, "$ref": "#/$defs/a~1b"});
        assert_eq!(pointers(&named, &json!("long")), [""]);
        // As deep as one may be, on a thread's stack.
        let deep = chain(30, 1);
        assert_eq!(faults(&deep, &json!("text"), 10), Ok(vec![]));
        assert_eq!(pointers(&deep, &json!(1)), [""]);
    }

    #[test]
    fn schemas_of_old_and_new_drafts_are_understood() {
        for draft in [
            "http://json-schema.org/draft-07/schema#",
            "https://json-schema.org/draft/2020-12/schema",
        ] {
            let schema = json!({"$schema": draft, "type": "object"});
            assert_eq!(pointers(&schema, &json!([])), [""], "{draft}");
        }
    }
}
