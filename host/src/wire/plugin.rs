//! Script-plugin specs as `/v1/plugins` serves them. Reading and checking spec files is the `script` room's business.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{GoDuration, is_zero};

/// One plugin.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct PluginSpec {
    /// As given, at most 128 bytes.
    pub plugin_name: String,
    /// `component` or `init`; a list is served as its members.
    pub plugin_type: String,
    /// Entries of a list spec.
    #[serde(skip_serializing_if = "is_zero")]
    pub component_list: Vec<String>,
    /// File with entries of a list spec.
    #[serde(skip_serializing_if = "is_zero")]
    pub component_list_file: String,
    /// `auto`, `manual`, or empty, which means auto.
    pub run_mode: String,
    /// For trigger-by-tag.
    #[serde(skip_serializing_if = "is_zero")]
    pub tags: Vec<String>,
    /// What it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_state_plugin: Option<HealthStatePlugin>,
    /// Effective limit of one run.
    pub timeout: GoDuration,
    /// Between two runs; zero runs once at start.
    pub interval: GoDuration,
}

/// Steps and how to read their output.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct HealthStatePlugin {
    /// Run in order, up to the first that fails.
    #[serde(skip_serializing_if = "is_zero")]
    pub steps: Vec<Step>,
    /// How to read the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parser: Option<OutputParser>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Step {
    /// For people.
    #[serde(skip_serializing_if = "is_zero")]
    pub name: String,
    /// The script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_bash_script: Option<RunBashScript>,
}

/// A bash script.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct RunBashScript {
    /// `plaintext`, `text/plain` or `base64`.
    pub content_type: String,
    /// The text, encoded as `content_type` says.
    pub script: String,
}

/// How to read a plugin's output.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct OutputParser {
    /// Values to take out of the JSON object that was printed.
    #[serde(skip_serializing_if = "is_zero")]
    pub json_paths: Vec<JsonPath>,
    /// File to which the output is logged.
    #[serde(skip_serializing_if = "is_zero")]
    pub log_path: String,
}

/// One value to take.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct JsonPath {
    /// JSONPath expression.
    pub query: String,
    /// Key in `extra_info`.
    pub field: String,
    /// What the value must look like for the plugin to be healthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<MatchRule>,
    /// Actions to suggest where the value looks like this.
    #[serde(skip_serializing_if = "is_zero")]
    pub suggested_actions: BTreeMap<String, MatchRule>,
}

/// A pattern.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct MatchRule {
    /// Regular expression; absent matches everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
}
