//! The request to write a line into the kernel log.

use serde_json::{Map, Value};

/// What `/inject-fault` was asked for. Read as leniently as Go reads it: unknown keys and anything after the first
/// document are ignored, keys match in any case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FaultRequest {
    /// A sample line for this Xid; wins over `kernel_message`.
    pub xid: Option<i64>,
    /// A literal line.
    pub kernel_message: Option<KernelMessage>,
}

/// A line for the kernel log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KernelMessage {
    /// `KERN_WARNING`, `kern.warn` …; anything else counts as info.
    pub priority: String,
    /// The text.
    pub message: String,
}

/// Why a body is not a fault request.
#[derive(Debug, thiserror::Error)]
pub enum DecodeFaultError {
    /// Nothing but white space.
    #[error("EOF")]
    Empty,
    /// Ends in the middle.
    #[error("unexpected EOF")]
    Truncated,
    /// Not JSON.
    #[error("{0}")]
    Syntax(serde_json::Error),
    /// A value of another kind than expected.
    #[error("json: cannot unmarshal {found} into {wanted}")]
    Kind {
        /// Go's word for what is there.
        found: &'static str,
        /// The expected value.
        wanted: &'static str,
    },
}

impl FaultRequest {
    /// Reads a request body.
    pub fn decode(body: &[u8]) -> Result<Self, DecodeFaultError> {
        let mut documents = serde_json::Deserializer::from_slice(body).into_iter::<Value>();
        let document = match documents.next() {
            None => return Err(DecodeFaultError::Empty),
            Some(Err(error)) if error.is_eof() => return Err(DecodeFaultError::Truncated),
            Some(Err(error)) => return Err(DecodeFaultError::Syntax(error)),
            Some(Ok(document)) => document,
        };
        let Some(request) = object(&document, "the request")? else {
            return Ok(Self::default());
        };
        let xid = match object(field(request, "xid"), "xid")? {
            None => None,
            Some(xid) => Some(integer(field(xid, "id"))?),
        };
        let kernel_message = match object(field(request, "kernel_message"), "kernel_message")? {
            None => None,
            Some(line) => Some(KernelMessage {
                priority: text(
                    field(line, "priority"),
                    "kernel_message.priority of type string",
                )?,
                message: text(
                    field(line, "message"),
                    "kernel_message.message of type string",
                )?,
            }),
        };
        Ok(Self {
            xid,
            kernel_message,
        })
    }
}

/// The value under `key`, spelled so or else in another case; null if there is none.
fn field<'a>(object: &'a Map<String, Value>, key: &str) -> &'a Value {
    object
        .get(key)
        .or_else(|| {
            object
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(key))
                .map(|(_, value)| value)
        })
        .unwrap_or(&Value::Null)
}

fn object<'a>(
    value: &'a Value,
    wanted: &'static str,
) -> Result<Option<&'a Map<String, Value>>, DecodeFaultError> {
    match value {
        Value::Null => Ok(None),
        Value::Object(object) => Ok(Some(object)),
        other => Err(DecodeFaultError::Kind {
            found: kind(other),
            wanted,
        }),
    }
}

fn integer(value: &Value) -> Result<i64, DecodeFaultError> {
    match value {
        Value::Null => Ok(0),
        other => other.as_i64().ok_or_else(|| DecodeFaultError::Kind {
            found: kind(other),
            wanted: "xid.id of type int",
        }),
    }
}

fn text(value: &Value, wanted: &'static str) -> Result<String, DecodeFaultError> {
    match value {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        other => Err(DecodeFaultError::Kind {
            found: kind(other),
            wanted,
        }),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests;
