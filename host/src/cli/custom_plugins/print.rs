//! Prints a file of plugins and the outcome of a run as text.

use std::fmt::Write as _;

use super::{complaint::Complaint, load::PluginRow, outcome::Outcome};
use crate::{
    cli::{
        output,
        sizes::iec,
        table::Table,
        terminal::{Terminal, printable, printable_lines},
    },
    wire::{HealthState, go_quote, to_json},
};

/// Longest text in a cell or in the line of a mismatch, bytes. `--json` has all of it.
const MAX_SHOWN: usize = 2048;

/// The plugins of a file, and what its Wasm components have use for.
pub fn table(rows: &[PluginRow], terminal: Terminal) -> String {
    let mut table = Table::with_header([
        "Component",
        "Type",
        "Run Mode",
        "Timeout",
        "Interval",
        "Valid",
    ])
    .wide()
    .ruled();
    for row in rows {
        table.row([
            row.component.as_str(),
            &row.plugin_type,
            &row.run_mode,
            &row.timeout.to_string(),
            &row.interval.to_string(),
            if row.valid {
                "✔ valid"
            } else {
                "✘ invalid"
            },
        ]);
    }
    let mut text = format!("\n{}\n", table.render_on(terminal));
    let mut asked = false;
    for row in rows {
        let Some(words) = &row.asks_for else { continue };
        asked = true;
        let words = match words.as_slice() {
            [] => "nothing".to_owned(),
            words => words.join(", "),
        };
        let _ = writeln!(
            text,
            "{} asks for: {}",
            printable(&row.component),
            printable(&words)
        );
    }
    if asked {
        text.push('\n');
    }
    text
}

/// A complaint behind its sign, on several lines, without a newline at the end.
pub fn complaint(complaint: &Complaint, sign: &str) -> String {
    format!("{sign} {}", printable_lines(&complaint.report))
}

/// The output of a check and its outcome. Output is given as it is unless it has to be `harmless`.
pub fn outcome(outcome: &Outcome, terminal: Terminal, make_harmless: bool) -> Vec<u8> {
    let name = go_quote(&outcome.component);
    let mut bytes = format!("### Component {name} output\n\n").into_bytes();
    if make_harmless {
        bytes.extend(printable_lines(&String::from_utf8_lossy(&outcome.output)).into_bytes());
    } else {
        bytes.extend(&outcome.output);
    }
    if !outcome.output.is_empty() {
        if !outcome.output.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        bytes.push(b'\n');
    }
    bytes.extend(verdict(outcome, terminal).into_bytes());
    bytes.push(b'\n');
    bytes
}

/// A line for each verdict, and below it what explains it.
fn verdict(outcome: &Outcome, terminal: Terminal) -> String {
    let name = &outcome.component;
    let mut text = match outcome.wasm {
        Some(_) => output::component(terminal, name, &outcome.states),
        // The facts of a script are in the table of results.
        None => {
            let bare = |state: &HealthState| HealthState {
                health: state.health.clone(),
                reason: state.reason.clone(),
                error: state.error.clone(),
                suggested_actions: state.suggested_actions.clone(),
                ..HealthState::default()
            };
            let states: Vec<_> = outcome.states.iter().map(bare).collect();
            output::component(terminal, name, &states)
        }
    };
    for mismatch in &outcome.mismatches {
        let line = printable(&mismatch.to_string());
        let _ = writeln!(text, "  unexpected: {}", cut(line));
    }
    if outcome.unchecked {
        text.push_str(
            "  warning: nothing was checked: the parser expects values, and no JSON object was printed\n",
        );
    }
    let Some(wasm) = outcome.wasm else {
        return text;
    };
    if !wasm.supported {
        text.push_str("  there is nothing for it to watch on this machine\n");
    }
    if let Some(bill) = wasm.bill {
        let _ = writeln!(
            text,
            "  took {:.3} s, {} of memory, {} host calls, {} bytes to and from the host",
            bill.seconds,
            iec(bill.memory_high_water_bytes as u64),
            bill.host_calls,
            bill.bytes
        );
    }
    text
}

/// The table of results.
#[derive(Debug, Default)]
pub struct Results(Vec<[String; 6]>);

impl Results {
    /// Takes what the table shows of an outcome.
    pub fn add(&mut self, outcome: &Outcome) {
        let worst = outcome.worst();
        let sign = if outcome.is_healthy() { "✔" } else { "✘" };
        let text = |text: &str| cut(text.to_owned());
        self.0.push([
            outcome.component.clone(),
            format!("{sign} {}", outcome.health()),
            text(worst.map_or("", |state| &state.reason)),
            text(worst.map_or("", |state| &state.error)),
            outcome.run_mode.clone(),
            cut(worst.map_or_else(|| "null".to_owned(), extra_info)),
        ]);
    }

    /// The heading and the table.
    pub fn render(&self, terminal: Terminal) -> String {
        let mut table = Table::with_header([
            "Component",
            "Health State",
            "Summary",
            "Error",
            "Run Mode",
            "Extra Info",
        ])
        .wide()
        .ruled();
        for row in &self.0 {
            table.row(row);
        }
        format!("### Results\n\n{}", table.render_on(terminal))
    }
}

/// As Go writes it: `null` for none.
fn extra_info(state: &HealthState) -> String {
    let null = || "null".to_owned();
    if state.extra_info.is_empty() {
        return null();
    }
    let json = to_json(&state.extra_info).ok();
    json.and_then(|json| String::from_utf8(json).ok())
        .unwrap_or_else(null)
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_SHOWN {
        text.truncate(text.floor_char_boundary(MAX_SHOWN));
        text.push('…');
    }
    text
}

#[cfg(test)]
#[path = "print_tests.rs"]
mod tests;
