//! Validates a JSON document against a JSON Schema.

mod child;

use boon::{Compiler, ErrorKind, Schemas, SchemeUrlLoader, ValidationError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use child::{CHILD_COMMAND, child_main, faults_in_child};

/// The schema's own address, which no other document has.
const ADDRESS: &str = "gpud:///schema";

/// A part of a document that does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// JSON pointer of the value; empty for the whole document.
    pub pointer: String,
    /// The problem with it.
    pub text: String,
}

/// Returns the faults of a document, at most `most` of them. References to other documents are not followed: no file is
/// read, and no address is contacted.
///
/// A schema can take for ever, all memory or all of the stack: one that is not gpud's own is for [`faults_in_child`].
///
/// # Errors
/// In words: it is no schema, or refers to another document.
pub fn faults(schema: &Value, document: &Value, most: usize) -> Result<Vec<Fault>, String> {
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
