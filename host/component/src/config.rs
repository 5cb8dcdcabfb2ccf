//! The configuration of a component: the values of flags, those of the site's own file, and whether they fit the
//! schema that the component declares.

use std::path::Path;

use serde_json::{Map, Value};

use super::schema::{self, Fault};
use crate::model::ComponentDescriptor;

/// Most faults of a configuration that one message reports.
const MAX_FAULTS: usize = 8;

/// The configuration of a component.
#[derive(Debug, Clone, PartialEq)]
pub struct ComponentConfig {
    /// From flags and defaults, a JSON object.
    pub flags: Value,
    /// From the site's file.
    pub site: Option<SiteConfig>,
}

/// A site's configuration of one component.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteConfig {
    /// The path of the file, for messages.
    pub file: String,
    /// Keys of the component's configuration; each stands for the whole value of the flags.
    pub keys: Map<String, Value>,
}

/// Why a configuration does not match its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigMismatch {
    /// JSON pointer of the first value that does not fit; empty is the whole.
    pub pointer: String,
    /// The problems, of all values.
    pub message: String,
}

impl ComponentConfig {
    /// Returns the whole configuration, whether it fits the schema or not.
    pub fn whole(&self) -> Value {
        let mut whole = self.flags.clone();
        let site = self.site.iter().flat_map(|site| site.keys.clone());
        match whole.as_object_mut() {
            Some(keys) => keys.extend(site),
            None => whole = Value::Object(site.collect()),
        }
        whole
    }

    /// The document that a built-in component gets. When the site's part does not fit, the component runs without it, and what
    /// is wrong is returned as well.
    pub fn resolve(&self, described: &ComponentDescriptor) -> (Value, Option<String>) {
        let Some(site) = &self.site else {
            return (self.flags.clone(), None);
        };
        let whole = self.whole();
        let mismatch = match &described.config_schema {
            Some(text) => schema_of(text)
                .and_then(|schema| judge(schema::faults(&schema, &whole, MAX_FAULTS)))
                .err()
                .map(|mismatch| mismatch.message),
            None => (!site.keys.is_empty()).then(|| "it takes no configuration".to_owned()),
        };
        match mismatch {
            None => (whole, None),
            Some(message) => {
                let (file, name) = (&site.file, &described.name);
                let problem = format!("{file}: {name}: {message}; it runs without this part");
                (self.flags.clone(), Some(problem))
            }
        }
    }
}

/// Validates a configuration against a plugin's schema, if it has one, in a child of `program`, which is gpud; without one here,
/// for tests.
///
/// # Errors
/// [`ConfigMismatch`].
pub async fn check(
    described: &ComponentDescriptor,
    config: &Value,
    program: Option<&Path>,
) -> Result<(), ConfigMismatch> {
    let Some(text) = &described.config_schema else {
        return Ok(());
    };
    let schema = schema_of(text)?;
    judge(match program {
        Some(program) => schema::faults_in_child(program, schema, config.clone(), MAX_FAULTS).await,
        None => schema::faults(&schema, config, MAX_FAULTS),
    })
}

fn schema_of(text: &str) -> Result<Value, ConfigMismatch> {
    serde_json::from_str(text).map_err(|error| {
        ConfigMismatch::whole(format!("the plugin's config schema is not JSON: {error}"))
    })
}

fn judge(faults: Result<Vec<Fault>, String>) -> Result<(), ConfigMismatch> {
    let faults = faults.map_err(|error| {
        ConfigMismatch::whole(format!(
            "the plugin's config schema cannot be used: {error}"
        ))
    })?;
    let Some(first) = faults.first() else {
        return Ok(());
    };
    let texts = faults.iter().map(|fault| {
        let at = &fault.pointer;
        let at = if at.is_empty() { "config" } else { at };
        format!("{at}: {}", fault.text)
    });
    Err(ConfigMismatch {
        pointer: first.pointer.clone(),
        message: format!(
            "config does not fit: {}",
            texts.collect::<Vec<_>>().join("; ")
        ),
    })
}

impl ConfigMismatch {
    fn whole(message: String) -> Self {
        Self {
            pointer: String::new(),
            message,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SCHEMA: &str = r#"{"type":"object","properties":{"warn":{"type":"number"},"t":{"type":"object",
        "properties":{"a":{"type":"integer"}}}},"additionalProperties":false}"#;

    fn described(schema: Option<&str>) -> ComponentDescriptor {
        ComponentDescriptor {
            name: "fan".to_owned(),
            config_schema: schema.map(str::to_owned),
            ..ComponentDescriptor::default()
        }
    }

    async fn fault(schema: &str, config: &Value) -> Option<(String, String)> {
        let checked = check(&described(Some(schema)), config, None).await;
        let mismatch = checked.err()?;
        Some((mismatch.pointer, mismatch.message))
    }

    #[tokio::test]
    async fn configuration_is_validated_against_the_schema() {
        assert_eq!(fault(SCHEMA, &json!({"warn": 3.5})).await, None);
        let (pointer, message) = fault(SCHEMA, &json!({"t": {"a": "x"}})).await.unwrap();
        assert_eq!(pointer, "/t/a");
        assert!(
            message.contains("/t/a") && message.contains("integer"),
            "{message}"
        );
        let (pointer, message) = fault(SCHEMA, &json!({"warm": 3})).await.unwrap();
        assert_eq!(pointer, "");
        assert!(message.contains("warm"), "{message}");
        let (_, message) = fault("{", &json!({})).await.unwrap();
        assert!(message.contains("not JSON"), "{message}");
        let (_, message) = fault(r#"{"type": 5}"#, &json!({})).await.unwrap();
        assert!(message.contains("cannot be used"), "{message}");
    }

    #[tokio::test]
    async fn nothing_is_fetched_for_a_schema() {
        let schema = r#"{"$ref": "http://127.0.0.1:1/schema.json"}"#;
        assert!(fault(schema, &json!({})).await.is_some());
    }

    #[test]
    fn the_site_wins_over_flags_where_it_fits() {
        let site = |keys: Value| ComponentConfig {
            flags: json!({"warn": 1}),
            site: Some(SiteConfig {
                file: "site.yaml".to_owned(),
                keys: keys.as_object().unwrap().clone(),
            }),
        };
        let with_schema = described(Some(SCHEMA));
        let (config, problem) = site(json!({"warn": 2, "t": {"a": 1}})).resolve(&with_schema);
        assert_eq!((config, problem), (json!({"warn": 2, "t": {"a": 1}}), None));
        let (config, problem) = site(json!({"warn": "much"})).resolve(&with_schema);
        assert_eq!(config, json!({"warn": 1}));
        let problem = problem.unwrap();
        assert!(
            problem.starts_with("site.yaml: fan: config does not fit: /warn: "),
            "{problem}"
        );
        let (config, problem) = site(json!({"warn": 2})).resolve(&described(None));
        assert_eq!(config, json!({"warn": 1}));
        assert_eq!(
            problem.unwrap(),
            "site.yaml: fan: it takes no configuration; it runs without this part"
        );
    }
}
