//! Deletes old rows of every table that has times.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{Kind, Store, StoreError, StoreOptions, sql_time, unsigned};
use crate::model::UnixMillis;

/// Rows deleted by one job, so that a purge after a long stop neither holds up other writes nor swells the log.
const STEP: u32 = 10_000;
/// Most rows of one component in a table of [`CAPPED`], whatever their age.
const ROWS_PER_COMPONENT: u32 = 100_000;
/// The newest rows of a component stay, whatever they weigh: as many as a checker reads at once, and among them are those
/// that end older ones.
const NEWEST: u32 = 10_000;
/// Rows of the heaviest component that one job deletes.
const HEAVY_STEP: u32 = 1_000;
/// Most of these jobs in one purge.
const HEAVY_JOBS: usize = 100;
/// Free pages that one purge gives back to the file system.
const VACUUM_PAGES: usize = 2_000;

/// How old the rows of one table may become.
pub(super) struct Rule {
    pub(super) table: &'static str,
    /// The columns that name a row.
    key: &'static str,
    /// Condition for old rows; `?1` is the oldest time that is retained.
    old: &'static str,
    retention: fn(&StoreOptions) -> Duration,
}

/// One rule for each table with a time.
pub(super) const RULES: &[Rule] = &[
    Rule {
        table: "event",
        key: "id",
        old: "last_time_ms < ?1",
        retention: |options| options.events_retention,
    },
    Rule {
        table: "healthy_mark",
        key: "component, time_ms",
        old: "time_ms < ?1 AND EXISTS (SELECT 1 FROM healthy_mark AS later
              WHERE later.component = healthy_mark.component AND later.time_ms > healthy_mark.time_ms)",
        retention: |options| options.events_retention,
    },
    Rule {
        table: "state_change",
        key: "id",
        old: "time_ms < ?1",
        retention: |options| options.state_history_retention,
    },
    Rule {
        table: "metric_sample",
        key: "time_ms, series_id",
        old: "time_ms < ?1",
        retention: |options| options.metrics_retention,
    },
];

/// A table that a component could fill faster than its rows age.
#[derive(Debug, Clone, Copy)]
struct Cap {
    table: &'static str,
    /// The order of age.
    age: &'static str,
    /// Which rows are deleted last, so that a flood of lesser ones does not displace them.
    worst: &'static str,
}

/// All of them.
const CAPPED: &[Cap] = &[
    Cap {
        table: "event",
        age: "time_ms / 1000",
        worst: super::events::IS_WORST,
    },
    Cap {
        table: "state_change",
        age: "time_ms",
        worst: "FALSE",
    },
];

/// Numbers of rows that a purge deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PurgeCounts {
    /// Rows past their retention, over all tables.
    pub old: u64,
    /// Rows beyond the bound of one component (100,000 events, 100,000 changes of state).
    pub excess: u64,
    /// Events of the heaviest components, while the database was nearly full.
    pub heavy: u64,
    /// Repeats of events that went into the count of the first within an hour.
    pub condensed: u64,
}

impl Store {
    /// Deletes what is past its retention at `now`, then gives free pages back; to be called every few minutes.
    ///
    /// # Errors
    /// Any failure to write; what was deleted until then stays deleted.
    pub async fn purge(&self, now: UnixMillis) -> Result<PurgeCounts, StoreError> {
        let mut purged = PurgeCounts::default();
        for rule in RULES {
            purged.old += self.purge_table(rule, now).await?;
        }
        purged.condensed = self.condense(now).await?;
        for cap in CAPPED {
            purged.excess += self.cap_table(*cap).await?;
        }
        purged.heavy = self.lighten().await?;
        self.write(Kind::Delete, |conn| {
            Ok(conn.execute(
                "DELETE FROM metric_series WHERE id NOT IN (SELECT series_id FROM metric_sample)",
                [],
            )?)
        })
        .await?;
        self.write(Kind::Vacuum, |conn| {
            let mut vacuum = conn.prepare(&format!("PRAGMA incremental_vacuum({VACUUM_PAGES})"))?;
            // Each step frees one page.
            let mut steps = vacuum.query([])?;
            while steps.next()?.is_some() {}
            Ok(())
        })
        .await?;
        Ok(purged)
    }

