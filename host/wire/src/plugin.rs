//! Plugin specs as they are decoded and as `/v1/plugins` serves them. Reading and checking is the `spec` room's business.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{GoDuration, MetaTime, is_zero};

/// One plugin.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct PluginSpec {
    /// As given, at most 128 bytes.
    pub plugin_name: String,
    /// `component`, `init` or `wasm`; a list is served as its members.
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
    /// The script steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_state_plugin: Option<HealthStatePlugin>,
    /// Effective limit of one run.
    pub timeout: GoDuration,
    /// Interval of runs; zero runs once at start (a Wasm component: at its own interval).
    pub interval: GoDuration,
    /// The part that only a Wasm entry has. GPUd has no such entries.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub wasm: Option<WasmSpec>,
}

/// The keys of an entry of type `wasm` that no other has.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct WasmSpec {
    /// The component's file as written: absolute, or relative to the folder of the spec file.
    pub path: String,
    /// Handed to the component: a mapping, at most 256 KiB as JSON.
    pub config: Value,
    /// What it may reach, as the grants of a capability are written: a mapping.
    pub grants: Value,
    /// Limits in place of the defaults.
    #[serde(skip_serializing_if = "is_zero")]
    pub limits: LimitOverrides,
    /// A second version that runs beside it, for comparison only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<ShadowSpec>,
    /// The running version. Only `/v1/plugins` states it; in a spec file it is ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running_version: Option<RunningVersion>,
    /// Its components that have nothing to watch on this machine, each with the reason. Only `/v1/plugins` has it.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_applicable: BTreeMap<String, String>,
}

/// A second version of a Wasm entry.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ShadowSpec {
    /// The component's file, as [`WasmSpec::path`].
    pub path: String,
    /// Its grants, no wider than the entry's. Absent means the same as the entry's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grants: Option<Value>,
    /// Its configuration; absent is that of the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
}

/// The running version of a Wasm entry.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct RunningVersion {
    /// `sha256:…` of the component's file.
    pub digest: String,
    /// It has not been checked well three times yet.
    pub on_probation: bool,
    /// It runs in place of a version that was taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolled_back: Option<RolledBack>,
}

/// A version that was taken back.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct RolledBack {
    /// `sha256:…` of its file.
    pub digest: String,
    /// Why, as a sentence whose subject is the version.
    pub reason: String,
    /// When.
    pub time: MetaTime,
}

/// Limits of one call that an entry sets. The host's defaults apply to absent ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct LimitOverrides {
    /// Linear memory, bytes.
    #[serde(rename = "memory", skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Calls into the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_calls: Option<u64>,
    /// Bytes that the host hands over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_bytes: Option<u64>,
    /// Log lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_lines: Option<u32>,
    /// States of a report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub states: Option<usize>,
    /// Events of a report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<usize>,
    /// Metrics of a report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<usize>,
    /// Table elements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_elements: Option<u64>,
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
    /// The text in the encoding of `content_type`.
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
    /// Language of the queries; GPUd has only its own.
    #[serde(skip_serializing_if = "is_zero")]
    pub query_language: QueryLanguage,
}

/// The language of a parser's queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum QueryLanguage {
    /// GPUd's dialect of JSONPath.
    #[default]
    Gpud,
    /// RFC 9535.
    Jsonpath,
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
    pub suggested_actions: ActionRules,
}

/// Rules by action name, in the order of the spec. Written as JSON, the names are sorted, as Go sorts them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActionRules(Vec<(String, MatchRule)>);

impl ActionRules {
    /// Name and rule of each, in the order of the spec.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &MatchRule)> {
        self.0.iter().map(|(name, rule)| (name.as_str(), rule))
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, MatchRule)> for ActionRules {
    /// A repeated name replaces the rule at its first position.
    fn from_iter<I: IntoIterator<Item = (String, MatchRule)>>(rules: I) -> Self {
        let mut places = BTreeMap::new();
        let mut list: Vec<(String, MatchRule)> = Vec::new();
        for (name, rule) in rules {
            let at = *places.entry(name.clone()).or_insert(list.len());
            match list.get_mut(at) {
                Some((_, earlier)) => *earlier = rule,
                None => list.push((name, rule)),
            }
        }
        Self(list)
    }
}

impl Serialize for ActionRules {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().collect::<BTreeMap<_, _>>())
    }
}

/// A pattern.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct MatchRule {
    /// Regular expression; absent matches everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
}

#[cfg(test)]
mod tests;
