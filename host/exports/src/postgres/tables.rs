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
        // Escaped in JSON it would pass the general rule against NUL.
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
mod tests;
