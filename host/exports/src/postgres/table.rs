//! A table: how it is made, and how rows are added in one statement.

use std::fmt::Write as _;

use tokio_postgres::{
    Client, Error,
    types::{ToSql, Type},
};

/// One column that rows are written to. All values are sent as texts; the statement makes its type of them.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type, and what it may hold.
    pub definition: &'static str,
    /// How a text `{}` becomes its type.
    pub of_text: &'static str,
}

/// The shape of a table.
#[derive(Debug)]
pub struct Shape {
    /// The name; that of the settings is put before it.
    pub name: &'static str,
    /// The columns that rows are written to.
    pub columns: &'static [Column],
    /// Further columns and constraints.
    pub further: &'static [&'static str],
    /// Indexes: the end of the name, and what is indexed.
    pub indexes: &'static [(&'static str, &'static str)],
}

/// The values of a row, in the order of the columns.
pub type Values = Vec<Option<String>>;

/// A table of a database.
#[derive(Debug)]
pub struct Table {
    name: String,
    create: String,
    insert: String,
    columns: usize,
}

impl Table {
    /// Makes the statements of a table. `schema` and `prefix` are identifiers that were checked.
    pub fn new(schema: &str, prefix: &str, shape: &Shape) -> Self {
        let bare = format!("{prefix}{}", shape.name);
        let index = |end: &str| format!("{bare}_{end}");
        Self::with_index_names(schema, &bare, shape, index)
    }

    /// Does the same for a table whose indexes have names of another kind.
    pub fn with_index_names(
        schema: &str,
        bare: &str,
        shape: &Shape,
        index_name: impl Fn(&str) -> String,
    ) -> Self {
        let name = format!("\"{schema}\".\"{bare}\"");
        let columns = shape.columns.iter();
        let mut lines: Vec<String> = columns
            .map(|column| format!("{} {}", column.name, column.definition))
            .collect();
        lines.extend(shape.further.iter().map(|line| (*line).to_owned()));
        let mut create = format!("CREATE TABLE IF NOT EXISTS {name} ({});", lines.join(", "));
        for (end, indexed) in shape.indexes {
            let index = index_name(end);
            let _ = write!(
                create,
                " CREATE INDEX IF NOT EXISTS \"{index}\" ON {name} {indexed};"
            );
        }
        Self {
            insert: insert(&name, shape.columns),
            columns: shape.columns.len(),
            name,
            create,
        }
    }

    /// Returns its name with the schema's, as statements have it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if it is there.
    pub(crate) async fn exists(&self, client: &Client) -> Result<bool, Error> {
        let rows = client
            .query_typed(
                "SELECT to_regclass($1) IS NOT NULL",
                &[(&self.name, Type::TEXT)],
            )
            .await?;
        match rows.first() {
            Some(row) => row.try_get(0),
            None => Ok(false),
        }
    }

    /// Returns the statements that make it and its indexes.
    pub(crate) fn create(&self) -> &str {
        &self.create
    }

    /// Adds rows; those that are there already stay as they are.
    pub async fn insert(&self, client: &Client, rows: &[Values]) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let columns: Vec<Vec<Option<String>>> = (0..self.columns)
            .map(|column| rows.iter().map(|row| cell(row, column)).collect())
            .collect();
        let parameters: Vec<(&(dyn ToSql + Sync), Type)> = columns
            .iter()
            .map(|column| (column as &(dyn ToSql + Sync), Type::TEXT_ARRAY))
            .collect();
        client.execute_typed(&self.insert, &parameters).await?;
        Ok(())
    }
}

/// Returns a value without NUL, which PostgreSQL has no place for.
fn cell(row: &[Option<String>], column: usize) -> Option<String> {
    let value = row.get(column)?.as_ref()?;
    Some(value.replace('\0', ""))
}

/// Makes the statement that adds any number of rows: each parameter is one column.
fn insert(table: &str, columns: &[Column]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    let names = names.join(", ");
    let made = columns
        .iter()
        .map(|column| column.of_text.replace("{}", &format!("u.{}", column.name)));
    let made = made.collect::<Vec<_>>().join(", ");
    let parameters = (1..=columns.len()).map(|number| format!("${number}::text[]"));
    let parameters = parameters.collect::<Vec<_>>().join(", ");
    format!(
        "INSERT INTO {table} ({names}) SELECT {made} FROM UNNEST({parameters}) AS u({names}) \
         ON CONFLICT DO NOTHING"
    )
}

#[cfg(test)]
mod tests;
