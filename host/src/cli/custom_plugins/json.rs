//! The document that `--json` prints: one line of plugins, problems, warnings and, after a run, results.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Serialize;

use super::{
    complaint::Complaint,
    load::{LoadedFile, PluginRow},
    outcome::{Bill, Outcome},
};
use crate::{
    script::judge::Mismatch,
    wire::{HealthState, SuggestedActions},
};

/// The end of a document with results.
pub const TAIL: &str = "]}\n";

#[derive(Serialize)]
struct Head<'a> {
    plugins: &'a [PluginRow],
    problems: Vec<ProblemDocument<'a>>,
    warnings: Vec<ProblemDocument<'a>>,
}

#[derive(Serialize)]
struct ProblemDocument<'a> {
    kind: &'a str,
    message: &'a str,
    file: &'a str,
    line: Option<u32>,
    column: Option<u32>,
    path: &'a str,
    note: Option<&'a str>,
}

#[derive(Serialize)]
struct ResultDocument<'a> {
    component: &'a str,
    health: &'a str,
    reason: &'a str,
    error: Option<&'a str>,
    run_mode: &'a str,
    suggested_actions: Option<&'a SuggestedActions>,
    extra_info: Cow<'a, BTreeMap<String, String>>,
    mismatches: Vec<MismatchDocument<'a>>,
    /// Whether values were expected and no JSON object was printed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unchecked: bool,
    raw_output: Cow<'a, str>,
    exit_code: i32,
    #[serde(flatten)]
    wasm: Option<WasmDocument<'a>>,
}

#[derive(Serialize)]
struct MismatchDocument<'a> {
    field: &'a str,
    query: &'a str,
    pattern: Option<&'a str>,
    value: Option<&'a str>,
}

#[derive(Serialize)]
struct WasmDocument<'a> {
    supported: bool,
    states: &'a [HealthState],
    bill: Option<Bill>,
}

/// Everything but the results. If these follow, separated by commas and closed by [`TAIL`], it ends where the first one
/// goes.
///
/// # Errors
/// Never with these types; serde wants it said.
pub fn head(loaded: &LoadedFile, results_follow: bool) -> Result<String, serde_json::Error> {
    let problems = loaded.problems.iter().chain(&loaded.late);
    document(
        &loaded.rows(),
        problems,
        loaded.warnings.iter(),
        results_follow,
    )
}

fn document<'a>(
    plugins: &[PluginRow],
    problems: impl Iterator<Item = &'a Complaint>,
    warnings: impl Iterator<Item = &'a Complaint>,
    results_follow: bool,
) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string(&Head {
        plugins,
        problems: problems.map(ProblemDocument::of).collect(),
        warnings: warnings.map(ProblemDocument::of).collect(),
    })?;
    if results_follow {
        // Another key instead of the closing brace.
        text.pop();
        text.push_str(",\"results\":[");
    } else {
        text.push('\n');
    }
    Ok(text)
}

/// One result.
///
/// # Errors
/// Never with these types; serde wants it said.
pub fn result(outcome: &Outcome) -> Result<String, serde_json::Error> {
    let worst = outcome.worst();
    let error = worst.map(|state| state.error.as_str());
    serde_json::to_string(&ResultDocument {
        component: &outcome.component,
        health: outcome.health(),
        reason: worst.map_or("", |state| &state.reason),
        error: error.filter(|error| !error.is_empty()),
        run_mode: &outcome.run_mode,
        suggested_actions: worst.and_then(|state| state.suggested_actions.as_ref()),
        extra_info: worst.map_or_else(Cow::default, |state| Cow::Borrowed(&state.extra_info)),
        mismatches: outcome
            .mismatches
            .iter()
            .map(MismatchDocument::of)
            .collect(),
        unchecked: outcome.unchecked,
        raw_output: String::from_utf8_lossy(&outcome.output),
        exit_code: outcome.exit_code,
        wasm: outcome.wasm.map(|wasm| WasmDocument {
            supported: wasm.supported,
            states: &outcome.states,
            bill: wasm.bill,
        }),
    })
}

impl<'a> ProblemDocument<'a> {
    fn of(complaint: &'a Complaint) -> Self {
        Self {
            kind: complaint.kind,
            message: &complaint.message,
            file: &complaint.file,
            line: complaint.place.map(|place| place.line),
            column: complaint.place.map(|place| place.column),
            path: &complaint.path,
            note: complaint.note.as_deref(),
        }
    }
}

