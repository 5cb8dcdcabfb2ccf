//! The configuration of a component: the values of flags, those of the site's own file, and whether they fit the
//! schema that the component declares.

use serde_json::{Map, Value};

use super::schema;
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

    /// The document that the component gets. When the site's part does not fit, the component runs without it, and what
    /// is wrong is returned as well.
    pub fn resolve(&self, described: &ComponentDescriptor) -> (Value, Option<String>) {
        let Some(site) = &self.site else {
            return (self.flags.clone(), None);
        };
        let whole = self.whole();
        let mismatch = match &described.config_schema {
            Some(_) => check(described, &whole)
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

/// Validates a configuration against a component's schema, if it has one.
///
/// # Errors
/// [`ConfigMismatch`].
pub fn check(described: &ComponentDescriptor, config: &Value) -> Result<(), ConfigMismatch> {
    let Some(text) = &described.config_schema else {
        return Ok(());
    };
    let whole = |message: String| ConfigMismatch {
        pointer: String::new(),
        message,
    };
    let schema_document: Value = serde_json::from_str(text)
        .map_err(|error| whole(format!("the plugin's config schema is not JSON: {error}")))?;
    let faults = schema::faults(&schema_document, config, MAX_FAULTS).map_err(|error| {
        whole(format!(
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

    fn fault(schema: &str, config: &Value) -> Option<(String, String)> {
        let mismatch = check(&described(Some(schema)), config).err()?;
        Some((mismatch.pointer, mismatch.message))
    }

    #[test]
    fn configuration_is_validated_against_the_schema() {
        assert_eq!(fault(SCHEMA, &json!({"warn": 3.5})), None);
        let (pointer, message) = fault(SCHEMA, &json!({"t": {"a": "x"}})).unwrap();
        assert_eq!(pointer, "/t/a");
        assert!(
            message.contains("/t/a") && message.contains("integer"),
            "{message}"
        );
        let (pointer, message) = fault(SCHEMA, &json!({"warm": 3})).unwrap();
        assert_eq!(pointer, "");
        assert!(message.contains("warm"), "{message}");
        let (_, message) = fault("{", &json!({})).unwrap();
        assert!(message.contains("not JSON"), "{message}");
        let (_, message) = fault(r#"{"type": 5}"#, &json!({})).unwrap();
        assert!(message.contains("cannot be used"), "{message}");
    }

    #[test]
    fn nothing_is_fetched_for_a_schema() {
        let schema = r#"{"$ref": "http://127.0.0.1:1/schema.json"}"#;
        assert!(fault(schema, &json!({})).is_some());
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
