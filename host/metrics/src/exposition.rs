//! Prometheus' text format 0.0.4, byte for byte as the Go client library writes it.

use std::fmt::Write;

use super::families::{BOUND_LABEL, COMPONENT_LABEL, Family, SeriesKey, Table, Value};
use super::float::go_float;

/// Writes all families by name, each with its series by labels.
pub(super) fn render(table: &Table) -> String {
    let mut text = String::new();
    for (name, family) in &table.families {
        // Writing to a string cannot fail.
        let _ = family_text(&mut text, name, family);
    }
    text
}

fn family_text(text: &mut String, name: &str, family: &Family) -> std::fmt::Result {
    if !family.help.is_empty() {
        writeln!(text, "# HELP {name} {}", escape(&family.help, false))?;
    }
    writeln!(text, "# TYPE {name} {}", family.kind.word())?;
    for (key, value) in &family.series {
        match value {
            Value::Number(number) => line(text, name, key, None, &go_float(*number))?,
            Value::Histogram {
                buckets,
                sum,
                count,
            } => {
                let bucket_name = format!("{name}_bucket");
                let mut cumulative = 0;
                for (bound, bucket) in family.bounds.iter().zip(buckets) {
                    cumulative += bucket;
                    let bound = go_float(*bound);
                    line(
                        text,
                        &bucket_name,
                        key,
                        Some(&bound),
                        &cumulative.to_string(),
                    )?;
                }
                line(text, &bucket_name, key, Some("+Inf"), &count.to_string())?;
                line(text, &format!("{name}_sum"), key, None, &go_float(*sum))?;
                line(
                    text,
                    &format!("{name}_count"),
                    key,
                    None,
                    &count.to_string(),
                )?;
            }
        }
    }
    Ok(())
}

/// One sample. Labels are sorted with the component among them; a bucket's bound comes last.
fn line(
    text: &mut String,
    name: &str,
    key: &SeriesKey,
    bound: Option<&str>,
    value: &str,
) -> std::fmt::Result {
    let component = key
        .component
        .as_deref()
        .map(|component| (COMPONENT_LABEL, component));
    let mut labels: Vec<(&str, &str)> = key
        .labels
        .iter()
        .map(|(label, value)| (label.as_str(), value.as_str()))
        .chain(component)
        .collect();
    labels.sort_unstable();
    labels.extend(bound.map(|bound| (BOUND_LABEL, bound)));
    text.push_str(name);
    for (position, (label, value)) in labels.iter().enumerate() {
        let opening = if position == 0 { '{' } else { ',' };
        write!(text, "{opening}{label}=\"{}\"", escape(value, true))?;
    }
    if !labels.is_empty() {
        text.push('}');
    }
    writeln!(text, " {value}")
}

/// Escapes a help text, or a label value with its quotes.
fn escape(raw: &str, quotes: bool) -> String {
    let mut escaped = String::with_capacity(raw.len());
    for letter in raw.chars() {
        match letter {
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '"' if quotes => escaped.push_str("\\\""),
            other => escaped.push(other),
        }
    }
    escaped
}