    /// Deletes the oldest events of the component whose events weigh most, again and again, until a quarter of the database is free:
    /// one that fills it keeps all others from storing anything.
    async fn lighten(&self) -> Result<u64, StoreError> {
        let mut total = 0;
        for _ in 0..HEAVY_JOBS {
            let step = |conn: &Connection| match is_nearly_full(conn)? {
                true => lighten_heaviest(conn),
                false => Ok(0),
            };
            match self.write(Kind::Delete, step).await? {
                0 => break,
                deleted => total += deleted,
            }
        }
        Ok(total)
    }

    async fn purge_table(&self, rule: &'static Rule, now: UnixMillis) -> Result<u64, StoreError> {
        let kept = u64::try_from((rule.retention)(&self.inner.options).as_millis());
        let oldest = sql_time(now.saturating_sub(kept.unwrap_or(u64::MAX)));
        let Rule {
            table, key, old, ..
        } = rule;
        let sql = format!(
            "DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE {old} LIMIT ?2)"
        );
        let mut total = 0;
        loop {
            let sql = sql.clone();
            let delete = move |conn: &Connection| Ok(conn.execute(&sql, params![oldest, STEP])?);
            let deleted = self.write(Kind::Delete, delete).await?;
            total += deleted as u64;
            if deleted < STEP as usize {
                return Ok(total);
            }
        }
    }

    /// Deletes rows of components that have too many, up to [`STEP`] each: the oldest of the lesser ones first, then the
    /// oldest of the worst, but none of the [`NEWEST`].
    async fn cap_table(&self, cap: Cap) -> Result<u64, StoreError> {
        let Cap { table, age, worst } = cap;
        let crowded = format!(
            "SELECT component, count(*) FROM {table} GROUP BY component HAVING count(*) > ?1"
        );
        let delete = format!(
            "DELETE FROM {table} WHERE id IN
                 (SELECT id FROM {table} WHERE component = ?1 AND id NOT IN
                     (SELECT id FROM {table} WHERE component = ?1 ORDER BY {age} DESC, id DESC LIMIT {NEWEST})
                  ORDER BY {worst}, {age}, id LIMIT ?2)"
        );
        let cap = move |conn: &Connection| {
            let mut query = conn.prepare(&crowded)?;
            let crowded: Vec<(String, i64)> = query
                .query_map([ROWS_PER_COMPONENT], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<Result<_, _>>()?;
            let mut deleted = 0;
            for (component, rows) in crowded {
                let excess = rows - i64::from(ROWS_PER_COMPONENT);
                tracing::warn!(
                    component,
                    excess,
                    "too many rows: the oldest of the lesser ones are deleted"
                );
                deleted +=
                    conn.execute(&delete, params![component, excess.min(i64::from(STEP))])?;
            }
            Ok(deleted as u64)
        };
        self.write(Kind::Delete, cap).await
    }
}

fn is_nearly_full(conn: &Connection) -> Result<bool, StoreError> {
    let pages = |pragma: &str| -> rusqlite::Result<u64> {
        conn.query_row(&format!("PRAGMA {pragma}"), [], |row| unsigned(row, 0))
    };
    let used = pages("page_count")?.saturating_sub(pages("freelist_count")?);
    Ok(used > pages("max_page_count")? / 4 * 3)
}

/// Deletes up to [`HEAVY_STEP`] events of the heaviest component: the oldest of the lesser ones first.
fn lighten_heaviest(conn: &Connection) -> Result<u64, StoreError> {
    let heaviest: Option<String> = conn
        .query_row(
            "SELECT component FROM event GROUP BY component
             ORDER BY sum(octet_length(message) + octet_length(detail)) DESC LIMIT 1",
            [],
            |row| row.get(0),
        )
        .optional()?;
    let Some(component) = heaviest else {
        return Ok(0);
    };
    let delete = format!(
        "DELETE FROM event WHERE id IN
             (SELECT id FROM event WHERE component = ?1 ORDER BY {}, time_ms, id LIMIT ?2)",
        super::events::IS_WORST
    );
    let deleted = conn.execute(&delete, params![component, HEAVY_STEP])?;
    tracing::warn!(
        component,
        deleted,
        "the database is nearly full: the oldest events of the heaviest component are deleted"
    );
    Ok(deleted as u64)
}