impl<'a> MismatchDocument<'a> {
    fn of(mismatch: &'a Mismatch) -> Self {
        Self {
            field: &mismatch.field,
            query: &mismatch.query,
            pattern: mismatch.pattern.as_deref(),
            value: mismatch.value.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use serde_json::{Value, json};

    use super::{super::outcome::WasmCheck, *};
    use crate::{spec::Position, wire::GoDuration};

    fn row() -> PluginRow {
        PluginRow {
            component: "fan-tray".into(),
            plugin_name: "Fan Tray".into(),
            plugin_type: "component".into(),
            run_mode: "auto".into(),
            timeout: GoDuration(20_000_000_000),
            interval: GoDuration(300_000_000_000),
            tags: vec!["cooling".into()],
            valid: true,
            asks_for: None,
            components: None,
        }
    }

    fn outcome() -> Outcome {
        Outcome {
            component: "fan-tray".into(),
            run_mode: "auto".into(),
            states: vec![HealthState {
                health: "Unhealthy".into(),
                reason: "unexpected plugin output".into(),
                suggested_actions: Some(SuggestedActions {
                    description: "replace tray 2".into(),
                    repair_actions: vec!["HARDWARE_INSPECTION".into()],
                }),
                extra_info: [("rpm".to_owned(), "0".to_owned())].into(),
                ..HealthState::default()
            }],
            mismatches: vec![Mismatch {
                field: "rpm".into(),
                query: "$.tray.rpm".into(),
                pattern: Some("^[1-9]".into()),
                value: Some("0".into()),
            }],
            unchecked: false,
            output: b"tray \xff\n".to_vec(),
            exit_code: 0,
            wasm: None,
        }
    }

    #[test]
    fn a_whole_document() {
        let problem = Complaint {
            place: Some(Position { line: 3, column: 5 }),
            path: "[0].interval".into(),
            note: Some("at least 1m".into()),
            kind: "interval_too_short",
            ..Complaint::unreadable("f.yaml", "interval is too short".into())
        };
        let warning = Complaint::unreadable("f.yaml", "odd".into());
        let text = document(
            &[row()],
            [&problem].into_iter(),
            [&warning].into_iter(),
            false,
        );
        let text = text.unwrap();
        assert_eq!(text.lines().count(), 1);
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            json!({
                "plugins": [{
                    "component": "fan-tray", "plugin_name": "Fan Tray", "plugin_type": "component", "run_mode": "auto",
                    "timeout": "20s", "interval": "5m0s", "tags": ["cooling"], "valid": true
                }],
                "problems": [{
                    "kind": "interval_too_short", "message": "interval is too short", "file": "f.yaml", "line": 3,
                    "column": 5, "path": "[0].interval", "note": "at least 1m"
                }],
                "warnings": [{
                    "kind": "file_unreadable", "message": "odd", "file": "f.yaml", "line": null, "column": null,
                    "path": "", "note": null
                }]
            })
        );
    }

    #[test]
    fn results_are_put_in_as_they_come() {
        let head = || document(&[], iter::empty(), iter::empty(), true).unwrap();
        let result = result(&outcome()).unwrap();
        for results in [vec![], vec![result.as_str()], vec![result.as_str(); 3]] {
            let text = head() + &results.join(",") + TAIL;
            let document: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(document["results"].as_array().unwrap().len(), results.len());
        }
        assert_eq!(
            serde_json::from_str::<Value>(&result).unwrap(),
            json!({
                "component": "fan-tray", "health": "Unhealthy", "reason": "unexpected plugin output", "error": null,
                "run_mode": "auto", "extra_info": {"rpm": "0"}, "raw_output": "tray \u{fffd}\n", "exit_code": 0,
                "suggested_actions": {
                    "description": "replace tray 2", "repair_actions": ["HARDWARE_INSPECTION"]
                },
                "mismatches": [{"field": "rpm", "query": "$.tray.rpm", "pattern": "^[1-9]", "value": "0"}]
            })
        );
    }

    #[test]
    fn a_wasm_component_shows_every_state_and_its_bill() {
        let outcome = Outcome {
            wasm: Some(WasmCheck {
                supported: true,
                bill: Some(Bill {
                    seconds: 0.5,
                    memory_high_water_bytes: 65536.0,
                    host_calls: 2.0,
                    bytes: 10.0,
                }),
            }),
            ..outcome()
        };
        let document: Value = serde_json::from_str(&result(&outcome).unwrap()).unwrap();
        assert_eq!(document["states"][0]["reason"], "unexpected plugin output");
        assert_eq!(document["supported"], true);
        assert_eq!(document["bill"]["host_calls"], 2.0);
    }
}
