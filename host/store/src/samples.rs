//! Metric samples: each series is stored once, its samples as time, series and value.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};

use super::{Kind, Store, StoreError, check_size, sql_time, unsigned};
use crate::model::{Pairs, UnixMillis};

/// Most samples of one answer: three hours of 2,700 series.
pub const MAX_READ: usize = 500_000;

/// One reading to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The component that reported it.
    pub component: String,
    /// Full Prometheus name.
    pub name: String,
    /// Labels besides `gpud_component`, sorted by name.
    pub labels: Pairs,
    /// The value.
    pub value: f64,
}

/// The common properties of the samples of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    /// The component that reported it.
    pub component: String,
    /// Full Prometheus name.
    pub name: String,
    /// Labels besides `gpud_component`, sorted by name.
    pub labels: Pairs,
}

/// One stored reading; samples of a series share it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSample {
    /// When it was taken.
    pub time: UnixMillis,
    /// The series of the sample.
    pub series: Arc<Series>,
    /// The value.
    pub value: f64,
}

impl Store {
    /// Stores the samples of one pass, all under one time; a second sample of a series at that time replaces the first.
    /// Values that are not finite are left out: JSON has no word for them.
    ///
    /// # Errors
    /// Any failure to write.
    pub async fn insert_samples(
        &self,
        time: UnixMillis,
        samples: Vec<Sample>,
    ) -> Result<(), StoreError> {
        let insert = move |conn: &Connection| {
            for sample in samples.iter().filter(|sample| sample.value.is_finite()) {
                let series = series_id(conn, sample)?;
                let mut statement = conn.prepare_cached(
                    "INSERT OR REPLACE INTO metric_sample (time_ms, series_id, value)
                     VALUES (?1, ?2, ?3)",
                )?;
                statement.execute(params![sql_time(time), series, sample.value])?;
            }
            Ok(())
        };
        self.write(Kind::InsertUpdate, insert).await
    }

    /// Samples taken at `since` or later, ascending by time; of the named components, or of all.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] if there are more than [`MAX_READ`]; any failure to read.
    pub async fn samples(
        &self,
        since: UnixMillis,
        components: Option<&[String]>,
    ) -> Result<Vec<StoredSample>, StoreError> {
        let components = components.map(<[String]>::to_vec);
        self.read(move |conn| {
            let known = series(conn, components.as_deref())?;
            let mut query = conn.prepare_cached(
                "SELECT time_ms, series_id, value FROM metric_sample WHERE time_ms >= ?1
                 ORDER BY time_ms, series_id",
            )?;
            let mut rows = query.query([sql_time(since)])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                if let Some(series) = known.get(&row.get(1)?) {
                    check_size("number of samples", found.len() + 1, MAX_READ)?;
                    found.push(StoredSample {
                        time: unsigned(row, 0)?,
                        series: Arc::clone(series),
                        value: row.get(2)?,
                    });
                }
            }
            Ok(found)
        })
        .await
    }
}

fn series_id(conn: &Connection, sample: &Sample) -> Result<i64, StoreError> {
    let labels = serde_json::Value::from_iter(
        sample
            .labels
            .iter()
            .map(|(name, value)| vec![name.as_str(), value.as_str()]),
    )
    .to_string();
    let key = params![sample.component, sample.name, labels];
    let known = conn
        .prepare_cached(
            "SELECT id FROM metric_series WHERE component = ?1 AND name = ?2 AND labels = ?3",
        )?
        .query_row(key, |row| row.get(0))
        .optional()?;
    if let Some(id) = known {
        return Ok(id);
    }
    let mut insert = conn.prepare_cached(
        "INSERT INTO metric_series (component, name, labels) VALUES (?1, ?2, ?3)",
    )?;
    Ok(insert.insert(key)?)
}

fn series(
    conn: &Connection,
    components: Option<&[String]>,
) -> Result<HashMap<i64, Arc<Series>>, StoreError> {
    let names = components.map(|names| serde_json::Value::from(names.to_vec()).to_string());
    let mut query = conn.prepare_cached(
        "SELECT id, component, name, labels FROM metric_series
         WHERE ?1 IS NULL OR component IN (SELECT value FROM json_each(?1))",
    )?;
    let rows = query.query_map([names], |row| {
        let series = Series {
            component: row.get(1)?,
            name: row.get(2)?,
            labels: serde_json::from_str(row.get_ref(3)?.as_str()?).unwrap_or_default(),
        };
        Ok((row.get(0)?, Arc::new(series)))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
