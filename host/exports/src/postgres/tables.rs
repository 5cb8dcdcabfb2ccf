//! The tables of events and of changes of health. docs/exports-postgres.md describes them.

use super::table::{Column, Shape, Values};
use crate::row::Row;

const fn text(name: &'static str) -> Column {
    Column {
        name,
        definition: "text NOT NULL",
        of_text: "{}",
    }
}

const fn optional(name: &'static str) -> Column {
    Column {
        name,
        definition: "text",
        of_text: "{}",
    }
}

const ID: Column = Column {
    name: "id",
    definition: "uuid PRIMARY KEY",
    of_text: "{}::uuid",
};
const TIME: Column = Column {
    name: "time",
    definition: "timestamptz NOT NULL",
    of_text: "{}::timestamptz",
};
const GPU_INDEX: Column = Column {
    name: "gpu_index",
    definition: "integer",
    of_text: "{}::integer",
};
const EXTRA_INFO: Column = Column {
    name: "extra_info",
    definition: "jsonb NOT NULL",
    of_text: "{}::jsonb",
};
const ACTIONS: Column = Column {
    name: "suggested_actions",
    definition: "text[] NOT NULL",
    of_text: "ARRAY(SELECT jsonb_array_elements_text({}::jsonb))",
};
const SAMPLE: Column = Column {
    name: "sample",
    definition: "boolean NOT NULL",
    of_text: "{}::boolean",
};

const FURTHER: &[&str] = &["received_at timestamptz NOT NULL DEFAULT now()"];
const INDEXES: &[(&str, &str)] = &[
    ("time", "(time)"),
    ("node_time", "(node, time)"),
    (
        "gpu_time",
        "(gpu_serial, time) WHERE gpu_serial IS NOT NULL",
    ),
];

/// Events.
pub const EVENTS: Shape = Shape {
    name: "events",
    columns: &[
        ID,
        TIME,
        text("cluster"),
        text("node"),
        text("machine_id"),
        text("component"),
        text("name"),
        text("severity"),
        text("message"),
        EXTRA_INFO,
        optional("subject"),
        optional("gpu_uuid"),
        optional("gpu_serial"),
        optional("gpu_pci"),
        GPU_INDEX,
        SAMPLE,
    ],
    further: FURTHER,
    indexes: INDEXES,
};

/// Changes of health.
pub const HEALTH_CHANGES: Shape = Shape {
    name: "health_changes",
    columns: &[
        ID,
        TIME,
        text("cluster"),
        text("node"),
        text("machine_id"),
        text("component"),
        text("name"),
        text("health_from"),
        text("health_to"),
        text("reason"),
        ACTIONS,
        optional("subject"),
        optional("gpu_uuid"),
        optional("gpu_serial"),
        optional("gpu_pci"),
        GPU_INDEX,
        SAMPLE,
    ],
    further: FURTHER,
    indexes: INDEXES,
};

/// Returns the values of a row for the table of its kind.
pub fn values(row: &Row, kind: &str) -> Values {
    let own = |text: &str| Some(text.to_owned());
    let mut values = vec![
        own(&row.id),
        own(&row.time),
        own(&row.cluster),
        own(&row.node),
        own(&row.machine_id),
        own(&row.component),
        own(&row.name),
    ];
    if kind == "event" {
        values.push(own(row.severity.unwrap_or("Unknown")));
        values.push(own(&row.message));
        // Escaped in JSON it would come past the general rule against NUL.
        let info = row.extra_info.iter();
        let info = info.map(|(key, value)| (bare(key), bare(value).into()));
        let info = serde_json::Value::Object(info.collect());
        values.push(Some(info.to_string()));
    } else {
        values.push(own(row.health_from.as_deref().unwrap_or_default()));
        values.push(own(row.health_to.as_deref().unwrap_or_default()));
        values.push(own(&row.message));
        let actions = row.suggested_actions.iter().map(|action| bare(action));
        let actions = serde_json::Value::from(actions.collect::<Vec<_>>());
        values.push(Some(actions.to_string()));
    }
    values.extend([
        row.subject.clone(),
        row.gpu_uuid.clone(),
        row.gpu_serial.clone(),
        row.gpu_pci.clone(),
        row.gpu_index.map(|index| index.to_string()),
        Some(row.sample.to_string()),
    ]);
    values
}

fn bare(text: &str) -> String {
    text.replace('\0', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::tests::{change, event};

    #[test]
    fn values_are_in_the_order_of_the_columns() {
        for (record, kind, shape) in [
            (event(), "event", EVENTS),
            (change(), "health", HEALTH_CHANGES),
        ] {
            let row = Row::of(&record, "c1", "n1");
            let values = values(&row, kind);
            assert_eq!(values.len(), shape.columns.len(), "{kind}");
            let value = |name: &str| {
                let column = shape.columns.iter().position(|c| c.name == name).unwrap();
                values[column].as_deref()
            };
            assert_eq!((value("cluster"), value("node")), (Some("c1"), Some("n1")));
            assert_eq!(value("sample"), Some("false"));
            match kind {
                "event" => {
                    assert_eq!(value("severity"), Some("Fatal"));
                    assert_eq!(value("extra_info"), Some(r#"{"xid":"79"}"#));
                    assert_eq!(value("gpu_serial"), Some("1650"));
                    assert_eq!(value("gpu_index"), Some("3"));
                    assert_eq!(value("gpu_pci"), None);
                }
                _ => {
                    assert_eq!(value("health_to"), Some("Unhealthy"));
                    assert_eq!(value("reason"), Some("full"));
                    assert_eq!(
                        value("suggested_actions"),
                        Some(r#"["REBOOT_SYSTEM","HARDWARE_INSPECTION"]"#)
                    );
                    assert_eq!(value("subject"), None);
                }
            }
        }
    }

    #[test]
    fn no_nul_hides_in_json() {
        let mut row = Row::of(&event(), "c", "n");
        row.extra_info.insert("a\0".into(), "b\0".into());
        let info = values(&row, "event")[9].clone().unwrap();
        assert_eq!(info, r#"{"a":"b","xid":"79"}"#);
    }
}
