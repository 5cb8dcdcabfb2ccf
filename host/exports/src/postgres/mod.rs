//! Writes events and changes of health into two tables of a PostgreSQL database.
//!
//! A batch is one statement for each table. A record's id is the primary key, and a row that is there already is left
//! alone, so a repeat adds nothing. The tables are made when they are missing.

mod answers;
mod connection;
mod error;
mod settings;
mod socket;
mod table;
mod tables;
mod tcp;
mod tls;

use tokio_postgres::Client;

pub use settings::{DatabaseServer, KIND, Settings, TlsMode};

pub(crate) use connection::Database;
pub(crate) use settings::{check_identifier, default_port, default_schema, yes};
pub(crate) use table::{Column, Shape, Table, Values};

use crate::{Context, DeliveryError, Export, Record, row::Row, row_origin};
use tables::{EVENTS, HEALTH_CHANGES};

/// The database at work.
#[derive(Debug)]
pub struct Postgres {
    settings: Settings,
    database: Database,
    events: Table,
    health_changes: Table,
}

impl Postgres {
    /// Makes one that has not connected yet.
    pub fn new(settings: Settings) -> Self {
        let table = |shape| Table::new(&settings.schema, &settings.table_prefix, shape);
        Self {
            events: table(&EVENTS),
            health_changes: table(&HEALTH_CHANGES),
            database: Database::new(settings.server.clone(), settings.create_tables),
            settings,
        }
    }

    /// Writes a sample and returns what happened.
    ///
    /// # Errors
    /// [`DeliveryError`].
    pub async fn send_sample(
        &mut self,
        sample: &Record,
        context: &Context,
    ) -> Result<String, DeliveryError> {
        self.deliver(std::slice::from_ref(sample), context).await?;
        let table = self.events.name();
        Ok(format!("the sample {} is a row of {table}", sample.id))
    }

    fn rows(&self, batch: &[Record], context: &Context) -> Result<Vec<Row>, DeliveryError> {
        let (cluster, node) = (&self.settings.cluster, self.settings.node.as_deref());
        let mut rows = Vec::with_capacity(batch.len());
        for record in batch {
            let node = row_origin::node_name(node, &record.node.hostname, context)?;
            rows.push(Row::of(record, cluster, &node));
        }
        Ok(rows)
    }

    async fn insert(&self, client: &Client, rows: &[Row]) -> Result<(), tokio_postgres::Error> {
        for (kind, table) in [("event", &self.events), ("health", &self.health_changes)] {
            let of_kind = rows.iter().filter(|row| row.kind == kind);
            let values: Vec<Values> = of_kind.map(|row| tables::values(row, kind)).collect();
            table.insert(client, &values).await?;
        }
        Ok(())
    }
}

impl Export for Postgres {
    async fn deliver(&mut self, batch: &[Record], context: &Context) -> Result<(), DeliveryError> {
        let rows = self.rows(batch, context)?;
        let tables = [&self.events, &self.health_changes];
        let client = self.database.client(&tables, context).await?;
        let inserted = self.insert(&client, &rows).await;
        self.database.settle(client, inserted)
    }
}
