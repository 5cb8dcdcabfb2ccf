//! Rows of figures with targets, as a table and as JSON.

use std::fmt;

use serde::Serialize;

#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    what: String,
    value: f64,
    unit: &'static str,
    /// `None` for figures that stand beside another one to explain it.
    target: Option<Target>,
    met: Option<bool>,
}

#[derive(Clone, Copy, Serialize)]
pub enum Target {
    AtMost(f64),
    AtLeast(f64),
}

impl Table {
    pub fn add(&mut self, what: &str, value: f64, unit: &'static str, target: Target) {
        let met = match target {
            Target::AtMost(limit) => value <= limit,
            Target::AtLeast(limit) => value >= limit,
        };
        eprintln!("  {what}: {value:.3} {unit}");
        self.rows.push(Row {
            what: what.into(),
            value,
            unit,
            target: Some(target),
            met: Some(met),
        });
    }

    pub fn note(&mut self, what: &str, value: f64, unit: &'static str) {
        eprintln!("  {what}: {value:.3} {unit}");
        self.rows.push(Row {
            what: what.into(),
            value,
            unit,
            target: None,
            met: None,
        });
    }

    pub fn json(&self) -> String {
        serde_json::to_string_pretty(&self.rows).unwrap()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| {:<66} | {:>20} | {:>12} |     |",
            "what", "result", "target"
        )?;
        writeln!(f, "|{:-<68}|{:->22}|{:->14}|-----|", "", "", "")?;
        for row in &self.rows {
            let result = format!("{} {}", short(row.value), row.unit);
            let target = match row.target {
                Some(Target::AtMost(limit)) => format!("≤ {}", short(limit)),
                Some(Target::AtLeast(limit)) => format!("≥ {}", short(limit)),
                None => String::new(),
            };
            let met = match row.met {
                Some(true) => "yes",
                Some(false) => "NO",
                None => "",
            };
            writeln!(
                f,
                "| {:<66} | {result:>20} | {target:>12} | {met:<3} |",
                row.what
            )?;
        }
        Ok(())
    }
}

fn short(value: f64) -> String {
    match value {
        v if v >= 1000.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// The `share` quantile (0 to 1) of samples.
pub fn quantile(samples: &mut [f64], share: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[((samples.len() - 1) as f64 * share).round() as usize]
}
