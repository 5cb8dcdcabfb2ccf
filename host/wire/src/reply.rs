//! Small answers: errors in their dialects, and the confirmations of the writing routes.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer, ser::SerializeMap};

/// `{"code":{},"message":"…"}`, the usual error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TypedError {
    #[serde(serialize_with = "empty_object")]
    code: (),
    message: String,
}

impl TypedError {
    /// With this text.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            code: (),
            message: message.into(),
        }
    }
}

fn empty_object<S: Serializer>(_: &(), serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_map(Some(0))?.end()
}

/// `{"code":500,"message":"…"}`, where the daemon itself failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NumericError {
    /// The HTTP status.
    pub code: u16,
    /// The error.
    pub message: String,
}

/// `{"error":"…"}`, of trigger-tag only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TextError {
    /// The problem with the request.
    pub error: String,
}

/// `{"status":"ok","version":"v1"}`; clients compare the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Healthz {
    status: &'static str,
    version: &'static str,
}

impl Healthz {
    /// The only one there is. The version is that of the API.
    pub const OK: Self = Self {
        status: "ok",
        version: "v1",
    };
}

/// `{"message":"…"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// The performed action.
    pub message: &'static str,
}

/// Answer to set-healthy, whatever the outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SetHealthyReply {
    /// The HTTP status.
    pub code: u16,
    /// How it went.
    pub message: String,
    /// Components that were set healthy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub successful: Vec<String>,
    /// Components that were not, and why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, String>,
}

/// Answer to trigger-tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TagTriggered {
    /// Components that were checked, by name.
    pub components: Vec<String>,
    /// 0 if all are healthy, else 1.
    pub exit: u8,
    /// Whether all are healthy.
    pub success: bool,
}

/// Answer to registering plugins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Registered {
    /// 200.
    pub code: u16,
    /// Component names of the plugins.
    pub components: Vec<String>,
    /// The outcome in words.
    pub message: &'static str,
}

/// One component of `/v1/components?detail`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ComponentDetail {
    /// Its name.
    pub component: String,
    /// `custom-plugin` for a component of a spec; empty for a built-in check.
    pub component_type: String,
    /// Whether it has something to watch on this machine.
    pub applicable: bool,
    /// Why it has not; else empty.
    pub reason: String,
}

/// Answer to a deregistration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Deregistered {
    /// 200.
    pub code: u16,
    /// The removed component.
    pub component: String,
    /// The outcome in words.
    pub message: &'static str,
}
