//! Tests of the room.

mod limits;
mod properties;
mod records;

use serde_json::Value;

use super::{Query, QueryError};

/// Parses and selects.
fn ask(query: &str, document: &Value) -> Result<Option<Value>, QueryError> {
    Query::parse(query)?.select(&floats(document))
}

/// The value with every number as a 64-bit float, as the decoder of script output makes them.
fn floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64().unwrap()),
        Value::Array(values) => values.iter().map(floats).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), floats(value)))
            .collect(),
        other => other.clone(),
    }
}
