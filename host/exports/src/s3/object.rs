//! Objects: their names and what is in them.

use serde::Serialize;

use super::settings::{Format, Settings};
use crate::{UnixMillis, csv, partition, row::Row};

/// One object to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its name.
    pub key: String,
    /// Type of what is in it.
    pub content_type: &'static str,
    /// Its content.
    pub body: Vec<u8>,
}

/// Makes the objects of a batch: one for each folder. Each is named after the first of its records.
pub fn of_rows(
    rows: &[(UnixMillis, Row)],
    settings: &Settings,
) -> Result<Vec<Object>, serde_json::Error> {
    let mut folders: Vec<(String, Vec<&Row>)> = Vec::new();
    for (time, row) in rows {
        let folder = partition::folder(
            &settings.prefix,
            settings.partition(),
            *time,
            &row.cluster,
            &row.node,
        );
        match folders.iter_mut().find(|(known, _)| *known == folder) {
            Some((_, rows)) => rows.push(row),
            None => folders.push((folder, vec![row])),
        }
    }
    let made = folders.into_iter().map(|(folder, rows)| {
        let first = rows.first().map(|row| row.id.as_str()).unwrap_or_default();
        let end = settings.format.ending();
        Ok::<_, serde_json::Error>(Object {
            key: format!("{folder}/{first}.{end}"),
            content_type: settings.format.content_type(),
            body: match settings.format {
                Format::Json => json_lines(&rows)?,
                Format::Csv => csv(&rows)?.into_bytes(),
            },
        })
    });
    made.collect()
}

/// Writes each item as JSON on a line of its own.
pub(crate) fn json_lines<T: Serialize>(items: &[T]) -> Result<Vec<u8>, serde_json::Error> {
    let mut body = Vec::new();
    for item in items {
        serde_json::to_writer(&mut body, item)?;
        body.push(b'\n');
    }
    Ok(body)
}

/// Writes rows below a line with the names of the columns. Lists and mappings are JSON inside of it.
fn csv(rows: &[&Row]) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    csv::push_line(&mut text, COLUMNS);
    for row in rows {
        let actions = serde_json::to_string(&row.suggested_actions)?;
        let info = serde_json::to_string(&row.extra_info)?;
        let index = row.gpu_index.map(|index| index.to_string());
        let optional = |value: &Option<String>| value.clone().unwrap_or_default();
        let values = [
            row.id.clone(),
            row.kind.to_owned(),
            row.time.clone(),
            row.cluster.clone(),
            row.node.clone(),
            row.machine_id.clone(),
            row.component.clone(),
            row.name.clone(),
            row.severity.unwrap_or_default().to_owned(),
            optional(&row.health_from),
            optional(&row.health_to),
            row.message.clone(),
            actions,
            optional(&row.subject),
            optional(&row.gpu_uuid),
            optional(&row.gpu_serial),
            optional(&row.gpu_pci),
            optional(&index),
            info,
            row.sample.to_string(),
        ];
        csv::push_line(&mut text, values.iter().map(String::as_str));
    }
    Ok(text)
}

/// Names of the columns; those of JSON are the same.
const COLUMNS: [&str; 20] = [
    "id",
    "kind",
    "time",
    "cluster",
    "node",
    "machine_id",
    "component",
    "name",
    "severity",
    "health_from",
    "health_to",
    "message",
    "suggested_actions",
    "subject",
    "gpu_uuid",
    "gpu_serial",
    "gpu_pci",
    "gpu_index",
    "extra_info",
    "sample",
];

#[cfg(test)]
mod tests;
