//! The table of serial numbers, with gpuid's columns, unique key and indexes.

use super::{reading::Reading, settings::PostgresTarget};
use crate::{
    Context, DeliveryError,
    postgres::{Column, Database, Shape, Table, Values},
};

/// Longest value of a column, characters.
const MAX_LENGTH: usize = 255;

const fn text(name: &'static str) -> Column {
    Column {
        name,
        definition: "varchar(255) NOT NULL",
        of_text: "{}",
    }
}

const SHAPE: Shape = Shape {
    name: "",
    columns: &[
        text("cluster"),
        text("node"),
        text("machine"),
        text("source"),
        text("chassis"),
        text("gpu"),
        Column {
            name: "read_time",
            definition: "timestamptz NOT NULL",
            of_text: "{}::timestamptz",
        },
    ],
    further: &[
        "id bigserial PRIMARY KEY",
        "created_at timestamptz NOT NULL DEFAULT now()",
        "UNIQUE (cluster, node, machine, source, chassis, gpu, read_time)",
    ],
    indexes: &[
        ("cluster", "(cluster)"),
        ("node", "(node)"),
        ("read_time", "(read_time)"),
        ("created_at", "(created_at)"),
    ],
};

/// The table of a database.
#[derive(Debug)]
pub struct Serials {
    database: Database,
    table: Table,
}

impl Serials {
    /// Makes one that has not connected yet.
    pub fn new(target: &PostgresTarget) -> Self {
        let name = &target.table;
        let index = |end: &str| format!("idx_{name}_{end}");
        Self {
            database: Database::new(target.server.clone(), target.create_tables),
            table: Table::with_index_names(&target.schema, name, &SHAPE, index),
        }
    }

    /// Adds readings; those that are there already stay as they are.
    pub async fn insert(
        &mut self,
        readings: &[Reading],
        context: &Context,
    ) -> Result<(), DeliveryError> {
        let rows: Vec<Values> = readings.iter().map(values).collect();
        let client = self.database.client(&[&self.table], context).await?;
        let inserted = self.table.insert(&client, &rows).await;
        self.database.settle(client, inserted)
    }
}

fn values(reading: &Reading) -> Values {
    let fitting = |value: &str| Some(value.chars().take(MAX_LENGTH).collect());
    reading.columns().into_iter().map(fitting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_gpuids() {
        let target: PostgresTarget =
            serde_yaml::from_str("server: {host: h, database: d, user: u}").unwrap();
        let serials = Serials::new(&target);
        assert_eq!(serials.table.name(), "\"public\".\"serials\"");
        let create = serials.table.create();
        for part in [
            "gpu varchar(255) NOT NULL, read_time timestamptz NOT NULL",
            "UNIQUE (cluster, node, machine, source, chassis, gpu, read_time)",
            "\"idx_serials_read_time\" ON \"public\".\"serials\" (read_time);",
        ] {
            assert!(create.contains(part), "{create}");
        }
    }

    #[test]
    fn values_fit_their_columns() {
        let reading = Reading {
            cluster: "é".repeat(300),
            node: "n".into(),
            machine: "m".into(),
            source: "s".into(),
            chassis: "c".into(),
            gpu: "g".into(),
            time: "t".into(),
        };
        let values = values(&reading);
        assert_eq!(values.len(), SHAPE.columns.len());
        assert_eq!(values[0].as_ref().unwrap().chars().count(), 255);
    }
}
