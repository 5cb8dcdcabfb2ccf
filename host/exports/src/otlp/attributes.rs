//! Attributes, the resource and the scope of what is sent.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::{
    common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue, any_value::Value},
    resource::v1::Resource,
};

use crate::{MachineFacts, NodeIdentity};

/// The name under which gpud sends.
const NAME: &str = "gpud";
/// gpud's version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Makes an attribute with a text.
pub fn text(key: &str, value: impl Into<String>) -> KeyValue {
    attribute(key, Value::StringValue(value.into()))
}

/// Makes an attribute with a whole number.
pub fn number(key: &str, value: impl Into<i64>) -> KeyValue {
    attribute(key, Value::IntValue(value.into()))
}

/// Makes an attribute that is true.
pub fn flag(key: &str) -> KeyValue {
    attribute(key, Value::BoolValue(true))
}

/// Makes an attribute with a list of texts.
pub fn list(key: &str, values: &[String]) -> KeyValue {
    let values = values.iter().map(|text| AnyValue {
        value: Some(Value::StringValue(text.clone())),
    });
    let values = values.collect();
    attribute(key, Value::ArrayValue(ArrayValue { values }))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

/// Returns who sends.
pub fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: NAME.to_owned(),
        version: VERSION.to_owned(),
        ..InstrumentationScope::default()
    }
}

/// Returns what the readings are of: gpud on this machine. `further` attributes replace those of gpud.
pub fn resource(
    node: &NodeIdentity,
    machine: &MachineFacts,
    node_name: Option<String>,
    further: &BTreeMap<String, String>,
) -> Resource {
    let arch = match machine.arch.as_str() {
        "386" => "x86",
        "arm" => "arm32",
        "ppc64le" => "ppc64",
        other => other,
    };
    let mut attributes: BTreeMap<&str, &str> = [
        ("service.name", NAME),
        ("service.version", VERSION),
        // Prometheus makes its label `instance` of it.
        ("service.instance.id", node.hostname.as_str()),
        ("host.name", node.hostname.as_str()),
        ("host.id", node.machine_id.as_str()),
        ("host.arch", arch),
        ("os.type", "linux"),
        ("os.name", machine.os_name.as_str()),
        ("os.version", machine.os_version.as_str()),
        ("os.description", machine.os_description.as_str()),
        ("k8s.node.name", node_name.as_deref().unwrap_or_default()),
    ]
    .into();
    attributes.extend(
        further
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str())),
    );
    let known = attributes
        .into_iter()
        .filter(|(_, value)| !value.is_empty());
    Resource {
        attributes: known.map(|(key, value)| text(key, value)).collect(),
        ..Resource::default()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Attributes as `key=value`, in their order.
    pub fn shown(attributes: &[KeyValue]) -> Vec<String> {
        let shown = |attribute: &KeyValue| {
            let value = attribute.value.as_ref().and_then(|any| any.value.as_ref());
            let value = match value.unwrap() {
                Value::StringValue(text) => text.clone(),
                Value::IntValue(number) => number.to_string(),
                Value::BoolValue(flag) => flag.to_string(),
                Value::ArrayValue(list) => format!("{} values", list.values.len()),
                other => panic!("{other:?}"),
            };
            format!("{}={value}", attribute.key)
        };
        attributes.iter().map(shown).collect()
    }

    #[test]
    fn the_resource_is_gpud_on_this_machine() {
        let node = NodeIdentity {
            hostname: "node-7".into(),
            machine_id: "4c4c".into(),
        };
        let machine = MachineFacts {
            arch: "amd64".into(),
            os_name: "ubuntu".into(),
            os_version: "24.04".into(),
            os_description: "Ubuntu 24.04.1 LTS".into(),
        };
        let further = BTreeMap::from([
            ("deployment.environment.name".to_owned(), "prod".to_owned()),
            ("service.name".to_owned(), "node-health".to_owned()),
        ]);
        let made = resource(&node, &machine, Some("k8s-7".into()), &further);
        let version = format!("service.version={VERSION}");
        assert_eq!(
            shown(&made.attributes),
            [
                "deployment.environment.name=prod",
                "host.arch=amd64",
                "host.id=4c4c",
                "host.name=node-7",
                "k8s.node.name=k8s-7",
                "os.description=Ubuntu 24.04.1 LTS",
                "os.name=ubuntu",
                "os.type=linux",
                "os.version=24.04",
                "service.instance.id=node-7",
                "service.name=node-health",
                version.as_str(),
            ]
        );
        let unknown = resource(
            &NodeIdentity::default(),
            &MachineFacts::default(),
            None,
            &BTreeMap::new(),
        );
        assert_eq!(
            shown(&unknown.attributes),
            ["os.type=linux", "service.name=gpud", version.as_str()]
        );
    }
}
